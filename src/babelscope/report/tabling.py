"""Figures of several systems side by side, as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from babelscope.core.columns import Group, side_by_side
from babelscope.core.results import Estimate, Row
from babelscope.core.tables import Table, in_a_cell
from babelscope.report.parts import Unit


@dataclass(frozen=True, slots=True)
class Figure:
    """A column a system: its heading, which rows are of it, and how these are shown."""

    heading: str
    fits: Callable[[Row], bool]
    unit: Unit = "plain"


def pivot(group: Group, title: str, labels: Sequence[str], figures: Sequence[Figure]) -> list[Table]:
    """A line for each combination of labels, a column for each figure and system; none if there is no such row."""
    cells: dict[tuple[str, ...], dict[tuple[int, int], Estimate]] = {}
    for place, column in enumerate(group.columns):
        for row in column.cell.rows:
            for number, figure in enumerate(figures):
                if figure.fits(row):
                    key = tuple(
                        str(row.labels.get(label, "all" if not at else "")) for at, label in enumerate(labels)
                    )
                    cells.setdefault(key, {})[number, place] = row.estimate
    known = [number for number in range(len(figures)) if any((number, 0) in own for own in cells.values())]
    names = [column.name for column in group.columns]
    headings = [_heading(figures[number], name, several=len(names) > 1) for number in known for name in names]
    lines = []
    for key, own in cells.items():
        found = [own.get((number, place)) for number in known for place in range(len(names))]
        sizes = dict.fromkeys(str(each.n) for each in found if each is not None)
        shown = [
            "" if each is None else in_percent(each) if figures[number].unit == "percent" else in_short(each)
            for each, number in zip(found, (number for number in known for _ in names), strict=True)
        ]
        lines.append([*key, "/".join(sizes), *shown])
    if not lines:
        return []
    said = [label.replace("_", " ") for label in labels]
    return [Table(f"{title}: {group.tests}", [*said, "n", *headings], lines, len(labels))]


def _heading(figure: Figure, system: str, *, several: bool) -> str:
    unit = ", %" if figure.unit == "percent" else ""
    return f"{figure.heading}{unit}, {system}" if several else f"{figure.heading}{unit}"


def in_percent(estimate: Estimate) -> str:
    """A proportion with its interval, without the sign: that stands in the heading."""
    if not estimate.n:
        return "–"
    value, low, high = (f"{100 * each:.1f}" for each in (estimate.value, estimate.low, estimate.high))
    return f"{value} [{low}, {high}]"


def in_short(estimate: Estimate) -> str:
    """A value with its interval, to three digits."""
    if not estimate.n:
        return "–"
    value, low, high = (f"{each:.3g}" for each in (estimate.value, estimate.low, estimate.high))
    return f"{value} [{low}, {high}]"


def every_figure(group: Group) -> list[Table]:
    """A line a figure, for methods whose figures we do not know."""
    found = side_by_side(group)
    labels = list(dict.fromkeys(name for (_, told), _ in found for name, _ in told))
    lines = [
        [
            name,
            *(str(dict(told).get(label, "")) for label in labels),
            "/".join(dict.fromkeys(str(row.estimate.n) for row in rows if row is not None)),
            *("" if row is None else in_a_cell(row.estimate) for row in rows),
        ]
        for (name, told), rows in found
    ]
    headings = ["figure", *labels, "n", *(column.name for column in group.columns)]
    return [Table(f"Figures: {group.tests}", headings, lines, 1 + len(labels))]
