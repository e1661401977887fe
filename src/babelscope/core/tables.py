"""Tables of figures as text for a terminal, Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from babelscope.core.results import Estimate, Row, even_decimals, figure_columns, number
from babelscope.util.terminal import draw, mark_hidden, visible, wrap

_COMMON = ("figure", "method", "tests", "evaluators")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
    # pdflatex knows these in formulas only.
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "−": "$-$",
    "†": r"\dag{}",
}


@dataclass(frozen=True, slots=True)
class Table:
    """Cells of text under headings; the first `labels` columns are words, the others numbers."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    labels: int = 1


def of_rows(
    title: str,
    rows: Sequence[Row],
    *,
    shown: Sequence[str] = (),
    interval: str = "95 % interval",
    even: bool = False,
) -> Table:
    """Figures with the labels that tell them apart, intervals, and counts that are not all 0, or are in `shown`.

    Method and test set stand in the title, where all rows are of one. `even`: as many decimals in each row.
    """
    columns = {"figure": [row.name for row in rows]}
    for label in dict.fromkeys(label for row in rows for label in row.labels):
        columns[label] = [row.told(label) for row in rows]
    same = {label: own[0] for label, own in columns.items() if label in _COMMON and len(set(own)) == 1}
    told = [label for label in columns if label not in same]
    digits = even_decimals(row.estimate.value for row in rows) if even else None
    headings, figures = figure_columns(rows, shown=shown, interval=interval, digits=digits)
    common = ", ".join(value for label, value in same.items() if label != "figure")
    return Table(
        f"{title}: {common}" if common else title,
        [*told, *headings],
        [[*(columns[label][place] for label in told), *own] for place, own in enumerate(figures)],
        len(told),
    )


Sized = tuple[str, str]
"""A figure as text, and the number of items behind it; both empty where there is none."""


