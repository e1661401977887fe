"""Tables of figures, written as text, Markdown, LaTeX, CSV and HTML."""

from __future__ import annotations

import csv
import functools
import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal
from urllib.parse import urlencode

from markupsafe import Markup, escape

from babelscope.core.results import Estimate, Row, even_decimals, grouped, number, p_text
from babelscope.util.terminal import FIRM, draw, mark_hidden, visible, wrap

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
    verdicts: str = ""
    """What its verdicts mean, for the title."""

    @property
    def columns(self) -> list[Column]:
        return [each if isinstance(each, Column) else Column(each) for each in self.headings]

    @property
    def lines(self) -> list[Line]:
        return [each if isinstance(each, Line) else Line(each) for each in self.rows]


def render(tables: Sequence[Table], format: Format, *, width: int | None = None, signature: str = "") -> str:
    """The tables in a format, then the signature; text is folded if wider than `width`."""
    writers: dict[Format, Callable[[Table], str]] = {
        "text": functools.partial(_text, width=width),
        "markdown": _markdown,
        "latex": _latex,
        "csv": _csv,
        "html": _html,
    }
    made = "\n\n".join(map(writers[format], tables))
    return f"{made}\n{signed(signature, format)}" if signature else made


def as_text(table: Table, width: int | None = None) -> str:
    """One table for a terminal."""
    return render([table], "text", width=width)


# --- Tables of rows ------------------------------------------------------------------------------------------------

_MARKS = "†‡§¶"
_COMMON = ("figure", "method", "tests", "evaluators")


