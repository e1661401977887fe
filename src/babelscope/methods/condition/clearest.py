"""Which items show best what one system lost and others kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from babelscope.core.columns import Group
from babelscope.core.results import Record
from babelscope.methods.condition.figures import is_decided, margin_of_record


def lost_in(group: Group, system: str, kept_by: Iterable[str]) -> list[Mapping[str, Record]]:
    """Records (system -> record) of items that `system` has wrong and all of `kept_by` right, the clearest first.

    The clearest is the one with the largest gap between the margin of the lost translation and the smallest margin of
    those that kept the meaning. Verdicts within the evaluator's noise are none.
    """
    keepers = list(kept_by)
    records = _by_item(group, [system, *keepers])
    found = [
        own
        for own in records
        if own[system]["verdict"] == "wrong" and all(own[name]["verdict"] == "correct" for name in keepers)
    ]

    def gap(own: Mapping[str, Record]) -> float:
        kept = min(margin_of_record(own[name]) for name in keepers)
        return kept - margin_of_record(own[system])

    return sorted(found, key=gap, reverse=True)


def decided_by_all(group: Group, systems: Iterable[str]) -> int:
    """How many items have a verdict on each of these systems."""
    return len(_by_item(group, list(systems)))


def _by_item(group: Group, systems: list[str]) -> list[Mapping[str, Record]]:
    """The records of items that are decided for all of these systems."""
    known = {
        column.name: {record["id"]: record for record in column.cell.records if is_decided(record)}
        for column in group.columns
        if column.name in systems
    }
    shared = [item for item in known[systems[0]] if all(item in known[name] for name in systems)]
    return [{name: known[name][item] for name in systems} for item in shared]
