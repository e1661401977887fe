"""Challenge sets: what settings are taken, and how a system is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from babelscope.core.answers import Fingerprint, Scored
from babelscope.methods.base import set_up
from babelscope.runs.judging import challenge
from babelscope.testsets import ParallelSentence
from babelscope.util.errors import BabelscopeError

FEW: dict[str, Any] = {"matched_corpora": 2, "length_corpora": 4, "metrics": ("chrf",)}


class Same:
    """Translates everything alike, but the fourth sentence of a call with nothing, and remembers its calls."""

    def __init__(self, *, asked_as_a_whole: bool = False) -> None:
        self.name, self.fingerprint = "same", Fingerprint("same", "same")
        self.asked_as_a_whole = asked_as_a_whole
        self.calls: list[int] = []

    def translate(self, sources: Sequence[str], **_options: Any) -> list[list[Scored]]:
        self.calls.append(len(sources))
        return [
            [Scored(" " if number == 3 else "the old man", notes=("unfinished",) if number % 2 else ())]
            for number in range(len(sources))
        ]


def items(count: int) -> list[ParallelSentence]:
    return [
        ParallelSentence(str(n), f"satz nummer {n}", ("the man",), extra={"dependencies": []})
        for n in range(count)
    ]


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("beam", 1),
        ("matched_corpora", 2),
        ("length_tolerance", 0),
        ("length_corpora", 4),
        ("distances", (0,)),
        ("length_sizes", (1,)),
    ],
)
def test_settings_go_down_to_the_least_that_has_a_meaning(name: str, least: Any) -> None:
    assert getattr(set_up("challenge", {name: least}).settings, name) == least
    below = (least[0] - 1,) if isinstance(least, tuple) else least - 1
    with pytest.raises(BabelscopeError, match=f"challenge: {name}"):
        set_up("challenge", {name: below})


def test_what_is_not_chosen_is_part_of_the_signature_and_stays_as_it_is() -> None:
    """Figures published without a word about these are compared with others made so."""
    assert set_up("challenge", {}).config["settings"] == {
        "protocol": "checked",
        "metrics": ["bleu", "chrf", "ribes"],
        "distances": [0, 1, 2, 3, 4, 5, 6],
        "order_distances": [0, 5, 10, 15, 20],
        "exact": False,
        "max_sentences": None,
        "verdict_from": 100,
        "controls": "others",
        "beam": 5,
        "matched_corpora": 100,
        "length_tolerance": 1,
        "length_corpora": 1000,
        "length_sizes": [1000, 100, 10],
        "tokenize": "",
        "source_tokenize": "",
        "target_parser": None,
        "target_language": None,
    }


def test_the_same_value_twice_is_refused() -> None:
    with pytest.raises(BabelscopeError, match="each may be given once"):
        set_up("challenge", {"distances": (1, 2, 1)})


def test_all_of_many_sentences_are_judged_and_notes_counted() -> None:
    found = challenge(Same(), items(205), chunk=205, **FEW)
    assert [record["source"] for record in found.records] == [item.source for item in items(205)]
    (row,) = (row for row in found.rows if row.name == "chrf")
    assert (row.estimate.n, row.labels["phenomenon"]) == (205, "all")
    assert [row.counts[name] for name in ("empty", "unfinished", "truncated")] == [1, 102, 0]


def test_a_system_that_says_so_is_asked_as_a_whole() -> None:
    whole, parts, cached = Same(asked_as_a_whole=True), Same(asked_as_a_whole=True), Same()
    challenge(whole, items(130), **FEW)
    challenge(parts, items(130), chunk=65, **FEW)
    challenge(cached, items(130), **FEW)
    assert (whole.calls, parts.calls, cached.calls) == ([130], [65, 65], [128, 2])
