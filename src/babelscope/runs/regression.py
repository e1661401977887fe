"""Figures of systems regressed on what is known of these (paper: conditioning, table 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from babelscope.core.comparison import Comparison, SystemResult, as_label, figure_key
from babelscope.core.results import Estimate, Row
from babelscope.runs.reading import Run, read_run, results_of_run
from babelscope.stats.regression import regress
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.text import read_lines, shorten

# --- What is known of systems besides a run: columns of tables, and figures of other runs ---------------------------

_YES_NO = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_DIRECTION = {"better"}
"""Labels of rows that tell nothing apart."""


@dataclass(frozen=True, slots=True)
class SystemTable:
    """One line per system, from one or several tables and runs."""

    cells: Mapping[str, Mapping[str, str]]
    """System -> column -> what stands there."""
    columns: Mapping[str, str]
    """SystemResult -> where it is from."""
    estimates: Mapping[tuple[str, str], Estimate] = field(default_factory=dict)
    """(system, column) -> the figure with its interval, where it is one of a run."""
    factors: frozenset[str] = frozenset()
    """Columns that studies say of systems, but perhaps not of all."""

    @property
    def name(self) -> str:
        return ", ".join(dict.fromkeys(self.columns.values()))

    def cell(self, system: str, column: str) -> str:
        """What stands there; an error says what there is not."""
        if not self.columns:
            raise BabelscopeError(
                f"nothing says the {column!r} of systems: no factors in the runs, and no table of --factors"
            )
        if column not in self.columns:
            raise BabelscopeError(f"{self.name} has no column {column!r}; it has {', '.join(self.columns)}")
        where = self.columns[column]
        if system not in self.cells or column not in self.cells[system]:
            raise BabelscopeError(f"{where} has no line for the system {system}")
        return self.cells[system][column]

    def lacks(self, system: str, column: str) -> bool:
        """Whether the column is a factor that no study says of this system."""
        return column in self.factors and column not in self.cells.get(system, {})

    def number(self, system: str, column: str) -> float:
        """A number of a system; yes and no are 1 and 0."""
        text = self.cell(system, column)
        found = as_number(text)
        if found is None:
            raise BabelscopeError(
                f"{self.columns[column]}, system {system}: {shorten(text)} in column {column!r} is no number"
            )
        return found


def as_number(text: str) -> float | None:
    """The number that a cell holds, with yes and no as 1 and 0; None if it holds none."""
    plain = text.strip().lower()
    try:
        return _YES_NO[plain] if plain in _YES_NO else float(plain)
    except ValueError:
        return None


def read_systems(paths: Sequence[str | Path], compared: Sequence[Run] = ()) -> SystemTable:
    """Factors of the systems of compared runs, tables with a column `system`, figures of other runs; side by side."""
    cells, columns = _factors_of_runs(compared)
    factors = frozenset(columns)
    estimates: dict[tuple[str, str], Estimate] = {}
    for path in map(Path, paths):
        if path.is_dir():
            found = _figures_of_run(path)
            estimates |= found
            own = [{"system": system, column: repr(each.value)} for (system, column), each in found.items()]
        else:
            own = read_table(path)
            if "system" not in own[0]:
                raise BabelscopeError(f"{path} has no column 'system'; it has {', '.join(own[0])}")
            first: dict[str, int] = {}
            for line, system in enumerate((row["system"] for row in own), 2):
                if first.setdefault(system, line) != line:
                    raise BabelscopeError(
                        f"{at(path, line)}: the system {system} has a line already, {first[system]}"
                    )
        named = list(dict.fromkeys(column for row in own for column in row if column != "system"))
        for column in named:
            if column in columns:
                raise BabelscopeError(
                    f"both {columns[column]} and {path} have a column {column!r}; leave one out"
                )
            columns[column] = str(path)
        for row in own:
            told = {name: text for name, text in row.items() if name != "system"}
            cells.setdefault(row["system"], {}).update(told)
    return SystemTable(cells, columns, estimates, factors)


def _factors_of_runs(runs: Sequence[Run]) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """(system -> factor -> its value as text, factor -> where it is from) of what studies say of their systems."""
    cells: dict[str, dict[str, str]] = {}
    columns: dict[str, str] = {}
    for run in runs:
        for system, part in run.manifest.systems.items():
            for name, value in part.factors.items():
                text = str(as_label(value))
                if cells.setdefault(system, {}).setdefault(name, text) != text:
                    raise BabelscopeError(
                        f"{columns[name]} says {name} {cells[system][name]} of {system}, and {run.path} {text}"
                    )
                columns.setdefault(name, str(run.path))
    return cells, columns


def _figures_of_run(path: Path) -> dict[tuple[str, str], Estimate]:
    """(system, figure) -> the figure over all items of a run's one test set."""
    cells = results_of_run(read_run(path))
    tests = list(dict.fromkeys(cell.tests for cell in cells))
    if len(tests) > 1:
        raise BabelscopeError(f"{path} has several test sets ({', '.join(tests)}); name a run on one of them")
    found: dict[tuple[str, str], Estimate] = {}
    for cell in cells:
        for row in cell.rows:
            # Rows with labels are about parts, or several of one name.
            if row.labels.keys() <= _DIRECTION and row.estimate.n:
                if (cell.system, row.name) in found:
                    raise BabelscopeError(f"{path} has two figures {row.name!r} of the system {cell.system}")
                found[cell.system, row.name] = row.estimate
    if not found:
        raise BabelscopeError(f"{path} has no figures that describe systems; see `babelscope quality`")
    return found


