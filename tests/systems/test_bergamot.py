"""Models in Marian's binary format: the network against plain loops, shortlists, and files that are not good."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from babelscope import BabelscopeError, open_system
from babelscope.systems.models.bergamot import read_items
from tests.support import marian_binary as binary
from tests.support.models import SOURCES, TARGETS

PAIRS = list(zip(SOURCES, TARGETS, strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return binary.build(tmp_path_factory.mktemp("bergamot") / "model")


def norm(x: Any, weights: dict[str, Any], name: str) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    scale, bias = weights[f"{name}_ln_scale"][0], weights[f"{name}_ln_bias"][0]
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-6) * scale + bias


def place_of(number: int) -> Any:
    half = binary.WIDTH // 2
    angles = [number / 10_000 ** (i / (half - 1)) for i in range(half)]
    return np.array([*map(math.sin, angles), *map(math.cos, angles)])


def plain(weights: dict[str, Any], source: list[int], target: list[int]) -> list[float]:
    """Log-probabilities of a target's tokens, by loops as Marian describes its parts; weights are [out, in]."""
    heads, root = 4, math.sqrt(binary.WIDTH)

    def linear(x: Any, name: str, letter: str) -> Any:
        return x @ weights[f"{name}_W{letter}"].T + weights[f"{name}_b{letter}"][0]

    def attend(x: Any, seen: Any, name: str) -> Any:
        q, k, v = (linear(of, name, letter) for of, letter in ((x, "q"), (seen, "k"), (seen, "v")))
        mixed = np.zeros_like(q)
        wide = binary.WIDTH // heads
        for part in (slice(wide * head, wide * (head + 1)) for head in range(heads)):
            logits = q[:, part] @ k[:, part].T / math.sqrt(wide)
            shares = np.exp(logits - logits.max(-1, keepdims=True))
            mixed[:, part] = shares / shares.sum(-1, keepdims=True) @ v[:, part]
        return norm(x + linear(mixed, name, "o"), weights, f"{name}_Wo")

    def feed(x: Any, name: str) -> Any:
        inner = np.maximum(linear(x, name, "1"), 0)
        return norm(x + linear(inner, name, "2"), weights, f"{name}_ffn")

    x = np.stack([weights["Wemb"][token] * root + place_of(i) for i, token in enumerate(source)])
    for layer in ("encoder_l1", "encoder_l2"):
        x = feed(attend(x, x, f"{layer}_self"), f"{layer}_ffn")
    states = {"decoder_l1": np.zeros(binary.WIDTH), "decoder_l2": np.zeros(binary.WIDTH)}
    found = []
    for i, token in enumerate(target):
        before = weights["Wemb"][target[i - 1]] * root if i else np.zeros(binary.WIDTH)
        y = before + place_of(i)
        for layer, state in states.items():
            rnn = f"{layer}_rnn"
            forget = 1 / (1 + np.exp(-(weights[f"{rnn}_Wf"] @ y + weights[f"{rnn}_bf"][0])))
            states[layer] = forget * state + (1 - forget) * (weights[f"{rnn}_W"] @ y)
            y = norm(y + np.maximum(states[layer], 0), weights, f"{rnn}_ffn")
            y = feed(attend(y[None], x, f"{layer}_context"), f"{layer}_ffn")[0]
        logits = weights["Wemb"] @ y + weights["decoder_ff_logit_out_b"][0]
        found.append(float(logits[token] - np.log(np.exp(logits - logits.max()).sum()) - logits.max()))
    return found


@pytest.mark.parametrize("int8", [True, False])
def test_scores_are_those_of_plain_loops(folder: Path, tmp_path: Path, int8: bool) -> None:
    place = folder if int8 else binary.build(tmp_path / "float", int8=False)
    system = open_system(f"marian:{place}")
    weights = {name: tensor.double().numpy() for name, tensor in read_items(place / "model.bin")[0].items()}
    for pair, scored in zip(PAIRS, system.score(PAIRS), strict=True):
        source, target = (
            [*system.tokens._source.encode(text), 0] for text in pair
        )  # one vocabulary for both sides
        assert scored.logprobs == pytest.approx(plain(weights, source, target), abs=1e-4)
        assert scored.tokens[-1] == "</s>"
        assert not scored.notes


def test_a_shortlist_bounds_what_can_be_said(folder: Path) -> None:
    whole, short = (open_system(f"marian:{folder}{option}") for option in ("", "?shortlist=yes"))
    size = len(whole.tokens.vocabulary)
    (source,) = short.tokens.encode_sources(SOURCES[:1])
    allowed = {0, 1, 2, *source, *((7 * token) % size for token in source)}
    logs = [each.step(each.encode(SOURCES[:1]), [0], [size])[0].double() for each in (whole, short)]
    assert {token for token in range(size) if logs[1][token] > -math.inf} == allowed
    expected = logs[0][sorted(allowed)].log_softmax(-1)
    assert logs[1][sorted(allowed)].numpy() == pytest.approx(expected.numpy(), abs=1e-5)
    assert whole.fingerprint.digest != short.fingerprint.digest
    drawn = short.sample(SOURCES[:1], n=20, seed=1)[0]
    assert {short.tokens.vocabulary[token] for each in drawn for token in each.tokens} <= allowed


