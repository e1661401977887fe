"""Minimum Bayes risk decoding below the command line: what candidates count, and the figures of all choices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from babelscope.core.system import Drawing, Scored
from babelscope.metrics.mbr import mbr_decode
from babelscope.systems.mbr import SAMPLES_AT_ONCE, Decoding, Sources, Weights, decoding_by, result_of
from babelscope.util.errors import BabelscopeError
from tests.support.toys import ToySystem

SOURCES = Sources.of_lines(Path("in.txt"), ["a b", "b c", "a b"])


def decoding(**how: Any) -> Decoding:
    return decoding_by(["chrf", "ter"], **{"n": 8, "seed": 1, "drawing": Drawing(), **how})


def test_sampled_candidates_are_asked_for_in_batches_and_count_as_often_as_drawn():
    system, sizes = ToySystem(), []

    def ask_batches(asked: Sequence[str], ask: Any, *, at_once: int) -> Iterator[tuple[str, Any]]:
        sizes.append(at_once)
        yield from zip(asked, ask(asked), strict=True)

    own = decoding()
    found = list(own.candidates(system, SOURCES, ask_batches))
    assert sizes == [SAMPLES_AT_ONCE // 8]
    for (source, candidates), drawn in zip(found, system.sample(SOURCES.texts, n=8, seed=1), strict=True):
        assert candidates == drawn
        decision = own.decide(system, source, drawn)["chrf"]
        assert decision.weights is Weights.count
        assert decision.choice == mbr_decode([each.text for each in drawn])
        assert decision.answer.text == decision.choice.text


def test_by_probability_a_hypothesis_counts_once():
    twice = [Scored("ab", ("1",), (-0.1,)), Scored("cd", ("2",), (-2.0,)), Scored("ab", ("1",), (-0.1,))]
    decision = decoding(weights=Weights.probability).decide(ToySystem(), "a", twice)["chrf"]
    assert (decision.choice.n, decision.choice.text) == (2, "ab")
    with pytest.raises(BabelscopeError, match="has no log-probabilities to weigh candidates by"):
        decoding(weights=Weights.probability).decide(ToySystem(), "a", [Scored("ab", (), ())])


def test_figures_are_of_the_answered_sources():
    own, system = decoding(), ToySystem()
    drawn = system.sample(SOURCES.texts[:2], n=8, seed=1)
    decided = [
        (source, own.decide(system, source, each))
        for source, each in zip(SOURCES.texts[:2], drawn, strict=True)
    ]
    result = result_of(own, {"toy": system}, SOURCES.texts, {"toy": decided})
    assert [row.labels["metric"] for row in result.rows] == ["chrf", "ter"]
    for row in result.rows:
        utilities = [by[str(row.labels["metric"])].choice.utility for _, by in decided]
        assert row.estimate.value == pytest.approx(sum(utilities) / 2)
        assert (row.estimate.n, row.counts["candidates"], row.counts["skipped"]) == (2, 16, 1)
    chrf, ter = (row.estimate for row in result.rows)
    assert 0 <= chrf.low <= chrf.high <= 100
    assert ter.low <= ter.high <= 0  # lower is better, so that utilities are negated
    assert "mbr|aggregate:0|metric:chrf,ter|n:8|" in result.signature