def read_table(path: str | Path) -> list[dict[str, str]]:
    """The rows of a tab-separated table whose first line has the column names."""
    lines = read_lines(path)
    heading = lines[0].split("\t") if lines else []
    if len(lines) < 2 or len(set(heading)) < len(heading):
        raise BabelscopeError(f"{path} must have a line of different column names, and lines of values")
    rows = []
    for number, line in enumerate(lines[1:], 2):
        cells = line.split("\t")
        if len(cells) != len(heading):
            raise BabelscopeError(
                f"{at(path, number)} has {len(cells)} columns, the first line {len(heading)}"
            )
        rows.append(dict(zip(heading, cells, strict=True)))
    return rows


def read_column(table: Sequence[Mapping[str, str]], name: str, path: str | Path) -> list[float]:
    """A column of numbers; yes and no are 1 and 0."""
    if name not in table[0]:
        raise BabelscopeError(f"{path} has no column {name!r}; it has {', '.join(table[0])}")
    numbers = []
    for line, row in enumerate(table, 2):
        found = as_number(row[name])
        if found is None:
            raise BabelscopeError(f"{at(path, line)}: {shorten(row[name])} in column {name!r} is no number")
        numbers.append(found)
    return numbers


# --- Figures of systems regressed on what is known of these (paper: conditioning, table 3) -------------------------

Labels = dict[str, str | float]

HISTOGRAMS = frozenset({"confidence"})
"""Names of rows that are bins of a histogram, not figures to average."""


def rows_of(column: SystemResult, figure: str) -> list[Row]:
    """The rows that `NAME` or `NAME,LABEL=VALUE...` means: `kqrg`, or `kqrg,region=samples`."""
    rows = column.rows
    # A name may have commas itself, such as an error type's.
    if whole := [row for row in rows if row.name == figure]:
        return whole
    name, *wanted = figure.split(",")
    labels = dict(each.partition("=")[::2] for each in wanted)
    return [
        row
        for row in rows
        if row.name == name and all(str(row.labels.get(key)) == value for key, value in labels.items())
    ]


def figure_of(column: SystemResult, figure: str) -> Estimate:
    """A figure of a system, the first that `figure` means; of nothing (NaN) if it had no items."""
    return _first(column, figure).estimate


def _first(column: SystemResult, figure: str) -> Row:
    found = rows_of(column, figure)
    if not found:
        known = dict.fromkeys(row.name for row in column.rows if row.name not in HISTOGRAMS)
        raise BabelscopeError(
            f"{column.name} has no figure {figure!r} of {column.tests}; it has {', '.join(known)}"
        )
    return found[0]


def whole_name(column: SystemResult, figure: str) -> str:
    """The figure with the labels that tell it from others of its name: `kqrg,k=10,region=top,view=tokens`."""
    row = _first(column, figure)
    others = [dict(figure_key(each)[1]) for each in column.rows if each.name == row.name]
    told = [
        f"{name}={value}"
        for name, value in figure_key(row)[1]
        if any(other.get(name) != value for other in others)
    ]
    return ",".join([row.name, *told])


def regress_figure(
    group: Comparison, known: SystemTable, variables: Sequence[str], figure: str = "minimum"
) -> list[Row]:
    """Linear regression of a figure on variables of the systems, one for each evaluator (table 3).

    Systems of which the study does not say one of these factors are left out, and named by the label `left_out`.
    """
    rows: list[Row] = []
    for evaluator in dict.fromkeys(column.evaluator for column in group.results):
        judged = [column for column in group.results if column.evaluator == evaluator]
        lacking = [any(known.lacks(each.system, name) for name in variables) for each in judged]
        columns = [column for column, lacks in zip(judged, lacking, strict=True) if not lacks]
        left = [column.name for column, lacks in zip(judged, lacking, strict=True) if lacks]
        if not columns:
            raise BabelscopeError(f"no system of {group.tests} has all of {', '.join(variables)}")
        values = [figure_of(column, figure).value for column in columns]
        factor, unit = scale_of(values)
        judge: Labels = {"evaluator": evaluator} if evaluator else {}
        told: Labels = {"outcome": whole_name(columns[0], figure), "unit": unit}
        own, against = _regressors(known, [column.system for column in columns], variables)
        more: Labels = {"left_out": ", ".join(left)} if left else {}
        labels = {**group.labels, **judge, **told, **against, **more}
        rows += regress([factor * value for value in values], own, labels)
    return rows


def _regressors(
    known: SystemTable, systems: Sequence[str], variables: Sequence[str]
) -> tuple[dict[str, list[float]], Labels]:
    """Numbers as they are; of names, 1 for each but the first, which is told as `baseline`."""
    found: dict[str, list[float]] = {}
    baselines = []
    for name in variables:
        texts = [known.cell(system, name) for system in systems]
        # One text among numbers is a slip, which `number` refuses.
        if any(as_number(text) is not None for text in texts):
            found[name] = [known.number(system, name) for system in systems]
            continue
        first, *others = dict.fromkeys(texts)
        baselines.append(f"{name} {first}")
        found |= {f"{name} {value}": [float(text == value) for text in texts] for value in others}
    return found, {"baseline": ", ".join(baselines)} if baselines else {}


def scale_of(values: Sequence[float]) -> tuple[float, str]:
    """What a figure of systems is multiplied by, and the unit: what lies between 0 and 1 everywhere is in percent."""
    return (100.0, "percent") if all(0 <= value <= 1 for value in values) else (1.0, "its own")


def regress_column(path: str | Path, outcome: str, variables: Sequence[str]) -> list[Row]:
    """Linear regression of one column of a table on others."""
    table = read_table(path)
    own = {name: read_column(table, name, path) for name in variables}
    return regress(read_column(table, outcome, path), own, {"outcome": outcome})
