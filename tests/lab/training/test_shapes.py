"""Shapes by option: each trains, is saved and opens as a system whose scores are those of the network itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import babelscope as bs
from babelscope.core.system import capabilities
from babelscope.lab.training.networks import (
    NETWORKS,
    PLAIN,
    PlainConfig,
    hidden_states,
    new_network,
    output_weight,
)
from babelscope.lab.training.settings import read_settings, settings_for
from babelscope.lab.training.text import load_pieces, train_pieces
from babelscope.lab.training.train import train
from babelscope.util.errors import BabelscopeError
from tests.lab.training.test_training import write_pairs

SHAPES = {
    "deep": ["encoder_layers=3", "heads=4", "encoder_ffn=48"],
    "pre-norm": ["norm=pre"],
    "learned": ["positions=learned"],
    "pre-norm learned": ["norm=pre", "positions=learned"],
    "separate": ["vocabularies=separate"],
    "recurrent": ["architecture=recurrent", "encoder_layers=2", "decoder_layers=2"],
    "recurrent separate": ["architecture=recurrent", "vocabularies=separate"],
    "convolutional": ["architecture=convolutional", "decoder_layers=2", "kernel=2"],
    "convolutional learned": ["architecture=convolutional", "positions=learned"],
}
SOURCES = ["the old man reads a letter", "a dog runs", "the dog reads", "an old dog sees the man"]
TARGETS = [
    "der alte Mann liest einen Brief",
    "ein Hund läuft",
    "der Hund liest",
    "ein alter Hund sieht den Mann",
]


def trained(folder: Path, options: list[str], steps: int = 3) -> Path:
    settings = settings_for("tiny", vocabulary=40, steps=steps, **read_settings(options))
    files = write_pairs(folder, list(zip(SOURCES, TARGETS, strict=True)) * 30)
    train(*files, folder / "model", settings, quiet=True, threads=1)
    return folder / "model"


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_opens_as_a_system_with_the_network_s_own_scores(tmp_path: Path, name: str) -> None:
    folder = trained(tmp_path, SHAPES[name])
    system = bs.open_system(f"lab:{folder}")
    pieces = load_pieces(folder)
    network = new_network(
        settings_for("tiny", **read_settings(SHAPES[name])).shape, pieces, dropout=0.0, seed=1
    )
    from safetensors.torch import load_file

    stored = {key: each.float() for key, each in load_file(folder / "model.safetensors").items()}
    assert not network.load_state_dict(stored, strict=False).unexpected_keys
    network.eval()
    scored = system.score(list(zip(SOURCES, TARGETS, strict=True)))
    for source, target, found in zip(SOURCES, TARGETS, scored, strict=True):
        ids = torch.tensor(pieces.encode([source]))
        labels = torch.tensor(pieces.target_side.encode([target]))
        shifted = torch.cat([torch.tensor([[pieces.pad]]), labels[:, :-1]], dim=1)
        with torch.no_grad():
            hidden = hidden_states(network, ids, torch.ones_like(ids, dtype=torch.bool), shifted)
            logs = (hidden[0] @ output_weight(network)[: pieces.pad].t()).log_softmax(1)
        own = logs.gather(1, labels[0][:, None])[:, 0]
        assert found.logprobs == pytest.approx(own.tolist(), abs=1e-4)
    assert {"translate", "score", "sample", "top_k", "next_tokens"} <= set(capabilities(system))
    drawn = system.sample(SOURCES[:1], n=3, seed=1)[0]
    again = system.score([(SOURCES[0], each) for each in drawn])
    assert [each.total for each in drawn] == pytest.approx([each.total for each in again], abs=1e-3)


@pytest.mark.parametrize("architecture", ["recurrent", "convolutional"])
@pytest.mark.parametrize("kernel", [1, 3])
def test_token_by_token_is_the_same_as_all_at_once_and_padding_changes_nothing(
    architecture: str, kernel: int
) -> None:
    torch.manual_seed(1)
    config = PlainConfig(architecture, (9, 7), False, 12, 2, 2, kernel=kernel, longest=20)
    network = NETWORKS[architecture](config).eval()
    source = torch.randint(9, (3, 6))
    real = torch.arange(6) < torch.tensor([6, 2, 4])[:, None]
    shifted = torch.randint(7, (3, 5))
    with torch.no_grad():
        whole = network(source, real, shifted)
        encoded, states = network.encode(source, real)
        for place in range(5):
            logits, states = network.step(encoded, states, shifted[:, place])
            assert torch.allclose(logits, whole[:, place] @ network.target.weight.t(), atol=1e-5)
        alone = network(source[1:2, :2], real[1:2, :2], shifted[1:2])
    assert torch.allclose(alone, whole[1:2], atol=1e-5)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["heads=3"], "cannot be divided among 3 heads"),
        (["norm=middle"], "must be 'post' or 'pre'"),
        (["encoder_layers=0"], "encoder_layers is '0'; it must be greater than or equal to 1"),
        (["vocabularies=separate", "norm=pre"], "no format to save it in"),
        (["architecture=recurrent", "positions=learned"], "no positions"),
        (["layers=2"], "sets nothing"),
        (["architecture=convolutional", "norm=pre"], "norm=pre changes nothing in a convolutional network"),
        (["architecture=recurrent", "heads=4"], "heads=4 changes nothing in a recurrent network"),
        (["kernel=5"], "kernel=5 changes nothing in a transformer network"),
        (["width=wide"], "width is 'wide'; it must be a valid integer"),
        (["precision=float16"], "precision is 'float16'; it must be 'float32' or 'bfloat16'"),
        (["select=comet"], "select is 'comet'; it must be 'loss', 'bleu' or 'chrf'"),
        (["average_of=first"], "average_of is 'first'; it must be 'best' or 'last'"),
        (["accumulate=0"], "accumulate is '0'; it must be greater than or equal to 1"),
        (["average=0"], "average is '0'"),
        (["optimizer=sgd"], "optimizer is 'sgd'; it must be 'adam' or 'muon'"),
    ],
)
def test_what_cannot_be_built_is_refused(options: list[str], said: str) -> None:
    with pytest.raises(BabelscopeError, match=said):
        settings_for("tiny", **read_settings(options))


def test_names_and_numbers_that_are_none_are_refused() -> None:
    with pytest.raises(BabelscopeError, match="did you mean lab-teacher"):
        settings_for("lab-techer")
    with pytest.raises(
        BabelscopeError, match=r"label_smoothing is 1\.5; it must be less than or equal to 0\.99"
    ):
        settings_for("tiny", label_smoothing=1.5)
    with pytest.raises(BabelscopeError, match="learning_rate is nan"):
        settings_for("tiny", learning_rate=float("nan"))
    with pytest.raises(BabelscopeError, match="no setting 'droput'"):
        settings_for("tiny", droput=0.1)
    with pytest.raises(BabelscopeError, match="no vocabulary of 12 pieces"):
        train_pieces(iter(SOURCES), 12)


def test_a_plain_network_learns(tmp_path: Path) -> None:
    for name in ("recurrent", "convolutional"):
        (tmp_path / name).mkdir()
        folder = trained(tmp_path / name, [f"architecture={name}"], steps=150)
        found = bs.open_system(f"lab:{folder}").translate(SOURCES)
        assert [best[0].text for best in found] == TARGETS, name


def test_the_card_s_command_makes_the_same_shape(tmp_path: Path) -> None:
    folder = trained(tmp_path, SHAPES["convolutional learned"])
    card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
    words = card["command"].split()
    said = [words[place + 1] for place, word in enumerate(words) if word == "--set"]
    own = [each for each in said if each.partition("=")[0] in ("label_smoothing", "threads")]
    assert [each.partition("=")[0] for each in own] == ["label_smoothing", "threads"], "of the command itself"
    again = settings_for(card["shape"], **read_settings([each for each in said if each not in own])).shape
    assert again == settings_for("tiny", **read_settings(SHAPES["convolutional learned"])).shape
    assert "lab:FOLDER" in (folder / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "change", [{"width": 10**9}, {"architecture": "other"}, {"extra": 1}, {"width": 18}, {"vocabularies": 3}]
)
def test_a_configuration_that_does_not_fit_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    folder = trained(tmp_path, SHAPES["recurrent"], steps=1)
    told = json.loads((folder / PLAIN).read_text(encoding="utf-8"))
    (folder / PLAIN).write_text(json.dumps({**told, **change}), encoding="utf-8")
    with pytest.raises(BabelscopeError, match=r"network\.json"):
        bs.open_system(f"lab:{folder}")
