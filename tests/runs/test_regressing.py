"""Regression on what studies say of systems: names, factors that only some have, and which figure it is of."""

from __future__ import annotations

import pytest

from babelscope.core.comparison import Comparison, SystemResult
from babelscope.core.results import Estimate, Row
from babelscope.runs.regression import SystemTable, figure_of, regress_figure, whole_name
from babelscope.util.errors import BabelscopeError
from tests.support.results import result_of

NAMES = ["a", "b", "c", "d", "e", "f"]
KINDS = ["lstm", "conv", "lstm", "conv", "lstm", "lstm"]
VALUES = [0.2, 0.5, 0.3, 0.7, 0.25, 0.9]


def result(name: str, value: float) -> SystemResult:
    rows = [
        Row("kqrg", Estimate(at, at, at, 9), {"region": region, "k": 10})
        for region, at in (("top", value), ("samples", value / 2))
    ]
    return result_of(name, rows=rows, tests="news")


GROUP = Comparison("space", "news", tuple(map(result, NAMES, VALUES)))


def table(**columns: list[str]) -> SystemTable:
    """What is known of the systems, empty where nothing is."""
    cells = {
        name: {label: own[place] for label, own in columns.items() if own[place]}
        for place, name in enumerate(NAMES)
    }
    return SystemTable(cells, dict.fromkeys(columns, "run"), factors=frozenset(columns))


def test_a_name_is_a_variable_for_each_value_but_the_first():
    found = regress_figure(GROUP, table(kind=KINDS), ["kind"], "kqrg")
    values = {str(row.labels["variable"]): row.estimate.value for row in found}
    lstm, conv = ([v for v, k in zip(VALUES, KINDS, strict=True) if k == kind] for kind in ("lstm", "conv"))
    mean = sum(lstm) / len(lstm)
    assert values == pytest.approx(
        {"intercept": 100 * mean, "kind conv": 100 * (sum(conv) / len(conv) - mean)}
    )
    assert {row.labels["baseline"] for row in found} == {"kind lstm"}


def test_one_text_among_numbers_is_a_slip():
    with pytest.raises(BabelscopeError, match="system c: 'wide' in column 'width' is no number"):
        regress_figure(GROUP, table(width=["1", "2", "wide", "3", "4", "5"]), ["width"], "kqrg")


def test_systems_without_the_factor_are_left_out_and_named():
    found = regress_figure(GROUP, table(depth=["1", "2", "", "3", "4", ""]), ["depth"], "kqrg")
    assert {row.labels["left_out"] for row in found} == {"c, f"}
    assert {row.estimate.n for row in found} == {4}
    with pytest.raises(BabelscopeError, match="no system of news has all of depth, kind"):
        regress_figure(
            GROUP,
            table(depth=["1", "2", "3", "", "", ""], kind=["", "", "", "x", "y", "z"]),
            ["depth", "kind"],
            "kqrg",
        )


def test_labels_say_which_of_several_figures_is_meant():
    first = GROUP.results[0]
    assert figure_of(first, "kqrg").value == 0.2
    assert figure_of(first, "kqrg,region=samples").value == 0.1
    assert figure_of(first, "kqrg,k=10,region=samples").value == 0.1
    assert whole_name(first, "kqrg") == "kqrg,region=top"
    with pytest.raises(BabelscopeError, match="no figure 'kqrg,region=beam' of news; it has kqrg"):
        figure_of(first, "kqrg,region=beam")
    (one, *_) = regress_figure(GROUP, table(kind=KINDS), ["kind"], "kqrg,region=samples")
    assert one.labels["outcome"] == "kqrg,region=samples"


def test_a_name_may_have_a_comma():
    row = Row("tense, past", Estimate(0.5, 0.4, 0.6, 9), {})
    assert figure_of(result_of(rows=[row]), "tense, past").value == 0.5
