"""Tables of figures as text for a terminal, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from babelscope.core.results import Estimate, Row, even_decimals, figure_columns, number
from babelscope.util.tables import draw, wrap
from babelscope.util.terminal import visible

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
