"""Draw charts with matplotlib: as SVG on the page, as files at paper size, as figures in notebooks."""

from __future__ import annotations

import contextlib
import io
import itertools
import math
import os
import re
import statistics
import subprocess
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from markupsafe import Markup

from babelscope.core import charts as data
from babelscope.core.charts import Chart, Key, NumberPair, Point
from babelscope.methods.reporting import percent, plain
from babelscope.util.errors import BabelscopeError
from babelscope.util.terminal import mark_hidden


@contextlib.contextmanager
def _importing() -> Iterator[None]:
    """Keep matplotlib from what it does when it is imported.

    It reads settings in the working folder, which may be a stranger's, and starts a program that lists fonts, where
    it has no list of them yet. It finds those in the usual folders without, and we use only the one it brings along.
    """
    run = subprocess.check_output

    def run_others(command: Any, *rest: Any, **more: Any) -> Any:
        if command[0] in ("fc-list", "system_profiler"):
            raise FileNotFoundError(command[0])
        return run(command, *rest, **more)

    subprocess.check_output = run_others  # type: ignore[assignment]
    try:
        with contextlib.chdir(os.path.dirname(__file__)):
            yield
    finally:
        subprocess.check_output = run


with _importing():
    from matplotlib import rc_context, rcParamsDefault
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch, PathPatch, Rectangle
    from matplotlib.path import Path
    from matplotlib.ticker import MaxNLocator

Series = Mapping[str, int]
"""System -> its number, which gives its color and shape."""
Width = Literal["page", "paper"]
Format = Literal["pdf", "svg", "png"]

# The colors of page.css in light mode. On the page they become its variables, so that dark mode has its own.
SERIES = ("#1f63a8", "#c0571b", "#2c7f60", "#7d57a8", "#a8365f", "#5f6b1c")
INK, SOFT, GRID, PAPER = "#1c212b", "#596072", "#e9e6de", "#ffffff"
VARIABLES = {color: f"var(--s{number})" for number, color in enumerate(SERIES)} | {
    INK: "var(--ink)",
    SOFT: "var(--soft)",
    GRID: "var(--grid)",
    PAPER: "var(--paper)",
}
_MARKERS = "osD^vP"

# Lengths are in units: points on the page, 0.6 points on paper, where charts are 3.3 inches wide, wide ones 6.9.
_UNIT = {"page": 1.0, "paper": 0.6}
_WIDTH = {"page": (520.0, 760.0), "paper": (396.0, 828.0)}
_LETTER = 6.9  # width of a letter, about
_ROW = 20.0  # height of a row of a forest plot
_PLOT = 250.0  # height of other plots
_SHORT = 27  # letters of a name next to its rows; longer ones stand above
_TRIES = 50  # to find a free place for a name
_DASHES = (0, (3, 2))
_TITLE = "title:"  # begins the gid of an artist with a tooltip


@contextlib.contextmanager
def _style(width: Width) -> Iterator[None]:
    """Our settings, whatever the user's are; no text is parsed as mathematics."""
    settings: dict[Any, Any] = {name: value for name, value in rcParamsDefault.items() if name != "backend"}
    settings |= {
        "axes.axisbelow": True,
        "axes.facecolor": "none",
        "axes.grid": True,
        "axes.labelcolor": SOFT,
        "axes.titlecolor": SOFT,
        "axes.titlelocation": "left",
        "axes.titlepad": 10 * _UNIT[width],
        "axes.titlesize": "medium",
        "figure.facecolor": "none" if width == "page" else PAPER,
        "font.size": 12 * _UNIT[width],
        "grid.color": GRID,
        "legend.borderaxespad": 0.0,
        "legend.borderpad": 0.1,
        "legend.columnspacing": 1.2,
        "legend.frameon": False,
        "legend.handlelength": 1.6,
        "legend.handletextpad": 0.5,
        "lines.linewidth": 1.6 * _UNIT[width],
        "lines.solid_capstyle": "butt",
        "path.simplify": False,
        "pdf.fonttype": 42,
        "svg.fonttype": "none",
        "svg.hashsalt": "babelscope",
        "text.color": INK,
        "text.parse_math": False,
        **{f"axes.spines.{side}": False for side in ("left", "right", "top", "bottom")},
        **{f"{axis}tick.color": SOFT for axis in "xy"},
        **{f"{axis}tick.major.size": 0.0 for axis in "xy"},
    }
    with rc_context(settings), warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # letters that DejaVu Sans lacks, axes without room: seen in the chart
        yield


