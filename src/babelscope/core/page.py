"""What a method shows in a report, as plain data: findings, charts, tables. Stored in run folders as JSON."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from babelscope.core.comparison import Comparison
from babelscope.core.results import Estimate, Record, Row
from babelscope.core.tables import Table
from babelscope.util.errors import BabelscopeError

Tone = Literal["errors", "some", "none", "note"]
Unit = Literal["percent", "plain"]
"""How numbers are written."""

Finite = Annotated[float, Field(allow_inf_nan=False)]
NumberPair = tuple[Finite, Finite]

Token = tuple[str, float | None] | tuple[str, float | None, int]
"""A token, the number that colors it (None: no color), and 1 if it is highlighted."""

Line = tuple[str, str | list[Token]]
"""A label, and a text or colored tokens."""

CERTAIN = 0.05
"""An error rate whose interval lies at or above this has the tone `errors`."""

FEWEST = 10
"""An error rate of fewer items is shown without a verdict on the system."""

NOT_RIGHT = "not right"
"""A filter for items: verdicts that count as an error, or half as one."""
CONTROLS = "Controls"  # the tag of alarms on controls, which are no errors of a system


# -- charts; a system is named, and the report chooses its color ---------------------------------------


@dataclass(frozen=True, slots=True)
class Point:
    """A value of `n` items or seeds; no whisker is drawn where `low` or `high` is infinite or NaN."""

    value: float
    low: float = math.nan
    high: float = math.nan
    n: int = 0


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of a chart's legend."""

    name: str
    system: str
    shape: int | None = None
    """Number of the mark's shape; None for that of the system."""
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """A mark or bar of a forest plot."""

    system: str
    point: Point
    told: str = ""
    """Tooltip."""
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class Forest:
    """A forest plot: one line for each group, with marks and intervals below each other."""

    groups: Sequence[tuple[str, Sequence[Bar]]]
    label: str
    keys: Sequence[Key] = ()
    unit: Unit = "percent"
    domain: NumberPair | None = None
    """Ends of the axis; None to fit the data."""
    zero: Finite | None = None
    """A value to compare with, drawn as a line."""
    bars: bool = False
    """Whether bars are drawn from the left edge."""
    kind: Literal["forest"] = "forest"


@dataclass(frozen=True, slots=True)
class Dot:
    """A point of a scatter plot; `name` is written beside it."""

    system: str
    x: Point
    y: Point
    shape: int = 0
    name: str = ""
    told: str = ""


@dataclass(frozen=True, slots=True)
class Scatter:
    """Points with intervals both ways; x begins at 0 or below."""

    dots: Sequence[Dot]
    x_label: str
    y_label: str
    keys: Sequence[Key] = ()
    x_unit: Unit = "plain"
    y_unit: Unit = "percent"
    y_most: Finite | None = None
    """The y axis reaches this far at least."""
    kind: Literal["scatter"] = "scatter"


@dataclass(frozen=True, slots=True)
class Histogram:
    """A histogram: the items of a system in each bin, and how many of them are right, or neither right nor wrong."""

    system: str
    bins: Sequence[tuple[str, int, int]]
    """(edges, items, of these right)."""
    label: str
    neither: Sequence[int] = ()  # of the items of each bin; none where nothing is said
    kind: Literal["histogram"] = "histogram"


@dataclass(frozen=True, slots=True)
class Curve:
    """A line through (x, value with interval); `series` numbers its color and mark, None for those of the system."""

    system: str
    name: str
    points: Sequence[tuple[Finite, Point]]
    dashed: bool = False
    series: int | None = None


@dataclass(frozen=True, slots=True)
class Band:
    """The area between two lines, given as (x, low, high)."""

    system: str
    name: str
    points: Sequence[tuple[Finite, float, float]]


@dataclass(frozen=True, slots=True)
class Lines:
    """Curves over the same x, evenly spaced by their order."""

    curves: Sequence[Curve]
    x_label: str
    y_label: str
    unit: Unit = "plain"
    bands: Sequence[Band] = ()
    kind: Literal["lines"] = "lines"


@dataclass(frozen=True, slots=True)
class Dots:
    """Many points (x, y) of a system."""

    system: str
    points: Sequence[NumberPair]


@dataclass(frozen=True, slots=True)
class Cloud:
    """Many points of some systems, each system with the median of y along x.

    Points with x below `least`, which is below 0, are left out; the caption must say so.
    """

    dots: Sequence[Dots]
    x_label: str
    y_label: str
    least: Finite
    kind: Literal["cloud"] = "cloud"


Chart = Annotated[Forest | Scatter | Histogram | Lines | Cloud, Field(discriminator="kind")]


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart, what it shows, and how to read it."""

    title: str
    chart: Chart
    reading: str


# -- a section ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Finding:
    """One claim about a system in plain words, with its figure and a way to the items behind it."""

    system: str
    claim: str
    """What the figure is of; the page puts a colon and the figure after it."""
    estimate: Estimate
    of: str
    """What n counts: pairs, sentences."""
    tone: Tone
    query: Mapping[str, str] = field(default_factory=dict)
    """Which items to show."""
    behind: int = 0
    """How many such items there are, filled in by `methods.view.section_of`; if 0, the link goes to all items."""
    on_page: int | None = None
    """How many of them the page holds; filled in by the report."""
    share: bool = True
    """Whether the figure is a proportion, to be shown in percent."""
    tag: str = ""
    """A tag to show in place of that of its tone."""
    more: str = ""
    """Text after the figure."""
    section: str = ""
    """Id of its section; filled in by the report."""

    @property
    def severity(self) -> tuple[int, float]:
        """Sort key: the most serious finding first; controls after all that is about the system, none seen last."""
        rank = 3 if self.tag == CONTROLS else {"errors": 0, "some": 1, "note": 2, "none": 4}[self.tone]
        return rank, -self.estimate.low if self.share and not self.estimate.no_interval else 0.0

    @property
    def link(self) -> tuple[Mapping[str, str], str]:
        """The filter of items that the finding links to, and the text of the link."""
        if not self.behind:
            whole = {name: value for name, value in self.query.items() if name not in ("verdict", "group")}
            return whole, "all items"
        if self.on_page is None or self.on_page == self.behind:
            return self.query, count_of(self.behind, "items")
        return self.query, f"{self.on_page:,} of {count_of(self.behind, 'items')}"


@dataclass(frozen=True, slots=True)
class Caveat:
    """Why a system's figures may mislead: a sentence without its subject."""

    system: str
    text: str


