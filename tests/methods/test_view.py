"""Tables side by side: one column per system, or a line each where there are many."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from babelscope.core.charts import Chart, Lines
from babelscope.core.comparison import Comparison, SystemResult
from babelscope.core.page import About, Answer, Headline, Section, View
from babelscope.core.results import Estimate, Row
from babelscope.methods.view import Figures, factor_caveats, factor_pictures, mean_over_seeds, pivot

FIGURES = (
    Figures("kRG", lambda row: row.name == "krg"),
    Figures("empty", lambda row: row.name == "empty", "percent"),
)


def column(name: str, *measures: str) -> SystemResult:
    rows = [Row(each, Estimate(0.5, 0.4, 0.6, 9), {"region": "top"}) for each in measures]
    cell: Any = SimpleNamespace(rows=rows)
    return SystemResult(name, cell)


@pytest.mark.parametrize("number", [1, 3])
def test_few_systems_have_a_column_each(number: int) -> None:
    names = [f"s{each}" for each in range(number)]
    group = Comparison("space", "news", tuple(column(name, "krg", "empty") for name in names))
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
    group = Comparison("space", "news", tuple(column(name, "krg", "empty") for name in names))
    (table,) = pivot(group, "Ranking", ("region",), FIGURES)
    assert table.headings == ["region", "system", "n", "kRG", "empty, %"]
    assert [row[1] for row in table.rows] == names
    assert table.rows[0] == ["top", "s0", "9", "0.5 [0.4, 0.6]", "50.0 [40.0, 60.0]"]
    assert table.labels == 2


def test_a_figure_that_the_first_system_lacks_is_shown() -> None:
    group = Comparison("space", "news", (column("a", "empty"), column("b", "empty", "krg")))
    (table,) = pivot(group, "Ranking", ("region",), FIGURES)
    assert table.headings[2:] == ["kRG, a", "kRG, b", "empty, %, a", "empty, %, b"]
    assert table.rows[0][2:4] == ["", "0.5 [0.4, 0.6]"]


def estimate(value: float) -> Estimate:
    return Estimate(value, value - 0.1, value + 0.1, 20)


def system(
    name: str, value: float, evaluator: str = "", samples: float | None = None, **factors: Any
) -> SystemResult:
    rows = [Row("kqrg", estimate(value), {"region": "top"})]
    if samples is not None:
        rows.append(Row("kqrg", estimate(samples), {"region": "samples"}))
    cell: Any = SimpleNamespace(rows=rows, factors=factors, evaluator=evaluator, records=())
    return SystemResult(name, cell)


def drawn(*columns: SystemResult) -> list[Chart]:
    view = View(
        lambda _group: Section("", ""),
        lambda _record: About(""),
        lambda _record, _settings: Answer(),
        over=lambda rows: [Headline("kQRG", row, "plain", str(row.labels["region"])) for row in rows],
    )
    return factor_pictures(Comparison("space", "news", columns), view)


def curves(picture: Chart) -> dict[str, dict[float, float]]:
    """Name of each line -> x -> value, in the order of the legend."""
    assert isinstance(picture.drawing, Lines)
    return {curve.name: {at: own.value for at, own in curve.points} for curve in picture.drawing.curves}


def test_a_legend_names_only_what_tells_lines_apart() -> None:
    shared: dict[str, Any] = {"languages": "en-de", "distilled": False, "encoder": 6}
    found = [
        system(f"{kind}{width}", width / 1000, width=width, kind=kind, **shared)
        for kind in ("lstm", "conv")
        for width in (256, 128)
    ]
    (picture,) = drawn(*found)
    assert curves(picture) == {
        "kind conv": {128: 0.128, 256: 0.256},
        "kind lstm": {128: 0.128, 256: 0.256},
    }
    (alone,) = drawn(*found[:2])
    assert list(curves(alone)) == ["all systems"]


def test_a_factor_that_only_some_systems_have_tells_them_apart() -> None:
    found = [system(f"p{width}", 0.5, width=width) for width in (1, 2)]
    found += [system(f"d{width}", 0.6, width=width, dropout=0.1) for width in (1, 2)]
    (picture,) = drawn(*found)
    assert list(curves(picture)) == ["without dropout", "dropout 0.1"]


def test_numbers_in_a_legend_are_in_their_order() -> None:
    found = [
        system(f"{depth}x{width}", 0.5, width=width, depth=depth) for depth in (12, 2, 6) for width in (1, 2)
    ]
    over_width, _ = drawn(*found)
    assert list(curves(over_width)) == ["depth 2", "depth 6", "depth 12"]


def test_top_region_and_samples_are_lines_of_one_picture() -> None:
    (picture,) = drawn(*(system(f"w{width}", 0.5, samples=0.7, width=width) for width in (1, 2)))
    assert curves(picture) == {"top": {1: 0.5, 2: 0.5}, "samples": {1: 0.7, 2: 0.7}}
    assert isinstance(picture.drawing, Lines)
    assert [curve.series for curve in picture.drawing.curves] == [0, 1]
    (alone,) = drawn(*(system(f"w{width}", 0.5, width=width) for width in (1, 2)))
    assert isinstance(alone.drawing, Lines)
    assert alone.drawing.y_label == "kQRG, top"


def test_seeds_are_averaged_and_counted() -> None:
    found = [
        system(f"w{w}-{seed}", 0.1 * w + 0.02 * seed, width=w, seed=seed) for w in (1, 2) for seed in (1, 2)
    ]
    (picture,) = drawn(*found, system("w3", 0.5, width=3, seed=1))
    assert curves(picture)["all systems"] == pytest.approx({1: 0.13, 2: 0.23, 3: 0.5})
    assert isinstance(picture.drawing, Lines)
    assert [own.n for _, own in picture.drawing.curves[0].points] == [2, 2, 20]
    assert "mean of 1 to 2 seeds" in picture.caption
    assert "of one seed: over items" in picture.caption


def test_systems_that_nothing_tells_apart_are_not_averaged_as_if_they_were_seeds() -> None:
    alike = [system("lstm", 0.2, width=1), system("conv", 0.8, width=1)]
    rest = [system("w2", 0.5, width=2), system("w3", 0.6, width=3)]
    (picture,) = drawn(*alike, *rest)
    assert curves(picture) == {"all systems": {2: 0.5, 3: 0.6}}
    caveats = factor_caveats(Comparison("space", "news", (*alike, *rest)))
    assert [each.system for each in caveats] == ["lstm", "conv"]
    assert "the same factors as conv" in caveats[0].text
    assert not factor_caveats(Comparison("space", "news", tuple(alike)))
    same_seed = [
        system("a", 0.2, width=1, seed=1),
        system("b", 0.8, width=1, seed=1),
    ]
    assert curves(drawn(*same_seed, *rest)[0]) == {"all systems": {2: 0.5, 3: 0.6}}


def test_evaluators_are_lines_not_seeds() -> None:
    found = [
        system(f"w{width} by {judge}", value, judge, width=width)
        for judge, value in (("x", 0.2), ("y", 0.8))
        for width in (1, 2)
    ]
    (picture,) = drawn(*found)
    assert curves(picture) == {"by x": {1: 0.2, 2: 0.2}, "by y": {1: 0.8, 2: 0.8}}
    assert not factor_caveats(Comparison("condition", "news", tuple(found)))


def test_a_system_with_nobody_to_join_is_left_out_and_counted() -> None:
    found = [system(f"w{width}", 0.5, width=width) for width in (1, 2)]
    (picture,) = drawn(*found, system("lstm", 0.9, width=1, kind="lstm"))
    assert list(curves(picture)) == ["all systems"]
    assert "Not drawn: 1 system without another that differs in width alone" in picture.caption
    assert not drawn(system("a", 0.5, width=1, depth=1), system("b", 0.5, width=2, depth=2))


def test_a_share_stays_one_and_other_figures_keep_their_interval() -> None:
    share, other = mean_over_seeds([0.1, 0.5, 0.9], "percent"), mean_over_seeds([0.1, 0.5, 0.9], "plain")
    assert (share.value, share.low, share.high) == (0.5, 0.0, 1.0)
    assert other.low < 0
    assert other.high > 1
    below = mean_over_seeds([-0.4, -0.3, -0.2], "plain")
    assert below.low < below.value < 0
