"""Likelihood: its figures are those computed by hand from the toy's exact probabilities."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import pytest

from babelscope import likelihood
from babelscope.core.answers import Scored, Target
from babelscope.core.question import Asked
from babelscope.testsets import ParallelSentence
from babelscope.util.errors import BabelscopeError
from tests.support.toys import EOS, ToySystem

ITEMS = [
    ParallelSentence("1", "a b", ("ab", "c")),
    ParallelSentence("2", "b c", ("abc a",)),
    ParallelSentence("3", "c", ("b", "bb", "bbb")),
]


def by_hand(references: int | None) -> float:
    """Sum of all token log-probabilities over their number, EOS included."""
    toy = ToySystem()
    logs = []
    for item in ITEMS:
        for text in item.references[:references]:
            symbols = ["", *text, EOS]
            for previous, symbol in itertools.pairwise(symbols):
                logs.append(math.log(toy.next_probabilities(item.source, previous)[symbol]))
    return sum(logs) / len(logs)


@pytest.mark.parametrize(("references", "count", "tokens"), [("all", None, 20), ("first", 1, 11)])
def test_the_figures_are_those_computed_by_hand(references: str, count: int | None, tokens: int) -> None:
    logprob, perplexity = likelihood(ToySystem(), ITEMS, references=references, chunk=2).rows
    assert logprob.estimate.value == pytest.approx(by_hand(count), abs=1e-12)
    assert perplexity.estimate.value == pytest.approx(math.exp(-by_hand(count)), abs=1e-9)
    assert perplexity.estimate.low == pytest.approx(math.exp(-logprob.estimate.high))
    assert logprob.counts["tokens"] == tokens
    assert logprob.estimate.n == 3


def test_notes_and_impossible_references_are_counted() -> None:
    class Noting(ToySystem):
        def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
            return [
                Scored(s.text, s.tokens, s.logprobs, ("changed", "truncated")) for s in super().score(pairs)
            ]

    items = [*ITEMS, ParallelSentence("4", "a", ("xyz", "a")), ParallelSentence("5", "a", ("x",))]
    (row, _) = likelihood(Noting(), items).rows
    assert row.counts == {"tokens": 22, "infinite": 2, "truncated": 9, "changed": 9, "skipped": 0}
    assert row.estimate.n == 4


def test_no_interval_holds_a_probability_above_one() -> None:
    class Sure(ToySystem):
        def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
            logs = iter((-0.01, -1.0))
            return [Scored(str(target), ("x",), (next(logs),)) for _, target in pairs]

    logprob, perplexity = likelihood(Sure(), ITEMS[1:], references="first").rows
    assert logprob.estimate.low < -1 < logprob.estimate.high == 0
    assert perplexity.estimate.low == 1


def test_if_all_is_impossible_there_is_no_figure() -> None:
    (row, _) = likelihood(ToySystem(), [ParallelSentence("1", "a", ("x",))]).rows
    assert row.as_json()["value"] is None
    assert (row.estimate.n, row.counts["infinite"]) == (0, 1)


def test_a_system_that_gives_no_scores_is_told() -> None:
    class Silent(ToySystem):
        def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
            return [Scored(str(target)) for _, target in pairs]

    with pytest.raises(BabelscopeError, match="toy gave no log-probabilities for 'ab'"):
        likelihood(Silent(), ITEMS)
