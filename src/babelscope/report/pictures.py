"""SVG parts of charts: axes, marks, whiskers, legends. The page's style sheet colours them by class."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from babelscope.core.page import Point

WIDTH = 520.0
"""Width of most pictures in SVG units: about a pixel each on a laptop, two thirds of one on a phone."""

SERIES = 6
"""Number of colours; system 7 has the colour of system 1 again, and another shape."""


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
    """The mark of one value; series differ in colour and in shape, and those of one colour in shape."""
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
