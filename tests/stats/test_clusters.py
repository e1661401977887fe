"""Clustered intervals and paired tests: what is one sentence counts once, and repeating it adds nothing."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar

from babelscope.core.results import Estimate
from babelscope.stats.intervals import (
    cluster_sums,
    clustered_mean,
    clustered_proportion,
    holm,
    mean_and_sd,
    mean_of_counts,
    paired_p,
    proportion,
    ratio_of_sums,
    resampled_totals,
)
from babelscope.util.errors import BabelscopeError
from babelscope.util.seeds import stream

CLUSTERED = st.lists(st.tuples(st.floats(-10, 10), st.sampled_from("abcdef")), min_size=1, max_size=20)


def mean_of(pairs: Sequence[tuple[float, str]]) -> Estimate:
    return clustered_mean([v for v, _ in pairs], [c for _, c in pairs], stream(0, "test"), resamples=200)


@given(CLUSTERED, st.randoms(use_true_random=False))
def test_neither_order_nor_repetition_changes_a_clustered_mean(
    pairs: list[tuple[float, str]], random: object
) -> None:
    found = mean_of(pairs)
    assert found.n == len(pairs)
    assert found.value == pytest.approx(math.fsum(v for v, _ in pairs) / len(pairs), abs=1e-12)
    shuffled = list(pairs)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert mean_of(shuffled) == found
    twice = mean_of(pairs * 2)
    assert (twice.value, twice.low, twice.high, twice.n) == (
        found.value,
        found.low,
        found.high,
        2 * len(pairs),
    )


def test_clusters_are_resampled_whole() -> None:
    values = [0.0, 1.0] * 20
    apart = clustered_mean(values, [str(n) for n in range(40)], stream(0, "test"))
    together = clustered_mean(sorted(values), [str(n // 10) for n in range(40)], stream(0, "test"))
    assert together.value == apart.value
    assert together.high - together.low > 2 * (apart.high - apart.low)


def test_a_proportion_of_all_or_none_is_not_certain() -> None:
    clusters = [str(n // 2) for n in range(40)]
    for value in (0.0, 1.0):
        found = clustered_proportion([value] * 40, clusters, stream(0, "test"))
        wilson = proportion(int(20 * value), 20)
        assert (found.value, found.low, found.high, found.n) == (value, wilson.low, wilson.high, 40)
        assert wilson.high - wilson.low > 0.1
    assert clustered_proportion([1.0, 0.0], ["a", "a"], stream(0, "test")) == Estimate(0.5, 0.0, 1.0, 2)
    assert clustered_proportion([], [], stream(0, "test")).n == 0


def test_sums_are_in_the_order_of_names() -> None:
    assert cluster_sums([[1, 2, 4], [1, 1, 1]], ["b", "a", "b"]).tolist() == [[2, 1], [5, 2]]


def test_totals_of_one_sample_are_resampled_as_ratios_are() -> None:
    rng = np.random.default_rng(3)
    numerators, denominators = rng.normal(5, 2, 60), rng.integers(1, 4, 60)
    table = np.column_stack([numerators, denominators])
    (found,) = resampled_totals(
        [table], lambda totals: np.stack([totals[..., 0] / totals[..., 1]]), stream(0, "test"), sizes=[60]
    )
    right = ratio_of_sums(numerators.tolist(), denominators.tolist(), stream(0, "test"))
    assert found.value == pytest.approx(right.value)
    assert (found.low, found.high) == pytest.approx((right.low, right.high))


@pytest.mark.parametrize(("better", "worse"), [(0, 0), (1, 0), (5, 1), (8, 5), (30, 12)])
def test_with_one_pair_a_cluster_it_is_mcnemars_test(better: int, worse: int) -> None:
    p = paired_p([1.0] * better + [-1.0] * worse + [0.0] * 7, stream(0, "test"))
    right = mcnemar([[7, better], [worse, 0]], exact=True).pvalue
    assert p == pytest.approx(right, abs=1e-9 if better + worse <= 13 else 0.003)


def test_pairs_of_one_cluster_are_no_evidence_of_their_own() -> None:
    apart = paired_p([1.0] * 12, stream(0, "test"))
    together = paired_p([6.0, 6.0], stream(0, "test"))
    assert apart < 0.001
    assert together == 0.5


def test_holm_multiplies_the_least_by_their_number() -> None:
    assert holm([0.01, 0.5, 0.02]) == pytest.approx([0.03, 0.5, 0.04])
    assert holm([]) == []


def test_mean_and_sd_of_seeds() -> None:
    mean, sd = mean_and_sd([94.3, 94.7, 95.1])
    assert (mean.value, sd.value, mean.n) == (pytest.approx(94.7), pytest.approx(0.4), 3)
    assert mean.high - mean.value == pytest.approx(4.302653 * 0.4 / math.sqrt(3), rel=1e-5)
    assert (sd.low, sd.high) == pytest.approx((0.2083, 2.5139), rel=1e-3)
    with pytest.raises(BabelscopeError, match="at least two"):
        mean_and_sd([1.0])


@given(st.lists(st.integers(0, 60), min_size=2, max_size=40))
def test_the_mean_of_counts_is_that_of_the_values(values: list[int]) -> None:
    found, (plain, _) = mean_of_counts(Counter(values)), mean_and_sd([float(value) for value in values])
    assert (found.value, found.low, found.high) == pytest.approx((plain.value, plain.low, plain.high))
    assert found.n == len(values)
    assert mean_of_counts(Counter(reversed(values))) == found


def test_the_mean_of_few_counts() -> None:
    assert mean_of_counts({}).n == 0
    assert mean_of_counts({7: 1}) == Estimate(7.0, -math.inf, math.inf, 1)


def test_clusters_of_one_value_each_are_a_ratio_over_their_number() -> None:
    values, names = [0.1, 0.9, 0.4, 0.2, 0.7], ["a", "b", "c", "d", "e"]
    right = ratio_of_sums(values, [1] * 5, stream(0, "test"))
    assert clustered_mean(values, names, stream(0, "test")) == right
    assert clustered_proportion(values, names, stream(0, "test")) == right


def test_one_value_alone_is_a_proportion_of_one() -> None:
    one = proportion(1, 1)
    assert clustered_proportion([1.0], ["a"], stream(0, "test")) == one
    assert 0 < one.low < one.high == 1


def test_two_clusters_are_enough_to_be_resampled() -> None:
    # Half of all resamples are of one cluster only, so that the interval reaches from one to the other.
    def mean(totals: np.ndarray) -> np.ndarray:
        return np.stack([totals[..., 0] / totals[..., 1]])

    samples = [np.array([[1.0, 1.0], [3.0, 1.0]])]
    assert resampled_totals(samples, mean, stream(0, "test"), sizes=[2]) == [Estimate(2.0, 1.0, 3.0, 2)]
    one, other = resampled_totals(
        [samples[0][:1], np.ones((5, 2))],
        lambda first, second: np.stack([first[..., 0], second[..., 0]]),
        stream(0, "test"),
        sizes=[1, 5],
    )
    assert (one.low, one.high, other.low, other.high) == (-math.inf, math.inf, -math.inf, math.inf)


def test_many_clusters_are_flipped_at_random() -> None:
    # None of 9999 random flips of 40 equal signs is as far from 0: twice 1 of 9999 + 1.
    assert paired_p([1.0] * 40, stream(0, "test")) == pytest.approx(2 / 10_000)
    assert paired_p([1.0] * 13, stream(0, "test")) == pytest.approx(2 / 2**13)