def with_sizes(
    labels: Sequence[str], headings: Sequence[str], lines: Sequence[tuple[Sequence[str], Sequence[Sized]]]
) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of a table in which every n stands beside its figure.

    One column `n` where the figures of each line are of equally many items; else one after each figure.
    """
    sizes = [list(dict.fromkeys(size for _, size in own if size)) for _, own in lines]
    if all(len(each) <= 1 for each in sizes):
        rows = [
            [*names, "".join(size), *(text for text, _ in own)]
            for (names, own), size in zip(lines, sizes, strict=True)
        ]
        return [*labels, "n", *headings], rows
    beside = [each for heading in headings for each in (heading, "n")]
    return [*labels, *beside], [[*names, *(each for pair in own for each in pair)] for names, own in lines]


def in_a_cell(estimate: Estimate, decimals: int | None = None) -> str:
    return estimate.text(lambda each: number(each, decimals))


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


def as_text(table: Table, width: int | None = None) -> str:
    """For a terminal, folded if wider than `width`; what would steer the terminal is made visible instead."""
    columns = range(table.labels, len(table.headings))
    title = visible(table.title)
    titles = [title] if width is None else wrap(title, width)
    return "\n".join([*titles, draw(table.headings, table.rows, right=columns, width=width)])


def as_markdown(table: Table) -> str:
    """A table as GitHub and others show it."""

    def line(cells: Sequence[str]) -> str:
        escaped = (visible(cell).replace("\\", "\\\\").replace("|", "\\|") for cell in cells)
        return f"| {' | '.join(escaped)} |"

    rule = "|" + "|".join("---" if n < table.labels else "---:" for n in range(len(table.headings))) + "|"
    return "\n".join([f"**{visible(table.title)}**", "", line(table.headings), rule, *map(line, table.rows)])


def as_latex(table: Table) -> str:
    """A `tabular` with the rules of the package booktabs."""

    def line(row: Sequence[str]) -> str:
        return " & ".join("".join(_LATEX.get(c, c) for c in visible(cell)) for cell in row) + r" \\"

    columns = "l" * table.labels + "r" * (len(table.headings) - table.labels)
    return "\n".join(
        [
            *(f"% {visible(line)}" for line in table.title.split("\n")),
            f"\\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            line(table.headings),
            r"\midrule",
            *map(line, table.rows),
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


# --- Tables for papers, in LaTeX: even digits, values and intervals in columns of their own ------------------------

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
# Columns of names that their owners chose: they stay as they are.
_OWN_NAMES = ("system", "against", "tests", "run", "group", "evaluator", "evaluators", "verdicts")
_KEY = re.compile(r"(?P<mark>\*?)(?P<key>[a-z][a-z0-9]*(_[a-z0-9]+)*)")
_ESTIMATE = re.compile(
    r"(?P<value>[-+]?[\d.]+) (?P<interval>\[[-+]?[\d.]+, [-+]?[\d.]+\]|\(no interval: [^()]+\))(?P<mark>\W?)"
)
_NOTHING = ("", "–")
# Decimals of p-values and of the like, which methods give as labels.
_DIGITS_OF_LABELS = 4


def for_paper(table: Table, signature: str = "") -> str:
    """The table in LaTeX as a paper has it, and the signature as a comment."""
    columns = [
        _paper_columns(heading, [row[place] for row in table.rows], is_label=place < table.labels)
        for place, heading in enumerate(table.headings)
    ]
    labels = sum(len(own) for own in columns[: table.labels])
    named = [each for own in columns for each in own]
    rows = [[cells[line] for _, cells in named] for line in range(len(table.rows))]
    made = as_latex(Table(table.title, [heading for heading, _ in named], rows, labels))
    # A hyphen before a number is a minus.
    made = re.sub(r"(& |\[|, |^)-(?=\d)", r"\1$-$", made, flags=re.MULTILINE)
    return f"{made}\n% {signature}" if signature else made


def readable(key: str) -> str:
    """A key such as `mbr_quality`, marked or not, in words; what is no key stays as it is."""
    if not (found := _KEY.fullmatch(key)):
        return key
    return found["mark"] + " ".join(_WORDS.get(word, word) for word in found["key"].split("_"))


def _paper_columns(heading: str, cells: Sequence[str], *, is_label: bool) -> list[tuple[str, list[str]]]:
    """A column as one, or as two where its cells have values with intervals."""
    if heading in _OWN_NAMES:
        return [(readable(heading), list(cells))]
    if is_label:
        return [(readable(heading), _even(cells) or [readable(cell) for cell in cells])]
    found = [_ESTIMATE.fullmatch(cell) for cell in cells]
    known = [match is not None or cell in _NOTHING for match, cell in zip(found, cells, strict=True)]
    if not any(found) or not all(known):
        return [(readable(heading), list(cells))]
    values = [
        f"{match['value']}{match['mark']}" if match else cell
        for match, cell in zip(found, cells, strict=True)
    ]
    # Why there is none, a caption or footnote may say.
    intervals = [
        "" if not match else "–" if match["interval"][0] == "(" else match["interval"] for match in found
    ]
    return [(readable(heading), values), ("95 % interval", intervals)]


def _even(cells: Sequence[str]) -> list[str]:
    """Labels that are fractions, such as p-values, with as many decimals each; nothing if they are not."""
    try:
        values = [None if cell in _NOTHING else float(cell) for cell in cells]
    except ValueError:
        return []
    if all(value is None or value.is_integer() for value in values):
        return []
    least = 10.0**-_DIGITS_OF_LABELS
    return [
        cell
        if value is None
        else f"< {number(least, _DIGITS_OF_LABELS)}"
        if 0 < value < least
        else number(value, _DIGITS_OF_LABELS)
        for cell, value in zip(cells, values, strict=True)
    ]


def rows_html(rows: Sequence[Row], signature: str) -> str:
    """All rows as an HTML table with the signature below, for notebooks."""
    return mark_hidden(f"{table_html(all_rows('Figures', rows))}\n<code>{escape(signature)}</code>")


def all_rows(title: str, rows: Sequence[Row]) -> Table:
    """A table of all rows; if they share one name, it stands in the title."""
    names = {row.name for row in rows}
    return of_rows(f"{title}: {names.pop()}" if len(names) == 1 else title, rows)


def table_html(table: Table) -> Markup:
    """A table as HTML: words left-aligned, numbers right-aligned."""
    head = "".join(
        f'<th scope="col"{_css_class(place, table)}>{escape(cell)}</th>'
        for place, cell in enumerate(table.headings)
    )
    body = "\n".join(f"<tr>{_cells(row, table)}</tr>" for row in table.rows)
    return Markup(
        f"<table><caption>{escape(table.title)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>\n{body}\n</tbody></table>"
    )


def _cells(row: Sequence[str], table: Table) -> str:
    """The cells of a row, of which the first is its heading."""
    return "".join(
        f"<td{_css_class(place, table)}>{escape(cell)}</td>"
        if place or not table.labels
        else f'<th scope="row">{escape(cell)}</th>'
        for place, cell in enumerate(row)
    )


def _css_class(place: int, table: Table) -> str:
    return "" if place < table.labels else ' class="num"'
