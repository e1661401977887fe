"""Figures over a factor of the systems, such as kQRG over width (hypothesis-space paper, figures 2 and 3)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from babelscope.core.columns import Column, Group
from babelscope.core.factors import SEED, Factor, but, in_words, is_number
from babelscope.core.page import Curve, Headline, Lines, Picture, Point, Unit, View, point
from babelscope.core.results import Estimate
from babelscope.stats.intervals import mean_and_sd


def factor_pictures(group: Group, view: View) -> list[Picture]:
    """A picture for each figure that matters and each quantity in which the systems differ, but for their seed."""
    figures = {column.name: list((view.over or view.headline)(column.cell.rows)) for column in group.columns}
    return [
        picture
        for name in _quantities(group.columns)
        for figure in dict.fromkeys((each.name, each.unit) for own in figures.values() for each in own)
        for picture in _over(group.columns, name, figure, figures)
    ]


def _quantities(columns: Sequence[Column]) -> list[str]:
    """Factors that are numbers and have two values or more."""
    names = dict.fromkeys(name for column in columns for name in column.cell.factors if name != SEED)
    values = {
        name: [column.cell.factors[name] for column in columns if name in column.cell.factors]
        for name in names
    }
    return [name for name, own in values.items() if is_number(own) and len(set(own)) > 1]


def _over(
    columns: Sequence[Column],
    factor: str,
    figure: tuple[str, Unit],
    figures: dict[str, list[Headline]],
) -> Iterator[Picture]:
    """The picture of one figure; systems that differ in the factor and their seed alone are one curve."""
    name, unit = figure
    found: dict[tuple[tuple[str, Factor], ...], dict[float, list[tuple[str, Estimate]]]] = {}
    for column in columns:
        own = next((each.row.estimate for each in figures[column.name] if each.name == name), None)
        if factor in column.cell.factors and own is not None and own.n and math.isfinite(own.value):
            at = float(column.cell.factors[factor])
            rest = but(column.cell.factors, factor, SEED)
            found.setdefault(rest, {}).setdefault(at, []).append((column.name, own))
    curves = [
        Curve(
            next(iter(own.values()))[0][0],
            in_words(rest) or "all systems",
            [(x, _joined([estimate for _, estimate in own[x]], unit)) for x in sorted(own)],
        )
        for rest, own in found.items()
    ]
    if any(len(curve.points) > 1 for curve in curves):
        several = any(len(each) > 1 for own in found.values() for each in own.values())
        over = " Where there are several seeds, their mean and its interval over seeds." if several else ""
        yield Picture(
            f"{name} over {factor}",
            Lines(curves, factor, name, unit),
            f"A point a system, with its 95 % interval; a line joins systems that differ in {factor} alone.{over}",
        )


def _joined(estimates: Sequence[Estimate], unit: Unit) -> Point:
    """A figure of one system, or its mean over seeds; a share's interval ends at 0 and 1."""
    if len(estimates) == 1:
        return point(estimates[0])
    mean, _ = mean_and_sd([estimate.value for estimate in estimates], "seeds")
    if unit == "plain" or mean.no_interval:
        return point(mean)
    return Point(mean.value, max(0.0, mean.low), min(1.0, mean.high))
