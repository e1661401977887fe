"""What methods show: a first table of figures with verdicts, notes below it, and single items."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from babelscope.core.comparison import Comparison, SystemResult, rows_by_figure
from babelscope.core.results import Estimate, Record, Row
from babelscope.core.tables import Cell, Column, Line, Note, Table, Verdict
from babelscope.methods.queue import Entry
from babelscope.stats.verdicts import error_verdicts

Tone = Literal["errors", "some", "none", "note"]
Unit = Literal["percent", "plain"]
Token = tuple[str, float | None] | tuple[str, float | None, int]
"""A token, the number that colors it (None: no color), and 1 if it is highlighted."""
TextLine = tuple[str, str | list[Token]]
"""A label, and a text or colored tokens."""

NOT_RIGHT = "not right"
"""A filter for items: verdicts that count as an error, or half as one."""
FEWEST = 10
"""An error rate of fewer items has no verdict."""


# -- single items ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ItemView:
    """One item on the page, and what an annotator may be asked about it."""

    source: str
    groups: Sequence[str] = ()
    """Groups to filter by: phenomenon, category."""
    heading: str = ""
    lines: Sequence[TextLine] = ()
    """Of the item, whatever systems made of it."""
    verdict: str = ""
    tone: Tone = "note"
    also: Sequence[str] = ()
    """Further verdicts to filter by: an empty translation may be missed by beam search, too."""
    value: float | None = None
    """What items are sorted by."""
    facts: str = ""
    answer: Callable[[], Sequence[TextLine]] = list
    """The lines of the system's answer; called only if the item is shown."""
    questions: Sequence[Entry] = ()
    value_name: str = "score"
    group_name: str = "group"
    colors: Literal["", "difference", "surprise"] = ""
    """What colored tokens show."""

    def matches(self, query: Mapping[str, str]) -> bool:
        """Whether a link with this filter shows the item; `page.js` filters by the same rule."""
        group, verdict = query.get("group"), query.get("verdict")
        if group and group not in self.groups:
            return False
        if verdict == NOT_RIGHT:
            return self.tone in ("errors", "some")
        return not verdict or verdict in (self.verdict, *self.also)


_KEYS = ("method", "system", "tests", "item", "id", "source", "extra")
_TONES: Mapping[str, Tone] = {"correct": "none", "right": "none", "wrong": "errors", "tie": "some"}


def show_fields(record: Record) -> ItemView:
    """An item by the fields of its record, for methods that do not say how it is shown."""
    groups = [str(record[name]) for name in ("phenomenon", "category", "reference") if name in record]
    verdict = record["verdict"] if isinstance(record.get("verdict"), str) else ""
    numbers = (record[name] for name in ("margin", "score") if isinstance(record.get(name), int | float))
    return ItemView(
        str(record.get("source", "")),
        tuple(groups),
        ", ".join(groups),
        verdict=verdict,
        tone=_TONES.get(verdict, "note"),
        value=next(numbers, None),
        answer=lambda: _field_lines(record),
    )


def _field_lines(record: Record) -> list[TextLine]:
    """Every field that is text or a number, or a list of such, by its name."""
    found: list[TextLine] = []
    for name, value in record.items():
        if name not in _KEYS:
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, str | int | float):
                    found.append((name, f"{each:.4g}" if isinstance(each, float) else str(each)))
    return found


# -- the first table ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a system in the first table of a method."""

    labels: str | Sequence[str]
    """What it is of: one text for each of the label headings."""
    estimate: Estimate
    unit: Unit = "percent"
    is_error: bool = False
    """An error rate from 0 to 1: it gets a verdict."""
    is_control: bool = False
    """A control is no error of the system: it is shown last, without a verdict."""
    verdict: Verdict | None = None
    """A verdict that the method has found in another way."""
    query: Mapping[str, str] = field(default_factory=dict)
    """Which items are behind it: `group`, `verdict`, `sort`."""
    more: Sequence[Cell] = ()
    """Cells after it, below the headings `more` of the table."""
    marks: str = ""


_ORDER: Mapping[str, int] = {"error": 0, "unknown": 1, "not significant": 2, "too few items": 3, "": 4}


