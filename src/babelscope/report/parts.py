"""What a report is made of: findings, pictures, tables, items; and what a method must give to be shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from markupsafe import Markup

from babelscope.core.columns import Group
from babelscope.core.results import Estimate, Record, Row
from babelscope.core.tables import Table
from babelscope.report.pictures import Key, Point, percent, plain

Tone = Literal["errors", "some", "none", "note"]
NOT_RIGHT = "not right"
"""A verdict to look for: whatever counts as an error, or half as one."""

CERTAIN = 0.05
"""An error rate whose whole interval is at least this is called out as `errors`."""

Unit = Literal["percent", "plain"]

Series = Mapping[str, int]
"""The number of each system: its colour and shape."""

Caveat = tuple[str, str]
"""A system, and why its figures may mislead: a sentence without its subject."""

Token = tuple[str, float | None] | tuple[str, float | None, int]
"""A token, what it is coloured by (None: not at all), and 1 if it stands out."""

Line = tuple[str, str | list[Token]]
"""A label, and a text or coloured tokens."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One claim about a system in plain words, with its figure and a way to the items behind it."""

    system: str
    claim: str
    """What the figure is of; it stands behind a colon."""
    estimate: Estimate
    of: str
    """What n counts: pairs, sentences."""
    tone: Tone
    query: Mapping[str, str] = field(default_factory=dict)
    """Which items to show."""
    behind: int = 0
    """How many they are; without any, the link is to all that were asked."""
    share: bool = True
    """Whether the figure is a proportion, to be shown in percent."""
    tag: str = ""
    """What it is, if not what its tone says."""
    more: str = ""
    """Said after the figure."""
    section: str = ""
    """Filled in when the section has a name."""

    @property
    def severity(self) -> tuple[int, float]:
        """Worst first."""
        order = {"errors": 0, "some": 1, "none": 2, "note": 3}
        return order[self.tone], -self.estimate.low if self.share else 0.0

    @property
    def link(self) -> tuple[Mapping[str, str], str]:
        """What to look for among the items, and what the link says."""
        if self.behind:
            return self.query, counted(self.behind, "items")
        return {
            name: value for name, value in self.query.items() if name not in ("verdict", "group")
        }, "all items"


def error_finding(system: str, claim: str, errors: Estimate, of: str, **more: Any) -> Finding:
    """A finding whose figure is an error rate."""
    tone: Tone = "none"
    if errors.value > 0:
        tone = "errors" if errors.low >= CERTAIN else "some"
    return Finding(system, claim, errors, of, tone, **more)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture, what it shows, and how to read it."""

    title: str
    svg: Markup
    reading: str


@dataclass(frozen=True, slots=True)
class About:
    """What an item is, whatever a system makes of it."""

    source: str
    groups: Sequence[str] = ()
    """What it can be found by: a phenomenon, a category."""
    kind: str = ""
    """What stands in its heading."""
    lines: Sequence[Line] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a system makes of an item."""

    verdict: str = ""
    tone: Tone = "note"
    measure: float | None = None
    """What items are sorted by."""
    facts: str = ""
    lines: Callable[[], Sequence[Line]] = list
    """Asked for only if the item is shown."""


@dataclass(frozen=True, slots=True)
class View:
    """How a method is shown."""

    title: str
    question: str
    reading: Sequence[str]
    """What the words and figures mean."""
    measure: str
    """What items are sorted by."""
    about: Callable[[Record], About]
    answer: Callable[[Record, Mapping[str, Any]], Answer]
    group: str = "group"
    """What items are grouped by."""
    colours: Literal["", "difference", "surprise"] = ""
    """What coloured tokens show."""
    findings: Callable[[Group], list[Finding]] = lambda _group: []
    caveats: Callable[[Group], list[Caveat]] = lambda _group: []
    pictures: Callable[[Group, Series], list[Picture]] = lambda _group, _series: []
    tables: Callable[[Group], list[Table]] = lambda _group: []
    """The figures that matter most; all of them follow in a table of their own."""
    names: Callable[[Group], Mapping[str, str]] = lambda _group: {}
    """What names in pictures and tables stand for."""


def complement(estimate: Estimate) -> Estimate:
    """An error rate from an accuracy."""
    return Estimate(1 - estimate.value, 1 - estimate.high, 1 - estimate.low, estimate.n)


def point(estimate: Estimate) -> Point:
    return Point(estimate.value, estimate.low, estimate.high)


def told(name: str, estimate: Estimate, *, share: bool = True) -> str:
    """A figure as shown when pointed at."""
    form = percent if share else plain
    if not estimate.n:
        return f"{name}: no figure"
    value, low, high = (form(each) for each in (estimate.value, estimate.low, estimate.high))
    return f"{name}: {value} [{low}, {high}], n = {estimate.n}"


def systems(group: Group, series: Series) -> list[tuple[str, int, Sequence[Row]]]:
    """Each column's name, number and rows."""
    return [(column.name, series[column.name], column.cell.rows) for column in group.columns]


def keys(group: Group, series: Series) -> list[Key]:
    """A legend of the systems, where there are several."""
    return [Key(column.name, series[column.name]) for column in group.columns]


def one(rows: Iterable[Row], name: str, **labels: str | int) -> Row | None:
    """The first row of a name with these labels."""
    return next(
        (
            row
            for row in rows
            if row.name == name and all(row.labels.get(key) == value for key, value in labels.items())
        ),
        None,
    )


def counted(number: int, what: str) -> str:
    """1 item, 2 items."""
    return f"{number:,} {what.removesuffix('s') if number == 1 else what}"


def noted(system: str, rows: Iterable[Row], names: Mapping[str, str]) -> list[Caveat]:
    """Counts of rows that are not 0, in words: `names` says what each means."""
    most: dict[str, int] = {}
    for row in rows:
        for name in names:
            most[name] = max(most.get(name, 0), row.counts.get(name, 0))
    return [(system, f"{counted(number, 'items')} {names[name]}.") for name, number in most.items() if number]


def marked(text: str, other: str) -> list[Token]:
    """The words of a text, those marked in which it differs from another."""
    mine, theirs = text.split(" "), other.split(" ")
    start = 0
    while start < min(len(mine), len(theirs)) and mine[start] == theirs[start]:
        start += 1
    end = 0
    while end < min(len(mine), len(theirs)) - start and mine[-1 - end] == theirs[-1 - end]:
        end += 1
    return [
        (word if not place else f" {word}", None, int(start <= place < len(mine) - end))
        for place, word in enumerate(mine)
    ]
