"""What a method shows in a report, as plain data: findings, charts, tables. Stored in run folders as JSON."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from babelscope.core.charts import Chart, Unit
from babelscope.core.charts import point as point
from babelscope.core.comparison import Comparison
from babelscope.core.results import Estimate, Record, Row
from babelscope.core.tables import Table
from babelscope.util.errors import BabelscopeError

Tone = Literal["errors", "some", "none", "note"]

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
    pictures: Sequence[Chart] = ()
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


def tooltip(name: str, estimate: Estimate, unit: Unit = "percent") -> str:
    """A figure with interval and n in one line, for tooltips."""
    if not estimate.n:
        return f"{name}: no figure"
    return f"{name}: {estimate.text(FORMATS[unit])}, n = {estimate.n}"
