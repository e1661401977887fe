"""Pairs of systems compared item by item: significant differences in plain words, all of them as a chart."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from babelscope.core.charts import Bar, Chart, Forest
from babelscope.core.comparison import Comparison
from babelscope.core.page import Finding, Section, point, tooltip
from babelscope.core.results import Row
from babelscope.util.text import plain_words

_OWN = ("method", "tests", "system", "against", "of", "metric", "better", "p", "p_holm")
SIGNIFICANT = 0.05


def _leading(rows: Sequence[Row]) -> Sequence[Row]:
    """The differences over a whole test set, where there are any; else all."""
    return [row for row in rows if row.labels.get("phenomenon") == "all"] or rows


def _varying(rows: Sequence[Row]) -> list[str]:
    """Labels that differ between the rows, other than the systems, the direction and p."""
    labels = dict.fromkeys(name for row in rows for name in row.labels if name not in _OWN)
    return [name for name in labels if len({row.labels.get(name) for row in rows}) > 1]


def _what(row: Row, labels: Sequence[str]) -> str:
    """What a row compares: its phenomenon, category or measure; `all` if it has none."""
    return ", ".join(str(row.labels[name]) for name in labels if name in row.labels) or "all"


def _ahead(row: Row) -> str:
    """Which of the two systems is better."""
    higher = row.labels.get("better") != "lower"
    return str(row.labels["system"] if (row.estimate.value >= 0) == higher else row.labels["against"])


def _is_share(row: Row) -> bool:
    return "measure" not in row.labels


def _words(name: str, section: Section) -> str:
    """The name of a measure, phenomenon or category in sentences, as the method's section gives it."""
    if name in section.measures:
        return section.measures[name].name
    return section.names.get(name) or plain_words(name)


def paired_findings(rows: Sequence[Row], section: Section) -> Iterator[Finding]:
    """The differences that are significant after correction."""
    rows = _leading(rows)
    labels = _varying(rows)
    for row in rows:
        if float(row.labels["p_holm"]) < SIGNIFICANT and row.estimate.n:
            first, second = str(row.labels["system"]), str(row.labels["against"])
            ahead = _ahead(row)
            parts = [str(row.labels[name]) for name in (*labels, "measure") if name in row.labels]
            words = [_words(part, section) for part in parts]
            where = ", ".join(dict.fromkeys([str(row.labels["tests"]), *words]))
            wins, losses, ties = (row.counts[name] for name in ("wins", "losses", "ties"))
            yield Finding(
                ahead,
                f"{first} minus {second}, {where}",
                row.estimate,
                "items",
                "note",
                query={"tests": str(row.labels["tests"]), "sort": "differ"},
                share=_is_share(row),
                tag=f"{ahead} ahead",
                more=f"{first} is better on {wins:,}, {second} on {losses:,}, equal on {ties:,}; "
                f"p = {row.told('p_holm')}",
            )


def differences_charts(group: Comparison, rows: Sequence[Row], section: Section) -> Iterator[Chart]:
    """Differences with their intervals, shares and other measures apart."""
    rows = _leading(rows)
    for share in (True, False):
        own = [row for row in rows if _is_share(row) == share and math.isfinite(row.estimate.value)]
        if all(row.estimate.value == 0 and row.estimate.no_interval for row in own):
            continue  # every difference is 0: the table shows that
        for unit in dict.fromkeys(_unit(row, section) for row in own):
            same = [row for row in own if _unit(row, section) == unit]
            yield _chart(group, same, share, unit)


def _unit(row: Row, section: Section) -> str:
    """What a difference is counted in; measures of one unit share a chart."""
    if _is_share(row):
        return "share of items"
    measure = str(row.labels["measure"])
    return section.measures[measure].unit if measure in section.measures else measure


def _domain(rows: Sequence[Row]) -> tuple[float, float]:
    """Ends of an axis of differences of shares: 2 points both ways at least."""
    ends = [end for row in rows for end in (row.estimate.value, row.estimate.low, row.estimate.high)]
    reach = [end for end in ends if math.isfinite(end)]
    return 1.04 * min(-0.02, *reach), 1.04 * max(0.02, *reach)


def _chart(group: Comparison, rows: Sequence[Row], share: bool, unit: str) -> Chart:
    several = len(group.results) > 2
    labels = _varying(rows) if share else ["measure"]
    lines = []
    for row in rows:
        pair = f"{row.labels['system']} − {row.labels['against']}"
        name = f"{_what(row, labels)}, {pair}" if several else _what(row, labels)
        p = f", p = {row.told('p_holm')}"
        bar = Bar(
            _ahead(row),
            point(row.estimate),
            tooltip(name, row.estimate, "percent" if share else "plain") + p,
            hollow=float(row.labels["p_holm"]) >= SIGNIFICANT,
        )
        lines.append((name, [bar]))
    first = rows[0]
    pair = "first − second" if several else f"{first.labels['system']} − {first.labels['against']}"
    chart = Forest(
        lines,
        f"{pair}, {unit}",
        unit="percent" if share else "plain",
        domain=_domain(rows) if share else None,
        zero=0.0,
    )
    lower = any(row.labels.get("better") == "lower" for row in rows)
    right, left = ("Left", "right") if lower else ("Right", "left")
    return Chart(
        f"Difference between systems, {unit}: {pair}",
        chart,
        f"{right} of the line the first system is better, {left} of it the second. Filled marks are significant at "
        "5 % after correction for the number of tests (Holm), hollow ones are not.",
    )
