"""Intervals: they contain what they should, and say nothing where nothing can be said."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelscope.errors import BabelscopeError
from babelscope.measures.statistics import perplexity, proportion, ratio_of_sums
from babelscope.results import Estimate
from babelscope.seeds import stream


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
