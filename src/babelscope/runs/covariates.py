"""What is known of systems beside a run: columns of tables, and figures of other runs, such as those of `quality`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from babelscope.core.factors import as_label
from babelscope.core.results import Estimate
from babelscope.runs.reading import Run, cells_of_run, read_run
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.text import read_lines, shorten

_YES_NO = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_DIRECTION = {"better"}
"""Labels of rows that tell nothing apart."""


@dataclass(frozen=True, slots=True)
class SystemTable:
    """A line a system, from one or several tables and runs."""

    cells: Mapping[str, Mapping[str, str]]
    """System -> column -> what stands there."""
    columns: Mapping[str, str]
    """Column -> where it is from."""
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
                f"nothing says the {column!r} of systems: the runs name no factors, and there is no --table"
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
            _refuse_repeats(own, path)
        named = list(dict.fromkeys(column for row in own for column in row if column != "system"))
        for column in named:
            if column in columns:
                raise BabelscopeError(
                    f"both {columns[column]} and {path} have a column {column!r}; leave one out"
                )
            columns[column] = str(path)
        for row in own:
            cells.setdefault(row["system"], {}).update(
                {name: text for name, text in row.items() if name != "system"}
            )
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


def _refuse_repeats(rows: Sequence[Mapping[str, str]], path: Path) -> None:
    first: dict[str, int] = {}
    for line, row in enumerate(rows, 2):
        if row["system"] in first:
            raise BabelscopeError(
                f"{at(path, line)}: the system {row['system']} has a line already, {first[row['system']]}"
            )
        first[row["system"]] = line


def _figures_of_run(path: Path) -> dict[tuple[str, str], Estimate]:
    """(system, figure) -> the figure over all items of a run's one test set."""
    cells = cells_of_run(read_run(path))
    tests = list(dict.fromkeys(cell.tests for cell in cells))
    if len(tests) > 1:
        raise BabelscopeError(
            f"{path} is on several test sets ({', '.join(tests)}); systems are told by figures on one of them"
        )
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
