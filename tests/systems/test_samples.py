"""Asking systems for samples: what comes back, and what is remembered of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from babelscope import open_system
from babelscope.core.answers import Drawing, Samples, Scored, capabilities
from babelscope.systems.asking import ask_sample
from babelscope.systems.cached import cached
from babelscope.util.errors import BabelscopeError
from tests.support.models import SOURCES, spec
from tests.support.toys import ToySystem

Build = Callable[..., Path]


@pytest.mark.parametrize("family", ["marian", "nllb", "t5"])
def test_samples_are_answers_like_any_other(checkpoint: Build, family: str) -> None:
    system = open_system(spec(family, checkpoint(family), max_length=6))
    assert isinstance(system, Samples)
    assert "sample" in capabilities(system)
    answers = ask_sample(system, [*SOURCES[:2], SOURCES[0]], n=20, seed=1)
    assert answers[0] == answers[2] != answers[1]
    flat = [each for drawn in answers[:2] for each in drawn]
    sources = [source for source in SOURCES[:2] for _ in range(20)]
    for each, right in zip(flat, system.score(list(zip(sources, flat, strict=True))), strict=True):
        assert each.tokens == right.tokens
        assert each.logprobs == pytest.approx(right.logprobs, abs=1e-4)
        ended = each.tokens[-1] == system.tokens.tokens([system.vocabulary.eos])[0]
        assert ("unfinished" in each.notes) == (not ended)
        assert len(each.tokens) == 6 or ended
    assert any("unfinished" in each.notes for each in flat), "six tokens are too few for some"


def test_drawing_is_heeded(checkpoint: Build) -> None:
    system = open_system(spec("marian", checkpoint("marian")))
    short = ask_sample(system, SOURCES[:1], n=10, seed=1, drawing=Drawing(max_length=3))[0]
    assert max(len(each.tokens) for each in short) == 3
    assert ask_sample(system, SOURCES[:1], n=10, seed=1)[0] != short
    # Whoever draws from the best token only has no choice.
    greedy = ask_sample(system, SOURCES[:1], n=10, seed=1, drawing=Drawing(top_k=1, max_length=8))[0]
    assert len({each.tokens for each in greedy}) == 1
    with pytest.raises(BabelscopeError, match="at least one sample must be drawn, not 0"):
        system.sample(SOURCES[:1], n=0, seed=1)


def test_a_source_that_was_cut_is_noted(checkpoint: Build) -> None:
    system = open_system(spec("marian", checkpoint("marian"), truncate="yes", max_length=4))
    [drawn] = ask_sample(system, [" ".join(SOURCES) * 3], n=3, seed=1)
    assert all("truncated" in each.notes for each in drawn)


def test_different_samples_come_with_their_threshold(checkpoint: Build) -> None:
    system = open_system(spec("marian", checkpoint("marian")))
    for drawn, threshold in system.sample_distinct(SOURCES[:2], n=12, seed=1, max_length=5):
        assert len({each.tokens for each in drawn}) == 12
        assert math.isfinite(threshold)


def test_a_system_that_cannot_is_not_asked_for_a_temperature() -> None:
    toy = ToySystem()
    right = toy.sample(["a"], n=3, seed=1)
    assert ask_sample(toy, ["a"], n=3, seed=1, drawing=Drawing()) == right
    with pytest.raises(BabelscopeError, match="toy draws from its whole distribution only"):
        ask_sample(toy, ["a"], n=3, seed=1, drawing=Drawing(temperature=0.5))


def test_what_is_remembered_was_drawn_in_the_same_way(tmp_path: Path) -> None:
    asked: list[Drawing | None] = []

    class Warm(ToySystem):
        def sample(  # type: ignore[override]
            self, sources: Sequence[str], *, n: int, seed: int, drawing: Drawing | None = None
        ) -> list[list[Scored]]:
            asked.append(drawing)
            return super().sample(sources, n=n, seed=seed + 1000 * (drawing is not None))

    system = cached(Warm(), tmp_path / "answers.sqlite")
    plain = ask_sample(system, ["a"], n=4, seed=1)
    warm = ask_sample(system, ["a"], n=4, seed=1, drawing=Drawing(temperature=2))
    assert plain != warm
    for _ in range(2):
        assert ask_sample(system, ["a"], n=4, seed=1, drawing=Drawing(temperature=2)) == warm
        assert ask_sample(system, ["a"], n=4, seed=1, drawing=Drawing()) == plain
    ask_sample(system, ["a"], n=4, seed=1, drawing=Drawing(temperature=2, top_k=3))
    assert asked == [None, Drawing(temperature=2), Drawing(temperature=2, top_k=3)]
