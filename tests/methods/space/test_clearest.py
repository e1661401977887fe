"""Which sentence shows best that a mode is no translation."""

from __future__ import annotations

from babelscope.core.results import Record
from babelscope.methods.space.clearest import modes_by_length, unproven
from tests.support.cells import group_of

BEAM = "ein Haus steht hier"


def record(
    text: str, logprob: float, *, beam: float = -9.0, bound: float | None = None, source: str = "a house"
) -> Record:
    found = [{"text": text, "logprob": logprob}]
    top = {"found": found, "exact": bound is None, "bound": bound}
    return {"source": source, "top": top, "best": {"text": BEAM, "logprob": beam}}


def test_empty_modes_are_first_then_short_ones_and_of_equals_those_of_short_sources() -> None:
    group = group_of(
        {
            "one": [record("ein Haus", -3.0), record("", -8.0, source="a house here"), record(BEAM, -9.0)],
            "two": [record("", -5.0), record("ein", -6.0)],
        }
    )
    found = [
        (system, each["top"]["found"][0]["text"], each["top"]["found"][0]["logprob"])
        for system, each in modes_by_length(group)
    ]
    assert found == [("two", "", -5.0), ("one", "", -8.0), ("two", "ein", -6.0), ("one", "ein Haus", -3.0)]


def test_what_is_not_proven_is_not_shown_but_counted() -> None:
    open_, proven = record("", -5.0, bound=-4.0), record("", -5.0, bound=-6.0)
    assert modes_by_length(group_of({"one": [open_]})) == []
    assert modes_by_length(group_of({"one": [open_, proven]})) == [("one", proven)]
    assert unproven(group_of({"one": [open_, proven], "two": [open_]})) == 2


def test_unknown_words_alone_are_no_empty_mode() -> None:
    unknown = record("", -5.0)
    unknown["top"]["found"][0]["unknown"] = 1
    empty = record("", -8.5)
    assert [each for _, each in modes_by_length(group_of({"one": [unknown, empty]}))] == [empty, unknown]
