"""`llm:` as an open model: both forward passes agree, and every method works on it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import babelscope as bs
from babelscope.core.answers import Budget
from babelscope.testsets.items import AmbiguousSource, MinimalPair, ParallelSentence
from tests.support.models import build_causal

SOURCES = ["the cat sleeps", "a dog", "the cat sees a dog"]
SETTINGS = "source=English&target=German"


@pytest.fixture(scope="module", params=["plain", "chat"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_causal(tmp_path_factory.mktemp("llm") / "model", chat=request.param == "chat")


def opened(folder: Path, more: str = "", *, longest: int = 12) -> Any:
    return bs.open_system(f"llm:{folder}?{SETTINGS}&max_length={longest}{more}")


def test_both_forward_passes_say_the_same(folder: Path) -> None:
    lean, plain = opened(folder), opened(folder, "&forward=transformers")
    assert lean.fingerprint != plain.fingerprint
    pairs = [(source, target) for source in SOURCES for target in ("die Katze", "die Katzen", "")]
    for ours, theirs in zip(lean.score(pairs), plain.score(pairs), strict=True):
        assert ours.tokens == theirs.tokens
        assert ours.logprobs == pytest.approx(theirs.logprobs, abs=1e-4)
    ours, theirs = (system.translate(SOURCES, beam=3, n_best=3) for system in (lean, plain))
    assert [[each.text for each in group] for group in ours] == [
        [each.text for each in group] for group in theirs
    ]
    ours, theirs = (system.sample(SOURCES, n=5, seed=3) for system in (lean, plain))
    assert [[each.tokens for each in group] for group in ours] == [
        [each.tokens for each in group] for group in theirs
    ]


def test_what_is_sampled_and_found_has_the_score_that_it_is_given(folder: Path) -> None:
    system = opened(folder)
    drawn = system.sample(SOURCES, n=4, seed=1)
    found = [answer.found for answer in system.top_k(SOURCES, k=2, budget=Budget(expansions=20))]
    for source, group in zip(SOURCES * 2, [*drawn, *found], strict=True):
        ended = [each for each in group if "unfinished" not in each.notes]
        again = system.score([(source, each) for each in ended])
        for one, other in zip(ended, again, strict=True):
            assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)
            assert one.total <= 0


def test_the_mode_is_more_probable_than_beam_and_samples(folder: Path) -> None:
    system = opened(folder, "&end=eos", longest=6)
    for source, answer in zip(SOURCES, system.top_k(SOURCES, k=1), strict=True):
        assert answer.exact
        rivals = [*system.translate([source], beam=4)[0], *system.sample([source], n=20, seed=1)[0]]
        ended = [each.total for each in rivals if "unfinished" not in each.notes]
        assert answer.found[0].total >= max(ended, default=-math.inf) - 1e-4


def test_every_method_works_on_it(folder: Path) -> None:
    system = opened(folder)
    parallel = [ParallelSentence(str(n), source, ("die Katze",)) for n, source in enumerate(SOURCES)]
    found = bs.space(system, parallel, k=2, samples=3, mbr_samples=3, budget_expansions=30)
    assert {"empty_mode", "krg", "kqrg"} <= {row.name for row in found.rows}
    pairs = [MinimalPair("1", "the cat", "die Katze", ("das Katze",), "np_agreement", "human")]
    assert bs.contrast(system, pairs, detect_in_output="no").records[0]["verdict"] in ("correct", "wrong")
    cued = AmbiguousSource("1", "the cat", ("the young cat",), ("the old cat",), "c", translation="die Katze")
    result = bs.condition(None, system, [cued])
    assert result.records[0]["under_correct"][0]["total"] < 0
    assert bs.likelihood(system, parallel).rows[0].estimate.value < 0
