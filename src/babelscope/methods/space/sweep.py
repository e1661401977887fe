"""Beam search by the size of its beam: quality, search errors, log-probability and length (`beams`)."""

from __future__ import annotations

from collections.abc import Iterator

from babelscope.core.results import Record, Row
from babelscope.methods.space.lengths import length_of, ratio_row
from babelscope.methods.space.regions import is_empty
from babelscope.methods.space.sentences import Labels, SystemRecords


def sweep_rows(cell: SystemRecords) -> Iterator[Row]:
    """Rows for each size of the beam, over the same sentences at every size."""
    sizes = cell.settings.beams
    own = [record for record in cell.records if record.get("beams")]
    cell = SystemRecords(own, cell.settings)
    answers = {size: [_of_size(record, size) for record in own] for size in sizes}
    scored = [
        all(each["logprob"] is not None for each in some) for some in zip(*answers.values(), strict=True)
    ]
    for size, found in answers.items():
        labels: Labels = {"beam": size}
        counts = {"unfinished": sum("unfinished" in each.get("notes", ()) for each in found)}
        yield cell.mean("beam_quality", [each["quality"] for each in found], labels, counts)
        logprobs = [each["logprob"] if known else None for each, known in zip(found, scored, strict=True)]
        yield cell.mean("beam_logprob", logprobs, labels, counts)
        yield cell.mean("beam_empty", [float(is_empty(each)) for each in found], labels, counts, share=True)
        lengths = [length_of(each["text"]) for each in found]
        yield ratio_row(cell, "beam_length_ratio", lengths, labels, counts)
        if cell.settings.k:
            yield from _error_rows(cell, found, labels)


def _error_rows(cell: SystemRecords, found: list[Record], labels: Labels) -> Iterator[Row]:
    """How often a beam of this size misses the exact mode, and by how many nats where it does."""
    kept = cell.settings.unresolved == "keep"
    gaps = [
        each["below_known"] if kept and each["missed_by"] is None else each["missed_by"] for each in found
    ]
    row = cell.share(
        "beam_search_error", [None if gap is None else gap > 0 for gap in gaps], labels, "missed"
    )
    unproven = {"unresolved": sum(each["missed_by"] is None for each in found)}
    yield Row(row.name, row.estimate, row.labels, {**row.counts, **unproven})
    missed = [(record, gap) for record, gap in zip(cell.records, gaps, strict=True) if gap]
    those = SystemRecords([record for record, _ in missed], cell.settings)
    yield those.mean("beam_search_gap", [gap for _, gap in missed], labels)


def _of_size(record: Record, size: int) -> Record:
    found: Record = next(each for each in record["beams"] if each["beam"] == size)
    return found
