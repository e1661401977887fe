"""The method `echo` and its command: how much of its source does a system repeat instead of translating it?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from babelscope.core.comparison import Comparison
from babelscope.core.page import About, Answer, Forest, Measure, Picture, Section, View
from babelscope.core.results import PairedField, Record, Row
from babelscope.core.settings import MethodSettings, Rerun
from babelscope.methods.base import Items, Method
from babelscope.methods.command import JudgingCommand
from babelscope.methods.queue import Entry, entry
from babelscope.methods.view import bar, error_finding, every_figure, one
from babelscope.stats.intervals import clustered_mean, proportion
from babelscope.systems.contract import ask_translate
from babelscope.testsets.items import ParallelSentence


class Echo(Method):
    """how often systems repeat the source instead of translating it"""

    name = "echo"
    items = (ParallelSentence,)
    view = "babelscope_parrot.echo:VIEW"

    class Settings(MethodSettings):
        """A field is an option of the command, and its docstring the help."""

        beam: Rerun[int] = Field(default=5, ge=1)
        """Beam size of the system."""
        threshold: float = Field(default=0.5, ge=0, le=1)
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

    def queue(self, records: Sequence[Record]) -> list[Entry]:
        """Every translation, to be assessed; of each domain its share."""
        return [
            entry(record, "assessment", group=(_domain(record),), translation=record["translation"])
            for record in records
        ]


def _domain(record: Record) -> str:
    return str(record.get("extra", {}).get("domain", ""))


def section(comparison: Comparison) -> Section:
    """The report section of one test set: a finding, a bar and a table column for each system."""
    rows = {result.name: one(result.rows, "all") for result in comparison.results}
    rates = {name: row.estimate for name, row in rows.items() if row}
    bars = [(name, [bar(name, "echoes", rate)]) for name, rate in rates.items()]
    claim = "Translations that only repeat the source"
    asked = {"tests": comparison.tests, "verdict": "echo"}
    findings = [
        error_finding(name, claim, rate, "sentences", query={"system": name, **asked})
        for name, rate in rates.items()
        if rate.n
    ]
    return Section(
        title="Echo: what is repeated",
        question="How often does the system repeat the source instead of translating it?",
        reading=("An echo is a translation that has too many of the words of its source.",),
        measure="share of repeated words",
        findings=findings,
        pictures=[Picture(f"Echoes: {comparison.tests}", Forest(bars, "echoes"), "The lower, the better.")],
        tables=every_figure(comparison),
        measures={"share": Measure("repeated words", "share of words")},
    )


def about(record: Record) -> About:
    return About(record["source"], tuple(filter(None, [_domain(record)])), _domain(record))


def answer(record: Record, _settings: Mapping[str, Any]) -> Answer:
    lines, verdict = [("translation", record["translation"])], record["verdict"]
    return Answer(verdict, "errors" if verdict == "echo" else "none", record["share"], lines=lambda: lines)


VIEW = View(section, about, answer)
COMMAND = JudgingCommand(
    "echo", "How often systems repeat the source instead of translating it.", "echo", Echo.Settings
)