class _Figure(Figure):
    def _repr_png_(self) -> bytes:
        """For notebooks, which by themselves show only figures of pyplot."""
        return _saved(self, "png", dpi=110)


class _Canvas:
    """A figure with one plot, the marks and lines on it, and its legend."""

    def __init__(self, width: Width, series: Series, *, is_wide: bool = False) -> None:
        self.unit = _UNIT[width]
        self.width = _WIDTH[width][is_wide]
        self.series = series
        self.figure = _Figure(layout=None if is_wide else "constrained")
        self.axes: Any = self.figure.add_axes((0, 0, 1, 1)) if is_wide else self.figure.subplots()
        self.legend: list[tuple[Artist, str]] = []

    def style(self, number: int, shape: int | None = None, *, hollow: bool = False) -> dict[str, Any]:
        """How marks of a series look: series differ in color and shape, and those of one color in shape."""
        edge, face = (_color(number), PAPER) if hollow else (PAPER, _color(number))
        return {
            "linestyle": "none",
            "marker": _MARKERS[(number + number // len(SERIES) if shape is None else shape) % len(_MARKERS)],
            "markersize": 8.5 * self.unit,
            "markerfacecolor": face,
            "markeredgecolor": edge,
            "markeredgewidth": (1.8 if hollow else 1.0) * self.unit,
            "zorder": 4,
        }

    def mark(self, x: Point, y: Point, number: int, title: str, **style: Any) -> None:
        """A mark with its intervals, where these are finite, and its tooltip."""
        whisker = {"color": _color(number), "alpha": 0.55, "linewidth": 2 * self.unit}
        if math.isfinite(x.low) and math.isfinite(x.high):
            self.axes.plot([x.low, x.high], [y.value] * 2, **whisker)
        if math.isfinite(y.low) and math.isfinite(y.high):
            self.axes.plot([x.value] * 2, [y.low, y.high], **whisker)
        self.line([(x.value, y.value)], title, **{**self.style(number), **style})

    def line(self, points: Sequence[NumberPair], title: str = "", **style: Any) -> None:
        """A line through points, with its tooltip."""
        (line,) = self.axes.plot([x for x, _ in points], [y for _, y in points], **style)
        _titled(line, title)

    def keys(self, keys: Sequence[Key]) -> None:
        """Entries of the legend for marks."""
        for key in keys:
            style = self.style(self.series[key.system], key.shape, hollow=key.hollow)
            self.legend.append((Line2D([], [], **style), key.name))

    def label(self, x: str, y: str = "") -> None:
        """Names of the axes; that of y stands above it."""
        # Lines of a text are placed by the width of another font than the page's, unless they begin on the left.
        name = _wrapped(x, self.width - 60)
        self.axes.set_xlabel(name, loc="left" if "\n" in name else "right")
        self.axes.set_title(_wrapped(y, self.width - 60))

    def finish(self, height: float) -> None:
        """Add the legend, and set the height of what is below it."""
        if self.legend:
            names = [_text(name, int(self.width / _LETTER) - 6) for _, name in self.legend]
            room = [_LETTER * len(name) + 42 for name in names]
            columns = len(names) if sum(room) <= self.width else max(1, int(self.width // max(room)))
            height += 19 * math.ceil(len(names) / columns) + 4
            handles = [handle for handle, _ in self.legend]
            self.figure.legend(handles, names, loc="outside upper left", ncols=columns)
        self.figure.set_size_inches(self.width * self.unit / 72, height * self.unit / 72)
        for artist in self.axes.get_children():
            artist.set_clip_on(False)


def figure(chart: Chart, series: Series, *, width: Width = "page") -> Figure:
    """A chart as a figure of matplotlib."""
    draw: Mapping[type, Callable[[Any, _Canvas], None]] = {
        data.Forest: _forest,
        data.Scatter: _scatter,
        data.Histogram: _histogram,
        data.Lines: _lines,
        data.Cloud: _cloud,
        data.Flow: _flow,
    }
    with _style(width):
        canvas = _Canvas(width, series, is_wide=isinstance(chart.drawing, data.Flow))
        draw[type(chart.drawing)](chart.drawing, canvas)
    return canvas.figure


def extent(points: Sequence[Point], *, least: float | None = None, most: float | None = None) -> NumberPair:
    """Ends of an axis that holds all intervals with a small margin, and reaches at least from `least` to `most`."""
    ends = [end for point in points for end in (point.value, point.low, point.high) if math.isfinite(end)]
    if not ends:
        return 0.0, 1.0
    low = min(ends) if least is None else min(least, *ends)
    high = max(ends) if most is None else max(most, *ends)
    room = 0.04 * (high - low) or 0.05 * abs(high) or 1.0
    return (low if low == least else low - room), (high if high == most else high + room)


def _color(number: int) -> str:
    return SERIES[number % len(SERIES)]


def _form(unit: data.Unit) -> Callable[[float], str]:
    """How numbers of a unit are written."""
    return percent if unit == "percent" else plain


def _titled(artist: Artist, title: str) -> None:
    """Give an artist a tooltip; `_copy` makes a title of it."""
    artist.set_gid(f"{_TITLE}{_text(title)}" if title else None)


def _format(axis: Any, form: Callable[[float], str]) -> None:
    """Write the numbers of an axis, without what floating point adds to round ones."""
    axis.set_major_formatter(lambda value, _: form(round(value, 12) + 0.0))


def _text(words: str, most: int = 0) -> str:
    """A text in one line: what would steer or hide it is shown, and what XML does not allow is replaced."""
    line = " ".join(re.sub("[\ufffe\uffff]", "\ufffd", mark_hidden(words)).split())
    return f"{line[: most - 1]}…" if 0 < most < len(line) else line


def _wrapped(words: str, width: float) -> str:
    return "\n".join(textwrap.wrap(_text(words), int(width / _LETTER), max_lines=3, placeholder="…"))


# --- Drawings ------------------------------------------------------------------------------------------------------


def _forest(chart: data.Forest, canvas: _Canvas) -> None:
    """One row per mark; names of groups stand on the left, or above their rows if one is long."""
    axes = canvas.axes
    is_above = any(len(_text(name)) > _SHORT for name, _ in chart.groups)
    ends = chart.domain or extent([bar.point for _, own in chart.groups for bar in own], least=chart.zero)
    names: dict[float, str] = {}
    y = 0.0
    for number, (name, own) in enumerate(chart.groups):
        if number:
            axes.axhline(y + 4, color=GRID, linestyle=(0, (1, 3)), linewidth=canvas.unit)
            y += 8
        if is_above:
            title = _wrapped(name, canvas.width)
            y += 15 * (1 + title.count("\n")) + 2
            axes.text(0, y - 2, title, transform=axes.get_yaxis_transform(), va="bottom")
        else:
            names[y + _ROW * len(own) / 2] = _text(name)
        for bar in own:
            _bar(bar, name, y + _ROW / 2, ends, chart, canvas)
            y += _ROW
    axes.set(xlim=ends, ylim=(y + 2, -2))
    axes.set_yticks([*names], [*names.values()], color=INK)
    axes.tick_params("y", pad=9 * canvas.unit)
    axes.yaxis.grid(False)
    _format(axes.xaxis, _form(chart.unit))
    if chart.zero is not None and ends[0] <= chart.zero <= ends[1]:
        axes.axvline(chart.zero, color=SOFT, linewidth=canvas.unit)
    canvas.keys(chart.keys)
    canvas.label(chart.label)
    canvas.finish(y + 48)


def _bar(bar: data.Bar, group: str, y: float, ends: NumberPair, chart: data.Forest, canvas: _Canvas) -> None:
    """The mark of one value with its interval, or a bar up to it; what is outside of the axis stands at its end."""
    number, point = canvas.series[bar.system], bar.point
    if not math.isfinite(point.value):
        canvas.axes.text(ends[0], y, "no figure", color=SOFT, va="center")
        return
    value, low, high = (
        min(max(end, ends[0]), ends[1]) if math.isfinite(end) else end
        for end in (point.value, point.low, point.high)
    )
    if chart.bars:
        canvas.axes.barh(y, value - ends[0], 12, ends[0], color=_color(number), alpha=0.22)
    title = (
        bar.told or f"{group}, {bar.system}: {(percent if chart.unit == 'percent' else plain)(point.value)}"
    )
    style = canvas.style(number, hollow=bar.hollow or chart.bars)
    canvas.mark(Point(value, low, high), Point(y), number, title, **style)


def _scatter(chart: data.Scatter, canvas: _Canvas) -> None:
    axes = canvas.axes
    x = extent([dot.x for dot in chart.dots], least=chart.x_least)
    y = extent([dot.y for dot in chart.dots], most=chart.y_most)
    axes.set(xlim=x, ylim=y)
    for name, points in chart.lines:
        canvas.line(points, name, color=SOFT, alpha=0.6)
    for dot in chart.dots:
        number = canvas.series[dot.system]
        style = canvas.style(number, dot.shape, hollow=dot.hollow)
        if dot.hollow:
            style |= {"markerfacecolor": "none", "markersize": 15 * canvas.unit}
        canvas.mark(dot.x, dot.y, number, dot.told or dot.name, **style)
    _name_dots([dot for dot in chart.dots if dot.name], x, y, canvas)
    _format(axes.xaxis, _form(chart.x_unit))
    _format(axes.yaxis, _form(chart.y_unit))
    canvas.keys(chart.keys)
    canvas.label(chart.x_label, chart.y_label)
    canvas.finish(_PLOT + 90)


def _name_dots(dots: Sequence[data.Dot], x: NumberPair, y: NumberPair, canvas: _Canvas) -> None:
    """Names next to their dots; a name that would overlap another is moved toward the middle."""
    taken: list[NumberPair] = []
    for dot in dots:
        across = (dot.x.value - x[0]) / (x[1] - x[0]) * (canvas.width - 60)
        at = (dot.y.value - y[0]) / (y[1] - y[0]) * _PLOT
        side = -1 if across > (canvas.width - 60) / 2 else 1
        place = at + 9
        for _ in range(_TRIES):
            if not any(abs(across - a) < 90 and abs(place - b) < 14 for a, b in taken):
                break
            place += 14 if place < _PLOT / 2 else -14
        taken.append((across, place))
        canvas.axes.annotate(
            _text(dot.name, _SHORT),
            (dot.x.value, dot.y.value),
            (7 * side * canvas.unit, (place - at) * canvas.unit),
            textcoords="offset points",
            ha="left" if side > 0 else "right",
            va="center",
            bbox={"boxstyle": "square,pad=0.05", "facecolor": PAPER, "edgecolor": "none", "alpha": 0.75},
            zorder=3,
        )


def _histogram(chart: data.Histogram, canvas: _Canvas) -> None:
    """Stacked bars: wrong items below, in the darker color, right ones above, then those that are neither."""
    axes, color, places = canvas.axes, _color(canvas.series[chart.system]), range(len(chart.bins))
    neither = chart.neither or [0] * len(chart.bins)
    counted = [
        (edges, items, items - right - rest, right, rest)
        for (edges, items, right), rest in zip(chart.bins, neither, strict=True)
    ]
    layers: list[tuple[str, dict[str, Any]]] = [
        ("wrong", {"facecolor": color}),
        (f"{chart.system}: right", {"facecolor": color, "alpha": 0.3}),
        ("undecided or tied", {"facecolor": PAPER, "edgecolor": color, "linewidth": canvas.unit}),
    ]
    for layer, (name, style) in enumerate(layers if any(neither) else layers[:2]):
        canvas.legend.append((Patch(**style), name))
        for place, (edges, items, *parts) in enumerate(counted):
            (bar,) = axes.bar(place, parts[layer], 0.84, sum(parts[:layer]), **style)
            rest = f", {parts[2]} undecided or tied" if parts[2] else ""
            _titled(bar, f"{edges}: {items} items, {parts[1]} right{rest}")
    most = max([1, *(items for _, items, *_ in counted)])
    for place, (_, items, *_) in enumerate(counted):
        axes.text(place, items + 0.02 * most, str(items or ""), color=SOFT, ha="center", va="bottom")
    axes.axhline(0, color=SOFT, linewidth=canvas.unit)
    axes.set(xlim=(-0.6, len(counted) - 0.4), ylim=(0, 1.1 * most))
    axes.set_xticks(places, [_text(edges.partition("-")[0], 8) for edges, *_ in counted])
    axes.xaxis.grid(False)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    canvas.label(chart.label, "items")
    canvas.finish(_PLOT)


def _lines(chart: data.Lines, canvas: _Canvas) -> None:
    """Curves with their intervals, each a little beside the others, over bands."""
    axes = canvas.axes
    along = [at for curve in chart.curves for at, _ in curve.points]
    places = sorted({*along, *(at for band in chart.bands for at, _, _ in band.points)})
    room = (canvas.width - 82) / max(len(places), 2)
    marked = sum(not curve.dashed for curve in chart.curves)
    step = min(5.0, room / 2 / max(marked, 1)) / room
    aside = -step * max(marked - 1, 0) / 2
    # Marks of the first and last x stay within the plot.
    margin = 10 / room - aside if len(places) > 1 else 0.5
    points = [point for curve in chart.curves for _, point in curve.points]
    points += [Point(low, low, high) for band in chart.bands for _, low, high in band.points]
    axes.set(xlim=(-margin, max(len(places), 1) - 1 + margin), ylim=extent(points))
    for curve in chart.curves:
        moved = 0.0 if curve.dashed else aside
        _curve(
            curve,
            {at: number + moved for number, at in enumerate(places)},
            _form(chart.unit),
            canvas,
        )
        aside += 0.0 if curve.dashed else step
    for band in chart.bands:
        style: dict[str, Any] = {
            "facecolor": _color(canvas.series[band.system]),
            "alpha": 0.15,
            "linewidth": 0,
        }
        xs = [places.index(at) for at, _, _ in band.points]
        axes.fill_between(xs, [low for _, low, _ in band.points], [high for *_, high in band.points], **style)
        canvas.legend.append((Patch(**style), band.name))
    shown = list(_spaced(places, room))
    axes.set_xticks(shown, [_exact(places[number]) for number in shown])
    axes.xaxis.grid(False)
    _format(axes.yaxis, _form(chart.unit))
    canvas.label(chart.x_label, chart.y_label)
    canvas.finish(_PLOT + 44)


def _curve(
    curve: data.Curve, places: Mapping[float, float], form: Callable[[float], str], canvas: _Canvas
) -> None:
    """A line with marks and intervals, or a dashed one without."""
    number = canvas.series[curve.system] if curve.series is None else curve.series
    line: dict[str, Any] = {"color": _color(number), "linestyle": _DASHES if curve.dashed else "-"}
    marks = {} if curve.dashed else canvas.style(number)
    canvas.legend.append((Line2D([], [], **{**marks, **line}), curve.name))
    known = [(x, point) for x, point in curve.points if math.isfinite(point.value)]
    canvas.line([(places[x], point.value) for x, point in known], **line)
    for x, point in [] if curve.dashed else known:
        interval = f" [{form(point.low)}, {form(point.high)}]" if math.isfinite(point.low) else ""
        size = f", n = {point.n}" if point.n else ""
        title = f"{curve.name}, {_exact(x)}: {form(point.value)}{interval}{size}"
        canvas.mark(Point(places[x]), point, number, title)


def _exact(value: float) -> str:
    """A number of an axis that has no others between: all of its digits, so that no two are written alike."""
    return f"{value:.12g}"


def _spaced(values: Sequence[float], room: float) -> Iterator[int]:
    """The places along an axis whose numbers do not touch the one before."""
    end = -math.inf
    for place, value in enumerate(values):
        half = _LETTER * len(_exact(value)) / 2
        if place * room - half > end:
            yield place
            end = place * room + half + 4


def _cloud(chart: data.Cloud, canvas: _Canvas) -> None:
    """Many dots per system, as one path, with their medians along x."""
    axes, unit = canvas.axes, canvas.unit
    seen = {own.system: [(x, y) for x, y in own.points if x >= chart.least] for own in chart.dots}
    axes.set(
        xlim=(chart.least, 0), ylim=extent([Point(y) for own in seen.values() for _, y in own], most=1.0)
    )
    short = -1e-5 * chart.least  # not everything draws a line of no length
    for system, own in seen.items():
        ends = [end for x, y in dict.fromkeys(own) for end in ((x, y), (x + short, y))]
        path = Path(ends or [(0, 0)], [Path.MOVETO, Path.LINETO] * (len(ends) // 2) or None)
        style = {"edgecolor": _color(canvas.series[system]), "linewidth": 3.4 * unit, "alpha": 0.4}
        axes.add_patch(PathPatch(path, fill=False, capstyle="round", **style))
    for system, own in seen.items():
        medians = _medians(own)
        title = f"{system}, median: " + ", ".join(f"{plain(x)}: {plain(y)}" for x, y in medians)
        canvas.line(medians, color=PAPER, linewidth=5.5 * unit)
        canvas.line(medians, title, color=_color(canvas.series[system]), linewidth=2.6 * unit)
    _format(axes.xaxis, plain)
    _format(axes.yaxis, plain)
    canvas.keys([Key(system, system, shape=0) for system in seen])
    canvas.label(chart.x_label, chart.y_label)
    canvas.finish(_PLOT + 70)


def _medians(points: Sequence[NumberPair]) -> list[NumberPair]:
    """Medians of x and y in slices of equally many points along x."""
    ordered = sorted(points)
    parts = min(10, len(ordered) // 8)
    edges = [round(number * len(ordered) / parts) for number in range(parts + 1)] if parts else []
    slices = [zip(*ordered[a:b], strict=True) for a, b in itertools.pairwise(edges)]
    return [(statistics.median(xs), statistics.median(ys)) for xs, ys in slices]


def _flow(chart: data.Flow, canvas: _Canvas) -> None:
    """Ribbons between nodes in columns, as wide as what flows."""
    sizes = {
        name: max(sum(flow[2] for flow in chart.flows if flow[side] == name) for side in (0, 1))
        for name in dict.fromkeys(name for start, end, _ in chart.flows for name in (start, end))
    }
    if any(not count >= 0 for *_, count in chart.flows) or not any(sizes.values()):
        raise BabelscopeError("a Sankey diagram needs flows, none of them negative")
    columns = _columns(chart, [*dict.fromkeys([*(name for name in chart.order if name in sizes), *sizes])])
    height = max(380.0, 24.0 * max(map(len, columns)))
    gap = min(14.0, *(0.4 * (height - 56) / len(own) for own in columns))
    scale = min(
        (height - 56 - gap * (len(own) - 1)) / max(sum(sizes[name] for name in own), 1e-9) for own in columns
    )
    step = (canvas.width - 142) / max(len(columns) - 1, 1)
    axes = canvas.axes
    axes.set(xlim=(0, canvas.width), ylim=(height, 0))
    axes.set_axis_off()
    nodes: dict[str, NumberPair] = {}
    for x, own in zip(itertools.count(0.0, step), columns, strict=False):
        y = 28.0
        for name in own:
            nodes[name] = x, y
            label = f"{_text(chart.labels.get(name, name), 40)} {sizes[name]:,.0f}"
            axes.add_patch(Rectangle((x, y), 12, max(scale * sizes[name], 1), facecolor=INK))
            axes.text(x + 17, y + scale * sizes[name] / 2, label, va="center")
            y += scale * sizes[name] + gap
    for x, heading in zip(itertools.count(0.0, step), chart.headings[: len(columns)], strict=False):
        axes.text(x, 14, _text(heading), weight="bold")
    _ribbons(chart, nodes, scale, canvas)
    canvas.finish(height)


def _columns(chart: data.Flow, names: Sequence[str]) -> list[list[str]]:
    """The nodes of each column, whose number is the length of the longest way to them."""
    column = dict.fromkeys(names, 0)
    for _ in names:
        later = {end: column[start] + 1 for start, end, _ in chart.flows if column[end] <= column[start]}
        if not later:
            return [
                [name for name in names if column[name] == each] for each in range(max(column.values()) + 1)
            ]
        column |= later
    raise BabelscopeError("a Sankey diagram cannot have flows in a circle")


def _ribbons(chart: data.Flow, nodes: Mapping[str, NumberPair], scale: float, canvas: _Canvas) -> None:
    """A ribbon for each flow; they are ordered so that they do not cross at a node."""
    ends = [(start, end) for start, end, _ in chart.flows]
    places: list[dict[int, float]] = [{}, {}]
    for side in (0, 1):
        free = {name: y for name, (_, y) in nodes.items()}
        for number in sorted(range(len(ends)), key=lambda each: nodes[ends[each][1 - side]][1]):
            places[side][number] = free[ends[number][side]]
            free[ends[number][side]] += scale * chart.flows[number][2]
    codes = [Path.MOVETO, *[Path.CURVE4] * 3, Path.LINETO, *[Path.CURVE4] * 3]
    for number, (start, end, count) in enumerate(chart.flows):
        left, right, thick = nodes[start][0] + 12, nodes[end][0], scale * count
        half, a, b = (left + right) / 2, places[0][number], places[1][number]
        there = [(left, a), (half, a), (half, b), (right, b)]
        back = [(x, y + thick) for x, y in reversed(there)]
        color = _color(chart.series[start]) if start in chart.series else SOFT
        ribbon = PathPatch(Path([*there, *back], codes), facecolor=color, alpha=0.35, linewidth=0)
        names = " → ".join(chart.labels.get(name, name) for name in (start, end))
        _titled(ribbon, f"{names}: {count:,.0f}")
        if count:
            canvas.axes.add_patch(ribbon)


# --- Files and SVG -------------------------------------------------------------------------------------------------


def as_file(chart: Chart, series: Series, form: Format) -> bytes:
    """A chart at paper size as a file, the same bytes on every run."""
    drawn = figure(chart, series, width="paper")
    if form != "svg":
        with _style("paper"):
            return _saved(drawn, form, dpi=300)
    root = _svg(drawn, "paper", chart.title)
    width, height = (f"{72 * inches:.6g}pt" for inches in drawn.get_size_inches())
    root.attrib |= {"xmlns": "http://www.w3.org/2000/svg", "width": width, "height": height}
    root.set("font-family", "DejaVu Sans, sans-serif")
    return bytes(ElementTree.tostring(root, encoding="utf-8") + b"\n")


def as_svg(chart: Chart, series: Series, name: str = "chart") -> Markup:
    """A chart for the page: colors are its variables, and there is no style, script or reference to anything else."""
    root = _svg(figure(chart, series), "page", chart.title)
    for each in root[:2]:
        each.set("id", f"{name}-{each.tag}")
    root.attrib |= {"class": "chart", "aria-labelledby": f"{name}-title {name}-desc"}
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def swatch(number: int) -> Markup:
    """The mark of a system, for the page to put next to its name."""
    with _style("page"):
        canvas = _Canvas("page", {}, is_wide=True)
        canvas.axes.set_axis_off()
        canvas.mark(Point(0.0), Point(0.0), number, "")
        canvas.figure.set_size_inches(14 / 72, 14 / 72)
    root = _svg(canvas.figure, "page", "")
    root[:] = root[2:]
    root.attrib |= {"class": "swatch", "role": "none", "aria-hidden": "true"}
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _saved(drawn: Figure, form: str, **more: Any) -> bytes:
    """The figure as a file without date and program."""
    buffer = io.BytesIO()
    unsaid = {
        "pdf": ("CreationDate", "Creator", "Producer"),
        "svg": ("Date", "Creator"),
        "png": ("Software",),
    }
    drawn.savefig(buffer, format=form, metadata=dict.fromkeys(unsaid[form]), **more)
    return buffer.getvalue()


def _svg(drawn: Figure, width: Width, title: str) -> Element:
    """The figure as an SVG element without ids, style sheets and metadata, described by the tooltips of its marks."""
    with _style(width):
        found = ElementTree.fromstring(_saved(drawn, "svg"))
    shapes = {f"#{each.get('id')}": each.get("d", "") for each in found.iter() if each.get("id")}
    root = Element("svg", {"role": "img", "viewBox": found.get("viewBox", ""), "stroke-linejoin": "round"})
    SubElement(root, "title").text = _text(title)
    described = SubElement(root, "desc")
    for each in found:
        _copy(each, root, shapes, VARIABLES if width == "page" else {})
    titles = dict.fromkeys(each.text or "" for each in root.iterfind(".//g/title"))
    described.text = "; ".join(titles)
    return root


def _copy(element: Element, parent: Element, shapes: Mapping[str, str], colors: Mapping[str, str]) -> None:
    """Copy what is drawn: tooltips become titles, styles attributes, and references to marks the marks."""
    tag, name = element.tag.rpartition("}")[2], element.get("id", "")
    if tag == "g":
        if name.startswith(_TITLE):
            parent = SubElement(parent, "g")
            SubElement(parent, "title").text = name.removeprefix(_TITLE)
        for each in element:
            _copy(each, parent, shapes, colors)
    style = dict(part.split(": ", 1) for part in element.get("style", "").split("; ") if part)
    if tag not in ("path", "use", "text") or style == {"fill": "none"}:
        return
    style.pop("font-family", "")
    copy = SubElement(parent, tag.replace("use", "path"))
    copy.attrib |= {name: colors.get(value, value) for name, value in style.items()}
    own = {name: value for name, value in element.attrib.items() if name in ("d", "x", "y")}
    if tag == "use":
        shape = shapes[element.get("{http://www.w3.org/1999/xlink}href", "")]
        own = {"d": shape, "transform": f"translate({own['x']} {own['y']})"}
    copy.attrib |= {name: _rounded(value) for name, value in own.items()}
    copy.text = element.text if tag == "text" else None


def _rounded(numbers: str) -> str:
    """Coordinates with two decimals and without needless space."""
    short = re.sub(r"-?\d+\.\d{3,}", lambda found: f"{float(found[0]):.2f}", numbers)
    return re.sub(r"\s*([A-Za-z])\s*", r"\1", short).strip()
