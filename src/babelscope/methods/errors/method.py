"""Errors in a system's own translations, found by detectors and corrected for what these miss."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from babelscope.core.notes import told_counts
from babelscope.core.results import Record, Row
from babelscope.methods.base import Method
from babelscope.methods.errors.ask import ask
from babelscope.methods.errors.figures import generated_error_rows, system_differences
from babelscope.methods.errors.judge import judge
from babelscope.methods.errors.settings import ErrorsSettings, check, identity
from babelscope.testsets.items import MinimalPair, ParallelSentence


def summarise(records: Sequence[Record], settings: ErrorsSettings, _seed: int) -> list[Row]:
    """`generated_errors` by error type, and by kind of reference where there are several."""
    notes = Counter(note for record in records for note in record["best"]["notes"])
    told = {
        "empty": sum(not record["best"]["text"].strip() for record in records),
        **{note: notes[note] for note in ("truncated", "unfinished")},
        **told_counts(notes),
    }
    return [
        Row(row.name, row.estimate, row.labels, {**row.counts, **told})
        for row in generated_error_rows(records, controls=settings.controls)
    ]


METHOD = Method(
    name="errors",
    summary="errors that detectors find in a system's own translations, corrected for what detectors miss",
    kind=MinimalPair,
    also=(ParallelSentence,),
    settings=ErrorsSettings,
    ask=ask,
    judge=judge,
    summarise=summarise,
    asks=frozenset({"beam"}),
    identity=identity,
    check=check,
    across=system_differences,
    measure_of=lambda row: row.name,
    view="babelscope.methods.errors.view:VIEW",
    queue="babelscope.methods.errors.queue:queue",
)
