"""Draw the charts of a report, each as one SVG."""

from __future__ import annotations

import hashlib
import itertools
import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from babelscope.core.page import (
    FORMATS,
    Bar,
    Cloud,
    Curve,
    Dot,
    Forest,
    Histogram,
    Key,
    Lines,
    Picture,
    Point,
    Scatter,
    plain,
)

# --- SVG parts of charts: axes, marks, whiskers, legends. The page's style sheet colors them by class -------------

WIDTH = 520.0
"""Width of most pictures in SVG units: about a pixel each on a laptop, two thirds of one on a phone."""

SERIES = 6
"""Number of colors; system 7 has the color of system 1 again, and another shape."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps a value to a position; values outside are drawn at the edge."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        inside = min(max(value, self.low), self.high)
        return self.start + (inside - self.low) / (self.high - self.low) * (self.end - self.start)


Format = Callable[[float], str]


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """About `count` round numbers between low and high."""
    power = 10 ** math.floor(math.log10((high - low) / count))
    steps = [power * each for each in (1, 2, 2.5, 5, 10)]
    return min((_multiples(low, high, step) for step in steps), key=lambda each: abs(len(each) - count))


def _multiples(low: float, high: float, step: float) -> list[float]:
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 12) + 0.0 for number in range(first, last + 1)]


def extent(
    points: Sequence[Point], *, least: float = math.inf, most: float = -math.inf
) -> tuple[float, float]:
    """Ends of an axis that holds all intervals with a small margin, and reaches at least from `least` to `most`."""
    ends = [end for point in points for end in (point.value, point.low, point.high) if math.isfinite(end)]
    low, high = min([least, *ends]), max([most, *ends])
    if not math.isfinite(low) or not math.isfinite(high):
        return 0.0, 1.0
    room = 0.04 * (high - low) or 0.05 * abs(high) or 1.0
    return (low if low == least else low - room), (high if high == most else high + room)


def svg(title: str, description: str, width: float, height: float, parts: Sequence[Markup | str]) -> Markup:
    """A whole SVG element; title and description are read by screen readers."""
    name = "p" + hashlib.sha256(f"{title}\0{description}\0{''.join(parts)}".encode()).hexdigest()[:10]
    return Markup(
        '<svg class="picture" role="img" aria-labelledby="{0}t {0}d" viewBox="0 0 {1} {2}" '
        'preserveAspectRatio="xMinYMin meet"><title id="{0}t">{3}</title><desc id="{0}d">{4}</desc>{5}</svg>'
    ).format(name, n(width), n(height), title, description, Markup("").join(map(Markup, parts)))


def printable(text: str) -> str:
    """Replace unprintable characters, which XML forbids or which steer text, by U+FFFD."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def text(x: float, y: float, words: str, *, kind: str = "", anchor: str = "start") -> Markup:
    return Markup('<text x="{}" y="{}" class="{}" text-anchor="{}">{}</text>').format(
        n(x), n(y), kind, anchor, words
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    return Markup('<path d="M{} {}L{} {}" class="{}"/>').format(n(x1), n(y1), n(x2), n(y2), kind)


def rect(x: float, y: float, width: float, height: float, kind: str, title: str = "") -> Markup:
    inside = Markup("<title>{}</title>").format(title) if title else ""
    return Markup('<rect x="{}" y="{}" width="{}" height="{}" class="{}">{}</rect>').format(
        n(x), n(y), n(max(width, 0)), n(max(height, 0)), kind, inside
    )


def path(places: Sequence[tuple[float, float]], kind: str) -> Markup:
    return Markup('<path d="M{}" class="{}"/>').format(
        Markup("L").join(f"{n(x)} {n(y)}" for x, y in places), kind
    )


def band(upper: Sequence[tuple[float, float]], lower: Sequence[tuple[float, float]], kind: str) -> Markup:
    places = [*upper, *reversed(lower)]
    return Markup('<path d="M{}Z" class="{}"/>').format(
        Markup("L").join(f"{n(x)} {n(y)}" for x, y in places), kind
    )


def dots(places: Sequence[tuple[float, float]], kind: str) -> Markup:
    """Many points as one path: about ten bytes a point."""
    return Markup('<path d="{}" class="{}"/>').format(
        Markup("").join(f"M{n(x)} {n(y)}h0" for x, y in dict.fromkeys(places)), kind
    )


SHAPES = (
    "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0Z",  # circle
    "M-4 -4H4V4H-4Z",  # square
    "M0 -5.6L5.6 0L0 5.6L-5.6 0Z",  # diamond
    "M0 -5.4L5.2 4H-5.2Z",  # triangle
    "M0 5.4L5.2 -4H-5.2Z",
    "M-5 -1.6H-1.6V-5H1.6V-1.6H5V1.6H1.6V5H-1.6V1.6H-5Z",  # cross
)


def mark(
    x: float, y: float, series: int, *, shape: int | None = None, hollow: bool = False, title: str = ""
) -> Markup:
    """The mark of one value; series differ in color and in shape, and those of one color in shape."""
    form = SHAPES[(series + series // SERIES if shape is None else shape) % len(SHAPES)]
    inside = Markup("<title>{}</title>").format(title) if title else ""
    return Markup('<path d="{}" transform="translate({} {})" class="mark s{}{}">{}</path>').format(
        form, n(x), n(y), series % SERIES, " hollow" if hollow else "", inside
    )


def whisker_x(point: Point, y: float, scale: Scale, series: int) -> Markup:
    """A horizontal interval."""
    if not (math.isfinite(point.low) and math.isfinite(point.high)):
        return Markup("")
    return line(scale(point.low), y, scale(point.high), y, f"whisker s{series % SERIES}")


def whisker_y(point: Point, x: float, scale: Scale, series: int) -> Markup:
    """A vertical interval."""
    if not (math.isfinite(point.low) and math.isfinite(point.high)):
        return Markup("")
    return line(x, scale(point.low), x, scale(point.high), f"whisker s{series % SERIES}")


def x_axis(scale: Scale, top: float, bottom: float, form: Format, label: str, count: int = 5) -> list[Markup]:
    """Grid lines with their numbers, and the label of the axis."""
    parts = []
    for tick in ticks(scale.low, scale.high, count):
        x = scale(tick)
        parts += [
            line(x, top, x, bottom, "grid"),
            text(x, bottom + 16, form(tick), kind="tick", anchor="middle"),
        ]
    return [*parts, text(scale.end, bottom + 34, label, kind="axis", anchor="end")]


def y_axis(scale: Scale, left: float, right: float, form: Format, label: str, count: int = 5) -> list[Markup]:
    parts = []
    for tick in ticks(scale.low, scale.high, count):
        y = scale(tick)
        parts += [
            line(left, y, right, y, "grid"),
            text(left - 7, y + 4, form(tick), kind="tick", anchor="end"),
        ]
    return [*parts, text(0, scale.end - 12, label, kind="axis")]


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    series: int
    shape: int | None = None
    hollow: bool = False
    kind: str = "mark"
    """mark, dash (a line), or the class of a patch."""


def legend(keys: Sequence[Entry], width: float) -> tuple[list[Markup], float]:
    """The legend, on as many lines as it needs, and its height."""
    parts: list[Markup] = []
    left, y = 0.0, 12.0
    for key in keys:
        room = 22 + 6.9 * len(key.name)
        if left + room > width and left > 0:
            left, y = 0.0, y + 19
        if key.kind == "mark":
            parts.append(mark(left + 6, y - 4, key.series, shape=key.shape, hollow=key.hollow))
        elif key.kind == "dash":
            parts.append(line(left - 3, y - 4, left + 14, y - 4, f"line dash s{key.series % SERIES}"))
        else:
            parts.append(rect(left, y - 10, 13, 11, key.kind))
        parts.append(text(left + 18, y, key.name, kind="key"))
        left += room + 14
    return parts, (y + 8 if keys else 0.0)


# --- Draw the charts of a report, each as one SVG ------------------------------------------------------------------

Series = Mapping[str, int]
"""System -> its number, which gives its color and shape."""

_LINE = 20.0  # between marks of one group
_CHAR = 6.7  # width of a letter, about
_SHORT = 27  # letters of a name beside its line; a longer one stands above
_TRIES = 50  # to find a free place for a name


@dataclass(frozen=True, slots=True)
class Drawn:
    """A drawn picture, with its title and how to read it."""

    title: str
    svg: Markup
    reading: str


def draw(picture: Picture, series: Series) -> Drawn:
    chart, title = picture.chart, picture.title
    match chart:
        case Forest():
            drawn = forest(chart, title, series)
        case Scatter():
            drawn = scatter(chart, title, series)
        case Histogram():
            drawn = histogram(chart, title, series[chart.system])
        case Lines():
            drawn = lines(chart, title, series)
        case Cloud():
            drawn = cloud(chart, title, series)
    return Drawn(title, drawn, picture.reading)


def _color(number: int) -> str:
    """The class of a system's color; the style sheet has as many as `SERIES`."""
    return f"s{number % SERIES}"


def _entries(keys: Sequence[Key], series: Series) -> list[Entry]:
    return [Entry(key.name, series[key.system], key.shape, key.hollow) for key in keys]


def forest(chart: Forest, title: str, series: Series) -> Markup:
    """A forest plot: one row per group; names stand on the left, or above the row if they are long."""
    form = FORMATS[chart.unit]
    longest = max((len(name) for name, _ in chart.groups), default=0)
    above = longest > _SHORT
    left = 8.0 if above else 14 + _CHAR * longest
    low, high = chart.domain or extent(
        [bar.point for _, own in chart.groups for bar in own],
        least=math.inf if chart.zero is None else chart.zero,
    )
    scale = Scale(low, high, left, WIDTH - 18)
    parts, top = legend(_entries(chart.keys, series), WIDTH)
    start = y = top + 8
    body: list[Markup] = []
    for number, (name, own) in enumerate(chart.groups):
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
            body += _bar(bar, y + _LINE / 2, scale, series[bar.system], filled=chart.bars)
            y += _LINE
    y += 4
    parts += x_axis(scale, start, y, form, chart.label, 4 if left > 200 else 5)
    if chart.zero is not None and low <= chart.zero <= high:
        parts.append(line(scale(chart.zero), start - 2, scale(chart.zero), y, "zero"))
    description = "; ".join(
        f"{name}: {', '.join(bar.told or form(bar.point.value) for bar in own)}" for name, own in chart.groups
    )
    return svg(title, description, WIDTH, y + 42, [*parts, *body])


def _bar(bar: Bar, y: float, scale: Scale, number: int, *, filled: bool) -> list[Markup]:
    """The mark of one value with its interval; `filled` draws a bar up to it."""
    known = math.isfinite(bar.point.value)
    at = scale(bar.point.value) if known else scale.start
    parts = (
        [rect(scale.start, y - 6, at - scale.start, 12, f"bar {_color(number)}")] if filled and known else []
    )
    parts.append(whisker_x(bar.point, y, scale, number))
    if known:
        parts.append(mark(at, y, number, hollow=bar.hollow or filled, title=bar.told))
    else:
        parts.append(text(at, y + 4, "no figure", kind="tick"))
    return parts


def scatter(chart: Scatter, title: str, series: Series) -> Markup:
    parts, top = legend(_entries(chart.keys, series), WIDTH)
    most = -math.inf if chart.y_most is None else chart.y_most
    low, high = extent([dot.y for dot in chart.dots], most=most)
    y = Scale(low, high, top + 300, top + 34)
    x = Scale(*extent([dot.x for dot in chart.dots], least=0.0), 52, WIDTH - 16)
    parts += x_axis(x, y.end, y.start, FORMATS[chart.x_unit], chart.x_label)
    parts += y_axis(y, x.start, x.end, FORMATS[chart.y_unit], chart.y_label)
    for dot in chart.dots:
        across, down = x(dot.x.value), y(dot.y.value)
        number = series[dot.system]
        parts += [whisker_x(dot.x, down, x, number), whisker_y(dot.y, across, y, number)]
    for dot in chart.dots:
        across, down = x(dot.x.value), y(dot.y.value)
        parts.append(mark(across, down, series[dot.system], shape=dot.shape, title=dot.told))
    parts += _beside([dot for dot in chart.dots if dot.name], x, y)
    return svg(title, "; ".join(dot.told for dot in chart.dots), WIDTH, y.start + 42, parts)


def _beside(named: Sequence[Dot], x: Scale, y: Scale) -> Iterator[Markup]:
    """Names beside their dots; a name that would overlap another is moved toward the middle."""
    taken: list[tuple[float, float]] = []
    for dot in named:
        across, place = x(dot.x.value), y(dot.y.value) - 9
        end = across > (x.start + x.end) / 2
        for _ in range(_TRIES):
            if not any(abs(across - a) < 90 and abs(place - b) < 13 for a, b in taken):
                break
            place += 13 if place < (y.start + y.end) / 2 else -13
        taken.append((across, place))
        yield text(
            across + (-7 if end else 7), place, dot.name, kind="note", anchor="end" if end else "start"
        )


def histogram(chart: Histogram, title: str, number: int) -> Markup:
    """Stacked bars of item counts: wrong items below, in the darker color, right ones above, then the undecided."""
    light, dark, hollow = (f"patch {each}{_color(number)}" for each in ("light ", "", "hollow "))
    neither = chart.neither or [0] * len(chart.bins)
    keys = [Entry(f"{chart.system}: right", number, kind=light), Entry("wrong", number, kind=dark)]
    if any(neither):
        keys.append(Entry("undecided or tied", number, kind=hollow))
    parts, top = legend(keys, WIDTH)
    most = max((items for _, items, _ in chart.bins), default=0) or 1
    y = Scale(0, most * 1.1, top + 200, top + 30)
    left = 46.0
    step = (WIDTH - left - 8) / max(len(chart.bins), 1)
    parts += y_axis(y, left, WIDTH - 8, lambda value: f"{value:g}" if value == int(value) else "", "items", 4)
    told = [
        f"{edges}: {items} items, {right} right" + (f", {open_} undecided or tied" if open_ else "")
        for (edges, items, right), open_ in zip(chart.bins, neither, strict=True)
    ]
    for place, (edges, items, right) in enumerate(chart.bins):
        x = left + place * step + 0.08 * step
        wide = 0.84 * step
        decided = items - neither[place]
        layers = [(decided, light), (decided - right, dark)]
        parts += [rect(x, y(high), wide, y.start - y(high), kind, told[place]) for high, kind in layers]
        if decided < items:
            parts.append(rect(x, y(items), wide, y(decided) - y(items), hollow, told[place]))
        parts += [
            text(x + wide / 2, y.start + 15, edges.partition("-")[0], kind="tick", anchor="middle"),
        ]
        if items:
            parts.append(text(x + wide / 2, y(items) - 5, f"{items}", kind="tick", anchor="middle"))
    parts += [
        line(left, y.start, WIDTH - 8, y.start, "zero"),
        text(WIDTH - 8, y.start + 33, chart.label, kind="axis", anchor="end"),
    ]
    return svg(title, "; ".join(told), WIDTH, y.start + 42, parts)


def lines(chart: Lines, title: str, series: Series) -> Markup:
    """Curves with their intervals, each a little beside the others, over bands."""
    form = FORMATS[chart.unit]
    along = [at for curve in chart.curves for at, _ in curve.points]
    places = sorted({*along, *(at for own in chart.bands for at, _, _ in own.points)})
    numbers = [series[curve.system] if curve.series is None else curve.series for curve in chart.curves]
    keys = [
        Entry(curve.name, number, kind="dash" if curve.dashed else "mark")
        for curve, number in zip(chart.curves, numbers, strict=True)
    ]
    keys += [
        Entry(own.name, series[own.system], kind=f"patch band {_color(series[own.system])}")
        for own in chart.bands
    ]
    parts, top = legend(keys, WIDTH)
    ends = [point for curve in chart.curves for _, point in curve.points]
    ends += [Point(low, low, high) for own in chart.bands for _, low, high in own.points]
    y = Scale(*extent(ends), top + 250, top + 34)
    marked = sum(not curve.dashed for curve in chart.curves)
    room = (WIDTH - 82) / max(len(places), 2)
    beside = min(5.0, room / 2 / max(marked, 1))
    inset = (
        beside * max(marked - 1, 0) / 2
    )  # marks of the first and last x stay beside the axis and within the width
    step = (WIDTH - 82 - 2 * inset) / max(len(places) - 1, 1)
    across = {at: 66 + inset + number * step for number, at in enumerate(places)}
    parts += y_axis(y, 52, WIDTH - 8, form, chart.y_label)
    parts += _names_below([(across[at], _exact(at)) for at in places], y.start + 18)
    parts.append(text(WIDTH - 8, y.start + 36, chart.x_label, kind="axis", anchor="end"))
    for own in chart.bands:
        upper = [(across[at], y(high)) for at, _, high in own.points]
        lower = [(across[at], y(low)) for at, low, _ in own.points]
        parts.append(band(upper, lower, f"band {_color(series[own.system])}"))
    told = []
    aside = -inset
    for curve, number in zip(chart.curves, numbers, strict=True):
        points = [(at, point) for at, point in curve.points if math.isfinite(point.value)]
        moved = 0.0 if curve.dashed else aside
        parts += _curve(curve, [(across[at] + moved, at, point) for at, point in points], number, y, form)
        told.append(
            f"{curve.name}: {', '.join(f'{_exact(at)}: {form(point.value)}' for at, point in points)}"
        )
        aside += 0.0 if curve.dashed else beside
    return svg(title, "; ".join(told), WIDTH, y.start + 44, parts)


def _curve(
    curve: Curve, places: Sequence[tuple[float, float, Point]], number: int, y: Scale, form: Format
) -> list[Markup]:
    """A line through (position, x, value), with marks and intervals unless it is dashed."""
    kind = f"line {_color(number)}{' dash' if curve.dashed else ''}"
    parts = [path([(at, y(point.value)) for at, _, point in places], kind)] if len(places) > 1 else []
    for at, x, point in places if not curve.dashed else ():
        interval = f" [{form(point.low)}, {form(point.high)}]" if math.isfinite(point.low) else ""
        size = f", n = {point.n}" if point.n else ""
        told = f"{curve.name}, {_exact(x)}: {form(point.value)}{interval}{size}"
        parts += [whisker_y(point, at, y, number), mark(at, y(point.value), number, title=told)]
    return parts


def _exact(value: float) -> str:
    """A number of an axis that has no others between: all of its digits, so that no two are written alike."""
    return f"{value:.12g}"


def _names_below(names: Sequence[tuple[float, str]], y: float) -> Iterator[Markup]:
    """Names at their places along an axis; one that would touch the name before it is left out."""
    end = -math.inf
    for x, name in names:
        half = _CHAR * len(name) / 2
        if x - half > end:
            yield text(x, y, name, kind="tick", anchor="middle")
            end = x + half + 3


def cloud(chart: Cloud, title: str, series: Series) -> Markup:
    """Many dots, with their medians along x."""
    parts, top = legend([Entry(own.system, series[own.system], shape=0) for own in chart.dots], WIDTH)
    seen = [(own.system, [(a, b) for a, b in own.points if a >= chart.least]) for own in chart.dots]
    ends = [Point(b) for _, own in seen for _, b in own]
    y = Scale(*extent(ends, most=1.0), top + 280, top + 34)
    x = Scale(chart.least, 0.0, 52, WIDTH - 12)
    parts += x_axis(x, y.end, y.start, plain, chart.x_label)
    parts += y_axis(y, x.start, x.end, plain, chart.y_label)
    for system, own in seen:
        parts.append(dots([(x(a), y(b)) for a, b in own], f"dots {_color(series[system])}"))
    told = []
    for system, own in seen:
        medians = _medians(own)
        if len(medians) > 1:
            route = [(x(a), y(b)) for a, b in medians]
            parts += [path(route, "halo"), path(route, f"line thick {_color(series[system])}")]
        told.append(f"{system}, median: " + ", ".join(f"{plain(a)}: {plain(b)}" for a, b in medians))
    return svg(title, "; ".join(told), WIDTH, y.start + 42, parts)


def _medians(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Medians of x and y in slices of equally many points along x."""
    ordered = sorted(points)
    parts = min(10, len(ordered) // 8)
    edges = [round(number * len(ordered) / parts) for number in range(parts + 1)] if parts else []
    slices = [ordered[a:b] for a, b in itertools.pairwise(edges)]
    return [
        (statistics.median(a for a, _ in own), statistics.median(b for _, b in own)) for own in slices if own
    ]
