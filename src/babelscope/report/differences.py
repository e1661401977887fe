"""Pairs of systems compared item by item: significant differences in words, all of them as charts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from babelscope.core.charts import Bar, Chart, Forest, point
from babelscope.core.comparison import Comparison
from babelscope.core.results import Row
from babelscope.core.tables import Table, of_rows
from babelscope.methods.reporting import percent, plain, tooltip
from babelscope.util.text import plain_words

_OWN = ("method", "tests", "system", "against", "of", "metric", "better", "p", "p_holm")
SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between two systems that is significant after correction."""

    row: Row
    where: str
    """Test set and what is compared."""

    @property
    def ahead(self) -> str:
        """Which of the two systems is better."""
        return _ahead(self.row)

    @property
    def claim(self) -> str:
        return f"{self.row.labels['system']} minus {self.row.labels['against']}, {self.where}"

    @property
    def figure(self) -> str:
        """The difference with its interval, in points where it is one of proportions."""
        return self.row.estimate.text(percent if _is_share(self.row) else plain)

    @property
    def evidence(self) -> str:
        """On how many items each system is better, and p."""
        first, second = self.row.labels["system"], self.row.labels["against"]
        wins, losses, ties = (self.row.counts[name] for name in ("wins", "losses", "ties"))
        return (
            f"{first} is better on {wins:,}, {second} on {losses:,}, equal on {ties:,} items; {_p(self.row)}"
        )


def significant(rows: Sequence[Row]) -> Iterator[Difference]:
    """The differences that are significant after correction for the number of tests (Holm)."""
    rows = _leading(rows)
    labels = _varying(rows)
    for row in rows:
        if float(row.labels["p_holm"]) < SIGNIFICANT and row.estimate.n:
            parts = [str(row.labels[name]) for name in (*labels, "measure") if name in row.labels]
            where = ", ".join(dict.fromkeys([str(row.labels["tests"]), *map(plain_words, parts)]))
            yield Difference(row, where)


def differences_table(rows: Sequence[Row]) -> Table:
    """All differences with wins, losses, ties and p-values."""
    return of_rows(
        "Differences, first system minus second", rows, shown=("wins", "losses", "ties"), sign=True
    )


def difference_charts(comparison: Comparison, rows: Sequence[Row]) -> Iterator[Chart]:
    """Differences with their intervals, proportions and other measures apart."""
    units = {each.measure: each.unit for each in comparison.results[0].paired if each.measure}
    rows = [row for row in _leading(rows) if math.isfinite(row.estimate.value)]

    def unit(row: Row) -> str:
        measure = str(row.labels.get("measure", ""))
        return units.get(measure, measure) or "share of items"

    for name in dict.fromkeys(map(unit, rows)):
        own = [row for row in rows if unit(row) == name]
        # Where every difference is 0, the table shows that.
        if not all(row.estimate.value == 0 and row.estimate.no_interval for row in own):
            yield _chart(own, name, several=len(comparison.results) > 2)


def _chart(rows: Sequence[Row], unit: str, *, several: bool) -> Chart:
    share = _is_share(rows[0])
    labels = _varying(rows) if share else ["measure"]
    lines = []
    for row in rows:
        pair = f"{row.labels['system']} − {row.labels['against']}"
        what = ", ".join(str(row.labels[name]) for name in labels if name in row.labels) or "all"
        name = f"{what}, {pair}" if several else what
        title = tooltip(name, row.estimate, "percent" if share else "plain")
        bar = Bar(
            _ahead(row),
            point(row.estimate),
            f"{title}, {_p(row)}",
            hollow=float(row.labels["p_holm"]) >= SIGNIFICANT,
        )
        lines.append((name, [bar]))
    first = rows[0].labels
    pair = "first − second" if several else f"{first['system']} − {first['against']}"
    lower = any(row.labels.get("better") == "lower" for row in rows)
    right, left = ("Left", "right") if lower else ("Right", "left")
    return Chart(
        f"Difference between systems, {unit}: {pair}",
        Forest(lines, f"{pair}, {unit}", unit="percent" if share else "plain", zero=0.0),
        f"{right} of the line the first system is better, {left} of it the second. Filled marks are significant at "
        "5 % after correction for the number of tests (Holm), hollow ones are not.",
    )


def _p(row: Row) -> str:
    """The corrected p-value: `p = 0.023` or `p < 0.0001`."""
    p = row.told("p_holm")
    return f"p {p}" if p.startswith("<") else f"p = {p}"


def _leading(rows: Sequence[Row]) -> Sequence[Row]:
    """The differences over a whole test set, where there are any; else all."""
    return [row for row in rows if row.labels.get("phenomenon") == "all"] or rows


def _varying(rows: Sequence[Row]) -> list[str]:
    """Labels that differ between the rows, other than the systems, the direction and p."""
    labels = dict.fromkeys(name for row in rows for name in row.labels if name not in _OWN)
    return [name for name in labels if len({row.labels.get(name) for row in rows}) > 1]


def _ahead(row: Row) -> str:
    """Which of the two systems is better."""
    higher = row.labels.get("better") != "lower"
    return str(row.labels["system"] if (row.estimate.value >= 0) == higher else row.labels["against"])


def _is_share(row: Row) -> bool:
    return "measure" not in row.labels
