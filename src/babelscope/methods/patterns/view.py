"""The report sections of pattern matching: wrong genders and wrong senses, the worst group first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from babelscope.core.comparison import Comparison
from babelscope.core.options import Option, writes
from babelscope.core.page import About, Answer, Finding, Headline, Line, Section, View
from babelscope.core.results import Record, Row
from babelscope.methods.command import Given, Tables
from babelscope.methods.view import complement, error_finding, every_figure, headlines, one
from babelscope.util.errors import BabelscopeError

_SHOWN = ("translation", "translated_as", "predicted", "right_words", "wrong_words", "lemmas")


def _findings(group: Comparison, figure: str, claim: str) -> Iterator[Finding]:
    """The errors in each gender or category, or over all where there are none."""
    for column in group.results:
        rows = [row for row in column.rows if row.name == figure and row.estimate.n]
        whole = ("all", "male and female")
        parts = [row for row in rows if row.labels.get("category", "all") not in whole]
        for row in parts or [row for row in rows if row.labels.get("category") == "all"]:
            category = str(row.labels["category"])
            query = {"system": column.name, "tests": group.tests, "verdict": "wrong"}
            yield error_finding(
                column.name,
                f"{claim}, {category}" if parts else claim,
                complement(row.estimate),
                "sentences",
                query={**query, "group": category} if parts else query,
            )


def _about(record: Record) -> About:
    category = str(record.get("category") or record.get("gold") or "")
    return About(record["source"], (category,) if category else (), category)


def _answer(record: Record, _settings: Mapping[str, Any]) -> Answer:
    if record["correct"] is None:
        return Answer("unknown", "note", lines=lambda: _lines(record))
    right = record["correct"]
    return Answer("right" if right else "wrong", "none" if right else "errors", lines=lambda: _lines(record))


def _lines(record: Record) -> list[Line]:
    values = [(name, record.get(name)) for name in _SHOWN]
    return [
        (name.replace("_", " "), ", ".join(value) if isinstance(value, list) else str(value))
        for name, value in values
        if value
    ]


def _winomt(group: Comparison) -> Section:
    return Section(
        title="Gender of occupations, by word alignment and morphology",
        question="Does the translated occupation have the gender that the source means?",
        group="gender",
        order=22,
        findings=[*_findings(group, "accuracy", "Occupations translated with another gender than was meant")],
        tables=every_figure(group),
    )


def _winomt_headline(rows: Sequence[Row]) -> list[Headline]:
    """Accuracy of the worse gender, then over all, and the two differences of the paper."""
    worst = one(rows, "minimum_accuracy")
    return headlines(
        (f"accuracy, worse gender ({worst.labels['category']})" if worst else "", worst, "percent"),
        ("accuracy", one(rows, "accuracy", category="all"), "percent"),
        ("delta G", one(rows, "delta_g"), "percent"),
        ("delta S", one(rows, "delta_s"), "percent"),
    )


def _mucow(group: Comparison) -> Section:
    return Section(
        title="Senses of words, by known words and lemmas",
        question="Is the word translated in the sense that the source means?",
        group="category",
        order=23,
        findings=[*_findings(group, "precision", "Known words of a wrong sense, of all known words")],
        tables=every_figure(group),
    )


def _mucow_headline(rows: Sequence[Row]) -> list[Headline]:
    return headlines(
        ("precision", one(rows, "precision", category="all"), "percent"),
        ("recall (correct of all)", one(rows, "recall_b", category="all"), "percent"),
        ("coverage", one(rows, "coverage", category="all"), "percent"),
    )


# Over factors without the worse gender, which need not be the same for all systems.
WINOMT = View(_winomt, _about, _answer, _winomt_headline, lambda rows: _winomt_headline(rows)[1:])
MUCOW = View(_mucow, _about, _answer, _mucow_headline)


OPTIONS = (
    Option(
        "skip-missing",
        "Count items without a translation instead of stopping.",
        bool,
        not_with=("system", "rejudge"),
    ),
    writes("to", "Write to a file instead of stdout."),
)
_FILES = (".txt", ".json", ".jsonl", ".tsv")


def check(given: Given) -> None:
    """Refuse what leaves open whose translations are judged, or where figures go."""
    if given["system"] and given["translations"] is not None:
        raise BabelscopeError("--system and --translations exclude each other")
    if given["out"] is not None and given["out"].suffix in _FILES:
        raise BabelscopeError(
            f"--out names a run folder; to write figures to a file, say --to {given['out']}"
        )


def tables(given: Given, tests: str, stored: Path | None, *, skip_missing: bool = False) -> Tables:
    """The tables of the study: a file of stored translations is a system, called as the file is."""
    found: dict[str, Any] = {"tests": [{"spec": tests, "name": given["tests"]}]}
    if stored is not None:
        missing = "skip" if skip_missing or given["skip-missing"] else "error"
        found["systems"] = [{"spec": f"file:{stored}?format=auto&missing={missing}", "name": stored.name}]
    return found