def summary_table(
    comparison: Comparison,
    figures: Callable[[SystemResult], Iterable[Figure]],
    *,
    title: str,
    labels: Sequence[str] = ("figure",),
    value: str = "value",
    more: Sequence[str | Column] = (),
    notes: Iterable[Note] = (),
    threshold: float | None = None,
) -> Table:
    """One line per figure and system; where a `threshold` is given, the worst error rate first, controls last.

    Verdicts are corrected for all error rates of the table (Holm). Figures of several units are written with their
    unit in the last label.
    """
    found = [(result.name, each) for result in comparison.results for each in figures(result)]
    verdicts = _verdicts([each for _, each in found], threshold)
    several, mixed = len(comparison.results) > 1, len({each.unit for _, each in found}) > 1
    lines = []
    for (system, each), verdict in zip(found, verdicts, strict=True):
        words = [each.labels] if isinstance(each.labels, str) else list(each.labels)
        estimate = each.estimate
        if mixed and each.unit == "percent":
            words[-1] += " (%)"
            estimate = estimate.converted(lambda share: 100 * share)
        cells = [*([system] if several else []), *words, estimate, *each.more]
        query = {"system": system, "tests": comparison.tests, **each.query}
        lines.append(Line(cells, system, verdict, each.is_control, query, each.marks))
    if threshold is not None:
        lines.sort(key=lambda line: _severity(line, len(labels) + several))
    unit: Unit = found[0][1].unit if found and not mixed else "plain"
    headings = [*(["system"] if several else []), *labels, Column(value, unit), *more]
    about = "" if threshold is None else f"error: significantly above {100 * threshold:.3g} %"
    about += (
        "; control: an error that no system makes" if about and any(each.is_control for each in lines) else ""
    )
    table = Table(title, headings, lines, len(labels) + several, "summary", list(notes), about)
    return _without_constant_labels(table) if len(lines) > 1 else table


def _without_constant_labels(table: Table) -> Table:
    """Labels that are the same in all lines stand in the title."""
    same = [
        place
        for place, column in enumerate(table.columns[: table.labels])
        if column.heading != "system" and len({line.cells[place] for line in table.lines}) == 1
    ]
    if not same or len(same) == table.labels:
        return table
    cells = table.lines[0].cells
    words = [f"{table.columns[place].heading} {cells[place]}" for place in same]
    kept = [place for place in range(len(table.headings)) if place not in same]
    lines = [replace(line, cells=[line.cells[place] for place in kept]) for line in table.lines]
    headings = [table.headings[place] for place in kept]
    title = f"{table.title}; {', '.join(words)}"
    return replace(table, title=title, headings=headings, rows=lines, labels=table.labels - len(same))


def _verdicts(figures: Sequence[Figure], threshold: float | None) -> list[Verdict]:
    """The verdict of each figure, those of error rates corrected for their number."""
    found: list[Verdict] = [each.verdict or "" for each in figures]
    if threshold is not None:
        tested = [
            place
            for place, each in enumerate(figures)
            if each.is_error and each.verdict is None and not each.is_control
        ]
        rates = [figures[place].estimate for place in tested]
        for place, verdict in zip(
            tested, error_verdicts(rates, threshold=threshold, fewest=FEWEST), strict=True
        ):
            found[place] = verdict
    return found


def _severity(line: Line, place: int) -> tuple[bool, int, float]:
    """Sort key: the highest error rate first, controls last; the order of other figures is kept."""
    figure = line.cells[place]
    value = figure.value if isinstance(figure, Estimate) and figure.n and line.verdict else 0.0
    return line.is_control, _ORDER[line.verdict], -value


def every_figure(comparison: Comparison, names: Mapping[str, str] = MappingProxyType({})) -> Table:
    """One line per figure, one column per system, for methods that have no table of their own.

    `names`: name of a row -> what people call it.
    """
    found = rows_by_figure(comparison)
    labels = list(dict.fromkeys(name for (_, labeled), _ in found for name, _ in labeled))
    lines = [
        Line(
            [
                names.get(name, name.replace("_", " ")),
                *(str(dict(labeled).get(label, "")) for label in labels),
                *(None if row is None else row.estimate for row in rows),
            ]
        )
        for (name, labeled), rows in found
    ]
    several = len(comparison.results) > 1
    columns = [
        Column("" if several else "value", system=each.name if several else "") for each in comparison.results
    ]
    return Table(
        f"Figures: {comparison.tests}", ["figure", *labels, *columns], lines, 1 + len(labels), "figures"
    )


