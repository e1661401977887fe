"""Distillation: the search against transformers' own, resumable translation, a student of a teacher."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from babelscope.decoding import beam as beams
from babelscope.decoding.beam import beam_search
from babelscope.decoding.model import OpenModel
from babelscope.lab.training import augmenting
from babelscope.lab.training.distillation import distill
from babelscope.lab.training.networks import new_network
from babelscope.lab.training.shapes import SHAPES
from babelscope.lab.training.tokenizer import train_pieces
from babelscope.lab.training.train import train
from babelscope.lab.training.translating import open_teacher, translate_ids
from babelscope.util.errors import BabelscopeError
from tests.lab.training.test_training import PAIRS, learn, quick, write_pairs


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("teacher")
    learn(folder, folder / "model", quick(steps=150, label_smoothing=0.1, dev_every=75))
    return folder / "model"


def random_model(seed: int) -> tuple[Any, OpenModel]:
    """A network whose distributions are far from uniform, as transformers' model and as ours."""
    from babelscope.decoding.families.bart import weights_of
    from babelscope.decoding.families.encoder_decoder import EncoderDecoder
    from babelscope.decoding.model import Vocabulary

    pieces = train_pieces(iter(source for source, _ in PAIRS), 40)
    network = new_network(SHAPES["tiny"], pieces, dropout=0.0, seed=seed).eval()
    with torch.no_grad():
        network.model.shared.weight *= 2
        network.final_logits_bias[0, 0] = 1.5  # so that hypotheses end
    vocabulary = Vocabulary(pieces.size, (pieces.pad,), 0, (pieces.pad,), 512, 512)
    return network, EncoderDecoder(weights_of(network), vocabulary)


@pytest.mark.parametrize("beam", [1, 2, 5])
def test_beam_search_finds_what_transformers_finds(beam: int) -> None:
    same = total = 0
    for seed in range(3):
        network, model = random_model(seed)
        numbers = torch.Generator().manual_seed(seed)
        sources = [
            [*torch.randint(2, 30, (int(length),), generator=numbers).tolist(), 0]
            for length in torch.randint(1, 9, (12,), generator=numbers)
        ]
        ours = beam_search(model, sources, beam=beam, max_length=15)
        for source, (best,) in zip(sources, ours, strict=True):
            theirs = network.generate(
                torch.tensor([source]), num_beams=beam, do_sample=False, max_new_tokens=15, max_length=None
            )[0, 1:].tolist()
            assert 0 not in best[:-1]
            total += 1
            same += best == theirs
    # All but ties and roundings; greedy search has neither here.
    assert same >= (total if beam == 1 else 0.97 * total)