def test_vocabularies_of_each_side(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "model"
    place.mkdir()
    for name in ("srcvocab.spm", "trgvocab.spm"):
        (place / name).write_bytes((folder / "vocab.spm").read_bytes())
    found = binary.tensors(len(open_system(f"marian:{folder}").tokens.vocabulary))
    shared = found.pop("Wemb")
    found |= {"encoder_Wemb": shared, "decoder_Wemb": shared}
    (place / "model.bin").write_bytes(binary.written(found, binary.CONFIG))
    scores = [
        [each.logprobs for each in open_system(f"marian:{each}").score(PAIRS)] for each in (folder, place)
    ]
    assert scores[0] == scores[1]


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"dec-cell": "gru"}, "dec-cell = gru"),
        ({"transformer-decoder-autoreg": "self-attention"}, "autoreg = self-attention"),
        ({"transformer-heads": "3"}, "does not fit its 3 heads"),
        ({"transformer-heads": "many"}, "no transformer-heads"),
        ({"dec-depth": "9999999"}, "no tensor decoder_l3"),
        ({"enc-depth": "1"}, "not read here, such as encoder_l2"),
        ({"transformer-dim-ffn": "23"}, "no tensor encoder_l1_ffn_b1"),
    ],
)
def test_other_networks_are_refused(
    folder: Path, tmp_path: Path, config: dict[str, str], reason: str
) -> None:
    found = binary.tensors(len(open_system(f"marian:{folder}").tokens.vocabulary))
    (tmp_path / "vocab.spm").write_bytes((folder / "vocab.spm").read_bytes())
    (tmp_path / "model.bin").write_bytes(binary.written(found, binary.CONFIG | config))
    with pytest.raises(BabelscopeError, match=f"model.bin cannot be read as a Marian model: .*{reason}"):
        open_system(f"marian:{tmp_path}")


def test_files_that_are_cut_off_or_false_are_refused_in_one_sentence(folder: Path, tmp_path: Path) -> None:
    whole = (folder / "model.bin").read_bytes()
    (tmp_path / "vocab.spm").write_bytes((folder / "vocab.spm").read_bytes())
    drawn = random.Random(1)
    places = [8, 15, 16, 40, len(whole) - 1, *(drawn.randrange(8, len(whole)) for _ in range(40))]
    for place in places:
        (tmp_path / "model.bin").write_bytes(whole[:place])
        with pytest.raises(BabelscopeError, match=r"model.bin cannot be read as a Marian model: [^\n]+$"):
            open_system(f"marian:{tmp_path}")
    said: list[str] = []
    for _ in range(200):  # of the header, any byte may be false: refused, or read as something else
        place = drawn.randrange(8, 12_000)
        (tmp_path / "model.bin").write_bytes(whole[:place] + b"\xff" + whole[place + 1 :])
        try:
            open_system(f"marian:{tmp_path}")
        except BabelscopeError as error:
            said.append(str(error))
    assert said
    assert not any("\n" in each for each in said)


def test_folders_without_what_is_needed_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(BabelscopeError, match="has 0 models in Marian's binary format"):
        open_system(f"marian:{tmp_path}")
    (tmp_path / "model.bin").write_bytes((folder / "model.bin").read_bytes())
    with pytest.raises(BabelscopeError, match="must have one SentencePiece vocabulary"):
        open_system(f"marian:{tmp_path}")
    (tmp_path / "vocab.spm").write_bytes(b"no model")
    with pytest.raises(BabelscopeError, match="its vocabulary cannot be loaded"):
        open_system(f"marian:{tmp_path}")
    (tmp_path / "vocab.spm").write_bytes((folder / "vocab.spm").read_bytes())
    with pytest.raises(BabelscopeError, match="has no shortlist"):
        open_system(f"marian:{tmp_path}?shortlist=yes")
    for targets in ([[0]], [[10**6]] * len(open_system(f"marian:{folder}").tokens.vocabulary)):
        (tmp_path / "lex.bin").write_bytes(binary.shortlist(3, targets))
        with pytest.raises(BabelscopeError, match="as a shortlist of this model: it is not of vocabularies"):
            open_system(f"marian:{tmp_path}?shortlist=yes")
    (tmp_path / "lex.bin").write_bytes((folder / "lex.bin").read_bytes()[:-3])
    with pytest.raises(BabelscopeError, match="as a shortlist: it is cut off"):
        open_system(f"marian:{tmp_path}?shortlist=yes")