@dataclass(frozen=True, slots=True)
class Measure:
    """What a measure of single items is called in sentences, and what its differences are counted in."""

    name: str
    unit: str


@dataclass(frozen=True, slots=True)
class Section:
    """What a method shows of systems on one test set."""

    title: str
    question: str
    reading: Sequence[str] = ()
    """What the words and figures mean."""
    measure: str = "score"
    """What items are sorted by."""
    group: str = "group"
    """What items are grouped by."""
    colors: Literal["", "difference", "surprise"] = ""
    """What colored tokens show."""
    order: int = 100
    """Sections are sorted by this, then by the name of the method."""
    findings: Sequence[Finding] = ()
    caveats: Sequence[Caveat] = ()
    pictures: Sequence[Picture] = ()
    tables: Sequence[Table] = ()
    """The figures that matter most; all of them follow in a table of their own."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Plain words for names in pictures and tables."""
    measures: Mapping[str, Measure] = field(default_factory=dict)
    """The measures by which systems are compared, item by item."""

    def as_json(self) -> dict[str, Any]:
        """As JSON; NaN and infinity, which JSON does not have, become text."""
        return dict(_spelled(asdict(self)))

    @classmethod
    def from_json(cls, stored: object) -> Section:
        """Read what `as_json` wrote; anything else is an error, since a run folder may come from a stranger."""
        try:
            return _adapter().validate_python(stored)
        except ValidationError as error:
            fault = error.errors()[0]
            place = ".".join(str(part) for part in fault["loc"])
            raise BabelscopeError(f"a stored section is damaged: {place}: {fault['msg']}") from None


_adapter = functools.cache(lambda: TypeAdapter(Section))


def _spelled(value: Any) -> Any:
    """A JSON value with NaN and infinities spelled out as text."""
    if isinstance(value, dict):
        return {name: _spelled(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_spelled(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


# -- single items, made only when they are shown --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class About:
    """What is shown of an item, whatever systems made of it."""

    source: str
    groups: Sequence[str] = ()
    """Groups to filter by: phenomenon, category."""
    kind: str = ""
    """Text of its heading."""
    lines: Sequence[Line] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What is shown of a system's answer to an item."""

    verdict: str = ""
    tone: Tone = "note"
    measure: float | None = None
    """What items are sorted by."""
    facts: str = ""
    lines: Callable[[], Sequence[Line]] = list
    """Called only if the item is shown."""
    also: Sequence[str] = ()
    """Further verdicts that hold of it, to filter by: an empty translation may be missed by beam search, too."""


@dataclass(frozen=True, slots=True)
class Headline:
    """A figure of a cell, under a name in plain words; `part` tells those apart that a picture shows together."""

    name: str
    row: Row
    unit: Unit = "plain"
    part: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """How a method is shown: a section of figures, and its items."""

    section: Callable[[Comparison], Section]
    about: Callable[[Record], About]
    answer: Callable[[Record, Mapping[str, Any]], Answer]
    """(record, settings of its cell) -> what to show of it."""
    headline: Callable[[Sequence[Row]], Sequence[Headline]] = lambda _rows: ()
    """The rows of a cell -> the few that matter most, the first of them most of all; none if none can be believed."""
    over: Callable[[Sequence[Row]], Sequence[Headline]] | None = None
    """The rows of a cell -> those that are drawn over factors of the systems; None for the headlines."""
    overview: Callable[[Comparison], Table] | None = None
    """A table that a summary of one method and test set shows in the place of headlines."""


# -- words and numbers ----------------------------------------------------------------------------------


def percent(value: float) -> str:
    """A share from 0 to 1 as a percentage with three significant digits: `12.3 %`."""
    return f"{100 * value:.3g} %"


def plain(value: float) -> str:
    """A number with three significant digits and a true minus sign."""
    return f"{value:.3g}".replace("-", "−")


FORMATS: Mapping[Unit, Callable[[float], str]] = {"percent": percent, "plain": plain}


def count_of(number: int, what: str) -> str:
    """A count with its noun, given in the plural: `1 item`, `2 items`."""
    return f"{number:,} {what.removesuffix('s') if number == 1 else what}"


def point(estimate: Estimate) -> Point:
    """An estimate as a point of a chart."""
    return Point(estimate.value, estimate.low, estimate.high, estimate.n)


def tooltip(name: str, estimate: Estimate, unit: Unit = "percent") -> str:
    """A figure with interval and n in one line, for tooltips."""
    if not estimate.n:
        return f"{name}: no figure"
    return f"{name}: {estimate.text(FORMATS[unit])}, n = {estimate.n}"
