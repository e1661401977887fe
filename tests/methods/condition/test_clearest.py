"""Which item shows best what one system lost."""

from __future__ import annotations

from babelscope.core.results import Record
from babelscope.methods.condition.clearest import decided_by_all, lost_in
from tests.support.cells import group_of


def record(number: int, margin: float, noise: float = 0.1) -> Record:
    verdict = "undecided" if abs(margin) <= noise else "correct" if margin > 0 else "wrong"
    return {
        "id": f"item-{number}",
        "skipped": None,
        "verdict": verdict,
        "correct_logprob": -1.0,
        "incorrect_logprob": -1.0 - margin,
    }


def records(*margins: float) -> list[Record]:
    return [record(number, margin) for number, margin in enumerate(margins)]


GROUP = group_of(
    {
        "teacher": records(1.0, 0.5, 2.0, -1.0, 0.05, 1.0),
        "control": records(0.2, 0.9, 0.3, 1.0, 1.0, -1.0),
        "student": records(-0.5, -0.6, 1.0, -2.0, -3.0, -2.0),
    }
)


def test_the_largest_gap_to_the_least_sure_keeper_is_first() -> None:
    found = lost_in(GROUP, "student", ["teacher", "control"])
    # Item 2 is right in all, 3 wrong in the teacher, 4 undecided in the teacher, 5 wrong in the control.
    assert [own["student"]["id"] for own in found] == ["item-1", "item-0"]
    assert set(found[0]) == {"teacher", "control", "student"}


def test_other_keepers_keep_other_items() -> None:
    assert [own["student"]["id"] for own in lost_in(GROUP, "student", ["control"])] == [
        "item-4",
        "item-3",
        "item-1",
        "item-0",
    ]
    assert not lost_in(GROUP, "teacher", ["student"])


def test_only_items_with_all_verdicts_are_counted() -> None:
    assert decided_by_all(GROUP, ["student", "control"]) == 6
    assert decided_by_all(GROUP, ["student", "teacher"]) == 5
    skipped = [{**each, "skipped": "no cue"} for each in records(-1.0)]
    assert decided_by_all(group_of({"one": skipped}), ["one"]) == 0
