"""Hypothesis space: what settings are taken, and when beam search is known to have missed the mode."""

from __future__ import annotations

import math
from typing import Any

import pytest

from babelscope.core.answers import Budget, Note, Scored, TopK
from babelscope.methods.base import set_up
from babelscope.methods.space.ask import _budget, _missed_by, _proven, _samples
from babelscope.methods.space.settings import SpaceSettings
from babelscope.util.errors import BabelscopeError


def scored(text: str, logprob: float, *notes: Note) -> Scored:
    return Scored(text, (*text, "</s>"), (*[0.0] * len(text), logprob), notes)


def top(*found: Scored, exact: bool, bound: float) -> TopK:
    return TopK(found, exact=exact, bound=bound, mass=0.5, expansions=9, minimum=5)


MODE, NEXT, LAST = scored("ab", -1.0), scored("b", -1.5), scored("a", -2.0)
CUT = scored("bbb", -0.5, "unfinished")
NONE = {"beam": None, "beam-list": None}


@pytest.mark.parametrize(
    ("search", "best", "wide", "missed"),
    [
        (top(MODE, NEXT, exact=True, bound=-1.5), MODE, [MODE, LAST], {"beam": 0.0, "beam-list": 0.0}),
        (top(MODE, NEXT, exact=True, bound=-1.5), LAST, [NEXT, LAST], {"beam": 1.0, "beam-list": 0.5}),
        # The budget ended, but what is unseen is at most as probable as the mode.
        (top(MODE, exact=False, bound=-1.25), LAST, [MODE], {"beam": 1.0, "beam-list": 0.0}),
        (top(MODE, exact=False, bound=-1.0), LAST, [MODE], {"beam": 1.0, "beam-list": 0.0}),
        (top(MODE, exact=False, bound=-0.75), LAST, [MODE], NONE),
        (top(exact=False, bound=-0.75), LAST, [MODE], NONE),
        (top(exact=True, bound=-math.inf), LAST, [MODE], NONE),
        # What hit the length limit is no hypothesis.
        (top(MODE, exact=True, bound=-1.0), CUT, [LAST], {"beam": None, "beam-list": 1.0}),
        # By rounding, what was generated may seem more probable than the mode.
        (top(MODE, exact=True, bound=-1.0), scored("x", -0.875), [LAST], {"beam": 0.0, "beam-list": 1.0}),
    ],
)  # fmt: skip
def test_the_mode_is_missed_only_where_it_is_proven(
    search: TopK, best: Scored, wide: list[Scored], missed: dict[str, float | None]
) -> None:
    assert _missed_by(_proven(search), [best], wide) == missed


def test_samples_are_told_apart_by_their_tokens() -> None:
    other = Scored("ab", ("ab", "</s>"), (-0.5, -3.0))  # the same text in other tokens
    found = _samples([NEXT, MODE, NEXT, other])
    assert [(each["text"], each["logprob"]) for each in found["hypotheses"]] == [
        ("b", -1.5), ("ab", -1.0), ("ab", -3.5)
    ]  # fmt: skip
    assert found["drawn"] == [0, 1, 0, 2]


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("k", 0),
        ("samples", 0),
        ("beam", 1),
        ("mbr_samples", 1),
        ("budget_expansions", 1),
        ("budget_bytes", 1),
    ],
)
def test_settings_go_down_to_the_least_that_has_a_meaning(name: str, least: int) -> None:
    assert getattr(set_up("space", {name: least}).settings, name) == least
    with pytest.raises(BabelscopeError, match=f"space: {name}"):
        set_up("space", {name: least - 1})


@pytest.mark.parametrize(
    ("given", "budget"),
    [
        ({}, None),
        ({"budget_seconds": 0.5}, Budget(seconds=0.5)),
        ({"budget_expansions": 7, "budget_bytes": 9}, Budget(expansions=7, bytes=9)),
    ],
)
def test_a_search_may_spend_what_is_said(given: dict[str, Any], budget: Budget | None) -> None:
    assert _budget(SpaceSettings(**given)) == budget
    with pytest.raises(BabelscopeError, match="space: budget_seconds"):
        set_up("space", {"budget_seconds": 0})


def test_what_is_not_chosen_is_part_of_the_signature_and_stays_as_it_is() -> None:
    """Figures published without a word about these are compared with others made so."""
    assert set_up("space", {}).config["settings"] == {
        "k": 10,
        "samples": 200,
        "metric": ["chrf"],
        "normalise": "bound",
        "beam": 5,
        "mbr_samples": 100,
        "unresolved": "keep",
        "budget_expansions": None,
        "budget_seconds": None,
        "budget_bytes": None,
        "curves": False,
        "temperature": 1.0,
        "top_p": 1.0,
        "epsilon": 0.0,
        "tokenize": "",
        "gains": "linear",
        "ties": "shared",
        "beams": [],
        "confidence": False,
    }
