"""The report section of errors in a system's own translations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from babelscope.core.charts import Chart, Forest
from babelscope.core.comparison import Comparison, SystemResult
from babelscope.core.page import About, Answer, Caveat, Finding, Headline, Line, Section, Tone, View, count_of
from babelscope.core.results import Record, Row
from babelscope.core.tables import Table
from babelscope.language.registry import error_label
from babelscope.methods.errors.figures import NOT_MEASURABLE, OTHER_LANGUAGE
from babelscope.methods.measuring import pair_texts
from babelscope.methods.view import Figures, bar, by_name, error_finding, keys, noted_of, pivot

_VERDICTS: Mapping[str, tuple[str, Tone]] = {
    "error": ("error found", "errors"),
    "none": ("none found", "none"),
    "untold": ("no detector applies", "note"),
}


def error_rows(rows: Sequence[Row]) -> list[Row]:
    """The rows of errors in own translations that have a figure."""
    return [row for row in rows if row.name == "generated_errors" and row.estimate.n]


def row_name(row: Row) -> str:
    """The error type of a row, with the kind of reference where it has one."""
    kind = row.labels.get("reference")
    return str(row.labels["phenomenon"]) + (f", {kind} reference" if kind else "")


def worst_finding(
    system: str,
    rows: Sequence[Row],
    query_of: Callable[[Row], Mapping[str, str]],
    labels: Mapping[str, str] = MappingProxyType({}),
) -> list[Finding]:
    """The error type with the highest certain rate in the system's own translations."""
    seen = [row for row in error_rows(rows) if _least(row) > 0 and row.counts["alarms"]]
    if not seen:
        return []
    worst = max(seen, key=_least)
    name = str(worst.labels["phenomenon"])
    label = labels.get(name) or error_label(name)
    kind = worst.labels.get("reference")
    raised = f"its detector raised {count_of(worst.counts['alarms'], 'alarms')}, of which some are false"
    return [
        error_finding(
            system,
            f"Its own translations with an error, found by a detector: {label}"
            + (f" ({kind} references)" if kind else ""),
            worst.estimate,
            "sentences",
            query=query_of(worst),
            more="; ".join(filter(None, [raised, str(worst.labels.get("note", ""))])),
        )
    ]


def _least(row: Row) -> float:
    """The low end of an error rate; the rate itself where all of its interval was above 100 %."""
    if row.estimate.no_interval:
        return 0.0 if NOT_MEASURABLE in str(row.labels.get("note", "")) else row.estimate.value
    return row.estimate.low


def language_caveats(system: str, rows: Sequence[Row]) -> list[Caveat]:
    """What detectors could not read, because it is in another language."""
    notes = dict.fromkeys(str(row.labels["note"]) for row in rows if "note" in row.labels)
    whole = [Caveat(system, f"{note}.") for note in notes if "in the language" in note]
    told = {OTHER_LANGUAGE: "have a translation in another language, which no detector was given"}
    return whole or noted_of(system, rows, told)


def findings(group: Comparison) -> Iterator[Finding]:
    for column in group.results:
        query = {"system": column.name, "tests": group.tests}

        def query_of(row: Row, query: dict[str, str] = query) -> Mapping[str, str]:
            return {**query, "group": row_name(row), "verdict": _alarm(str(row.labels["phenomenon"]))}

        yield from worst_finding(column.name, column.rows, query_of) or _nothing_sure(column, query)


def _nothing_sure(column: SystemResult, query: Mapping[str, str]) -> list[Finding]:
    """The error type with most alarms, where no more of them are sure than false alarms would be."""
    if not (measured := error_rows(column.rows)):
        return []
    most = max(measured, key=lambda row: row.estimate.value)
    label = error_label(str(most.labels["phenomenon"]))
    claim = f"No error that its detectors are sure of; most alarms, after correction: {label}"
    return [Finding(column.name, claim, most.estimate, "sentences", "none", query=query)]


