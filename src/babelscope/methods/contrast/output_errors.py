"""Errors in a system's own translations, beside those that forced choice reports."""

from __future__ import annotations

from collections.abc import Sequence

from babelscope.core.results import Record, Row
from babelscope.core.ties import Ties
from babelscope.methods.contrast.figures import tie_credits
from babelscope.methods.errors.figures import generated_error_rows
from babelscope.methods.grouping import by_phenomenon, sources
from babelscope.stats.intervals import clustered_proportion


def output_error_rows(records: Sequence[Record], *, ties: Ties, controls: Sequence[str]) -> list[Row]:
    """`forced_errors` and `generated_errors` for each phenomenon and reference kind."""
    known = [record for record in records if "detected" in record]
    generated = generated_error_rows(known, controls=controls)
    rows = []
    for members, row in zip(by_phenomenon(known).values(), generated, strict=True):
        wrong = [1.0 - worth for worth in tie_credits(members, ties)]
        forced = clustered_proportion(wrong, sources(members))
        labels = {name: value for name, value in row.labels.items() if name != "note"}
        rows += [Row("forced_errors", forced, labels), row]
    return rows
