"""What a command prints: first tables, what differs between systems, all warnings, and where the rest is."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from babelscope.core.results import Result
from babelscope.core.tables import (
    Format,
    Note,
    Table,
    as_shown,
    as_text,
    by_shape,
    render,
    rows_html,
    rows_text,
)
from babelscope.methods.reporting import count_of
from babelscope.report.differences import differences_table
from babelscope.report.sections import Section, sections_of
from babelscope.runs.compare import spread_table
from babelscope.util.errors import BabelscopeError
from babelscope.util.terminal import fits, mark_hidden, terminal_width, visible, wrap

_MOST_LINES = 20
"""Lines of a table; the worst come first."""
_MOST_OF_SEVERAL = 6
"""The same where there are several tables."""
_MOST_NAMES = 36
"""Characters of names before a warning."""
_INDENT, _HANGING = "  ", "    "
_IN_SHELL = ("--all", "--json", "--json")
_IN_PYTHON = (".table(every=True)", ".to_pandas()", ".signature")
"""How to see every table, every row and the whole signature."""


def as_summary(result: Result) -> str:
    """What `print(result)` shows: the summary, at the width of the terminal."""
    if not result.groups:
        return f"{rows_text(result.rows)}\n{result.describe_unanswered()}{result.signature}"
    return summarize(result, width=terminal_width(), rest=_IN_PYTHON)


def as_html(result: Result) -> str:
    """What a notebook shows: the first tables with their warnings, and differences where some are significant."""
    if not result.groups:
        return rows_html(result.rows, result.signature)
    tables = []
    for section in sections_of(result):
        tables += [section.tables[0]]
        tables += [differences_table(section.differences)] if section.significant else []
    return mark_hidden(render([_first_lines(each) for each in tables], "html", signature=result.signature))


def _first_lines(table: Table) -> Table:
    left = len(table.rows) - _MOST_LINES
    more = [Note(f"{count_of(left, 'more lines')}: {_IN_PYTHON[0]}")] if left > 0 else []
    return dataclasses.replace(table, rows=table.lines[:_MOST_LINES], notes=[*table.notes, *more])


def summarize(
    result: Result, *, width: int, places: Sequence[str] = (), rest: tuple[str, str, str] = _IN_SHELL
) -> str:
    """The first table of every method and test set, differences between systems, all warnings, where the rest is."""
    sections = sections_of(result)
    tables = [each.tables[0] for each in sections]
    by_field = [table for each in sections for table in each.by_field()]
    shown = [*tables, *by_field, *_over_prompts(result)]
    most = _MOST_LINES if len(shown) == 1 else _MOST_OF_SEVERAL
    parts = ["\n".join(_title(result, width))]
    parts += [_cut(table, most, width, rest[0]) for table in shown]
    parts += [text for text in [_what_differs(sections, width)] if text]
    parts += [text for text in [_warnings(sections, width)] if text]
    return "\n\n".join([*parts, "\n".join(_closing(result, places, width, rest))])


def frame(result: Result, text: str, *, width: int, places: Sequence[str] = ()) -> str:
    """Another text in the place of the summary: title, text, then where all the rest is."""
    return "\n".join([*_title(result, width), text, "", *_closing(result, places, width)])


def everything(result: Result, *, width: int | None, places: Sequence[str] = ()) -> str:
    """All tables of every method, then every row, folded to the width."""
    tables = [table for section in sections_of(result) for table in section.tables if table.rows]
    parts = [as_text(table, width) for table in (*tables, *by_shape(result.rows))]
    closing = [result.signature] if width is None else _closing(result, places, width)
    return "\n\n".join([*parts, result.describe_unanswered() + "\n".join(closing)])


def tables_as(
    result: Result, format: Format, names: Sequence[str], *, every: bool = False, width: int | None = None
) -> str:
    """The tables of these names, all of them, or the first of every method and test set, with the signature."""
    sections = sections_of(result)
    found = [table for section in sections for table in _all_tables(section)]
    known = list(dict.fromkeys(table.name for table in found if table.name))
    for name in names:
        if name not in known:
            raise BabelscopeError(f"there is no table {name!r} here; there are {', '.join(known)}")
    if names:
        found = [table for table in found if table.name in names]
    elif not every:
        found = [section.tables[0] for section in sections]
    return render(found, format, width=width, signature=result.signature)


def _all_tables(section: Section) -> Iterable[Table]:
    yield from section.tables
    for table, note in section.comparing():
        name = table.name or "differences"
        yield dataclasses.replace(table, name=name, notes=[*table.notes, Note(note)])


def _title(result: Result, width: int) -> list[str]:
    """What was judged, and what was left out."""
    methods = dict.fromkeys(each.method for each in result.groups)
    tests = dict.fromkeys(each.tests for each in result.groups)
    systems = dict.fromkeys(own.system for each in result.groups for own in each.results)
    named = [
        _named(list(each), what)
        for each, what in ((systems, "systems"), (tests, "test sets"), (methods, "methods"))
    ]
    lines = wrap(f"{'; '.join(named)}; {count_of(len(result.records), 'answers')} judged", width)
    return [*lines, *wrap(result.describe_unanswered().rstrip("\n"), width)] if result.unanswered else lines


def _named(names: Sequence[str], what: str) -> str:
    """One by its name, several by their number."""
    only, *others = names
    return count_of(len(names), what) if others else f"{what.removesuffix('s')} {visible(only)}"


def _cut(table: Table, most: int, width: int, rest: str) -> str:
    """The first lines of a table, without its notes and the last columns that do not fit."""
    lines = table.lines[:most]
    kept = len(table.headings)
    while True:
        rows = [dataclasses.replace(line, cells=line.cells[:kept]) for line in lines]
        shown = dataclasses.replace(table, headings=table.headings[:kept], rows=rows, notes=())
        if kept <= table.labels + 1 or fits(*as_shown(shown)[1:], width=width):
            break
        kept -= 1
    left = [
        count_of(number, what)
        for number, what in (
            (len(table.rows) - len(lines), "more lines"),
            (len(table.headings) - kept, "more columns"),
        )
        if number
    ]
    drawn = as_text(shown, width)
    return f"{drawn}\n… {' and '.join(left)}: {rest}" if left else drawn


def _over_prompts(result: Result) -> list[Table]:
    """The spread of figures over several prompts."""
    rows = [row for row in result.comparisons if row.labels.get("over") == "prompts" and not row.is_part]
    return [spread_table(rows)] if rows else []


def _what_differs(sections: Sequence[Section], width: int) -> str:
    """Every difference between systems that is significant, one line each; or that none is."""
    compared = [each for each in sections if each.differences]
    if not compared:
        return ""
    lines = []
    for section in compared:
        for each in section.significant:
            text = f"{visible(each.claim)}: {each.figure}; {visible(each.evidence)}"
            lines += wrap(text, width, indent=_INDENT, hanging=_HANGING)
    if not lines:
        return "\n".join(
            wrap("No difference between the systems is significant at 5 % after Holm's correction.", width)
        )
    heading = wrap("What differs between the systems (significant at 5 % after Holm's correction):", width)
    return "\n".join([*heading, *lines])


def _warnings(sections: Sequence[Section], width: int) -> str:
    """Every warning once, after the systems and test sets that it is about."""
    systems = {each.name for section in sections for each in section.comparison.results}
    tests = {section.comparison.tests for section in sections}
    found: dict[str, dict[str, dict[str, None]]] = {}
    for section in sections:
        for note in section.tables[0].notes:
            own = found.setdefault(note.text, {"systems": {}, "tests": {}})
            own["systems"][note.system] = None
            own["tests"][section.comparison.tests] = None
    lines = []
    for text, own in found.items():
        whom = [] if "" in own["systems"] else [_whom(list(own["systems"]), len(systems), "systems")]
        if len(own["tests"]) < len(tests):
            whom.append(_whom(list(own["tests"]), len(tests), "test sets"))
        about = f"{', '.join(whom)}: {text}" if whom else text
        lines += wrap(visible(about), width, indent=_INDENT, hanging=_HANGING)
    return "\n".join(["Warnings:", *lines]) if lines else ""


def _whom(names: Sequence[str], of: int, what: str) -> str:
    """Some of several by their names, or by their number where these are long."""
    if 1 < len(names) == of:
        return f"all {of} {what}"
    named = ", ".join(names)
    if len(named) <= _MOST_NAMES:
        return named
    return f"{len(names)} of {of} {what}" if len(names) > 1 else f"…{named[1 - _MOST_NAMES :]}"


def _closing(
    result: Result, places: Sequence[str], width: int, rest: tuple[str, str, str] = _IN_SHELL
) -> list[str]:
    """Where all of it is, and the end of the signature."""
    stored = result.folder and rest == _IN_SHELL
    every, rows, signature = ("--all", "summary.json", "summary.json") if stored else rest
    more = wrap(f"all {count_of(len(result.rows), 'rows')}: {every}, or {rows}", width)
    return [*more, *places, *wrap(f"signature: {result.short_signature} (whole: {signature})", width)]
