"""Which pairs show best that forced choice reports an error that free output does not have."""

from __future__ import annotations

from collections.abc import Callable

from babelscope.core.columns import Group
from babelscope.core.results import Record
from babelscope.methods.contrast.view import margin


def detected_in_output(record: Record) -> bool | None:
    """Whether a detector finds the pair's error in the system's own translation; None if nobody looked."""
    found = record.get("detected", {}).get("best")
    return None if found is None else bool(found)


def false_alarms(
    group: Group, has_error: Callable[[Record], bool | None] = detected_in_output
) -> list[tuple[str, Record]]:
    """(system, record) of pairs with the error preferred, and not in the system's own translation; clearest first.

    Controls, which no system is known to get wrong, are before all others; then the largest margin is first.
    """
    found = [
        (
            record["phenomenon"] not in column.cell.settings.get("controls", ()),
            margin(record),
            column.name,
            record,
        )
        for column in group.columns
        for record in column.cell.records
        if record["verdict"] == "wrong" and "best" in record and has_error(record) is False
    ]
    ranked = sorted(found, key=lambda each: (each[0], each[1] if each[1] is not None else 0.0))
    return [(system, record) for _, _, system, record in ranked]
