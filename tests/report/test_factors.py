"""Charts over a factor of the systems: which systems a line joins, and what it is called."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from babelscope.core.charts import Chart, Lines
from babelscope.core.comparison import Comparison, SystemResult
from babelscope.core.results import Estimate, Row
from babelscope.core.tables import Line, Table
from babelscope.report.factors import factor_charts, factor_notes, mean_over_seeds


def system(name: str, value: float, evaluator: str = "", **factors: Any) -> SystemResult:
    labels = {"evaluator": evaluator} if evaluator else {}
    row = Row("kqrg", Estimate(value, value - 0.1, value + 0.1, 20), labels)
    run = SimpleNamespace(path=Path("run"), name="run", manifest=None)
    return SystemResult(name, run, "m", "m", 1, {}, {}, name, {}, "news", "", factors=factors, all_rows=[row])


def drawn(*results: SystemResult) -> list[Chart]:
    lines = [Line([each.name, "kQRG", each.rows[0].estimate], each.name) for each in results]
    table = Table("", ["system", "figure", "value"], lines, 2)
    return factor_charts(Comparison("space", "news", results), table)


def curves(chart: Chart) -> dict[str, dict[float, float]]:
    """Name of each line -> x -> value, in the order of the legend."""
    assert isinstance(chart.drawing, Lines)
    return {curve.name: {at: own.value for at, own in curve.points} for curve in chart.drawing.curves}


def of_widths(*widths: int, value: float = 0.5, **factors: Any) -> list[SystemResult]:
    name = "-".join(map(str, factors.values()))
    return [system(f"{name}w{width}", value, width=width, **factors) for width in widths]


@pytest.mark.parametrize(
    ("systems", "names"),
    [
        (of_widths(1, 2, languages="en-de", encoder=6), ["all systems"]),
        ([*of_widths(2, 1, kind="lstm"), *of_widths(1, 2, kind="conv")], ["kind conv", "kind lstm"]),
        ([*of_widths(1, 2), *of_widths(1, 2, dropout=0.1)], ["without dropout", "dropout 0.1"]),
        ([each for deep in (12, 2, 6) for each in of_widths(1, 2, depth=deep)], ["depth 2", "depth 6", "depth 12"]),
        ([system(f"{by}{w}", 0.5, by, width=w) for by in "xy" for w in (1, 2)], ["by x", "by y"]),
    ],
    ids=["shared", "text", "missing", "numbers", "evaluators"],
)  # fmt: skip
def test_a_legend_names_only_what_distinguishes_lines(systems, names):
    over_width = drawn(*systems)[0]
    assert over_width.title == "kQRG over width"
    assert list(curves(over_width)) == names
    assert all(list(points) == [1, 2] for points in curves(over_width).values())
    assert not factor_notes(Comparison("space", "news", tuple(systems)))


def test_seeds_are_averaged_and_counted():
    found = [
        system(f"w{w}-{seed}", 0.1 * w + 0.02 * seed, width=w, seed=seed) for w in (1, 2) for seed in (1, 2)
    ]
    (chart,) = drawn(*found, system("w3", 0.5, width=3, seed=1))
    assert curves(chart)["all systems"] == pytest.approx({1: 0.13, 2: 0.23, 3: 0.5})
    assert isinstance(chart.drawing, Lines)
    assert [own.n for _, own in chart.drawing.curves[0].points] == [2, 2, 20]
    assert "mean of 1 to 2 seeds" in chart.caption
    assert "of one seed: over items" in chart.caption


@pytest.mark.parametrize("seed", [{}, {"seed": 1}])
def test_systems_with_the_same_factors_are_not_averaged_as_if_they_were_seeds(seed):
    alike = [system("lstm", 0.2, width=1, **seed), system("conv", 0.8, width=1, **seed)]
    rest = of_widths(2, 3, **seed)
    assert curves(drawn(*alike, *rest)[0]) == {"all systems": {2: 0.5, 3: 0.5}}
    notes = factor_notes(Comparison("space", "news", (*alike, *rest)))
    assert [each.system for each in notes] == ["lstm", "conv"]
    assert "the same factors as conv" in notes[0].text
    assert not factor_notes(Comparison("space", "news", tuple(alike)))


def test_a_system_that_no_line_joins_is_left_out_and_counted():
    (chart,) = drawn(*of_widths(1, 2), system("lstm", 0.9, width=1, kind="lstm"))
    assert list(curves(chart)) == ["all systems"]
    assert "Not drawn: 1 system without another that differs in width alone" in chart.caption
    assert not drawn(system("a", 0.5, width=1, depth=1), system("b", 0.5, width=2, depth=2))


def test_a_proportion_stays_one_and_other_figures_keep_their_interval():
    share, other = (mean_over_seeds([0.1, 0.5, 0.9], unit) for unit in ("percent", "plain"))
    assert (share.value, share.low, share.high) == (0.5, 0.0, 1.0)
    assert other.low < 0 < 1 < other.high
