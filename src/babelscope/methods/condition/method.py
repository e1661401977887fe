"""Contrastive conditioning: decides by cued sources which sense a translation has (Vamvas and Sennrich 2021)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from babelscope.core.comparable import Comparable
from babelscope.core.notes import told_counts
from babelscope.core.results import Record, Row
from babelscope.core.ties import credit
from babelscope.methods.base import Method
from babelscope.methods.condition.ask import ask, check_system
from babelscope.methods.condition.classes import class_rows
from babelscope.methods.condition.correction import corrected_row
from babelscope.methods.condition.figures import accuracy_rows, undecided_rows
from babelscope.methods.condition.judge import IMPOSSIBLE, NO_CUE, complete, judge
from babelscope.methods.condition.known import ask_known, sample
from babelscope.methods.condition.preflight import preflight_of, preflight_rows
from babelscope.methods.condition.settings import ConditionSettings
from babelscope.testsets.items import AmbiguousSource
from babelscope.testsets.mucow import NO_CATEGORY


def summarise(records: Sequence[Record], settings: ConditionSettings, _seed: int) -> list[Row]:
    """Accuracy by category, weighted and unweighted, corrected or with what is undecided; the evaluator's test."""
    if any("noise" not in record for record in records):
        records = complete(records, settings)
    rows = accuracy_rows(records, settings.tied_weights)
    tested = preflight_of(records, settings)
    if settings.protocol == "strict":
        rows += undecided_rows(records)
    if settings.protocol == "checked" and tested.passed == "yes":
        rows.append(corrected_row(records, tested.truths))
    rows += class_rows(records)
    rows += preflight_rows(tested, str(records[0]["evaluator"]) if records else "")
    notes = Counter(note for record in records for note in record["notes"])
    counts = {
        "no_cue": sum(record["skipped"] == NO_CUE for record in records),
        "impossible": sum(record["skipped"] == IMPOSSIBLE for record in records),
        "given": sum(record["given"] for record in records),
        "empty": sum(record["translation"] is not None and not record["translation"] for record in records),
        **{note: notes[note] for note in ("truncated", "changed", "unfinished")},
        **told_counts(notes),
    }
    return [
        Row(row.name, row.estimate, row.labels, {**row.counts, **counts})
        if row.name in ("minimum", "all")
        else row
        for row in rows
    ]


def comparable(settings: ConditionSettings) -> list[Comparable]:
    """Weighted accuracy of the worst category; unweighted accuracy, over all and by category."""
    worth = dict(credit(settings.ties))
    return [
        Comparable(
            "verdict",
            of="minimum",
            worth=worth,
            worst_of="category",
            weight="weight",
            unranked=(NO_CATEGORY,),
        ),
        Comparable("verdict", of="all", worth=worth),
        Comparable("verdict", of="{category} unweighted", by=("category",), worth=worth),
    ]


METHOD = Method(
    name="condition",
    summary="accuracy of disambiguation, judged by an evaluator under sources with cues",
    kind=AmbiguousSource,
    settings=ConditionSettings,
    ask=ask,
    judge=judge,
    summarise=summarise,
    sample=sample,
    ask_more=ask_known,
    asks=frozenset({"translations", "beam", "preflight"}),
    needs={"system": ("translate",), "evaluator": ("score",)},
    instead={"score": "item_scores"},
    otherwise={"reply": "it can be asked in words: --by-answer, in a study the method condition_answers"},
    comparable=comparable,
    complete=complete,
    part_labels=frozenset({"category"}),
    check_system=check_system,
    measure_of=lambda row: "accuracy" if row.name == "all" else "",
    view="babelscope.methods.condition.view:VIEW",
    queue="babelscope.methods.condition.queue:queue",
)
