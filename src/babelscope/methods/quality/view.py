"""The report section of quality: corpus scores by metric, and the sentences behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from babelscope.core.columns import Group
from babelscope.core.page import (
    About,
    Answer,
    Caveat,
    Finding,
    Forest,
    Headline,
    Line,
    Measure,
    Picture,
    Section,
    View,
)
from babelscope.core.results import Record, Row
from babelscope.methods.grouping import grouped
from babelscope.methods.languages import mismatch_caveats
from babelscope.methods.measuring import scale_of
from babelscope.methods.view import bar, every_figure, figure_note, noted


def findings(group: Group) -> list[Finding]:
    return [
        figure_note(group, column.name, f"{row.name} of its translations{_direction(row)}", row)
        for column in group.columns
        for row in column.cell.rows[:1]  # of the first metric: the table has the others
        if row.estimate.n
    ]


def _direction(row: Row) -> str:
    return " (lower is better)" if row.labels.get("better") == "lower" else ""


def caveats(group: Group) -> list[Caveat]:
    told = {
        "empty": "have an empty translation",
        "truncated": "were too long and were cut",
        "unfinished": "have a translation that did not end",
    }
    return [*mismatch_caveats(group, lambda record: record.get("translation")), *noted(group, told)]


def pictures(group: Group) -> list[Picture]:
    """A forest plot for each metric, a line a system."""
    found = grouped(
        (row.name, (column.name, row))
        for column in group.columns
        for row in column.cell.rows
        if row.estimate.n
    )
    return [
        Picture(
            f"{metric}: {group.tests}",
            Forest(
                [(system, [bar(system, metric, row.estimate, "plain")]) for system, row in rows],
                f"{metric} of the corpus{_direction(rows[0][1])}",
                unit="plain",
            ),
            "Lines are 95 % intervals over sentences.",
        )
        for metric, rows in found.items()
    ]


def about(record: Record) -> About:
    lines: list[Line] = [("reference", text) for text in record["references"]]
    return About(record["source"], lines=lines)


def answer(record: Record, _settings: Mapping[str, Any]) -> Answer:
    """Sorted by the first metric, and shown with all."""
    scores = list(record["scores"].items())
    told = ", ".join(f"{name} {score:.3g}" for name, score in scores)
    return Answer(
        "", "note", scores[0][1] if scores else None, told, lambda: [("translation", record["translation"])]
    )


_READING = (
    "Each figure is a corpus score on the metric's own scale: BLEU, chrF and TER from 0 to 100, RIBES from 0 to 1. "
    "Metrics that read references say how near translations are to these; none says what is wrong with them.",
    "Figures of different test sets, numbers of references or metrics cannot be compared.",
)


def section(group: Group) -> Section:
    """The report section of one test set."""
    # Where nothing was answered there is one row, of no metric.
    answered = (row for column in group.columns for row in column.cell.rows if row.estimate.n)
    names = list(dict.fromkeys(row.name for row in answered))
    return Section(
        title="Quality: translations measured by metrics",
        question="How good are the translations, by metrics?",
        reading=_READING,
        measure=f"{names[0]} of the sentence" if names else "score",
        order=45,
        findings=findings(group),
        caveats=caveats(group),
        pictures=pictures(group),
        tables=every_figure(group),
        measures={name: Measure(f"{name} of the sentence", _unit(name)) for name in names},
    )


def _unit(name: str) -> str:
    return "points" if scale_of(name).unit == "percent" else name


def headline(rows: Sequence[Row]) -> list[Headline]:
    """Every metric."""
    return [Headline(row.name, row, "plain") for row in rows]


VIEW = View(section, about, answer, headline)
