"""Kappa and alpha of few items: intervals that are neither empty nor sure, and simulated coverage."""

from __future__ import annotations

import numpy as np
import pytest

from babelscope.stats.agreement import cohens_kappa, krippendorffs_alpha


def test_kappa_of_three_items_is_not_certain() -> None:
    found = cohens_kappa(["a", "b", "a"], ["b", "a", "a"])
    assert found.value == pytest.approx(-0.5)
    assert found.low == -1
    assert found.high > 0
    agreed = cohens_kappa(["a", "b", "a"], ["a", "b", "a"])
    assert (agreed.value, agreed.high) == (1, 1)
    assert agreed.low < 0.5
    assert cohens_kappa(["a", "a"], ["a", "a"]).no_interval == "one label only"


def test_kappas_interval_is_the_asymptotic_one_where_there_are_many() -> None:
    from statsmodels.stats.inter_rater import cohens_kappa as theirs

    table = np.array([[2000, 500], [700, 1800]])
    first = ["a"] * 2500 + ["b"] * 2500
    second = ["a"] * 2000 + ["b"] * 500 + ["a"] * 700 + ["b"] * 1800
    found, right = cohens_kappa(first, second), theirs(table)
    assert found.value == pytest.approx(right.kappa)
    assert (found.low, found.high) == pytest.approx((right.kappa_low, right.kappa_upp), abs=0.004)


def test_alpha_where_nothing_can_be_said() -> None:
    assert krippendorffs_alpha([["a", "a"], ["a", "a"]]).no_interval == "one label only"
    assert krippendorffs_alpha([["a", "b"]]).no_interval == "1 item"
    assert krippendorffs_alpha([[1, 1], [2, 2]], level="interval").no_interval == "all annotators alike"
    perfect = krippendorffs_alpha([["a", "a"], ["b", "b"], ["b", "b"]])
    assert (perfect.value, perfect.high) == (1, 1)
    assert perfect.low < 0.5


def test_alpha_of_numbers_is_an_intra_class_correlation() -> None:
    # Three raters, no jackknife below four units: the F interval of McGraw and Wong's ICC(1), by hand.
    units = [[1.0, 2.0, 1.5], [4.0, 5.0, 4.5], [8.0, 7.0, 9.0]]
    between = 3 * float(np.var([np.mean(unit) for unit in units], ddof=1))
    within = float(np.mean([np.var(unit, ddof=1) for unit in units]))
    ends = [between / within / quantile for quantile in (7.259856, 1 / 39.331459)]
    found = krippendorffs_alpha(units, level="interval")
    assert (found.low, found.high) == pytest.approx([(f - 1) / (f + 2) for f in ends], abs=1e-4)
