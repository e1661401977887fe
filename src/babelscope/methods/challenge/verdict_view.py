"""Verdicts on dependencies as they are shown: in the summary, in tables, and beside each sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from babelscope.core.columns import Group
from babelscope.core.page import FEWEST, Finding, Headline, Line
from babelscope.core.results import Record, Row
from babelscope.core.tables import Table, of_rows
from babelscope.methods.challenge.checks import CHECKS
from babelscope.methods.view import Figures, complement, error_finding, one, pivot
from babelscope.util.text import plain_words

NAME = "dependency_kept"


def _shown(rows: Sequence[Row]) -> list[tuple[str, str, Row]]:
    """The phenomenon that is lost most surely, where there are several, and how it is told; then all together."""
    parts: dict[str, Row] = {}
    known = [row for row in rows if row.name == NAME and row.estimate.n and "min_distance" in row.labels]
    for row in sorted(known, key=lambda row: int(row.labels["min_distance"])):
        side = "" if row.labels["side"] == "source" else f" ({row.labels['side']})"
        parts.setdefault(f"{row.labels['phenomenon']}{side}", row)
    whole = one(rows, NAME, phenomenon="all")
    found = [("", "", whole)] if whole is not None else []
    if len(parts) < 2:
        return found
    name, worst = min(parts.items(), key=lambda part: (part[1].estimate.n < FEWEST, part[1].estimate.high))
    return [(name, f"worst of {len(parts)} phenomena, {plain_words(name)}, ", worst), *found]


def verdict_headline(rows: Sequence[Row]) -> list[Headline]:
    """The share of dependencies that were kept, of those decided on; none if nothing was judged."""
    return [
        Headline(
            f"Dependencies kept, {which}of those decided on ({row.counts['undecided']} undecided)",
            row,
            "percent",
        )
        for _, which, row in _shown(rows)
    ]


def verdict_findings(group: Group) -> list[Finding]:
    """For each system, the share of dependencies that were lost, in the worst phenomenon where there are several."""
    found = []
    for column in group.columns:
        for name, which, row in _shown(column.cell.rows)[:1]:
            if row.estimate.n:
                query = {"system": column.name, "tests": group.tests, "verdict": "lost"}
                found.append(
                    error_finding(
                        column.name,
                        f"Dependencies lost in translation, {which}of those that could be decided on",
                        complement(row.estimate),
                        "dependencies",
                        query={**query, "group": name} if name else query,
                        more=f"{row.counts['undecided']} more are undecided",
                    )
                )
    return found


def verdict_pivot(group: Group) -> list[Table]:
    """Shares kept by phenomenon and distance, systems side by side."""
    kept = Figures("kept, of those decided on", lambda row: row.name == NAME, "percent")
    return pivot(group, "Dependencies by themselves", ("phenomenon", "side", "min_distance"), (kept,))


def verdict_table(rows: Sequence[Row], shown: Mapping[str, str]) -> list[Table]:
    """Shares kept with their counts, for a terminal; `shown` are short names of systems."""
    some = [
        Row(
            "kept",
            row.estimate,
            {
                name: shown.get(str(value), value)
                for name, value in row.labels.items()
                if name not in ("method", "tests", "side")
            },
            {name: count for name, count in row.counts.items() if name != "skipped"},
        )
        for row in rows
        if row.name == NAME
    ]
    title = "Dependencies by themselves: shares kept, of those decided on"
    return [of_rows(title, some, shown=("kept", "lost", "undecided"))] if some else []


def verdict_of(record: Record) -> str:
    """The worst verdict on a sentence's dependencies: lost, undecided or kept; empty if there is none."""
    said = {each["verdict"] for _, each in _judged(record)}
    return next((each for each in ("lost", "undecided", "kept") if each in said), "")


def verdict_lines(record: Record) -> list[Line]:
    """The verdict on each dependency, with what was compared."""
    found: list[Line] = []
    for phenomenon, each in _judged(record):
        compared = " / ".join(filter(None, (each["reference"], each["output"])))
        told = f"{each['why']}{f' ({compared})' if compared else ''}"
        found.append((f"{phenomenon}: {each['verdict']}", told))
    return found


def _judged(record: Record) -> list[tuple[str, Mapping[str, str]]]:
    """Phenomenon and verdict of the dependencies that there is a check for."""
    dependencies = record.get("extra", {}).get("dependencies", ())
    return [
        (str(dependency["phenomenon"]), verdict)
        for dependency, verdict in zip(dependencies, record.get("verdicts", ()), strict=False)
        if dependency["phenomenon"] in CHECKS
    ]
