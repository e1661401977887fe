"""Regression of minimum accuracy: a plane recovered, and table 3."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import linregress
from scipy.stats import t as student
from statsmodels.api import OLS, add_constant

from babelscope.stats.regression import regress
from babelscope.util.errors import BabelscopeError


def test_a_plane_is_recovered() -> None:
    bleu, student = [30.0, 31, 33, 36, 38, 41], [0.0, 1, 0, 1, 1, 0]
    noise = [0.01, -0.01, 0.01, -0.01, 0.01, -0.01]
    outcome = [5 + 2 * b - 4 * s + e for b, s, e in zip(bleu, student, noise, strict=True)]
    rows = regress(outcome, {"bleu": bleu, "student": student}, {"task": "own"})
    assert [row.labels["variable"] for row in rows] == ["intercept", "bleu", "student"]
    for row, value in zip(rows, (5, 2, -4), strict=True):
        assert row.estimate.value == pytest.approx(value, abs=0.2)
        assert row.estimate.low < value < row.estimate.high
    assert rows[1].as_json().items() >= {"task": "own", "significant": "yes", "n": 6}.items()


def test_one_variable_is_the_line_of_the_textbook_and_may_say_nothing() -> None:
    bleu, outcome = [30.0, 31, 33, 36, 38, 41], [4.0, 1, 5, 2, 6, 3]
    right = linregress(bleu, outcome)
    _, found = regress(outcome, {"bleu": bleu})
    reach = student.ppf(0.975, 4) * right.stderr
    estimate = found.estimate
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx(
        (right.slope, right.slope - reach, right.slope + reach)
    )
    # The F test of one variable is its t test.
    assert (found.labels["p"], found.labels["p_regression"]) == pytest.approx((right.pvalue, right.pvalue))
    assert found.labels["r_squared"] == pytest.approx(right.rvalue**2)
    assert right.pvalue > 0.5
    assert found.labels["significant"] == "no"


def test_several_variables_are_those_of_statsmodels() -> None:
    rng = np.random.default_rng(1)
    columns = rng.normal(size=(12, 3)) * [1, 10, 0.1]
    outcome = columns @ [0.5, 0.02, 3] + rng.normal(size=12)
    right = OLS(outcome, add_constant(columns)).fit()
    rows = regress(list(outcome), {name: list(columns[:, k]) for k, name in enumerate("abc")})
    assert [(row.estimate.low, row.estimate.value, row.estimate.high) for row in rows] == [
        pytest.approx((low, value, high))
        for value, (low, high) in zip(right.params, right.conf_int(0.05), strict=True)
    ]
    assert [row.labels["p"] for row in rows] == pytest.approx(list(right.pvalues))
    whole = (right.rsquared, right.f_pvalue)
    assert (rows[0].labels["r_squared"], rows[0].labels["p_regression"]) == pytest.approx(whole)


@pytest.mark.parametrize(
    ("outcome", "variables", "told"),
    [
        ([1.0] * 5, {"bleu": [1.0] * 4}, "bleu has 4 values for 5 outcomes"),
        ([1.0] * 2, {"bleu": [1.0, 2.0]}, "needs more than 2 systems"),
        ([1.0, 2, 3, 4], {"bleu": [3.0] * 4}, "cannot be told apart"),
        ([1.0, 2, 3, 4], {"bleu": [1.0, 2, 3, float("nan")]}, "finite numbers"),
        ([1.0, 2, 3, 5, 4], {"a": [1.0, 2, 3, 4, 6], "b": [2.0, 4, 6, 8, 12]}, "cannot be told apart"),
    ],
)
def test_what_has_no_answer_is_told(
    outcome: list[float], variables: dict[str, list[float]], told: str
) -> None:
    with pytest.raises(BabelscopeError, match=told):
        regress(outcome, variables)


def test_table_3(shared: Path) -> None:
    path = shared / "data" / "paper-tables" / "contrastive-conditioning.appendix_h.en-de.tsv"
    heading, *lines = path.read_text().rstrip("\n").split("\n")
    systems = [dict(zip(heading.split("\t"), line.split("\t"), strict=True)) for line in lines]
    assert len(systems) == 30
    for accuracy, bleu, distilled in (
        ("mucow_rare", 1.7783, -6.4706),
        ("winomt_female", 4.9964, -7.5567),
    ):
        _, *found = regress(
            [float(system[accuracy]) for system in systems],
            {
                "bleu": [float(system["bleu"]) for system in systems],
                "distilled": [float(system["type"].startswith("Student")) for system in systems],
            },
        )
        assert [round(row.estimate.value, 4) for row in found] == [bleu, distilled]
        assert all(row.labels["significant"] == "yes" for row in found)
        assert float(found[0].labels["p_regression"]) < 0.05
