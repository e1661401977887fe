"""Asking a system: what breaks its contract is refused, and what is refused is told with its place."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from babelscope.core.answers import Scored, Target
from babelscope.systems.asking import (
    ask_sample,
    ask_score,
    ask_translate,
    places,
    scored_as_json,
    scored_from_json,
)
from babelscope.util.errors import BabelscopeError, SystemFailure
from toys import ToySystem


class Careless(ToySystem):
    """Forgets the last answer, or what belongs into it."""

    def translate(self, sources: Sequence[str], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:
        return [[] for _ in super().translate(sources, beam=beam, n_best=n_best)]

    def score(self, pairs: Sequence[tuple[str, Target]]) -> list[Scored]:
        return super().score(pairs)[:-1]

    def sample(self, sources: Sequence[str], *, n: int, seed: int) -> list[list[Scored]]:
        return [drawn[:-1] for drawn in super().sample(sources, n=n, seed=seed)]


def test_answers_that_are_missing_are_noticed() -> None:
    with pytest.raises(BabelscopeError, match="toy gave no translation of 'a'"):
        ask_translate(Careless(), ["a"])
    with pytest.raises(BabelscopeError, match="toy gave 1 answers to 2 questions"):
        ask_score(Careless(), [("a", "b"), ("a", "c")])
    with pytest.raises(BabelscopeError, match="toy gave 2 answers to 3 questions"):
        ask_sample(Careless(), ["a"], n=3, seed=0)


def test_good_answers_pass_as_they_are() -> None:
    toy = ToySystem()
    assert ask_translate(toy, ["a", "b"], n_best=2) == toy.translate(["a", "b"], n_best=2)
    assert ask_score(toy, [("a", "")]) == toy.score([("a", "")])
    assert ask_sample(toy, ["a"], n=3, seed=1) == toy.sample(["a"], n=3, seed=1)


def test_answers_survive_json() -> None:
    for answer in (Scored("a"), Scored("a\u2028", ("a", "z"), (-0.1, -math.inf), ("changed", "truncated"))):
        assert scored_from_json(scored_as_json(answer)) == answer


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (BabelscopeError("source 3 is empty"), "line 13 is empty"),
        (BabelscopeError("target 12 is long: source 1"), "line 22 is long: source 1"),
        (BabelscopeError("sources 3 are empty"), "sources 3 are empty"),
        (BabelscopeError("no source 3 "), "no source 3 "),
        (SystemFailure("source 3 timed out"), "source 3 timed out"),
    ],
)
def test_only_the_place_of_a_refused_text_is_changed(error: BabelscopeError, told: str) -> None:
    with pytest.raises(BabelscopeError) as caught, places(lambda _, number: f"line {number + 10}"):
        raise error
    assert str(caught.value) == told
    assert type(caught.value) is type(error)
