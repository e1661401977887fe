"""A vocabulary of 256,000: memory stays within what is stated, and pieces of logits change no answer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from babelscope.core.system import Budget, Drawing
from babelscope.decoding import exact, model, sampling
from babelscope.decoding.beam import beam_search
from babelscope.decoding.causal import Causal
from babelscope.decoding.exact import exact_search
from babelscope.decoding.families.decoder import Decoder, weights_of
from babelscope.decoding.model import OpenModel, Vocabulary, score_targets
from babelscope.decoding.sampling import draw_distinct, draw_samples
from tests.support.causal_families import network_of

ROOT = Path(__file__).parents[2]
SOURCES = [(2, 3, 4), (2, 5), (6, 7, 8, 9)]
TARGETS: list[list[tuple[int, ...]]] = [[(3, 4, 1), (3, 5, 6, 1)], [(7, 1)], [(1,), (9, 1)]]


@pytest.mark.slow
@pytest.mark.parametrize("lean", [True, False])
@pytest.mark.parametrize("way", ["score", "beam", "sample", "sample_top_p", "sample_distinct", "32", "128"])
def test_memory_stays_within_what_is_stated(way: str, lean: bool) -> None:
    """In a process of its own, since the peak of another test would hide this one's."""
    if not sys.platform.startswith("linux"):
        pytest.skip("the peak of a process is read from /proc")
    asked = f"measured_wide({way!r}, lean={lean})"
    code = f"import json; from benchmarks.memory import measured_wide; print(json.dumps({asked}))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    row = json.loads(ran.stdout.splitlines()[-1])
    assert 0 < row["grown_mb"] <= row["allowed_mb"], row


def answers(opened: OpenModel) -> list[object]:
    scores = dict(score_targets(opened, SOURCES, TARGETS, budget=64))
    drawn = draw_samples(opened, SOURCES, n=9, seed=1, limit=4, drawing=Drawing(top_p=0.9))
    best = exact_search(opened, SOURCES, k=4, budget=Budget(expansions=300))
    return [
        [[round(value, 4) for value in row] for number in range(3) for row in scores[number]],
        beam_search(opened, SOURCES, beam=4, n_best=4, max_length=5),
        [[each.ids for each in group] for group in drawn],
        [
            [each.ids for each in found.samples]
            for found in draw_distinct(opened, SOURCES, n=7, seed=2, limit=4)
        ],
        [each.ids for each in best],
    ]


@pytest.mark.parametrize("lean", [True, False])
def test_pieces_change_nothing(lean: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    network, vocabulary = network_of("llama", 3), Vocabulary(40, (0,), 1, (), None, 5)
    opened = Decoder(weights_of(network), vocabulary) if lean else Causal(network, vocabulary)
    whole = answers(opened)
    monkeypatch.setattr(model, "LOGITS", 100)
    monkeypatch.setattr(model.logits_in_pieces, "__kwdefaults__", {"most": 100})
    monkeypatch.setattr("babelscope.decoding.causal.LOGITS", 100)
    monkeypatch.setattr("babelscope.decoding.model._OUTPUT_SIZE", 100)
    monkeypatch.setattr(model, "_NARROW", 0)
    monkeypatch.setattr(model, "_COLUMNS", 7)  # the last block has five of the forty columns
    monkeypatch.setattr("babelscope.decoding.sampling._LOGITS", {"cpu": 100})
    monkeypatch.setattr("babelscope.decoding.exact._OPENED", 7)
    monkeypatch.setattr(sampling, "_PIECE", 100)
    monkeypatch.setattr(exact, "_LOGITS", 100)
    assert answers(opened) == whole


@pytest.mark.parametrize("masked", [(0, 1, 2), (39,), (37, 38, 39)])
def test_blocks_of_columns_change_no_score(masked: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a whole block is no output, the first or the last."""
    network, vocabulary = network_of("llama", 3), Vocabulary(40, (4,), 5, masked, None, 5)
    opened = Decoder(weights_of(network), vocabulary)
    whole = dict(score_targets(opened, [(6, 7)], [[[8, 20, 36, 5], [5]]], budget=64))
    monkeypatch.setattr(model, "_NARROW", 0)
    monkeypatch.setattr(model, "_COLUMNS", 3)
    blocks = dict(score_targets(opened, [(6, 7)], [[[8, 20, 36, 5], [5]]], budget=64))
    for one, other in zip(whole[0], blocks[0], strict=True):
        assert one == pytest.approx(other, abs=1e-5)