def of_rows(title: str, rows: Sequence[Row], *, shown: Sequence[str] = (), sign: bool = False) -> Table:
    """Figures with the labels that distinguish them, and counts that are not all 0, or are in `shown`.

    Method and test set stand in the title, where all rows are of one; labels `note` are footnotes.
    """
    labels: dict[str, list[Cell]] = {"figure": [row.name for row in rows]}
    for label in dict.fromkeys(label for row in rows for label in row.labels if label != "note"):
        labels[label] = [_label(row.labels.get(label)) for row in rows]
    same = {label: own[0] for label, own in labels.items() if label in _COMMON and len(set(own)) == 1}
    differing = {label: own for label, own in labels.items() if label not in same}
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
                *(own[place] for own in differing.values()),
                row.estimate,
                *(row.counts.get(each) for each in counts),
            ],
            marks=marks.get(str(row.labels.get("note")), ""),
        )
        for place, row in enumerate(rows)
    ]
    return Table(
        ": ".join(filter(None, (title, common))),
        [*differing, Column("value", sign=sign), *counts],
        lines,
        len(differing),
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
    found = grouped(
        ((row.labels.get("method"), row.labels.get("tests"), tuple(row.labels), tuple(row.counts)), row)
        for row in rows
    )
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


# --- The formats ---------------------------------------------------------------------------------------------------

# Columns of names that their owners chose: they stay as they are.
_P = ("p", "p_holm")
_OWN_NAMES = ("system", "against", "tests", "run", "group", "evaluator", "evaluators", "verdicts")


def _owners(table: Table) -> list[str]:
    """Whose figures a table has, by columns and by lines."""
    return [*(column.system for column in table.columns), *(line.system for line in table.lines)]


def _notes(table: Table) -> list[str]:
    """Each note once, after the systems it applies to, unless it applies to all."""
    systems = set(_owners(table)) - {""}
    found: dict[str, dict[str, None]] = {}
    for note in table.notes:
        found.setdefault(note.text, {})[note.system] = None
    lines = []
    for text, own in found.items():
        is_general = "" in own or (systems and systems <= own.keys())
        whom = "" if is_general else ", ".join(own)
        lines.append(f"{whom}: {text}" if whom else text)
    return lines


def _sizes(line: Line) -> list[int]:
    """The numbers of items of the figures of a line; figures without items are dashes."""
    return sorted({cell.n for cell in line.cells if isinstance(cell, Estimate) and cell.n})


def _place_of_n(lines: Sequence[Line]) -> Literal["title", "column", "cell", ""]:
    """Where n is printed: as few times as possible."""
    sizes = [_sizes(line) for line in lines]
    if not any(sizes):
        return ""
    if len({n for own in sizes for n in own}) == 1:
        return "title"
    return "column" if all(len(own) <= 1 for own in sizes) else "cell"


def _titled(table: Table, *, brackets: bool = True) -> str:
    """The title, then what brackets and verdicts mean, and n if it is the same for all figures."""
    notes = ["[95 % interval]"] if brackets and _figures(table) else []
    notes += [table.verdicts] if table.verdicts else []
    if _place_of_n(table.lines) == "title":
        notes.append(f"n = {next(n for line in table.lines for n in _sizes(line)):,}")
    return f"{table.title} ({'; '.join(notes)})".lstrip() if notes else table.title


def _form(column: Column, digits: int | None) -> Callable[[float], str]:
    """How a column writes a number."""
    factor = 100 if column.unit == "percent" else 1

    def form(value: float) -> str:
        made = number(factor * value, digits)
        return f"+{made}" if column.sign and value > 0 and made.strip("0.") else made

    return form


def _cell_text(cell: Cell, column: Column, *, is_label: bool, with_n: bool = False) -> str:
    form = _form(column, column.digits)
    if isinstance(cell, Estimate):
        return cell.text(form) + (f", n={cell.n:,}" if with_n and cell.n else "")
    if isinstance(cell, float):
        is_p = is_label and column.heading in _P and column.digits is None
        return p_text(cell) if is_p else form(cell)
    if isinstance(cell, int) and not is_label:
        return f"{cell:,}"
    return "" if cell is None else str(cell)


def _heading(column: Column, say: Callable[[str], str] = str) -> str:
    unit = "%" if column.unit == "percent" and "%" not in column.heading else ""
    return ", ".join(filter(None, (say(column.heading), unit, column.system)))


def _marks(table: Table, place: int) -> list[str]:
    """The marks of each line, if its main figure is in this column: the first that is a number."""
    found = []
    for line in table.lines:
        figures = range(table.labels, len(line.cells))
        main = next((each for each in figures if isinstance(line.cells[each], Estimate | float | int)), -1)
        found.append(line.marks if place == main % len(line.cells) else "")
    return found


Written = list[tuple[str, list[str]]]
"""The columns of a table as text: heading and cells."""


def _with_n_and_verdicts(table: Table, columns: Written) -> Written:
    """Add the columns of n, after the labels, and of verdicts, at the end, where the table needs them."""
    lines = table.lines
    if _place_of_n(lines) == "column":
        sizes = ["".join(f"{n:,}" for n in _sizes(line)) for line in lines]
        columns = [*columns[: table.labels], ("n", sizes), *columns[table.labels :]]
    if any(line.verdict for line in lines):
        named = [(line.verdict, "control" if line.is_control else "") for line in lines]
        verdicts = [", ".join(filter(None, each)) for each in named]
        columns = [*columns, ("verdict", verdicts)]
    return columns


def _figures(table: Table) -> list[int]:
    """The columns that have estimates."""
    columns = range(len(table.headings))
    return [n for n in columns if any(isinstance(line.cells[n], Estimate) for line in table.lines)]


def as_shown(table: Table) -> tuple[str, list[str], list[list[str]]]:
    """Title, headings and cells, as text, Markdown and HTML show them."""
    n_inside = _place_of_n(table.lines) == "cell"
    columns: Written = []
    for place, column in enumerate(table.columns):
        cells = [
            _cell_text(line.cells[place], column, is_label=place < table.labels, with_n=n_inside) + marks
            for line, marks in zip(table.lines, _marks(table, place), strict=True)
        ]
        columns.append((_heading(column), cells))
    columns = _with_n_and_verdicts(table, columns)
    rows = [[cells[place] for _, cells in columns] for place in range(len(table.rows))]
    return _titled(table), [heading for heading, _ in columns], rows


def _text(table: Table, width: int | None) -> str:
    title, headings, rows = as_shown(table)
    drawn = draw(headings, rows, right=range(table.labels, len(headings)), width=width)
    above, below = (
        [line for text in texts if text for line in _wrapped(visible(text), width)]
        for texts in ([title], _notes(table))
    )
    return "\n".join([*above, drawn, *below])


def _wrapped(text: str, width: int | None) -> list[str]:
    firm = (
        text.replace(" %", f"{FIRM}%")
        .replace("% interval]", f"%{FIRM}interval]")
        .replace("n = ", f"n{FIRM}={FIRM}")
    )
    return [text] if width is None else wrap(firm, width)


def _markdown(table: Table) -> str:
    def escaped(text: str) -> str:
        return visible(text).replace("\\", "\\\\").replace("|", "\\|")

    title, headings, rows = as_shown(table)
    rule = "|" + "|".join("---" if n < table.labels else "---:" for n in range(len(headings))) + "|"
    above = [f"**{visible(title)}**", ""] if title else []
    first, *others = (f"| {' | '.join(map(escaped, cells))} |" for cells in (headings, *rows))
    below = [each for note in _notes(table) for each in ("", visible(note))]
    return "\n".join([*above, first, rule, *others, *below])


def _csv(table: Table) -> str:
    """Numbers in full; an estimate is four columns, and a fifth where some have no interval."""
    figures, lines = _figures(table), table.lines
    columns: list[tuple[str, Sequence[Cell]]] = []
    for place, column in enumerate(table.columns):
        cells = [line.cells[place] for line in lines]
        heading = ", ".join(filter(None, (column.heading, column.system)))
        columns.append((heading, [cell.value if isinstance(cell, Estimate) else cell for cell in cells]))
        if place in figures:
            before = f"{heading} " if len(figures) > 1 else ""
            columns += [(before + name, values) for name, values in _csv_figures(cells)]
    if any(line.marks for line in lines):
        columns.append(("marks", [line.marks for line in lines]))
    columns += [each for each in _with_n_and_verdicts(table, []) if each[0] == "verdict"]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([_csv_cell(heading) for heading, _ in columns])
    writer.writerows([_csv_cell(cells[n]) for _, cells in columns] for n in range(len(lines)))
    above, below = (
        [f"# {visible(each)}\n" for each in texts if each]
        for texts in ([table.title, table.verdicts], _notes(table))
    )
    return "".join([*above, file.getvalue(), *below]).removesuffix("\n")


def _csv_figures(cells: Sequence[Cell]) -> list[tuple[str, list[Cell]]]:
    """What stands beside the values of estimates."""
    found = [cell if isinstance(cell, Estimate) else None for cell in cells]
    reasons: list[Cell] = [each and each.no_interval for each in found]
    return [
        ("low", [each and each.low for each in found]),
        ("high", [each and each.high for each in found]),
        ("n", [each and each.n for each in found]),
        *([("no_interval", reasons)] if any(reasons) else []),
    ]


def _csv_cell(cell: Cell) -> str:
    """A number in full, or text that a spreadsheet does not interpret as a formula."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if not isinstance(cell, str):
        return str(cell)
    shown = visible(cell)
    return f"'{shown}" if shown[:1] in tuple("=+-@") and not _is_number(shown) else shown


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _html(table: Table) -> Markup:
    """A table with words left-aligned and numbers right-aligned; `data-query` selects the items of a line."""
    title, headings, rows = as_shown(table)
    kinds = ["" if place < table.labels else ' class="num"' for place in range(len(headings))]
    head = "".join(
        f'<th scope="col"{kind}>{escape(cell)}</th>' for kind, cell in zip(kinds, headings, strict=True)
    )
    lines = []
    for line, cells in zip(table.lines, rows, strict=True):
        own = {"class": "control" if line.is_control else "", "data-query": urlencode(line.query)}
        attributes = "".join(f' {name}="{escape(value)}"' for name, value in own.items() if value)
        lines.append(f"<tr{attributes}>{_html_cells(cells, kinds)}</tr>")
    body = "\n".join(lines)
    notes = "".join(f'\n<p class="note">{escape(note)}</p>' for note in _notes(table))
    return Markup(
        f"<table><caption>{escape(title)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>\n{body}\n</tbody></table>{notes}"
    )


def _html_cells(cells: Sequence[str], kinds: Sequence[str]) -> str:
    """The cells of a row; the first is its heading if it is a word."""
    return "".join(
        f"<td{kind}>{escape(cell)}</td>" if place or kind else f'<th scope="row">{escape(cell)}</th>'
        for place, (cell, kind) in enumerate(zip(cells, kinds, strict=True))
    )


def signed(signature: str, format: Format) -> str:
    """The signature as a line below tables."""
    shown = visible(signature)
    forms = {"text": shown, "markdown": f"`{shown}`", "latex": f"% {shown}", "csv": f"# {shown}"}
    return forms.get(format, f"<code>{escape(signature)}</code>")


# --- LaTeX ---------------------------------------------------------------------------------------------------------

_ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
    # pdflatex knows these in formulas only.
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "<": "$<$",
    ">": "$>$",
    "−": "$-$",
    "†": r"\dag{}",
    "‡": r"\ddag{}",
    "§": r"\S{}",
    "¶": r"\P{}",
}
# Words that are written in another way than their keys.
_WORDS = {
    "bleu": "BLEU",
    "chrf": "chrF",
    "ter": "TER",
    "ribes": "RIBES",
    "krg": "kRG",
    "kqrg": "kQRG",
    "mbr": "MBR",
    "sd": "SD",
    "logprob": "log-probability",
}
_KEY = re.compile(r"(?P<mark>\*?)(?P<key>[a-z][a-z0-9]*(_[a-z0-9]+)*)")
_MINUS = re.compile(r"(?<![^\s\[])-(?=\d)")
# The width of a table, but at most that of the text (package graphicx).
_FITTING = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"


def escape_latex(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(_ESCAPED.get(each, each) for each in visible(text))


def escape_number(text: str) -> str:
    """The same, with a hyphen before a number as a minus."""
    return _MINUS.sub("$-$", escape_latex(text))


def readable(key: str) -> str:
    """A key such as `mbr_quality` in words; other text is unchanged."""
    if not (found := _KEY.fullmatch(key)):
        return key
    return found["mark"] + " ".join(_WORDS.get(word, word) for word in found["key"].split("_"))


def tabular(headings: Sequence[str], rows: Sequence[Sequence[str]], labels: int) -> str:
    """Escaped cells with the rules of the package booktabs; the first `labels` columns are flush left."""

    def line(cells: Sequence[str]) -> str:
        return " & ".join(cells) + r" \\"

    return "\n".join(
        [
            f"\\begin{{tabular}}{{{'l' * labels + 'r' * (len(headings) - labels)}}}",
            r"\toprule",
            line(headings),
            r"\midrule",
            *map(line, rows),
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def small_table(
    title: str, headings: Sequence[str], rows: Sequence[Sequence[str]], labels: int, notes: Sequence[str]
) -> str:
    """A small `tabular`, at most as wide as the text (package graphicx), with notes below."""
    made = f"{_FITTING}\n{tabular(headings, rows, labels)}}}"
    comments = [f"% {visible(line)}" for line in title.split("\n") if line]
    return "\n".join(
        [*comments, r"{\small\noindent", made, *(f"\\par\\noindent {note}" for note in notes), r"\par}"]
    )


_INTERVAL = r"95 \% interval"
_WIDEST = 110
"""Characters of a line; a table with more would be printed in smaller type than footnotes."""
_LONG_HEADING = 16


def _latex(table: Table) -> str:
    """Values and intervals are columns of their own; in wide tables systems are lines, and intervals stand below."""
    columns, notes = _latex_columns(table)
    if _width(columns) > _WIDEST and any(column.system for column in table.columns):
        table = _by_system(table)
        columns, notes = _latex_columns(table)
    rows = [[cells[place] for _, cells in columns] for place in range(len(table.rows))]
    headings = [heading for heading, _ in columns]
    if _width(columns) > _WIDEST:
        headings, rows = _with_intervals_below(headings, rows)
    return small_table(_titled(table, brackets=False), headings, rows, table.labels, notes)


def _width(columns: Written) -> int:
    """The characters of a line, with two between columns."""
    return sum(2 + max(map(len, [heading, *cells])) for heading, cells in columns)


def _by_system(table: Table) -> Table:
    """A table of a line per system, from one of a column per system."""
    own = {
        (column.heading, column.system): place for place, column in enumerate(table.columns) if column.system
    }
    shared = [place for place, column in enumerate(table.columns) if not column.system]
    labels, others = shared[: table.labels], shared[table.labels :]
    kinds = {heading: replace(table.columns[place], system="") for (heading, _), place in own.items()}
    lines = []
    for line in table.lines:
        for system in dict.fromkeys(system for _, system in own):
            cells = [line.cells[place] for place in labels] + [system]
            cells += [line.cells[place] for place in others]
            cells += [line.cells[own[kind, system]] if (kind, system) in own else None for kind in kinds]
            lines.append(replace(line, cells=cells, system=system))
    headings: list[str | Column] = [table.headings[place] for place in labels]
    headings += ["system", *(table.headings[place] for place in others)]
    headings += [replace(column, heading=column.heading or "value") for column in kinds.values()]
    return replace(table, headings=headings, rows=lines, labels=len(labels) + 1)


def _with_intervals_below(
    headings: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[list[str], list[list[str]]]:
    """Headings in two lines where they are long, and each interval in a smaller line below its value."""
    kept = [place for place, heading in enumerate(headings) if heading != _INTERVAL]
    found = []
    for row in rows:
        found.append([row[place] for place in kept])
        after = [row[place + 1] if headings[place + 1 : place + 2] == [_INTERVAL] else "" for place in kept]
        if any(after):
            found.append([f"{{\\scriptsize {each}}}" if each else "" for each in after])
    return [_in_two_lines(headings[place]) for place in kept], found


def _in_two_lines(heading: str) -> str:
    """A long heading, cut at the space nearest to its middle."""
    places = [place for place, each in enumerate(heading) if each == " "]
    if len(heading) <= _LONG_HEADING or not places:
        return heading
    middle = min(places, key=lambda place: abs(2 * place - len(heading)))
    return f"\\shortstack{{{heading[:middle]}\\\\{heading[middle + 1 :]}}}"


def _latex_columns(table: Table) -> tuple[Written, list[str]]:
    """The columns, and footnotes, which also say why there is no interval."""
    reasons: dict[str, str] = {}
    columns: Written = []
    for place, column in enumerate(table.columns):
        cells = [line.cells[place] for line in table.lines]
        heading = escape_latex(_heading(column, readable))
        own = (
            _latex_figures(cells, column, reasons, with_n=_place_of_n(table.lines) == "cell")
            if place in _figures(table)
            else [("", _latex_cells(cells, column, is_label=place < table.labels))]
        )
        marked = zip(own[0][1], _marks(table, place), strict=True)
        columns += [(heading, [cell + escape_latex(marks) for cell, marks in marked]), *own[1:]]
    notes = [f"{mark} {escape_latex(why)}" for why, mark in reasons.items()]
    return _with_n_and_verdicts(table, columns), [*notes, *map(escape_latex, _notes(table))]


def _latex_figures(
    cells: Sequence[Cell], column: Column, reasons: dict[str, str], *, with_n: bool
) -> Written:
    """Values, intervals, and n if it differs within lines; as many decimals in each."""
    found = [cell if isinstance(cell, Estimate) else None for cell in cells]
    even = 1 if column.unit == "percent" else even_decimals(each.value for each in found if each)
    form = _form(column, even if column.digits is None else column.digits)
    values, intervals = [], []
    for cell, each in zip(cells, found, strict=True):
        values.append(form(each.value) if each else _cell_text(cell, column, is_label=False))
        if each and each.no_interval:
            mark = reasons.setdefault(f"no interval: {each.no_interval}", f"$^{{{len(reasons) + 1}}}$")
            intervals.append(f"–{mark}")
        else:
            intervals.append(escape_number(each.interval(form)) if each and each.n else "")
    sizes = [f"{each.n:,}" if each and each.n else "" for each in found]
    beside = [("n", sizes)] if with_n else []
    return [("", [escape_number(each) for each in values]), (_INTERVAL, intervals), *beside]


def _latex_cells(cells: Sequence[Cell], column: Column, *, is_label: bool) -> list[str]:
    """Other cells; labels that are fractions are p-values."""
    if column.digits is None and any(isinstance(cell, float) for cell in cells):
        even = even_decimals(cell for cell in cells if isinstance(cell, float))
        column = replace(column, digits=_P_DIGITS if is_label else 1 if column.unit == "percent" else even)
    found = []
    for cell in cells:
        if is_label and isinstance(cell, float) and 0 < cell < 10**-_P_DIGITS:
            found.append(escape_latex(f"< {10**-_P_DIGITS:.{_P_DIGITS}f}"))
        elif is_label and isinstance(cell, str):
            found.append(escape_latex(cell if column.heading in _OWN_NAMES else readable(cell)))
        else:
            found.append(escape_number(_cell_text(cell, column, is_label=is_label)))
    return found


_P_DIGITS = 4
