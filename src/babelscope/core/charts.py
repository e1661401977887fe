"""Charts as plain data. Charts name systems; the report draws them and chooses colors."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from babelscope.core.results import Estimate

Unit = Literal["percent", "plain"]
"""How numbers are written."""
NumberPair = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Point:
    """A value over `n` items or seeds; no interval is drawn if `low` or `high` is not finite."""

    value: float
    low: float = math.nan
    high: float = math.nan
    n: int = 0


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of the legend; `shape` numbers its mark, None for that of the system."""

    name: str
    system: str
    shape: int | None = None
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """A mark or bar of a forest plot; `told` is its tooltip."""

    system: str
    point: Point
    told: str = ""
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class Forest:
    """Groups of marks with intervals, one below the other."""

    groups: Sequence[tuple[str, Sequence[Bar]]]
    label: str
    keys: Sequence[Key] = ()
    unit: Unit = "percent"
    domain: NumberPair | None = None
    """Ends of the axis; None to fit the data."""
    zero: float | None = None
    """A value to compare with, drawn as a line."""
    bars: bool = False
    """Whether bars are drawn from the left edge."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A point of a scatter plot; `name` is written next to it, `told` is its tooltip."""

    system: str
    x: Point
    y: Point
    shape: int | None = 0
    name: str = ""
    told: str = ""
    hollow: bool = False
    """A larger mark without fill, such as the mean of others."""


@dataclass(frozen=True, slots=True)
class Scatter:
    """Points with intervals both ways; `lines` join points, each with its name."""

    dots: Sequence[Dot]
    x_label: str
    y_label: str
    keys: Sequence[Key] = ()
    x_unit: Unit = "plain"
    y_unit: Unit = "percent"
    y_most: float | None = None
    """The y axis reaches at least this far."""
    x_least: float | None = 0.0
    """The x axis begins here or below; None to fit the data."""
    lines: Sequence[tuple[str, Sequence[NumberPair]]] = ()


@dataclass(frozen=True, slots=True)
class Histogram:
    """Items of a system per bin, as (edges, items, number right), and the number that are neither right nor wrong."""

    system: str
    bins: Sequence[tuple[str, int, int]]
    label: str
    neither: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Curve:
    """A line through (x, value with interval); `series` numbers its color and mark, None for those of the system."""

    system: str
    name: str
    points: Sequence[tuple[float, Point]]
    dashed: bool = False
    series: int | None = None


@dataclass(frozen=True, slots=True)
class Band:
    """The area between two lines, given as (x, low, high)."""

    system: str
    name: str
    points: Sequence[tuple[float, float, float]]


@dataclass(frozen=True, slots=True)
class Lines:
    """Curves over the same x values, which are evenly spaced in their order."""

    curves: Sequence[Curve]
    x_label: str
    y_label: str
    unit: Unit = "plain"
    bands: Sequence[Band] = ()


@dataclass(frozen=True, slots=True)
class Dots:
    """Many points (x, y) of a system."""

    system: str
    points: Sequence[NumberPair]


@dataclass(frozen=True, slots=True)
class Cloud:
    """Many points per system, with the median of y along x.

    Points with x below `least`, which is below 0, are left out; the caption must say so.
    """

    dots: Sequence[Dots]
    x_label: str
    y_label: str
    least: float


@dataclass(frozen=True, slots=True)
class Flow:
    """A Sankey diagram of flows (from node, to node, count), whose widths are their counts.

    A node's column follows those of all nodes that flow into it; nodes keep their order.
    """

    flows: Sequence[tuple[str, str, float]]
    labels: Mapping[str, str] = field(default_factory=dict)
    series: Mapping[str, int] = field(default_factory=dict)
    """Node -> number of the color of what flows out of it; gray where there is none."""
    headings: Sequence[str] = ()
    """One per column."""
    order: Sequence[str] = ()


Drawing = Forest | Scatter | Histogram | Lines | Cloud | Flow


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing with its title and caption; `name` is used in file names and by `Result.plot`."""

    title: str
    drawing: Drawing
    caption: str
    name: str = ""

    @property
    def slug(self) -> str:
        """The name, or else the title, as a part of a file name."""
        return slug(self.name or self.title)


def point(estimate: Estimate) -> Point:
    """An estimate as a point of a chart."""
    return Point(estimate.value, estimate.low, estimate.high, estimate.n)


def slug(text: str) -> str:
    """A file name: the words of a text in lower case, joined by hyphens, at most 48 characters."""
    found = ""
    for word in re.findall(r"[^\W_]+", text.lower()):
        if len(found) + len(word) >= 48:
            break
        found = f"{found}-{word}" if found else word
    return found or "chart"
