"""Draw one figure of systems against another as SVG, one point per system (figure 5 of the conditioning paper)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from babelscope.core.page import Point
from babelscope.report.charts import SHAPES, Scale, extent, n, printable, ticks
from babelscope.util.errors import BabelscopeError

WIDTH, HEIGHT = 720.0, 440.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 190.0, 34.0, 52.0
# Of the middle of the scale, so that they can be told from a light and from a dark ground.
_COLORS = ("#3f7fbf", "#c8622f", "#4b9d77", "#9467bd", "#b8902b", "#7f7f7f")


@dataclass(frozen=True, slots=True)
class Mark:
    """A system: where it stands, which group of seeds it is of, and which line leads through it."""

    name: str
    x: Point
    y: Point
    group: str
    line: str = ""
    """Systems with the same text here are joined, from left to right; none if empty."""


def draw_against(
    marks: Sequence[Mark], *, title: str, x_label: str, y_label: str, line_label: str = ""
) -> str:
    """The picture as one `<svg>` element; text and axes have the color of the text around it.

    A filled mark is a system, a hollow one the mean of a group of several; whiskers are 95 % intervals. `line_label`
    says what systems that are joined have in common.
    """
    if not marks or not all(math.isfinite(each.value) for mark in marks for each in (mark.x, mark.y)):
        raise BabelscopeError("a picture of systems needs figures of all of them")
    x = Scale(*extent([mark.x for mark in marks]), _LEFT, WIDTH - _RIGHT)
    y = Scale(*extent([mark.y for mark in marks]), HEIGHT - _BOTTOM, _TOP)
    groups = {name: number for number, name in enumerate(dict.fromkeys(mark.group for mark in marks))}
    told = "; ".join(f"{mark.name}: {mark.x.value:.4g}, {mark.y.value:.4g}" for mark in marks)
    parts = [
        Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {0} {1}" width="{0}" height="{1}" '
            'fill="currentColor" font-family="system-ui, sans-serif" font-size="12">'
            "<title>{2}</title><desc>{3}</desc>"
        ).format(n(WIDTH), n(HEIGHT), printable(title), printable(f"{x_label}, {y_label}. {told}")),
        *_axes(x, y, x_label, y_label),
        *_lines(marks, x, y),
    ]
    for mark in marks:
        parts += _mark(mark, groups[mark.group], x, y)
    parts += _means(marks, groups, x, y)
    parts += _legend(groups, line_label=line_label, means=len(groups) < len(marks))
    return "\n".join([*map(str, parts), "</svg>"])


def _axes(x: Scale, y: Scale, x_label: str, y_label: str) -> list[Markup]:
    parts = []
    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM
    for tick in ticks(x.low, x.high, 6):
        parts.append(_rule(x(tick), _TOP, x(tick), bottom))
        parts.append(_text(x(tick), bottom + 17, f"{tick:g}", "middle"))
    for tick in ticks(y.low, y.high, 6):
        parts.append(_rule(_LEFT, y(tick), right, y(tick)))
        parts.append(_text(_LEFT - 8, y(tick) + 4, f"{tick:g}", "end"))
    return [*parts, _text(right, bottom + 38, x_label, "end"), _text(8, 18, y_label, "start")]


def _lines(marks: Sequence[Mark], x: Scale, y: Scale) -> Iterator[Markup]:
    """A line through the systems of each name."""
    for name in dict.fromkeys(mark.line for mark in marks if mark.line):
        own = sorted((mark for mark in marks if mark.line == name), key=lambda mark: mark.x.value)
        places = "L".join(f"{n(x(mark.x.value))} {n(y(mark.y.value))}" for mark in own)
        if len(own) > 1:
            drawn = '<path d="M{}" fill="none" stroke="currentColor" stroke-opacity="0.45"><title>{}</title></path>'
            yield Markup(drawn).format(places, printable(name))


def _mark(mark: Mark, series: int, x: Scale, y: Scale) -> list[Markup]:
    color, at_x, at_y = _COLORS[series % len(_COLORS)], x(mark.x.value), y(mark.y.value)
    parts = []
    if math.isfinite(mark.x.low) and math.isfinite(mark.x.high):
        parts.append(_rule(x(mark.x.low), at_y, x(mark.x.high), at_y, color, 0.4))
    if math.isfinite(mark.y.low) and math.isfinite(mark.y.high):
        parts.append(_rule(at_x, y(mark.y.low), at_x, y(mark.y.high), color, 0.4))
    told = f"{mark.name}: {mark.x.value:.4g}, {mark.y.value:.4g}"
    return [*parts, _shape(at_x, at_y, series, told)]


def _means(marks: Sequence[Mark], groups: Mapping[str, int], x: Scale, y: Scale) -> Iterator[Markup]:
    """The mean of each group of several systems, hollow and larger."""
    for name, series in groups.items():
        own = [mark for mark in marks if mark.group == name]
        if len(own) > 1:
            means = [
                math.fsum(each) / len(own)
                for each in zip(*((m.x.value, m.y.value) for m in own), strict=True)
            ]
            told = f"{name}, mean of {len(own)}: {means[0]:.4g}, {means[1]:.4g}"
            yield _shape(x(means[0]), y(means[1]), series, told, hollow=True)


def _legend(groups: Mapping[str, int], *, line_label: str, means: bool) -> Iterator[Markup]:
    left, top = WIDTH - _RIGHT + 22, _TOP + 8
    for row, (name, series) in enumerate(groups.items()):
        yield from [
            _shape(left, top + 20 * row, series, name),
            _text(left + 12, top + 20 * row + 4, _shortened(name), "start"),
        ]
    below = top + 20 * len(groups) + 8
    if means:
        yield _text(left - 6, below, "hollow: mean over seeds", "start")
    if line_label:
        yield _text(left - 6, below + 18, _shortened(f"lines: one {line_label}"), "start")


def _shape(x: float, y: float, series: int, told: str, *, hollow: bool = False) -> Markup:
    color = _COLORS[series % len(_COLORS)]
    paint = f'fill="none" stroke="{color}" stroke-width="1.2"' if hollow else f'fill="{color}"'
    size = " scale(1.9)" if hollow else ""
    return Markup('<path d="{}" transform="translate({} {}){}" {}><title>{}</title></path>').format(
        SHAPES[(series + series // len(_COLORS)) % len(SHAPES)],
        n(x),
        n(y),
        size,
        Markup(paint),
        printable(told),
    )


def _rule(
    x1: float, y1: float, x2: float, y2: float, color: str = "currentColor", opacity: float = 0.12
) -> Markup:
    return Markup('<path d="M{} {}L{} {}" stroke="{}" stroke-opacity="{}"/>').format(
        n(x1), n(y1), n(x2), n(y2), color, opacity
    )


def _text(x: float, y: float, words: str, anchor: str) -> Markup:
    return Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>').format(
        n(x), n(y), anchor, printable(words)
    )


def _shortened(name: str) -> str:
    return name if len(name) <= 24 else f"{name[:23]}…"
