"""What stands side by side in tables and pages: the same method and test set, a column a system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from babelscope.core.comparable import Comparable
from babelscope.core.results import Record, Row

Figure = tuple[str, tuple[tuple[str, str | int], ...]]
"""A row's name, and the labels that tell it from others of its cell."""

# Labels that say what came out, not what was measured.
_OUTCOMES = frozenset({"lowest", "p", "p_holm", "significant", "note"})


class Remembered(Protocol):
    """The run that a cell is of."""

    @property
    def path(self) -> Path: ...

    @property
    def name(self) -> str: ...

    @property
    def manifest(self) -> Any: ...

    @property
    def sections(self) -> Sequence[Mapping[str, Any]]:
        """What it has stored of each method and test set for a report."""


class Judged(Protocol):
    """One method on one system and one test set, judged."""

    @property
    def run(self) -> Remembered: ...

    @property
    def method(self) -> str:
        """What the study calls the method."""

    @property
    def label(self) -> str:
        """What its records call the method."""

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
    def digest(self) -> str:
        """Of its test set."""

    @property
    def comparable(self) -> Sequence[Comparable]: ...

    @property
    def asked(self) -> tuple[Any, ...]:
        """All that its figures depend on."""

    @property
    def evaluator(self) -> str:
        """Who judged, for methods that ask another system to; else nothing."""

    @property
    def rows(self) -> Sequence[Row]:
        """Its figures over all items, with the labels that tell them apart within it."""

    @property
    def parts(self) -> Sequence[Row]:
        """The same figures by fields of the items, if a study asked for that."""

    @property
    def records(self) -> Sequence[Record]:
        """A record an answered item, in their order."""


@dataclass(frozen=True)
class Column:
    """A cell beside others of the same method and test set, under a name of its own."""

    name: str
    cell: Judged

    @property
    def figures(self) -> dict[Figure, Row]:
        return {figure_of(row): row for row in (*self.cell.rows, *self.cell.parts)}


@dataclass(frozen=True)
class Group:
    """The columns of one method on one test set."""

    method: str
    tests: str
    columns: tuple[Column, ...]

    @property
    def labels(self) -> dict[str, str | int]:
        return {"method": self.method, "tests": self.tests}


def figure_of(row: Row) -> Figure:
    """What a row measures, whatever came out and whoever judged."""
    told = {name: value for name, value in row.labels.items() if name not in _OUTCOMES | {"evaluator"}}
    return row.name, tuple(sorted(told.items()))


def side_by_side(group: Group) -> list[tuple[Figure, list[Row | None]]]:
    """Every figure with its row in each column."""
    columns = [column.figures for column in group.columns]
    return [
        (figure, [each.get(figure) for each in columns])
        for figure in dict.fromkeys(figure for each in columns for figure in each)
    ]
