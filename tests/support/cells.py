"""Judged cells without a run folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

from babelscope.core.comparison import Column, Group, JudgedCell
from babelscope.core.results import Record


def group_of(records: Mapping[str, Sequence[Record]], settings: Mapping[str, Any] | None = None) -> Group:
    """A group with a column for each system's records."""
    cells = {
        name: cast(JudgedCell, SimpleNamespace(records=own, settings=settings or {}))
        for name, own in records.items()
    }
    return Group("method", "tests", tuple(Column(name, cell) for name, cell in cells.items()))