def caveats(group: Comparison) -> Iterator[Caveat]:
    told = {
        "empty": "have an empty translation",
        "truncated": "were too long and were cut",
        "unfinished": "have a translation that was not finished",
    }
    for column in group.results:
        name, rows = column.name, column.rows
        yield from (*language_caveats(name, rows), *noted_of(name, rows, told))
        for row in error_rows(rows):
            if "control" in row.labels and _least(row) > 0:
                yield Caveat(
                    name,
                    "detectors find an error that no system is known to make "
                    f"({error_label(str(row.labels['phenomenon']))}): so may other findings be false.",
                )


def pictures(group: Comparison) -> list[Chart]:
    bars = by_name(
        (row_name(row), bar(column.name, row_name(row), row.estimate))
        for column in group.results
        for row in error_rows(column.rows)
    )
    if not bars:
        return []
    return [
        Chart(
            "Errors in its own translations, by error type",
            Forest(bars, "share of sentences", keys(group), zero=0.0),
            "How often a detector finds the error, corrected for what the detector misses and for its false "
            "alarms. Where the interval reaches 0, the error was not shown to happen at all.",
        )
    ]


def tables(group: Comparison) -> list[Table]:
    figures = (Figures("errors", lambda row: row.name == "generated_errors", "percent"),)
    return pivot(group, "By error type", ("phenomenon", "reference"), figures)


def about(record: Record) -> About:
    if "phenomenon" not in record:
        names = tuple(record.get("detected", {}).get("reference", {}))
        return About(record["source"], names, "", [("reference", text) for text in record["references"]])
    name = f"{record['phenomenon']}, {record['reference']} reference"
    return About(record["source"], (record["phenomenon"], name), name, pair_lines(record))


def pair_lines(record: Record) -> list[Line]:
    """The texts of a minimal pair."""
    correct, contrastive = pair_texts(record)
    return [("right", correct), *(("with the error", each) for each in contrastive)]


def _alarm(name: str) -> str:
    return f"alarm of {name}"


def answer(record: Record, _settings: Mapping[str, Any]) -> Answer:
    verdict, tone = _VERDICTS[record["verdict"]]
    facts = [_alarm(name) for name, alarm in record["alarms"].items() if alarm]
    if other := record.get("detected", {}).get(OTHER_LANGUAGE, {}).get("best"):
        verdict, facts = "in another language", [f"language {other}"]
    lines: list[Line] = [("its own translation", record["best"]["text"])]
    return Answer(verdict, tone, None, "; ".join(facts), lambda: lines, facts)


_READING = (
    "The system translates freely, and detectors look for errors of known types in what it writes: a “not” that "
    "is lost, a verb that does not agree with its subject.",
    "Detectors miss errors and raise false alarms. How many is measured on the references of the same test set, as "
    "they are and with the error put in, and the share of alarms is corrected for both (Rogan and Gladen 1978). "
    "Sources and translations that a detector cannot tell about are left out and counted.",
)


def section(group: Comparison) -> Section:
    """The report section of one test set."""
    names = dict.fromkeys(
        str(row.labels["phenomenon"])
        for column in group.results
        for row in column.rows
        if "phenomenon" in row.labels
    )
    return Section(
        title="Errors in its own translations",
        question="Which errors does the system make when it translates?",
        reading=_READING,
        group="error type",
        order=15,
        findings=[*findings(group)],
        caveats=[*caveats(group)],
        pictures=pictures(group),
        tables=tables(group),
        names={name: error_label(name) for name in names},
    )


def headline(rows: Sequence[Row]) -> list[Headline]:
    """The three error types that the system's own translations have most surely."""
    worst = sorted(error_rows(rows), key=_least, reverse=True)[:3]
    return [Headline(error_label(str(row.labels["phenomenon"])), row, "percent") for row in worst]


def over(rows: Sequence[Row]) -> list[Headline]:
    """Every error type, over factors of the systems: the worst of one system need not be those of another."""
    return [Headline(f"errors: {row_name(row)}", row, "percent") for row in error_rows(rows)]


VIEW = View(section, about, answer, headline, over)