def test_hypotheses_come_sorted_distinct_and_whatever_the_batch(
    teacher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = open_teacher(teacher)
    sources = system.tokens.encode_sources([source for source, _ in PAIRS[::7]])
    together = beam_search(system.model, sources, beam=4, n_best=4)
    monkeypatch.setattr(beams, "_ROWS", 1)  # one source at a time
    assert beam_search(system.model, sources, beam=4, n_best=4) == together
    for source, group in zip(sources, together, strict=True):
        assert len({tuple(ids) for ids in group}) == 4
        scores = []
        for ids in group:
            memory, node, total = system.model.encode([source]), 0, 0.0
            for fed, told in zip([*system.vocabulary.prefix, *ids], ids, strict=False):
                logs = system.model.step(memory, [node], [fed])
                node = memory.size - 1
                total += float(logs[0, told])
            scores.append(total / len(ids))
        assert scores == sorted(scores, reverse=True) or max(map(abs, scores)) < 1e-5


def test_a_beam_wider_than_the_vocabulary() -> None:
    _, model = random_model(1)
    (found,) = beam_search(model, [[3, 4, 0]], beam=60, n_best=60, max_length=3)
    assert len(found) == 60
    assert all(0 not in ids[:-1] and model.vocabulary.masked[0] not in ids for ids in found)


def test_one_process_at_a_time_works_in_a_folder(teacher: Path, tmp_path: Path) -> None:
    source, target = write_pairs(tmp_path / "text")
    ready = "import sys; from babelscope.util.locks import locked_folder; from pathlib import Path\n"
    hold = "with locked_folder(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    first = subprocess.Popen(
        [sys.executable, "-c", ready + hold, str(tmp_path / "out")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert first.stdin is not None
    assert first.stdout is not None
    assert first.stdout.readline() == b"held\n"
    for attempt in (
        lambda: distill(teacher, source, tmp_path / "out", quick(steps=2), quiet=True),
        lambda: train(source, target, tmp_path / "out", quick(steps=2), quiet=True),
    ):
        with pytest.raises(BabelscopeError, match="out is in use by another process; wait for it, or use"):
            attempt()
    assert list((tmp_path / "out").iterdir()) == []
    first.communicate()
    assert not (tmp_path / "out").exists()
    distill(teacher, source, tmp_path / "out", quick(steps=2), beam=1, quiet=True)


def test_a_student_learns_what_its_teacher_says(teacher: Path, tmp_path: Path) -> None:
    from babelscope.cli.lab import app

    source, _ = write_pairs(tmp_path / "text")
    words = [
        "distill",
        "--teacher",
        str(teacher),
        "--source",
        str(source),
        "--shape",
        "tiny",
        "--steps",
        "20",
    ]
    words += ["--dev-source", str(source), "--seed", "3", "--threads", "1", "--quiet"]
    out = tmp_path / "student"
    result = CliRunner().invoke(app, [*words, "--json", "--out", str(out)])
    assert result.exit_code == 0, result.exception
    assert json.loads(result.stdout)["name"] == "dev_loss"
    card = json.loads((out / "card.json").read_text())
    said = (out / "distilled" / "train.target").read_text().split("\n")[:-1]
    assert len(said) == len(PAIRS) == card["pairs"]
    assert card["distilled"]["beam"] == 5
    assert (out / "vocab.json").read_bytes() == (teacher / "vocab.json").read_bytes()
    again = shlex.split(card["command"])[2:-1]
    CliRunner().invoke(app, [*again, str(tmp_path / "again"), "--quiet"])
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == (out / "model.safetensors").read_bytes()


def test_students_of_several_seeds_share_their_teacher_s_translations(
    teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from babelscope.cli.lab import app

    asked: list[int] = []
    monkeypatch.setattr(
        augmenting, "translate_ids", lambda *given: asked.append(len(given[1])) or translate_ids(*given)
    )
    source, target = write_pairs(tmp_path / "text")
    words = ["distill", "--teacher", str(teacher), "--source", str(source), "--dev-source", str(source)]
    words += ["--dev-target", str(target), "--shape", "tiny", "--steps", "3", "--threads", "1", "--quiet"]
    result = CliRunner().invoke(app, [*words, "--seeds", "2", "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.exception
    assert sum(asked) == len(PAIRS)
    for seed in (1, 2):
        assert (tmp_path / "out" / f"seed-{seed}" / "card.json").exists()


def test_a_teacher_that_never_ends_is_named(
    teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, _ = write_pairs(tmp_path / "text")
    monkeypatch.setattr(augmenting, "translate_ids", lambda _, ids, __: [None] * len(ids))
    told = f"{len(PAIRS)} of {len(PAIRS)} translations by .* has the teacher learned enough"
    with pytest.raises(BabelscopeError, match=told):
        distill(teacher, source, tmp_path / "out", quick(steps=2), beam=1, quiet=True)


def test_bad_distillation_is_refused_before_any_translation(teacher: Path, tmp_path: Path) -> None:
    source, target = write_pairs(tmp_path / "text")
    recipe = quick(steps=2)
    with pytest.raises(BabelscopeError, match=r"no such folder; a teacher is .*, without hf:"):
        distill(tmp_path / "nobody", source, tmp_path / "out", recipe)
    with pytest.raises(BabelscopeError, match="needs its source as well"):
        distill(teacher, source, tmp_path / "out", recipe, dev_target=target)
    few, _ = write_pairs(tmp_path / "few", PAIRS[:1])
    with pytest.raises(BabelscopeError, match="has 1 of at least 100 sentences"):
        distill(teacher, few, tmp_path / "out", recipe)
    assert not (tmp_path / "out").exists()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes").touch()
    with pytest.raises(BabelscopeError, match="is not empty"):
        distill(teacher, source, tmp_path / "full", recipe)
    distill(teacher, source, tmp_path / "out", recipe, beam=1, quiet=True)
    with pytest.raises(BabelscopeError, match=r"another configuration: seed 1 \(now 2\)"):
        distill(teacher, source, tmp_path / "out", quick(steps=2, seed=2), beam=1)
    with pytest.raises(BabelscopeError, match=r"another configuration: decoding.beam 1 \(now 2\)"):
        distill(teacher, source, tmp_path / "out", recipe, beam=2)
