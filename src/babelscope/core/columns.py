"""Results side by side: the systems judged by one method on one test set, a column each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from babelscope.core.comparable import Comparable
from babelscope.core.factors import Factors
from babelscope.core.results import Record, Row

FigureKey = tuple[str, tuple[tuple[str, str | float], ...]]
"""What identifies a row within its cell: its name, and its sorted labels."""

# Labels that are results themselves, and so do not identify what was measured.
_OUTCOMES = frozenset({"lowest", "p", "p_holm", "significant", "note", "noise"})


class StoredRun(Protocol):
    """The run that a cell is of."""

    @property
    def path(self) -> Path: ...

    @property
    def name(self) -> str: ...

    @property
    def manifest(self) -> Any: ...

    @property
    def sections(self) -> Sequence[Mapping[str, Any]]:
        """The stored report sections, one for each method and test set."""


class JudgedCell(Protocol):
    """One method on one system and one test set, judged."""

    @property
    def run(self) -> StoredRun: ...

    @property
    def method(self) -> str:
        """What the study calls the method."""

    @property
    def kind(self) -> str:
        """The method's own name."""

    @property
    def system(self) -> str: ...

    @property
    def tests(self) -> str: ...

    @property
    def settings(self) -> Mapping[str, Any]: ...

    @property
    def roles(self) -> Mapping[str, Any]:
        """Fingerprints of its other systems."""

    @property
    def fingerprint(self) -> Mapping[str, Any]: ...

    @property
    def factors(self) -> Factors:
        """What the study says of the system."""

    @property
    def digest(self) -> str:
        """Digest of its test set."""

    @property
    def comparable(self) -> Sequence[Comparable]: ...

    @property
    def asked(self) -> tuple[Any, ...]:
        """Everything that its figures depend on."""

    @property
    def evaluator(self) -> str:
        """Name of the system that judged, for methods that use one; else empty."""

    @property
    def rows(self) -> Sequence[Row]:
        """Its figures over all items, with the labels that distinguish them within the cell."""

    @property
    def parts(self) -> Sequence[Row]:
        """The same figures by fields of the items, where the study asked for that (`--by`)."""

    @property
    def records(self) -> Sequence[Record]:
        """One record for each answered item, in order."""


@dataclass(frozen=True)
class Column:
    """A cell beside others of the same method and test set, under a name of its own."""

    name: str
    cell: JudgedCell

    @property
    def figures(self) -> dict[FigureKey, Row]:
        return {figure_key(row): row for row in (*self.cell.rows, *self.cell.parts)}


@dataclass(frozen=True)
class Group:
    """The columns of one method on one test set."""

    method: str
    tests: str
    columns: tuple[Column, ...]

    @property
    def labels(self) -> dict[str, str | int]:
        return {"method": self.method, "tests": self.tests}


def figure_key(row: Row) -> FigureKey:
    """What a row measures, apart from its results and from the evaluator."""
    labels = {name: value for name, value in row.labels.items() if name not in _OUTCOMES | {"evaluator"}}
    return row.name, tuple(sorted(labels.items()))


def rows_by_figure(group: Group) -> list[tuple[FigureKey, list[Row | None]]]:
    """Every figure of a group with its row in each column; None where a column has none."""
    columns = [column.figures for column in group.columns]
    return [
        (figure, [each.get(figure) for each in columns])
        for figure in dict.fromkeys(figure for each in columns for figure in each)
    ]
