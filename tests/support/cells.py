"""Judged cells without a run folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

from babelscope.core.comparison import Comparison, SystemResult
from babelscope.core.results import Record


def group_of(
    records: Mapping[str, Sequence[Record]], settings: Mapping[str, Any] | None = None
) -> Comparison:
    """A group with a column for each system's records."""
    cells = {
        name: cast(SystemResult, SimpleNamespace(records=own, settings=settings or {}))
        for name, own in records.items()
    }
    return Comparison("method", "tests", tuple(SystemResult(name, cell) for name, cell in cells.items()))
