"""Charts of figures over a factor of the systems, such as kQRG over width."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from babelscope.core.charts import Chart, Curve, Lines, Unit, point
from babelscope.core.comparison import (
    SEED,
    Comparison,
    Rest,
    SystemResult,
    but,
    distinguish_groups,
    is_number,
    sort_key,
)
from babelscope.core.results import Estimate, grouped
from babelscope.core.tables import Note, Table
from babelscope.methods.reporting import count_of
from babelscope.stats.intervals import mean_and_sd

FigureName = tuple[str, Unit]


@dataclass(frozen=True, slots=True)
class _Joined:
    """A line: systems that differ in the factor of the axis, and in their seed, alone."""

    evaluator: str
    rest: Rest
    points: Mapping[float, Sequence[tuple[SystemResult, Estimate]]]


def main_figures(table: Table) -> dict[str, dict[FigureName, Estimate]]:
    """System -> the main figure of each of its lines in the first table of a method, by label and unit."""
    found: dict[str, dict[FigureName, Estimate]] = {}
    unit = table.columns[table.labels].unit if len(table.headings) > table.labels else "plain"
    skipped = [column.heading for column in table.columns[: table.labels]].count("system")
    for line in table.lines:
        figure = line.cells[table.labels] if len(line.cells) > table.labels else None
        if line.system and isinstance(figure, Estimate):
            name = ", ".join(str(cell) for cell in line.cells[skipped : table.labels])
            found.setdefault(line.system, {})[name, unit] = figure
    return found


def factor_charts(comparison: Comparison, table: Table) -> list[Chart]:
    """A chart for each figure of the first table and each quantity in which systems differ, but for their seed."""
    twins = _twins(comparison.results)
    results = [each for each in comparison.results if each.name not in twins]
    figures = main_figures(table)
    named = dict.fromkeys(name for own in figures.values() for name in own)
    charts = (_chart(results, factor, name, figures) for factor in _quantities(results) for name in named)
    return [chart for chart in charts if chart is not None]


def factor_notes(comparison: Comparison) -> list[Note]:
    """Which systems are in no chart over a factor, since the study names nothing in which they differ."""
    if not _quantities(comparison.results):
        return []
    return [
        Note(
            f"has the same factors as {other}: neither is in charts over a factor (name what differs, or seeds).",
            name,
        )
        for name, other in _twins(comparison.results).items()
    ]


def _twins(results: Sequence[SystemResult]) -> dict[str, str]:
    """System -> another with the very same factors, seed included, under the same evaluator."""
    alike = grouped(((but(each.factors), each.evaluator), each.name) for each in results if each.factors)
    return {
        name: next(other for other in names if other != name)
        for names in alike.values()
        if len(names) > 1
        for name in names
    }


def _quantities(results: Sequence[SystemResult]) -> list[str]:
    """Factors that are numbers and have two values or more."""
    names = dict.fromkeys(name for each in results for name in each.factors if name != SEED)
    values = {name: [each.factors[name] for each in results if name in each.factors] for name in names}
    return [name for name, own in values.items() if is_number(own) and len(set(own)) > 1]


def _chart(
    results: Sequence[SystemResult],
    factor: str,
    named: FigureName,
    figures: Mapping[str, Mapping[FigureName, Estimate]],
) -> Chart | None:
    """The chart of one figure; None where no two systems differ in the factor, and perhaps their seed, alone."""
    found = _joined(results, factor, named, figures)
    drawn = [own for own in found if len(own.points) > 1]
    if not drawn:
        return None
    name, unit = named
    drawn.sort(key=lambda own: (own.evaluator, sort_key(own.rest)))
    judges = {own.evaluator for own in drawn}
    curves = []
    for number, (own, words) in enumerate(
        zip(drawn, distinguish_groups([own.rest for own in drawn]), strict=True)
    ):
        judge = f"by {own.evaluator}" if len(judges) > 1 else ""
        points = []
        for x in sorted(own.points):
            values = [each for _, each in own.points[x]]
            several = mean_over_seeds([each.value for each in values], unit) if len(values) > 1 else None
            points.append((x, point(several or values[0])))
        first = next(iter(own.points.values()))[0][0].name
        label = ", ".join(filter(None, (words, judge))) or "all systems"
        curves.append(Curve(first, label, points, series=number))
    return Chart(f"{name} over {factor}", Lines(curves, factor, name, unit), _caption(factor, found, drawn))


def _joined(
    results: Sequence[SystemResult],
    factor: str,
    named: FigureName,
    figures: Mapping[str, Mapping[FigureName, Estimate]],
) -> list[_Joined]:
    """The systems that have the factor and the figure, those of one line together."""
    found: dict[tuple[str, Rest], dict[float, list[tuple[SystemResult, Estimate]]]] = {}
    for each in results:
        estimate = figures.get(each.name, {}).get(named)
        if factor in each.factors and estimate and estimate.n and math.isfinite(estimate.value):
            own = found.setdefault((each.evaluator, but(each.factors, factor, SEED)), {})
            own.setdefault(float(each.factors[factor]), []).append((each, estimate))
    return [_Joined(*key, own) for key, own in found.items()]


def _caption(factor: str, found: Sequence[_Joined], drawn: Sequence[_Joined]) -> str:
    """What points and lines are, how many seeds are behind a point, and which systems are not drawn."""
    sizes = sorted({len(own) for line in drawn for own in line.points.values()})
    seeds = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else str(sizes[0])
    parts = [
        "A point is a system, with its 95 % interval over items."
        if sizes[-1] == 1
        else f"A point is the mean of {seeds} seeds, with its 95 % interval over seeds"
        + (" (of one seed: over items)." if sizes[0] == 1 else "."),
        f"A line joins systems that differ in {factor} alone.",
    ]
    shown = {each.name for line in drawn for own in line.points.values() for each, _ in own}
    known = {each.name for line in found for own in line.points.values() for each, _ in own}
    if left := len(known - shown):
        parts.append(
            f"Not drawn: {count_of(left, 'systems')} without another that differs in {factor} alone."
        )
    return " ".join(parts)


def mean_over_seeds(values: Sequence[float], unit: Unit) -> Estimate:
    """The mean with its interval over seeds; the interval of a share ends at 0 and 1."""
    within = (-math.inf, math.inf) if unit == "plain" else (0.0, 1.0)
    return mean_and_sd(values, "seeds", within)[0]