@dataclass(frozen=True, slots=True)
class Shown:
    """A column per system: its heading, which rows are below it, and how these are written."""

    heading: str
    fits: Callable[[Row], bool]
    unit: Unit = "plain"


def pivot(
    comparison: Comparison,
    title: str,
    labels: Sequence[str],
    figures: Sequence[Shown],
    *,
    name: str,
    side_by_side: int = 3,
) -> list[Table]:
    """One line per combination of labels, one column per figure and system; none if there is no such row.

    Of more systems than stand `side_by_side`, each has a line of its own.
    """
    cells: dict[tuple[str, ...], dict[tuple[int, int], Estimate]] = {}
    for place, result in enumerate(comparison.results):
        for row in result.rows:
            for number, figure in enumerate(figures):
                if figure.fits(row):
                    key = tuple(
                        str(row.labels.get(label, "all" if not at else "")) for at, label in enumerate(labels)
                    )
                    cells.setdefault(key, {})[number, place] = row.estimate
    if not cells:
        return []
    known = sorted({number for own in cells.values() for number, _ in own})
    names = [result.name for result in comparison.results]
    said: list[str | Column] = [label.replace("_", " ") for label in labels]
    if len(names) > side_by_side:
        said.append("system")
        lines = [
            Line([*key, system, *(own.get((number, place)) for number in known)], system)
            for key, own in cells.items()
            for place, system in enumerate(names)
            if any((number, place) in own for number in known)
        ]
        columns = [Column(figures[number].heading, figures[number].unit) for number in known]
    else:
        several = len(names) > 1
        columns = [
            Column(figures[number].heading, figures[number].unit, system=system if several else "")
            for number in known
            for system in names
        ]
        lines = [
            Line([*key, *(own.get((number, place)) for number in known for place in range(len(names)))])
            for key, own in cells.items()
        ]
    return [Table(f"{title}: {comparison.tests}", [*said, *columns], lines, len(said), name)]


# -- rows and notes ----------------------------------------------------------------------------------------


def find_row(rows: Iterable[Row], name: str, **labels: str | float) -> Row | None:
    """The first row of a name with these labels."""
    return next((row for row in rows if row.name == name and labels.items() <= row.labels.items()), None)


def complement(estimate: Estimate) -> Estimate:
    """An error rate from an accuracy."""
    return estimate.converted(lambda share: 1 - share)


def count_notes(comparison: Comparison, names: Mapping[str, str]) -> list[Note]:
    """Counts in the rows of each system that are not 0, in words: `names` says what each means."""
    return [note for result in comparison.results for note in count_notes_of(result.name, result.rows, names)]


def count_notes_of(system: str, rows: Iterable[Row], names: Mapping[str, str]) -> Iterator[Note]:
    """The same of some rows of one system."""
    most: dict[str, int] = {}
    for row in rows:
        for name in names:
            most[name] = max(most.get(name, 0), row.counts.get(name, 0))
    for name, number in most.items():
        if number:
            yield Note(f"{items_that(number, names[name])}.", system)


_SINGULAR = {"have": "has", "were": "was", "are": "is"}


def items_that(number: int, what: str) -> str:
    """So many items and what they are, said of several: `2 items were cut`, `1 item was cut`."""
    if number == 1:
        what = re.sub(r"(^|\band )(have|were|are)\b", lambda found: found[1] + _SINGULAR[found[2]], what)
    return f"{count_of(number, 'items')} {what}"


def shared_prefix(one: Sequence[str], other: Sequence[str]) -> int:
    """How many tokens or words both begin with."""
    pairs = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in pairs)


def count_of(number: int, what: str) -> str:
    """A count with its noun, given in the plural: `1 item`, `2 items`."""
    return f"{number:,} {what.removesuffix('s') if number == 1 else what}"


def percent(value: float) -> str:
    """A share from 0 to 1 as a percentage with three significant digits: `12.3 %`."""
    return f"{100 * value:.3g} %"


def plain(value: float) -> str:
    """A number with three significant digits and a true minus sign."""
    return f"{value:.3g}".replace("-", "−")


def tooltip(name: str, estimate: Estimate, unit: Unit = "percent") -> str:
    """A figure with interval and n in one line, for marks of charts."""
    if not estimate.n:
        return f"{name}: no figure"
    return f"{name}: {estimate.text(percent if unit == 'percent' else plain)}, n = {estimate.n}"
