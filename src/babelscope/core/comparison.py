"""Results side by side: systems judged by one method on one test set, one column each."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from babelscope.core.results import PairedField, Record, Row
from babelscope.util.text import shorten

# --- Factors of a system, such as its width: what a study says of it, and figures are shown by ---------------------

Factor = bool | int | float | str
Factors = Mapping[str, Factor]
"""Name -> value, as given in the study."""

SEED = "seed"
"""The factor by which repeated trainings of one model differ."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_TAKEN = {"name", "value", "low", "high", "n", "no_interval", "signature", "table"}
_TAKEN |= {"method", "system", "tests", "by"}
CAUTIONS = {
    "discrepancy": "by how many nats per token its own translation is more probable than the correct one; compare "
    "test sets by it, not models (section 3.2)"
}
"""Figure -> why it must not be compared between systems."""
_LONGEST = 100
_MOST = 50


def check_factors(factors: object) -> dict[str, Factor]:
    """Check the factors of a system in a study; ValueError if they are invalid."""
    if not isinstance(factors, Mapping):
        raise ValueError("must be a table, such as { width = 256, distilled = true }")
    if len(factors) > _MOST:
        raise ValueError(f"a system may have {_MOST} factors, not {len(factors)}")
    found: dict[str, Factor] = {}
    for name, value in factors.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ValueError(
                f"{shorten(str(name))} is not a valid factor name: use a letter, then at most 39 "
                f"letters, digits and _"
            )
        if name in _TAKEN:
            raise ValueError(f"a factor cannot be called {name!r}: every figure has a field of that name")
        if not isinstance(value, bool | int | float | str):
            raise ValueError(
                f"the factor {name!r} must be a number, true, false or a text, not a list or table"
            )
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"the factor {name!r} must be finite")
        if len(str(value)) > _LONGEST:
            raise ValueError(f"the factor {name!r} is longer than {_LONGEST} characters")
        if isinstance(value, str) and (not value.strip() or _CONTROL.search(value)):
            raise ValueError(
                f"the factor {name!r} is {shorten(value)}: use a text, not blank and without control "
                f"characters"
            )
        found[name] = value
    return found


