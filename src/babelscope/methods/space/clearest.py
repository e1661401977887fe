"""Which sentences show best that a model's most probable translation is no translation."""

from __future__ import annotations

from babelscope.core.columns import Group
from babelscope.core.results import Record
from babelscope.methods.space.regions import is_empty, is_proven


def modes_by_length(group: Group) -> list[tuple[str, Record]]:
    """(system, record) by how short the mode is, empty ones first; each is proven, and not beam search's translation.

    Of equally short ones, that of the shortest source is first: it is the easiest to read, and to translate.
    """
    found = [
        (column.name, record)
        for column in group.columns
        for record in column.cell.records
        if record["top"]["found"] and is_proven(record, 1) and _ahead(record) > 0
    ]
    return sorted(found, key=lambda each: (_share_of_beam(each[1]), len(each[1]["source"])))


def unproven(group: Group) -> int:
    """How many modes, over all systems, no search could prove within its budget."""
    return sum(not is_proven(record, 1) for column in group.columns for record in column.cell.records)


def _share_of_beam(record: Record) -> float:
    """Words of the mode for each word of beam search's translation; 0 if it is empty."""
    mode, beam = record["top"]["found"][0], record["best"]
    words = [
        max(1, len(each["text"].split())) for each in (mode, beam)
    ]  # of unknown words, nothing is written
    return 0.0 if is_empty(mode) else words[0] / words[1]


def _ahead(record: Record) -> float:
    """Nats by which the mode is more probable than beam search's translation; 0 where that is not known."""
    mode, beam = record["top"]["found"][0]["logprob"], (record["best"] or {}).get("logprob")
    return 0.0 if mode is None or beam is None else float(mode - beam)
