"""Tables side by side: a column a system, or a line each where there are many."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from babelscope.core.columns import Column, Group
from babelscope.core.results import Estimate, Row
from babelscope.methods.view import Figures, pivot

FIGURES = (
    Figures("kRG", lambda row: row.name == "krg"),
    Figures("empty", lambda row: row.name == "empty", "percent"),
)


def column(name: str, *measures: str) -> Column:
    rows = [Row(each, Estimate(0.5, 0.4, 0.6, 9), {"region": "top"}) for each in measures]
    cell: Any = SimpleNamespace(rows=rows)
    return Column(name, cell)


@pytest.mark.parametrize("number", [1, 3])
def test_few_systems_have_a_column_each(number: int) -> None:
    names = [f"s{each}" for each in range(number)]
    group = Group("space", "news", tuple(column(name, "krg", "empty") for name in names))
    (table,) = pivot(group, "Ranking", ("region",), FIGURES)
    several = [f", {name}" for name in names] if number > 1 else [""]
    assert table.headings == [
        "region",
        "n",
        *(f"kRG{each}" for each in several),
        *(f"empty, %{each}" for each in several),
    ]
    assert [row[0] for row in table.rows] == ["top"]


def test_many_systems_have_a_line_each() -> None:
    names = [f"s{each}" for each in range(12)]
    group = Group("space", "news", tuple(column(name, "krg", "empty") for name in names))
    (table,) = pivot(group, "Ranking", ("region",), FIGURES)
    assert table.headings == ["region", "system", "n", "kRG", "empty, %"]
    assert [row[1] for row in table.rows] == names
    assert table.rows[0] == ["top", "s0", "9", "0.5 [0.4, 0.6]", "50.0 [40.0, 60.0]"]
    assert table.labels == 2


def test_a_figure_that_the_first_system_lacks_is_shown() -> None:
    group = Group("space", "news", (column("a", "empty"), column("b", "empty", "krg")))
    (table,) = pivot(group, "Ranking", ("region",), FIGURES)
    assert table.headings[2:] == ["kRG, a", "kRG, b", "empty, %, a", "empty, %, b"]
    assert table.rows[0][2:4] == ["", "0.5 [0.4, 0.6]"]