def as_label(value: Factor) -> str | int:
    """A factor as the label of a row: whole numbers and booleans unchanged, the rest as text."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else repr(value)
    return value


def with_labels(rows: Sequence[Row], factors: Factors) -> list[Row]:
    """The rows with a label for each factor whose name is not already a label."""
    taken = {name for row in rows for name in (*row.labels, *row.counts)}
    more = {name: as_label(value) for name, value in factors.items() if name not in taken}
    return [replace(row, labels={**row.labels, **more}) for row in rows]


def without_labels(rows: Sequence[Row], factors: Factors) -> list[Row]:
    """The rows without the labels added by `with_labels`."""
    added = {
        name
        for name, value in factors.items()
        if all(row.labels.get(name) == as_label(value) for row in rows)
    }
    return [
        replace(row, labels={name: value for name, value in row.labels.items() if name not in added})
        for row in rows
    ]


def is_number(values: Sequence[Factor]) -> bool:
    """Whether a factor is a quantity, to be drawn along an axis; booleans are not."""
    return all(_kind(each) == "a number" for each in values)


def _kind(value: Factor) -> str:
    if isinstance(value, bool):
        return "true or false"
    return "a text" if isinstance(value, str) else "a number"


def check_kinds_of_factors(systems: Mapping[str, Factors]) -> None:
    """Raise ValueError for a factor that is a number for one system and text for another."""
    first: dict[str, tuple[str, Factor]] = {}
    for system, factors in systems.items():
        for name, value in factors.items():
            other, its = first.setdefault(name, (system, value))
            if _kind(its) != _kind(value):
                raise ValueError(
                    f"the factor {name!r} is {_kind(its)} of {shorten(other)} and {_kind(value)} of "
                    f"{shorten(system)}; use one kind for all, or leave it out where it does not apply"
                )


Rest = tuple[tuple[str, Factor], ...]
"""Factors in the order of their names."""


def but(factors: Factors, *names: str) -> Rest:
    """All factors except some, sorted by name: what systems that differ only in these share."""
    return tuple(sorted((name, value) for name, value in factors.items() if name not in names))


def in_words(factors: Sequence[tuple[str, Factor]]) -> str:
    """Factors as text: `depth 6, distilled, width 256`."""
    return ", ".join(
        (name if value else f"not {name}") if isinstance(value, bool) else f"{name} {as_label(value)}"
        for name, value in factors
    )


def distinguish_groups(groups: Sequence[Rest]) -> list[str]:
    """A title for each group of systems, made from the factors in which the groups differ."""
    tables = [dict(own) for own in groups]
    names = sorted({name for own in tables for name in own})
    words = [
        {name: in_words([(name, own[name])]) if name in own else f"without {name}" for name in names}
        for own in tables
    ]
    differ = [name for name in names if len({own[name] for own in words}) > 1]
    return [", ".join(own[name] for name in differ) for own in words]


def sort_key(rest: Rest) -> list[tuple[str, bool, float, str]]:
    """Sort key of groups of systems: numbers by their size, all else by its text."""
    return [
        (name, False, value, "") if not isinstance(value, str) else (name, True, 0.0, value)
        for name, value in rest
    ]


# --- Results side by side: the systems judged by one method on one test set, a column each -------------------------

FigureKey = tuple[str, tuple[tuple[str, str | float], ...]]
"""The identity of a row within its result: name and sorted labels."""

# Labels that are results themselves, and so do not identify what was measured.
_OUTCOMES = frozenset({"lowest", "p", "p_holm", "significant", "note", "noise"})


class StoredRun(Protocol):
    """The run of a result."""

    @property
    def path(self) -> Path: ...

    @property
    def name(self) -> str: ...

    @property
    def manifest(self) -> Any: ...


@dataclass(frozen=True)
class SystemResult:
    """Figures and records of one method on one system and one test set, just computed or stored."""

    name: str
    """Name of the system, unique among those it is compared with."""
    run: StoredRun
    method: str
    """Label of the method in the study."""
    kind: str
    """The method's own name."""
    version: int
    settings: Mapping[str, Any]
    """As in the signature: programs and analyzers by digest or version."""
    roles: Mapping[str, Any]
    """Fingerprints of its other systems."""
    system: str
    fingerprint: Mapping[str, Any]
    tests: str
    digest: str
    """Digest of its test set."""
    factors: Factors = field(default_factory=dict)
    """Factors of the system in the study."""
    paired: Sequence[PairedField] = ()
    all_rows: Sequence[Row] = field(default=(), repr=False)
    load: Callable[[], Sequence[Record]] = field(default=tuple, repr=False)
    """Reads its records; called once."""

    @cached_property
    def rows(self) -> list[Row]:
        """Figures over all items, with the labels that distinguish them."""
        return [row for row in self.all_rows if not row.is_part]

    @cached_property
    def parts(self) -> list[Row]:
        """The same figures by fields of the items (`--group-by`)."""
        return [row for row in self.all_rows if row.is_part]

    @cached_property
    def records(self) -> Sequence[Record]:
        """One record per answered item, in order, with the fields that depend on all of them."""
        return self.load()

    @property
    def evaluator(self) -> str:
        """Name of the system that judged, for methods that use one; else empty."""
        return next((str(row.labels["evaluator"]) for row in self.rows if "evaluator" in row.labels), "")

    @property
    def asked(self) -> tuple[Any, ...]:
        """Everything that its figures depend on."""
        return self.kind, self.settings, self.roles, self.fingerprint, self.digest

    @property
    def figures(self) -> dict[FigureKey, Row]:
        return {figure_key(row): row for row in self.all_rows}


@dataclass(frozen=True)
class Comparison:
    """The results of one method on one test set, one per system."""

    method: str
    tests: str
    results: tuple[SystemResult, ...]

    @property
    def labels(self) -> dict[str, str | int]:
        return {"method": self.method, "tests": self.tests}


def figure_key(row: Row) -> FigureKey:
    """The figure of a row: its name and labels, except result and evaluator."""
    labels = {name: value for name, value in row.labels.items() if name not in _OUTCOMES | {"evaluator"}}
    return row.name, tuple(sorted(labels.items()))


def rows_by_figure(group: Comparison) -> list[tuple[FigureKey, list[Row | None]]]:
    """Each figure of a comparison with its row in each result, None if there is none."""
    columns = [column.figures for column in group.results]
    return [
        (figure, [each.get(figure) for each in columns])
        for figure in dict.fromkeys(figure for each in columns for figure in each)
    ]
