"""The method `echo`: how much of its source does a system repeat instead of translating it?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from babelscope.core.charts import Bar, Chart, Forest, point
from babelscope.core.comparison import Comparison
from babelscope.core.results import PairedField, Record, Row
from babelscope.core.settings import ErrorSettings, Option, Rerun
from babelscope.core.tables import Table
from babelscope.methods.base import Items, Method
from babelscope.methods.queue import entry
from babelscope.methods.reporting import Figure, ItemView, count_notes, find_row, summary_table
from babelscope.stats.intervals import clustered_mean, proportion
from babelscope.systems.contract import ask_translate
from babelscope.testsets.items import ParallelSentence


class Echo(Method):
    """Echo: what is repeated

    How often does the system repeat the source instead of translating it?

    An echo is a translation that has too many of the words of its source.
    """

    name = "echo"
    items = (ParallelSentence,)

    class Settings(ErrorSettings):
        """A field is a setting, or an option of the command; its docstring is the help."""

        beam: Rerun[int] = Field(default=5, ge=1)
        """Beam size of the system."""
        threshold: Option[float] = Field(default=0.5, ge=0, le=1)
        """A translation that has this share of the source's words is an echo."""

    settings: Settings

    def ask(self, systems: Mapping[str, Any], items: Items, seed: int) -> list[Record]:  # noqa: ARG002
        """One record per item: its source, and the translation. A field such as `domain` is carried by itself."""
        answers = ask_translate(systems["system"], [item.question for item in items], beam=self.settings.beam)
        return [
            {"source": item.source, "translation": best.text}
            for item, (best, *_) in zip(items, answers, strict=True)
        ]

    def judge(self, records: Sequence[Record]) -> list[Record]:
        """Each record with the `share` of the source's words that the translation has, and its `verdict`."""
        judged = []
        for record in records:
            known, said = (set(record[name].lower().split()) for name in ("source", "translation"))
            share = len(known & said) / len(known)
            verdict = "echo" if share >= self.settings.threshold else "own"
            judged.append({**record, "share": share, "verdict": verdict})
        return judged

    def summarize(self, records: Sequence[Record], seed: int) -> list[Row]:  # noqa: ARG002
        """The share of echoes as `all`, and the mean share of repeated words."""
        echoes = sum(record["verdict"] == "echo" for record in records)
        mean = clustered_mean([each["share"] for each in records], [each["source"] for each in records])
        empty = sum(not record["translation"] for record in records)
        return [Row("all", proportion(echoes, len(records))), Row("repeated", mean, counts={"empty": empty})]

    def paired(self) -> list[PairedField]:
        """Whether a translation is the system's own, and the share of repeated words."""
        return [
            PairedField("verdict", worth={"own": 1.0, "echo": 0.0}),
            PairedField("share", "share of words", "share", higher_is_better=False),
        ]

    def tables(self, comparison: Comparison) -> list[Table]:
        """The error rate of each system, with a verdict."""
        return [
            summary_table(
                comparison,
                lambda result: [
                    Figure("echoes", row.estimate, is_error=True, query={"verdict": "echo"})
                    for row in [find_row(result.rows, "all")]
                    if row
                ],
                title=f"Translations that only repeat the source: {comparison.tests}",
                threshold=self.settings.error_threshold,
                notes=count_notes(comparison, {"empty": "have an empty translation"}),
            )
        ]

    def charts(self, comparison: Comparison) -> list[Chart]:
        """One bar per system."""
        rows = {result.name: find_row(result.rows, "all") for result in comparison.results}
        bars = [(name, [Bar(name, point(row.estimate))]) for name, row in rows.items() if row]
        return [Chart(f"Echoes: {comparison.tests}", Forest(bars, "echoes"), "The lower, the better.")]

    def show(self, record: Record) -> ItemView:
        """One item on the page, to be assessed by annotators; of each domain its share."""
        domain, text = str(record.get("extra", {}).get("domain", "")), record["translation"]
        return ItemView(
            record["source"],
            groups=(domain,) if domain else (),
            heading=domain,
            verdict=record["verdict"],
            tone="errors" if record["verdict"] == "echo" else "none",
            value=record["share"],
            value_name="share of repeated words",
            answer=lambda: [("translation", text)],
            questions=[entry(record, "assessment", group=(domain,), translation=text)],
        )
