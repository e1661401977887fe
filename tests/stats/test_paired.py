"""Paired differences: interval and p-value are of one test, and a few pairs alike prove nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t, ttest_1samp
from statsmodels.stats.multitest import multipletests

from babelscope.stats.paired import count_wins, holm, paired_difference

VERDICTS = st.lists(
    st.tuples(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), st.sampled_from("abcdefghijkl")),
    min_size=1,
    max_size=40,
)


@given(VERDICTS, st.booleans())
def test_interval_and_p_never_disagree(pairs: list[tuple[float, str]], verdicts: bool) -> None:
    found, p = paired_difference([v for v, _ in pairs], [c for _, c in pairs], verdicts=verdicts)
    assert 0 <= p <= 1
    if not found.no_interval:
        assert (p < 0.05) == (found.low > 0 or found.high < 0)
        assert found.low < found.high


def test_scores_are_students_test() -> None:
    values = np.random.default_rng(1).normal(0.4, 1, 12)
    found, p = paired_difference(values.tolist(), [str(n) for n in range(12)], verdicts=False)
    right = ttest_1samp(values, 0.0)
    assert p == pytest.approx(right.pvalue)
    interval = right.confidence_interval()
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))


def test_verdicts_are_bonett_and_prices_with_students_quantile() -> None:
    # 6 won, 1 lost, 3 alike, and one won and one lost more: the sample of 12.
    values = [1.0] * 6 + [-1.0] + [0.0] * 3
    found, p = paired_difference(values, [str(n) for n in range(10)], verdicts=True)
    more = np.array([*values, 1.0, -1.0])
    error = more.std(ddof=1) / math.sqrt(12)
    reach = 2.262157 * error  # 9 degrees of freedom, as of 10 clusters
    assert (found.value, found.low, found.high) == pytest.approx(
        (0.5, more.mean() - reach, more.mean() + reach), abs=1e-6
    )
    assert p == pytest.approx(2 * t.sf(more.mean() / error, 9))
    # All of 12 won: Student's p would be below the least that flipping signs can give.
    assert paired_difference([1.0] * 12, list("abcdefghijkl"), verdicts=True)[1] == 2.0**-11


def test_two_pairs_alike_are_not_proof_of_no_difference() -> None:
    found, p = paired_difference([0.0, 0.0], ["a", "b"], verdicts=True)
    assert (found.low, found.high, p) == (-1.0, 1.0, 1.0)
    scores, p = paired_difference([0.0, 0.0], ["a", "b"], verdicts=False)
    assert (scores.no_interval, p) == ("all 2 source sentences alike", 1.0)
    same, p = paired_difference([0.5] * 3, ["a", "b", "c"], verdicts=False)
    assert (same.value, same.no_interval, p) == (0.5, "all 3 source sentences alike", 0.25)
    one, p = paired_difference([1.0, 1.0], ["a", "a"], verdicts=True)
    assert (one.no_interval, p) == ("1 source sentence", 1.0)
    assert paired_difference([], [], verdicts=True)[0].n == 0


def test_pairs_of_one_cluster_are_no_evidence_of_their_own() -> None:
    apart = paired_difference([1.0] * 12, [str(n) for n in range(12)], verdicts=True)[1]
    together = paired_difference([1.0] * 12, [str(n % 2) for n in range(12)], verdicts=True)[1]
    assert apart < 0.01 < 0.3 < together


@given(st.lists(st.floats(0, 1) | st.sampled_from([0.01, 0.02, 0.5]), min_size=1, max_size=12))
def test_holms_p_values_are_those_of_statsmodels(ps: list[float]) -> None:
    assert holm(ps) == multipletests(ps, method="holm")[1].tolist()


def test_a_difference_by_rounding_is_a_tie() -> None:
    sums = math.fsum([0.1] * 10) - sum([0.1] * 10)
    assert sums != 0
    assert count_wins([sums, -sums, 0.0, 0.01, -0.5, -0.5]) == {"wins": 1, "losses": 2, "ties": 3}
