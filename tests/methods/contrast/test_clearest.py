"""Which pair shows best that forced choice reports what free output does not have."""

from __future__ import annotations

from babelscope.core.results import Record
from babelscope.methods.contrast.clearest import detected_in_output, false_alarms
from tests.support.cells import group_of

SETTINGS = {"controls": ["placeholder_ding"]}


def record(number: int, phenomenon: str, margin: float, *, detected: bool | None = False) -> Record:
    found = {} if detected is None else {"detected": {"best": detected}}
    return {
        "id": f"item-{number}",
        "phenomenon": phenomenon,
        "verdict": "wrong" if margin < 0 else "correct",
        "scores": {"correct": -1.0, "contrastive": [-1.0 - margin, -9.0]},
        "best": {"text": "x"},
        **found,
    }


RECORDS = [
    record(0, "np_agreement", -3.0),
    record(1, "placeholder_ding", -0.1),
    record(2, "placeholder_ding", -0.4),
    record(3, "np_agreement", -5.0, detected=True),
    record(4, "np_agreement", 2.0),
    record(5, "np_agreement", -4.0, detected=None),
]


def test_controls_are_first_then_the_largest_margin() -> None:
    found = false_alarms(group_of({"one": RECORDS}, SETTINGS))
    assert [each["id"] for _, each in found] == ["item-2", "item-1", "item-0"]
    without_controls = false_alarms(group_of({"one": RECORDS}))
    assert [each["id"] for _, each in without_controls] == ["item-0", "item-2", "item-1"]


def test_who_knows_better_may_say_whether_free_output_has_the_error() -> None:
    found = false_alarms(group_of({"one": RECORDS}, SETTINGS), lambda each: each["id"] != "item-3")
    assert [(system, each["id"]) for system, each in found] == [("one", "item-3")]
    assert false_alarms(group_of({"one": RECORDS}), lambda _: None) == []


def test_what_nobody_looked_for_is_not_known() -> None:
    assert detected_in_output(RECORDS[5]) is None
    assert detected_in_output(RECORDS[3]) is True
    assert detected_in_output({}) is None
