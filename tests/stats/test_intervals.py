"""Intervals of proportions, means and figures of totals, against a few lines of arithmetic of their own."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelscope.core.results import Estimate
from babelscope.stats.intervals import (
    cluster_sums,
    clustered_mean,
    clustered_proportion,
    difference,
    f1,
    figure_of_totals,
    mean_and_sd,
    mean_of_counts,
    perplexity,
    proportion,
    ratio_of_sums,
    welch,
)
from babelscope.util.errors import BabelscopeError

CLUSTERED = st.lists(st.tuples(st.floats(-10, 10), st.sampled_from("abcdef")), min_size=1, max_size=20)
Z = 1.959964


def wilson(share: float, n: float, z: float = Z) -> tuple[float, float]:
    middle, reach = share + z * z / (2 * n), z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return (middle - reach) / (1 + z * z / n), (middle + reach) / (1 + z * z / n)


def test_a_proportion_has_wilsons_interval() -> None:
    found = proportion(8, 10)
    assert (found.low, found.high) == pytest.approx(wilson(0.8, 10), abs=1e-6)
    for successes, n in ((0, 5), (5, 5), (1, 1), (0, 1)):
        edge = proportion(successes, n)
        assert edge.low <= edge.value <= edge.high
        assert edge.low < edge.high
    assert proportion(0, 0).n == 0


def test_clusters_of_one_item_or_of_equal_items_are_independent_items() -> None:
    values = [1.0, 1.0, 0.0, 1.0]
    alone = clustered_proportion(values, list("abcd"))
    right = proportion(3, 4)
    assert (alone.low, alone.high) == pytest.approx((right.low, right.high))
    twice = clustered_proportion(values * 2, list("abcd") * 2)
    assert (twice.low, twice.high, twice.n) == pytest.approx((alone.low, alone.high, 8))


def test_an_effective_sample_size_is_told_by_the_spread_of_clusters() -> None:
    # Cluster means 0.75, 0.5, 1, 0.5 and 0.25 of four: the variance of their mean, and Student's t for 4 degrees.
    counts = [3, 2, 4, 2, 1]
    values = [float(i < count) for count in counts for i in range(4)]
    clusters = [name for name in "abcde" for _ in range(4)]
    variance = statistics.variance([count / 4 for count in counts]) / 5
    effective = min(0.6 * 0.4 / variance, 20) * (Z / 2.776445) ** 2
    found = clustered_proportion(values, clusters)
    assert (found.low, found.high) == pytest.approx(wilson(0.6, max(effective, 5)), abs=1e-6)
    assert found.n == 20


def test_a_proportion_of_all_or_none_is_that_of_as_many_clusters() -> None:
    clusters = [str(n // 2) for n in range(40)]
    for value in (0.0, 1.0):
        found, right = clustered_proportion([value] * 40, clusters), proportion(int(20 * value), 20)
        assert (found.value, found.low, found.high) == pytest.approx((value, right.low, right.high))
    assert clustered_proportion([], []).n == 0
    # Every cluster half right: they could not vary less, and there are no more than 8 items.
    mixed = clustered_proportion([1.0, 0.0] * 4, list("aabbccdd"))
    assert (mixed.low, mixed.high) == pytest.approx(wilson(0.5, max(8 * (Z / 3.182446) ** 2, 4)), abs=1e-6)


def test_weights_are_worth_what_kish_says_and_weightless_items_nothing() -> None:
    found = clustered_proportion([1.0, 0.0, 1.0, 1.0], list("abcd"), [4.0, 3.0, 1.0, 0.0])
    assert found.value == pytest.approx(5 / 8)
    assert (found.low, found.high) == pytest.approx(wilson(5 / 8, 64 / 26), abs=1e-6)
    assert clustered_proportion([1.0], ["a"], [0.0]).n == 0


def test_a_difference_of_independent_proportions_is_newcombes() -> None:
    # Newcombe (1998), 56/70 against 48/80, method 10: 0.0524 to 0.3339.
    found = difference(proportion(56, 70), proportion(48, 80), 150)
    assert (found.value, found.low, found.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=1e-4)
    unknown = Estimate.without_interval(0.5, 1, "1 item")
    assert difference(proportion(1, 2), unknown, 3).no_interval == "1 item"
    assert difference(proportion(1, 2), Estimate.empty(), 3).n == 0


def test_f1_is_the_harmonic_mean_of_precision_and_recall() -> None:
    # 6 right, 2 false, 3 missed: precision 6/8, recall 6/9.
    found = f1(6, 5)
    assert found.value == pytest.approx(2 * (6 / 8) * (6 / 9) / (6 / 8 + 6 / 9))
    assert 0 < found.low < found.value < found.high < 1
    # An item that is both false and missed is as bad as one of each.
    assert f1(6, 1, both=2).value == pytest.approx(found.value)
    assert f1(0, 0).n == 0
    assert f1(3, 0).low < 1


def mean_of(pairs: Sequence[tuple[float, str]]) -> Estimate:
    return clustered_mean([v for v, _ in pairs], [c for _, c in pairs])


@given(CLUSTERED, st.randoms(use_true_random=False))
def test_neither_order_nor_repetition_changes_a_clustered_mean(
    pairs: list[tuple[float, str]], random: object
) -> None:
    found = mean_of(pairs)
    assert found.n == len(pairs)
    assert found.value == pytest.approx(math.fsum(v for v, _ in pairs) / len(pairs), abs=1e-12)
    shuffled = list(pairs)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert mean_of(shuffled).as_json() == found.as_json()
    twice = mean_of(pairs * 2)
    assert (twice.value, twice.no_interval, twice.n) == (found.value, found.no_interval, 2 * len(pairs))
    assert (twice.low, twice.high) == pytest.approx((found.low, found.high), rel=1e-9, abs=1e-9, nan_ok=True)


def test_a_symmetric_mean_has_students_interval_and_a_skewed_one_johnsons() -> None:
    found = ratio_of_sums([1.0, 2.0, 3.0, 4.0, 5.0], [1] * 5)
    reach = 2.776445 * statistics.stdev([1, 2, 3, 4, 5]) / math.sqrt(5)
    assert (found.low, found.high) == pytest.approx((3 - reach, 3 + reach), abs=1e-5)
    skewed = [0.1, 0.2, 0.3, 0.4, 4.0]
    mean, sd = statistics.fmean(skewed), statistics.stdev(skewed)
    error = sd / math.sqrt(5)
    # The sample skewness G1 of Fisher and Pearson.
    skewness = 5 / (4 * 3) * sum((x - mean) ** 3 for x in skewed) / sd**3
    longer = skewness / math.sqrt(5) / 6 * (1 + 2 * 2.776445**2) * error
    found = ratio_of_sums(skewed, [1] * 5)
    ends = mean - 2.776445 * error, mean + 2.776445 * error + longer
    assert (found.low, found.high) == pytest.approx(ends, abs=1e-4)


def test_clusters_are_left_out_whole() -> None:
    values = [0.0, 1.0] * 20
    apart = clustered_mean(values, [str(n) for n in range(40)])
    together = clustered_mean(sorted(values), [str(n // 10) for n in range(40)])
    assert together.value == apart.value
    assert together.high - together.low > 2 * (apart.high - apart.low)


def test_what_says_nothing_about_others_has_no_interval() -> None:
    for found, why in (
        (ratio_of_sums([-1.0], [1]), "1 sentence"),
        (ratio_of_sums([-1.0] * 5, [1] * 5), "all 5 sentences alike"),
        (ratio_of_sums([-2.0, -20.0], [1, 10]), "all 2 sentences alike"),
        (clustered_mean([0.5, 0.5], ["a", "a"]), "1 source sentence"),
        (mean_of_counts({7: 1}), "1 sentence"),
        (mean_of_counts({7: 3}), "all 3 sentences alike"),
        (mean_and_sd([2.0, 2.0], "seeds")[1], "all 2 seeds alike"),
        (welch([1.0] * 3, [2.0] * 3, "seeds"), "all seeds of a group alike"),
        (mean_and_sd([1.0, 2.0], "seeds")[0], "2 seeds"),
        (welch([1.0, 2.0], [2.0, 3.0, 4.0], "seeds"), "a group of 2 seeds"),
        (welch([1.0], [2.0, 3.0], "seeds"), "a group of 1 seed"),
    ):
        assert found.no_interval == why
        assert math.isnan(found.low)
        assert found.as_json()["low"] is None
        assert found.interval(str) == f"no interval: {why}"
    assert ratio_of_sums([], []).n == 0
    with pytest.raises(BabelscopeError, match="needs finite numerators and positive denominators"):
        ratio_of_sums([-1.0, -math.inf], [1, 1])


def test_perplexity_is_exp_of_minus_the_mean_and_turns_the_interval_round() -> None:
    found = perplexity(Estimate(-2.0, -3.0, -1.0, 9))
    assert found == Estimate(math.exp(2), math.exp(1), math.exp(3), 9)
    assert perplexity(Estimate.without_interval(-1e4, 1, "1 sentence")).value == math.inf
    assert perplexity(Estimate.empty()).n == 0


def test_a_figure_of_totals_without_a_value_for_one_cluster_left_out() -> None:
    def quotient(totals: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore", divide="ignore"):
            return totals[..., 0] / totals[..., 1]

    sample = np.array([[3.0, 1.0], [1.0, 1.0], [2.0, 2.0]])
    found, right = (
        figure_of_totals(sample, quotient, 3, what="items"),
        ratio_of_sums([3.0, 1.0, 2.0], [1, 1, 2]),
    )
    assert found.value == right.value
    assert found.low > right.low, "of 3 clusters, where a ratio's count for what their sizes are worth"
    only = figure_of_totals(np.array([[3.0, 1.0], [0.0, 0.0]]), quotient, 2, what="items")
    assert only.no_interval == "one of the items decides whether there is a value"


def test_sums_are_in_the_order_of_names() -> None:
    assert cluster_sums([[1, 2, 4], [1, 1, 1]], ["b", "a", "b"]).tolist() == [[2, 1], [5, 2]]


def test_mean_and_sd_of_seeds() -> None:
    mean, sd = mean_and_sd([94.3, 94.7, 95.1])
    assert (mean.value, sd.value, mean.n) == (pytest.approx(94.7), pytest.approx(0.4), 3)
    assert mean.high - mean.value == pytest.approx(4.302653 * 0.4 / math.sqrt(3), rel=1e-5)
    assert (sd.low, sd.high) == pytest.approx((0.2083, 2.5139), rel=1e-3)
    with pytest.raises(BabelscopeError, match="at least two"):
        mean_and_sd([1.0])


@given(st.lists(st.integers(0, 60), min_size=2, max_size=40))
def test_the_mean_of_counts_is_that_of_the_values(values: list[int]) -> None:
    found = mean_of_counts(Counter(values))
    plain = ratio_of_sums([float(value) for value in values], [1] * len(values))
    assert (found.value, found.low, found.high) == pytest.approx(
        (plain.value, plain.low, plain.high), nan_ok=True
    )
    assert found.no_interval == plain.no_interval
    assert mean_of_counts({}).n == 0
