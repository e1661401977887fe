"""The kinds of pictures in a report: each takes numbers and gives one SVG."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from babelscope.report.pictures import (
    WIDTH,
    Format,
    Key,
    Point,
    Scale,
    band,
    dots,
    extent,
    legend,
    line,
    mark,
    path,
    percent,
    plain,
    rect,
    svg,
    text,
    whisker_x,
    whisker_y,
    x_axis,
    y_axis,
)

_LINE = 20.0  # between marks of one group
_CHAR = 6.7  # width of a letter, about
_SHORT = 27  # letters of a name beside its line; a longer one stands above


@dataclass(frozen=True, slots=True)
class Bar:
    """A mark or bar of a group."""

    series: int
    point: Point
    told: str = ""
    """Shown when pointed at."""
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class Dot:
    """A point of a scatter plot; `name` is written beside it."""

    x: Point
    y: Point
    series: int
    shape: int = 0
    name: str = ""
    told: str = ""


@dataclass(frozen=True, slots=True)
class Curve:
    """A line through (x, value with interval)."""

    name: str
    series: int
    points: Sequence[tuple[float, Point]]
    dashed: bool = False


def forest(
    groups: Sequence[tuple[str, Sequence[Bar]]],
    *,
    title: str,
    label: str,
    keys: Sequence[Key] = (),
    form: Format = percent,
    domain: tuple[float, float] | None = None,
    zero: float | None = None,
    bars: bool = False,
) -> Markup:
    """A line a group with its marks and intervals below each other; `bars` are drawn from the left edge.

    `zero` is a value to compare with: a line is drawn there.
    """
    longest = max((len(name) for name, _ in groups), default=0)
    above = longest > _SHORT
    left = 8.0 if above else 14 + _CHAR * longest
    points = [bar.point for _, own in groups for bar in own]
    if domain is None:
        domain = extent(points, least=math.inf if zero is None else zero, most=-math.inf)
    scale = Scale(*domain, left, WIDTH - 18)
    parts, top = legend(keys, WIDTH, x=0)
    start = y = top + 8
    body: list[Markup] = []
    for number, (name, own) in enumerate(groups):
        if number:
            y += 7
            body.append(line(0, y, WIDTH, y, "rule"))
            y += 3
        if above:
            body.append(text(0, y + 13, name, kind="name"))
            y += 17
        else:
            body.append(text(0, y + _LINE * len(own) / 2 + 4.5, name, kind="name"))
        for bar in own:
            middle = y + _LINE / 2
            if bars and math.isfinite(bar.point.value):
                body.append(
                    rect(
                        scale.start,
                        middle - 6,
                        scale(bar.point.value) - scale.start,
                        12,
                        f"bar s{bar.series}",
                    )
                )
            body.append(whisker_x(bar.point, middle, scale, bar.series))
            if math.isfinite(bar.point.value):
                body.append(
                    mark(
                        scale(bar.point.value), middle, bar.series, hollow=bar.hollow or bars, title=bar.told
                    )
                )
            else:
                body.append(text(scale.start, middle + 4, "no figure", kind="tick"))
            y += _LINE
    y += 4
    parts += x_axis(scale, start, y, form, label, 4 if left > 200 else 5)
    if zero is not None and domain[0] <= zero <= domain[1]:
        parts.append(line(scale(zero), start - 2, scale(zero), y, "zero"))
    description = "; ".join(
        f"{name}: {', '.join(bar.told or form(bar.point.value) for bar in own)}" for name, own in groups
    )
    return svg(title, description, WIDTH, y + 42, [*parts, *body])


def scatter(
    points: Sequence[Dot],
    *,
    title: str,
    x_label: str,
    y_label: str,
    keys: Sequence[Key],
    x_form: Format = plain,
    y_form: Format = percent,
    y_most: float = -math.inf,
    height: float = 300.0,
) -> Markup:
    """Points with intervals both ways."""
    parts, top = legend(keys, WIDTH)
    low, high = extent([dot.y for dot in points], most=y_most)
    y = Scale(low, high, top + height, top + 34)
    x = Scale(*extent([dot.x for dot in points], least=0.0), 52, WIDTH - 16)
    parts += x_axis(x, y.end, y.start, x_form, x_label)
    parts += y_axis(y, x.start, x.end, y_form, y_label)
    for dot in points:
        across, down = x(dot.x.value), y(dot.y.value)
        parts += [whisker_x(dot.x, down, x, dot.series), whisker_y(dot.y, across, y, dot.series)]
    for dot in points:
        parts.append(mark(x(dot.x.value), y(dot.y.value), dot.series, shape=dot.shape, title=dot.told))
    taken: list[tuple[float, float]] = []
    for dot in (dot for dot in points if dot.name):
        across, down = x(dot.x.value), y(dot.y.value)
        end = across > (x.start + x.end) / 2
        place = down - 9
        while any(abs(across - a) < 90 and abs(place - b) < 13 for a, b in taken):
            place += 13 if place < (y.start + y.end) / 2 else -13
        taken.append((across, place))
        parts.append(
            text(across + (-7 if end else 7), place, dot.name, kind="note", anchor="end" if end else "start")
        )
    told = "; ".join(dot.told for dot in points)
    return svg(title, told, WIDTH, y.start + 42, parts)


def histogram(
    bins: Sequence[tuple[str, int, int]], *, title: str, label: str, name: str, series: int
) -> Markup:
    """(bin, items, of these right): bars of items, the wrong ones at the bottom and darker."""
    keys = [
        Key(f"{name}: right", series, kind=f"patch light s{series}"),
        Key("wrong", series, kind=f"patch s{series}"),
    ]
    parts, top = legend(keys, WIDTH)
    most = max((items for _, items, _ in bins), default=0) or 1
    y = Scale(0, most * 1.1, top + 200, top + 30)
    left = 46.0
    step = (WIDTH - left - 8) / max(len(bins), 1)
    parts += y_axis(y, left, WIDTH - 8, lambda value: f"{value:g}" if value == int(value) else "", "items", 4)
    for number, (edges, items, right) in enumerate(bins):
        x = left + number * step + 0.08 * step
        wide = 0.84 * step
        told = f"{edges}: {items} items, {right} right"
        parts += [
            rect(x, y(items), wide, y.start - y(items), f"patch light s{series}", told),
            rect(x, y(items - right), wide, y.start - y(items - right), f"patch s{series}", told),
            text(x + wide / 2, y.start + 15, edges.partition("-")[0], kind="tick", anchor="middle"),
        ]
        if items:
            parts.append(text(x + wide / 2, y(items) - 5, f"{items}", kind="tick", anchor="middle"))
    parts += [
        line(left, y.start, WIDTH - 8, y.start, "zero"),
        text(WIDTH - 8, y.start + 33, label, kind="axis", anchor="end"),
    ]
    told = "; ".join(f"{edges}: {items} items, {right} right" for edges, items, right in bins)
    return svg(title, told, WIDTH, y.start + 42, parts)


def lines(
    curves: Sequence[Curve],
    *,
    title: str,
    x_label: str,
    y_label: str,
    form: Format = plain,
    bands: Sequence[tuple[str, int, Sequence[tuple[float, float, float]]]] = (),
    height: float = 250.0,
) -> Markup:
    """Curves over the same x, evenly spaced by their order; bands are (name, series, (x, low, high)...)."""
    places = sorted(
        {at for curve in curves for at, _ in curve.points} | {at for _, _, own in bands for at, _, _ in own}
    )
    keys = [
        Key(curve.name, curve.series, kind="dash" if curve.dashed else "mark", shape=curve.series)
        for curve in curves
    ]
    keys += [Key(name, series, kind=f"patch band s{series}") for name, series, _ in bands]
    parts, top = legend(keys, WIDTH)
    ends = [point for curve in curves for _, point in curve.points]
    ends += [Point(low, low, high) for _, _, own in bands for _, low, high in own]
    y = Scale(*extent(ends), top + height, top + 34)
    step = (WIDTH - 52 - 30) / max(len(places) - 1, 1)
    across = {at: 66 + number * step for number, at in enumerate(places)}
    parts += y_axis(y, 52, WIDTH - 8, form, y_label)
    for at in places:
        parts.append(text(across[at], y.start + 18, f"{at:g}", kind="tick", anchor="middle"))
    parts.append(text(WIDTH - 8, y.start + 36, x_label, kind="axis", anchor="end"))
    for _, series, own in bands:
        upper = [(across[at], y(high)) for at, _, high in own]
        lower = [(across[at], y(low)) for at, low, _ in own]
        parts.append(band(upper, lower, f"band s{series}"))
    known = [(curve, [(at, p) for at, p in curve.points if math.isfinite(p.value)]) for curve in curves]
    for number, (curve, points) in enumerate(known):
        aside = 0.0 if curve.dashed else 5.0 * (number - (len(known) - 1) / 2)
        route = [(across[at] + aside, y(point.value)) for at, point in points]
        if len(route) > 1:
            parts.append(path(route, f"line s{curve.series}{' dash' if curve.dashed else ''}"))
        if curve.dashed:
            continue
        for at, point in points:
            told = f"{curve.name}, {at:g}: {form(point.value)} [{form(point.low)}, {form(point.high)}]"
            parts.append(whisker_y(point, across[at] + aside, y, curve.series))
            parts.append(mark(across[at] + aside, y(point.value), curve.series, title=told))
    told = "; ".join(
        f"{curve.name}: {', '.join(f'{at:g}: {form(point.value)}' for at, point in points)}"
        for curve, points in known
    )
    return svg(title, told, WIDTH, y.start + 44, parts)


def cloud(
    clouds: Mapping[str, tuple[int, Sequence[tuple[float, float]]]],
    *,
    title: str,
    x_label: str,
    y_label: str,
    least: float,
    height: float = 280.0,
) -> Markup:
    """Many points (x, y) of some kinds, name -> (series, points), each with the median of y along x.

    What lies left of `least` is left out; the caption must say so.
    """
    keys = [Key(name, series, shape=0) for name, (series, _) in clouds.items()]
    parts, top = legend(keys, WIDTH)
    seen = {name: (series, [(a, b) for a, b in own if a >= least]) for name, (series, own) in clouds.items()}
    ends = [Point(b) for _, own in seen.values() for _, b in own]
    y = Scale(*extent(ends, most=1.0), top + height, top + 34)
    x = Scale(least, 0.0, 52, WIDTH - 12)
    parts += x_axis(x, y.end, y.start, plain, x_label)
    parts += y_axis(y, x.start, x.end, plain, y_label)
    for series, own in seen.values():
        parts.append(dots([(x(a), y(b)) for a, b in own], f"dots s{series}"))
    told = []
    for name, (series, own) in seen.items():
        medians = _medians(own)
        if len(medians) > 1:
            route = [(x(a), y(b)) for a, b in medians]
            parts += [path(route, "halo"), path(route, f"line thick s{series}")]
        told.append(f"{name}, median: " + ", ".join(f"{plain(a)}: {plain(b)}" for a, b in medians))
    return svg(title, "; ".join(told), WIDTH, y.start + 42, parts)


def _medians(points: Sequence[tuple[float, float]], parts: int = 10) -> list[tuple[float, float]]:
    """Medians of x and y in slices of equally many points along x."""
    ordered = sorted(points)
    parts = min(parts, len(ordered) // 8)
    edges = [round(number * len(ordered) / parts) for number in range(parts + 1)] if parts else []
    slices = [ordered[a:b] for a, b in itertools.pairwise(edges)]
    return [
        (statistics.median(a for a, _ in own), statistics.median(b for _, b in own)) for own in slices if own
    ]
