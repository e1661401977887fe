"""Intervals: they contain what they should, and say nothing where nothing can be said."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelscope.core.results import Estimate
from babelscope.stats.intervals import (
    percentile_estimate,
    perplexity,
    proportion,
    ratio_of_sums,
    resampled_counts,
    resampled_totals,
    rogan_gladen,
)
from babelscope.util.errors import BabelscopeError
from babelscope.util.seeds import stream


@given(st.lists(st.tuples(st.floats(-1e3, 0), st.integers(1, 40)), min_size=2, max_size=20))
def test_a_ratio_of_sums_lies_in_its_interval_and_that_in_the_range(
    clusters: list[tuple[float, int]],
) -> None:
    totals, lengths = zip(*clusters, strict=True)
    found = ratio_of_sums(totals, lengths, stream(0, "test"), resamples=200)
    assert found.value == pytest.approx(math.fsum(totals) / sum(lengths))
    ratios = [total / length for total, length in clusters]
    assert min(ratios) - 1e-9 <= found.low <= found.value <= found.high <= max(ratios) + 1e-9
    assert found.n == len(clusters)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    covered = 0
    for number in range(200):
        lengths = rng.integers(5, 30, 60)
        totals = -2.0 * lengths + rng.normal(0, np.sqrt(lengths))
        found = ratio_of_sums(totals.tolist(), lengths.tolist(), stream(number, "test"), resamples=400)
        covered += found.low <= -2.0 <= found.high
    assert 0.90 <= covered / 200 <= 0.99


def test_clusters_are_drawn_whole() -> None:
    # Ten items of one token each, once as ten clusters and once as two: fewer clusters, wider interval.
    many = ratio_of_sums([-1.0, -3.0] * 5, [1] * 10, stream(0, "test"))
    few = ratio_of_sums([-5.0, -15.0], [5, 5], stream(0, "test"))
    assert many.value == few.value
    assert few.high - few.low > many.high - many.low


def test_the_same_seed_gives_the_same_interval() -> None:
    first, again = (ratio_of_sums([-1.0, -2.0, -4.0], [1, 2, 3], stream(7, "test")) for _ in range(2))
    assert first == again


def test_equal_clusters_one_cluster_and_none() -> None:
    assert ratio_of_sums([-1.0] * 5, [1] * 5, stream(0, "test")) == Estimate(-1.0, -1.0, -1.0, 5)
    assert ratio_of_sums([-1.0], [1], stream(0, "test")) == Estimate(-1.0, -math.inf, math.inf, 1)
    assert ratio_of_sums([], [], stream(0, "test")).n == 0


@pytest.mark.parametrize(
    ("totals", "lengths"), [([-1.0, -math.inf], [1, 1]), ([-1.0, math.nan], [1, 1]), ([-1.0], [0])]
)
def test_what_has_no_ratio_is_refused(totals: list[float], lengths: list[int]) -> None:
    with pytest.raises(BabelscopeError, match="needs finite numerators and positive denominators"):
        ratio_of_sums(totals, lengths, stream(0, "test"))


def test_perplexity_is_exp_of_minus_the_mean_and_turns_the_interval_round() -> None:
    found = perplexity(Estimate(-2.0, -3.0, -1.0, 9))
    assert found == Estimate(math.exp(2), math.exp(1), math.exp(3), 9)
    assert perplexity(Estimate(-1e4, -math.inf, -1.0, 1)).high == math.inf
    assert perplexity(Estimate.of_nothing()).n == 0


def test_a_proportion_has_wilsons_interval() -> None:
    """By hand: (p + z²/2n ± z·sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n), with 8 of 10."""
    z, p, n = 1.959964, 0.8, 10
    middle, spread = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    estimate = proportion(8, 10)
    assert estimate.value == 0.8
    assert estimate.low == pytest.approx((middle - spread) / (1 + z * z / n), abs=1e-6)
    assert estimate.high == pytest.approx((middle + spread) / (1 + z * z / n), abs=1e-6)


@pytest.mark.parametrize(("successes", "n"), [(0, 5), (5, 5), (1, 1), (0, 1)])
def test_a_proportion_at_the_edge_keeps_its_value_inside(successes: int, n: int) -> None:
    estimate = proportion(successes, n)
    assert estimate.low <= estimate.value <= estimate.high
    assert estimate.low < estimate.high


def test_a_proportion_of_nothing() -> None:
    assert proportion(0, 0).n == 0


def test_a_corrected_rate_is_rogan_and_gladens() -> None:
    # 30 alarms in 100, of a detector that finds 80 % and raises 10 % false alarms: (0.3 - 0.1) / (0.8 - 0.1).
    found = rogan_gladen(30, 100, found=80, wrong=100, false_alarms=10, right=100)
    assert found.value == pytest.approx(2 / 7)
    # Step by step from Lang and Reiczigel's formulas: adjusted rates 31.92/103.84, 81/102 and 11/102.
    assert (found.low, found.high) == (pytest.approx(0.141919, abs=1e-6), pytest.approx(0.436526, abs=1e-6))
    assert found.n == 100


@given(*(st.tuples(st.integers(1, 500), st.floats(0, 1)) for _ in range(3)))
def test_errors_and_right_texts_can_change_places(
    asked: tuple[int, float], wrong: tuple[int, float], right: tuple[int, float]
) -> None:
    (n, alarms), (bad, found), (good, false) = (
        (size, round(size * share)) for size, share in (asked, wrong, right)
    )
    here = rogan_gladen(alarms, n, found=found, wrong=bad, false_alarms=false, right=good)
    there = rogan_gladen(n - alarms, n, found=good - false, wrong=good, false_alarms=bad - found, right=bad)
    assert 0 <= here.low <= here.value <= here.high <= 1
    assert (there.value, there.low, there.high) == pytest.approx(
        (1 - here.value, 1 - here.high, 1 - here.low)
    )


@pytest.mark.parametrize("share", [0.0, 0.02, 0.2, 0.6])
@pytest.mark.parametrize(
    ("n", "sensitivity", "wrong", "false_rate", "right"),
    [
        (100, 0.5, 100, 0.01, 100),
        (500, 0.2, 300, 0.006, 500),
        (500, 0.6, 20, 0.05, 400),
        (60, 0.95, 60, 0.0, 60),
    ],
)
def test_a_corrected_rates_interval_covers_the_truth(
    share: float, n: int, sensitivity: float, wrong: int, false_rate: float, right: int
) -> None:
    rng = np.random.default_rng(11)
    apparent = share * sensitivity + (1 - share) * false_rate
    covered = 0
    for _ in range(400):
        found = rogan_gladen(
            rng.binomial(n, apparent), n,
            found=rng.binomial(wrong, sensitivity), wrong=wrong,
            false_alarms=rng.binomial(right, false_rate), right=right,
        )  # fmt: skip
        covered += found.low <= share <= found.high
    # 95 % or more; 400 draws of a 95 % interval fall below 0.92 once in a few hundred times.
    assert covered / 400 >= 0.92


def test_more_calibration_narrows_the_interval_and_none_says_nothing() -> None:
    little, much = (
        rogan_gladen(30, 100, found=0.8 * n, wrong=n, false_alarms=0.1 * n, right=n) for n in (50, 5000)
    )
    assert little.high - little.low > much.high - much.low
    assert rogan_gladen(3, 10, found=0, wrong=0, false_alarms=0, right=5).n == 0
    blind = rogan_gladen(3, 10, found=1, wrong=10, false_alarms=2, right=10)
    assert (blind.value, blind.low, blind.high) == (0.3, 0.0, 1.0)
    with pytest.raises(BabelscopeError, match="11 of 10 texts is no count"):
        rogan_gladen(11, 10, found=1, wrong=1, false_alarms=0, right=1)


def test_resampled_counts_cover_what_is_known() -> None:
    rng = np.random.default_rng(0)

    def share(counts: Any) -> Any:
        return np.stack([counts[..., 1] / counts.sum(axis=-1)])

    cells = [1] * 300 + [0] * 700
    (estimate,) = resampled_counts(cells, 2, share, np.random.default_rng(0))
    table = np.array([[1 - cell, cell] for cell in cells])
    assert [estimate] == resampled_totals([table], share, np.random.default_rng(0), sizes=[1000])
    assert estimate.value == 0.3
    # The percentile interval of a proportion is close to the normal one.
    assert (estimate.low, estimate.high) == pytest.approx((0.2716, 0.3284), abs=0.003)
    nothing, one = (
        resampled_counts(cells, 2, lambda counts: counts[..., :1].T, rng)[0] for cells in ([], [0])
    )
    assert (nothing.n, one.value, one.low) == (0, 1, -np.inf)


def test_a_cluster_is_drawn_with_its_own_denominator() -> None:
    # Every cluster has the same ratio, so that every resample has it too.
    assert ratio_of_sums([-2.0, -20.0, -80.0], [1, 10, 40], stream(0, "test")) == Estimate(-2, -2, -2, 3)


@pytest.mark.parametrize(("false_alarms", "right"), [(3, 4), (4, 5)])
def test_a_detector_known_from_too_little_leaves_everything_open(false_alarms: int, right: int) -> None:
    # 1 of 1 is more than 3 of 4, but 2 of 3 no more than 4 of 6 or 5 of 7, which the interval is made of.
    found = rogan_gladen(9, 10, found=1, wrong=1, false_alarms=false_alarms, right=right)
    share = (0.9 - false_alarms / right) / (1 - false_alarms / right)
    assert (found.value, found.low, found.high) == (pytest.approx(share), 0, 1)


def test_an_interval_leaves_out_resamples_without_a_value() -> None:
    drawn = np.array([math.nan, *np.linspace(0, 1, 101)])
    found = percentile_estimate(0.4, drawn, 5)
    assert (found.low, found.high) == pytest.approx((0.025, 0.975))
    one, none_known = percentile_estimate(0.4, drawn, 1), percentile_estimate(0.4, drawn[:1], 5)
    assert (one.low, one.high, one.n) == (-math.inf, math.inf, 1)
    assert (none_known.low, none_known.high, none_known.n) == (-math.inf, math.inf, 5)
    assert percentile_estimate(math.nan, drawn, 3).n == 0
    assert percentile_estimate(0.4, drawn, 0).n == 0
    assert percentile_estimate(2.0, drawn, 2).high == 2.0, "no interval denies its own value"
    assert percentile_estimate(-2.0, drawn, 2).low == -2.0
