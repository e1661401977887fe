"""Figures over a factor of the systems, such as kQRG over width (hypothesis-space paper, figures 2 and 3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from babelscope.core.columns import Column, Group
from babelscope.core.factors import SEED, Rest, but, is_number, sort_key, told_apart
from babelscope.core.page import Caveat, Curve, Headline, Lines, Picture, Point, Unit, View, count_of, point
from babelscope.core.results import Estimate
from babelscope.methods.grouping import grouped
from babelscope.stats.intervals import mean_and_sd

_Figures = Mapping[str, Sequence[Headline]]
"""Column -> what is drawn of it."""


@dataclass(frozen=True, slots=True)
class _Joined:
    """A line: systems that differ in the factor of the axis, and in their seed, alone."""

    part: str
    evaluator: str
    rest: Rest
    points: Mapping[float, Sequence[tuple[Column, Estimate]]]


def factor_pictures(group: Group, view: View) -> list[Picture]:
    """A picture for each figure that matters and each quantity in which the systems differ, but for their seed."""
    twins = _twins(group.columns)
    columns = [column for column in group.columns if column.name not in twins]
    figures = {column.name: list((view.over or view.headline)(column.cell.rows)) for column in columns}
    named = dict.fromkeys((each.name, each.unit) for own in figures.values() for each in own)
    found = [
        _over(columns, factor, name, unit, figures) for factor in _quantities(columns) for name, unit in named
    ]
    return [picture for picture in found if picture is not None]


def factor_caveats(group: Group) -> list[Caveat]:
    """Which systems are in no picture over a factor, since nothing that the study says tells them apart."""
    if not _quantities(group.columns):
        return []
    return [
        Caveat(
            name,
            f"has the same factors as {other}: neither is in pictures over a factor (name what differs, or seeds).",
        )
        for name, other in _twins(group.columns).items()
    ]


def _twins(columns: Sequence[Column]) -> dict[str, str]:
    """Column -> another with the very same factors, seed included, under the same evaluator."""
    alike = grouped(
        ((but(column.cell.factors), column.cell.evaluator), column.name)
        for column in columns
        if column.cell.factors
    )
    return {
        name: next(other for other in names if other != name)
        for names in alike.values()
        if len(names) > 1
        for name in names
    }


def _quantities(columns: Sequence[Column]) -> list[str]:
    """Factors that are numbers and have two values or more."""
    names = dict.fromkeys(name for column in columns for name in column.cell.factors if name != SEED)
    values = {
        name: [column.cell.factors[name] for column in columns if name in column.cell.factors]
        for name in names
    }
    return [name for name, own in values.items() if is_number(own) and len(set(own)) > 1]


def _over(columns: Sequence[Column], factor: str, name: str, unit: Unit, figures: _Figures) -> Picture | None:
    """The picture of one figure; None where no two systems differ in the factor, and perhaps their seed, alone."""
    found = _joined(columns, factor, name, figures)
    drawn = [own for own in found if len(own.points) > 1]
    if not drawn:
        return None
    parts = list(dict.fromkeys(own.part for own in drawn))
    drawn.sort(key=lambda own: (parts.index(own.part), own.evaluator, sort_key(own.rest)))
    judges = {own.evaluator for own in drawn}
    curves = []
    for number, (own, words) in enumerate(zip(drawn, told_apart([own.rest for own in drawn]), strict=True)):
        part = own.part if len(parts) > 1 else ""
        judge = f"by {own.evaluator}" if len(judges) > 1 else ""
        told = ", ".join(filter(None, (part, words, judge))) or "all systems"
        points = [(x, _point([each for _, each in own.points[x]], unit)) for x in sorted(own.points)]
        curves.append(Curve(next(iter(own.points.values()))[0][0].name, told, points, series=number))
    label = name if len(parts) > 1 else ", ".join(filter(None, (name, parts[0])))
    return Picture(
        f"{name} over {factor}", Lines(curves, factor, label, unit), _reading(factor, found, drawn)
    )


def _joined(columns: Sequence[Column], factor: str, name: str, figures: _Figures) -> list[_Joined]:
    """The systems that have the factor and the figure, those of one line together."""
    found: dict[tuple[str, str, Rest], dict[float, list[tuple[Column, Estimate]]]] = {}
    for column in columns:
        if factor not in column.cell.factors:
            continue
        at = float(column.cell.factors[factor])
        rest = but(column.cell.factors, factor, SEED)
        for each in figures[column.name]:
            estimate = each.row.estimate
            if each.name == name and estimate.n and math.isfinite(estimate.value):
                own = found.setdefault((each.part, column.cell.evaluator, rest), {})
                own.setdefault(at, []).append((column, estimate))
    return [_Joined(*key, own) for key, own in found.items()]


def _reading(factor: str, found: Sequence[_Joined], drawn: Sequence[_Joined]) -> str:
    """What points and lines are, how many seeds stand behind a point, and who is not drawn."""
    sizes = sorted({len(own) for line in drawn for own in line.points.values()})
    seeds = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else str(sizes[0])
    said = [
        "A point is a system, with its 95 % interval over items."
        if sizes[-1] == 1
        else f"A point is the mean of {seeds} seeds, with its 95 % interval over seeds"
        + (" (of one seed: over items)." if sizes[0] == 1 else "."),
        f"A line joins systems that differ in {factor} alone.",
    ]
    shown = {column.name for line in drawn for own in line.points.values() for column, _ in own}
    all_of_them = {column.name for line in found for own in line.points.values() for column, _ in own}
    if left := len(all_of_them - shown):
        said.append(f"Not drawn: {count_of(left, 'systems')} without another that differs in {factor} alone.")
    return " ".join(said)


def mean_over_seeds(values: Sequence[float], unit: Unit) -> Estimate:
    """The mean with its interval over seeds; a share's ends at 0 and 1."""
    within = (-math.inf, math.inf) if unit == "plain" else (0.0, 1.0)
    return mean_and_sd(values, "seeds", within)[0]


def _point(estimates: Sequence[Estimate], unit: Unit) -> Point:
    """A figure of one system, or its mean over seeds."""
    if len(estimates) == 1:
        return point(estimates[0])
    return point(mean_over_seeds([estimate.value for estimate in estimates], unit))
