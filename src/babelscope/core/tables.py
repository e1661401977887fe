"""Tables of figures, written as text, Markdown, LaTeX, CSV and HTML."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from babelscope.core.results import Estimate, Row
from babelscope.util.terminal import mark_hidden

Cell = str | int | float | Estimate | None
"""None: nothing there."""
Verdict = Literal["", "error", "not significant", "too few items", "unknown"]
Format = Literal["text", "markdown", "latex", "csv", "html"]


@dataclass(frozen=True, slots=True)
class Column:
    """A heading, and how the numbers below it are written."""

    heading: str
    unit: Literal["plain", "percent"] = "plain"
    """percent: figures from 0 to 1 are written as percentages (in CSV as they are)."""
    digits: int | None = None
    """Decimals; None: three significant digits."""
    sign: bool = False
    """Write + before positive numbers (differences)."""
    system: str = ""
    """Whose figures these are, in a table with one column per system."""


@dataclass(frozen=True, slots=True)
class Line:
    """The cells of one line, and what is known about them."""

    cells: Sequence[Cell]
    system: str = ""
    """Whose figures these are."""
    verdict: Verdict = ""
    is_control: bool = False
    query: Mapping[str, str] = field(default_factory=dict)
    """Which items of the page are behind it (system, tests, group, verdict, sort)."""
    marks: str = ""
    """Footnote marks such as † after the main figure, explained in the notes."""


@dataclass(frozen=True, slots=True)
class Note:
    """A warning or footnote below a table."""

    text: str
    system: str = ""
    """Empty: of the whole table."""


@dataclass(frozen=True, slots=True)
class Table:
    """Cells under headings; the first `labels` columns are words, the others figures."""

    title: str
    headings: Sequence[str | Column]
    rows: Sequence[Sequence[Cell] | Line]
    labels: int = 1
    name: str = ""
    """What `--table NAME` calls it."""
    notes: Sequence[Note] = ()

    @property
    def columns(self) -> list[Column]:
        return [each if isinstance(each, Column) else Column(each) for each in self.headings]

    @property
    def lines(self) -> list[Line]:
        return [each if isinstance(each, Line) else Line(each) for each in self.rows]


def render(tables: Sequence[Table], format: Format, *, width: int | None = None, signature: str = "") -> str:
    """The tables in a format, then the signature; text is folded if wider than `width`."""
    # Imported late: the formats need the types above.
    from babelscope.core import formats

    names = short_names(name for table in tables for name in formats.systems_in(table))
    writers: dict[Format, Callable[[Table], str]] = {
        "text": functools.partial(formats.text, width=width),
        "markdown": formats.markdown,
        "latex": functools.partial(formats.latex, names=names),
        "csv": formats.csv,
        "html": formats.html,
    }
    made = "\n\n".join(map(writers[format], tables))
    return f"{made}\n{formats.signed(signature, format)}" if signature else made


def as_text(table: Table, width: int | None = None) -> str:
    """One table for a terminal."""
    return render([table], "text", width=width)


_SPEC = re.compile(r"[a-z][a-z0-9]*:(?=\S)")


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Name -> what distinguishes it: the end of a path, with options that differ; else the whole name."""
    known = list(dict.fromkeys(names))
    groups: dict[str, list[str]] = {}
    for name in known:
        groups.setdefault(_last_part(name), []).append(name)
    short = {name: part for part, own in groups.items() for name in own}
    for part, own in groups.items():
        options = {name: name.partition("?")[2].split("&") for name in own}
        if len(own) > 1:
            shared = set.intersection(*map(set, options.values()))
            short |= {
                name: "?".join((part, "&".join(e for e in options[name] if e not in shared))) for name in own
            }
    uses = Counter(short.values())
    return {name: short[name] if uses[short[name]] == 1 else name for name in known}


def _last_part(name: str) -> str:
    """`a` of `hf:/models/a?beam=4`, the model of `openai:URL#MODEL`."""
    found = _SPEC.match(name)
    if not found:
        return name
    place, _, model = name[found.end() :].partition("?")[0].partition("#")
    if "://" in name:
        return model or name
    return model or place.rstrip("/").rpartition("/")[2] or name


# --- Tables of rows ------------------------------------------------------------------------------------------------

_MARKS = "†‡§¶"
_COMMON = ("figure", "method", "tests", "evaluators")


def of_rows(title: str, rows: Sequence[Row], *, shown: Sequence[str] = (), sign: bool = False) -> Table:
    """Figures with the labels that tell them apart, and counts that are not all 0, or are in `shown`.

    Method and test set stand in the title, where all rows are of one; labels `note` are footnotes.
    """
    labels: dict[str, list[Cell]] = {"figure": [row.name for row in rows]}
    for label in dict.fromkeys(label for row in rows for label in row.labels if label != "note"):
        labels[label] = [_label(row.labels.get(label)) for row in rows]
    same = {label: own[0] for label, own in labels.items() if label in _COMMON and len(set(own)) == 1}
    told = {label: own for label, own in labels.items() if label not in same}
    counts = [
        count
        for count in dict.fromkeys(count for row in rows for count in row.counts)
        if count in shown or any(row.counts.get(count) for row in rows)
    ]
    common = ", ".join(str(value) for label, value in same.items() if label != "figure")
    notes = list(dict.fromkeys(str(row.labels["note"]) for row in rows if "note" in row.labels))
    marks = {note: _MARKS[n % len(_MARKS)] * (n // len(_MARKS) + 1) for n, note in enumerate(notes)}
    lines = [
        Line(
            [
                *(own[place] for own in told.values()),
                row.estimate,
                *(row.counts.get(each) for each in counts),
            ],
            marks=marks.get(str(row.labels.get("note")), ""),
        )
        for place, row in enumerate(rows)
    ]
    return Table(
        ": ".join(filter(None, (title, common))),
        [*told, Column("value", sign=sign), *counts],
        lines,
        len(told),
        notes=[Note(f"{mark} {note}") for note, mark in marks.items()],
    )


def _label(value: str | float | None) -> Cell:
    return value if isinstance(value, float) or value is None else str(value)


def all_rows(title: str, rows: Sequence[Row]) -> Table:
    """A table of all rows; if they share one name, it stands in the title."""
    names = {row.name for row in rows}
    return of_rows(": ".join(filter(None, (title, *names))) if len(names) == 1 else title, rows)


def by_shape(rows: Sequence[Row]) -> list[Table]:
    """All rows, a table for those of one method and test set that have the same labels and counts."""
    found: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        own = (row.labels.get("method"), row.labels.get("tests"))
        found.setdefault((*own, tuple(row.labels), tuple(row.counts)), []).append(row)
    return [
        of_rows(some[0].name if len({row.name for row in some}) == 1 else "figures", some)
        for some in found.values()
    ]


def rows_text(rows: Sequence[Row], width: int | None = None) -> str:
    """All rows in one table for a terminal."""
    return as_text(all_rows("", rows), width)


def rows_html(rows: Sequence[Row], signature: str) -> str:
    """All rows as an HTML table with the signature below, for notebooks."""
    return mark_hidden(render([all_rows("Figures", rows)], "html", signature=signature))
