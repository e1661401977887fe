"""How echoes are shown in a report: a section of plain data, and what is said of an item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from babelscope.core.charts import Chart, Forest
from babelscope.core.comparison import Comparison
from babelscope.core.page import About, Answer, Finding, Measure, Section, Tone, View
from babelscope.core.results import Record
from babelscope.methods.view import bar, error_finding, every_figure, one


def section(group: Comparison) -> Section:
    """A finding, a mark and a column of the table for each system."""
    rates = {column.name: one(column.rows, "all") for column in group.results}
    bars = [(name, [bar(name, "echoes", row.estimate)]) for name, row in rates.items() if row]
    return Section(
        title="Echo: what is repeated",
        question="How often does the system repeat the source instead of translating it?",
        reading=("An echo is a translation that has too many of the words of its source.",),
        measure="share of repeated words",
        findings=_findings(group),
        pictures=[
            Chart(
                f"Echoes: {group.tests}",
                Forest(bars, "translations that are echoes"),
                "The lower, the better.",
            )
        ],
        tables=every_figure(group),
        measures={"share": Measure("repeated words", "share of words")},
    )


def _findings(group: Comparison) -> list[Finding]:
    return [
        error_finding(
            column.name,
            "Translations that only repeat the source",
            row.estimate,
            "sentences",
            query={"system": column.name, "tests": group.tests, "verdict": "echo"},
        )
        for column in group.results
        if (row := one(column.rows, "all")) and row.estimate.n
    ]


def about(record: Record) -> About:
    domain = str(record.get("extra", {}).get("domain", ""))
    return About(record["source"], (domain,) if domain else (), domain)


def answer(record: Record, _settings: Mapping[str, Any]) -> Answer:
    tone: Tone = "errors" if record["verdict"] == "echo" else "none"
    return Answer(
        record["verdict"], tone, record["share"], lines=lambda: [("translation", record["translation"])]
    )


VIEW = View(section, about, answer)
