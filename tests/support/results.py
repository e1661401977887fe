"""Results of systems without a run folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from babelscope.core.comparison import Comparison, SystemResult
from babelscope.core.results import Record, Row


def result_of(
    name: str = "one",
    records: Sequence[Record] = (),
    rows: Sequence[Row] = (),
    settings: Mapping[str, Any] | None = None,
    **fields: Any,
) -> SystemResult:
    """What a method found about one system; `fields` are other fields of the result."""
    defaults: dict[str, Any] = {
        "run": SimpleNamespace(path=Path("run"), name="run", manifest=None, sections=()),
        "method": "method",
        "kind": "method",
        "version": 1,
        "roles": {},
        "system": name,
        "fingerprint": {"kind": name},
        "tests": "tests",
        "digest": "0" * 64,
    }
    return SystemResult(
        name=name, settings=settings or {}, all_rows=rows, load=lambda: records, **{**defaults, **fields}
    )


def comparison_of(
    records: Mapping[str, Sequence[Record]], settings: Mapping[str, Any] | None = None
) -> Comparison:
    """A comparison of systems by their records alone."""
    results = (result_of(name, own, settings=settings) for name, own in records.items())
    return Comparison("method", "tests", tuple(results))


def rows_of(rows: Iterable[Row], name: str, **labels: Any) -> list[Row]:
    """The rows of a name that have these labels; None for a label that a row must not have."""
    return [
        row for row in rows if row.name == name and all(row.labels.get(k) == v for k, v in labels.items())
    ]


def only_row(rows: Iterable[Row], name: str, **labels: Any) -> Row:
    """The one row of a name that has these labels."""
    found = rows_of(rows, name, **labels)
    assert len(found) == 1, f"{name} {labels}: {len(found)} rows"
    return found[0]
