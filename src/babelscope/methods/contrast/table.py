"""The layout of the paper's table 1: one line per phenomenon and reference kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from babelscope.core.results import Row
from babelscope.core.tables import Sized, Table, with_sizes
from babelscope.methods.contrast.figures import OWN, is_own_output, measure_of
from babelscope.methods.contrast.method import CAUTION
from babelscope.stats.intervals import mean_and_sd
from babelscope.util.terminal import visible

_MEASURES = {"discrepancy": "discrepancy", "accuracy": "accuracy %", "generated_errors": "generated errors %"}
_BETWEEN = f"discrepancy: {CAUTION}"
_EXPLAINED = (
    "* a control: nobody makes this error in free translation",
    "° not measurable in free output: the interval, or that of each seed, covers 0",
    f"{OWN} on references that are its own output, on which it can hardly fail",
)


def table(rows: Sequence[Row], seed_groups: Sequence[str] = ()) -> str:
    """The table in Markdown, and what must be known to read it."""
    made = layout(rows, seed_groups)
    rule = ["---"] * len(made.headings)
    lines = [f"| {' | '.join(map(visible, row))} |" for row in (made.headings, rule, *made.rows)]
    return "\n".join([*lines, *filter(None, [made.title])])


def _told(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """What the marks in a table mean, a line each; and that discrepancies of several systems do not compare."""
    marks = [
        each
        for each in _EXPLAINED
        if any(each[0] in (cell[:1], cell[-1:]) for line in lines for cell in line)
    ]
    several = sum(heading.startswith("discrepancy, ") for heading in headings) > 1
    return "\n".join([*marks, *([_BETWEEN] if several else [])])


def layout(rows: Sequence[Row], seed_groups: Sequence[str] = ()) -> Table:
    """One column per measure and system: value [95 % interval], or mean ± sd over a group's seeds."""
    systems = list(dict.fromkeys(str(row.labels["system"]) for row in rows if measure_of(row)))
    alone = [name for name in systems if not any(fnmatchcase(name, group) for group in seed_groups)]
    lines = sorted(
        {
            (str(row.labels["phenomenon"]), str(row.labels["reference"]), "control" in row.labels)
            for row in rows
            if measure_of(row) and "phenomenon" in row.labels
        }
    )
    columns: list[tuple[str, Callable[[str, str], Sized]]] = []
    for measure, heading in _MEASURES.items():
        of_measure = [row for row in rows if measure_of(row) == measure]
        for name in (*seed_groups, *alone) if of_measure else ():
            columns.append((f"{heading}, {name}", _column(of_measure, measure, name)))
    cells = []
    for phenomenon, reference, control in lines:
        shown = [cell(phenomenon, reference) for _, cell in columns]
        cells.append(([f"{'*' if control else ''}{phenomenon}", reference], shown))
    headings, made = with_sizes(["phenomenon", "reference"], [heading for heading, _ in columns], cells)
    return Table(_told(headings, made), headings, made, labels=2)


def _column(rows: Sequence[Row], measure: str, name: str) -> Callable[[str, str], Sized]:
    """A function (phenomenon, reference) -> cell text and its n, for one system or a group of seeds."""
    factor, digits = (1, 3) if measure == "discrepancy" else (100, 1)

    def cell(phenomenon: str, reference: str) -> Sized:
        found = [
            row
            for row in rows
            if (row.labels.get("phenomenon"), row.labels.get("reference")) == (phenomenon, reference)
            and fnmatchcase(str(row.labels["system"]), name)
            and row.estimate.n
        ]
        values = [factor * row.estimate.value for row in found]
        if not values:
            return "–", ""
        sizes = sorted({row.estimate.n for row in found})
        size = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else str(sizes[0])
        seen = any(row.estimate.no_interval or row.estimate.low > 0 for row in found)
        own = any(is_own_output(row) for row in found)
        mark = "°" if measure == "generated_errors" and not seen else OWN if own else ""
        if len(values) > 1:
            mean, sd = mean_and_sd(values)
            return f"{mean.value:.{digits}f} ± {sd.value:.{digits}f}{mark}", size
        return found[0].estimate.text(lambda each: f"{factor * each:.{digits}f}") + mark, size

    return cell
