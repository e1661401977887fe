"""Paired error rates, sequential tests and sample sizes, compared with brute force and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import binomtest, norm
from statsmodels.stats.contingency_tables import mcnemar

from babelscope.stats.gates import (
    BettingTest,
    items_to_clear,
    items_to_see,
    paired_rates,
    sign_test,
    tango_interval,
    tango_z,
)

COUNTS = st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(1, 200))


def score_by_brute_force(b: int, c: int, n: int, difference: float) -> float:
    """The score statistic with the nuisance parameter found by a numeric search."""

    def negative_likelihood(share: float) -> float:
        cells = [(b, share + difference), (c, share), (n - b - c, 1 - difference - 2 * share)]
        return -sum(count * math.log(max(p, 1e-300)) for count, p in cells if count)

    low, high = max(0.0, -difference), (1 - difference) / 2
    share = minimize_scalar(
        negative_likelihood, bounds=(low, high), method="bounded", options={"xatol": 1e-12}
    ).x
    return (b - c - n * difference) / math.sqrt(n * (2 * share + difference * (1 - difference)))


@given(COUNTS, st.floats(-0.6, 0.6))
def test_score_statistic_is_that_of_the_constrained_likelihood(
    counts: tuple[int, int, int], at: float
) -> None:
    b, c, rest = counts
    n = b + c + rest
    if abs(at) > 0.01 and min(b, c) > 0:
        assert tango_z(b, c, n, at) == pytest.approx(score_by_brute_force(b, c, n, at), abs=1e-3)


@given(COUNTS)
def test_interval_holds_the_difference_and_mirrors(counts: tuple[int, int, int]) -> None:
    b, c, rest = counts
    n = b + c + rest
    low, high = tango_interval(b, c, n)
    assert -1 <= low <= (b - c) / n <= high <= 1
    assert tango_interval(c, b, n) == pytest.approx((-high, -low), abs=1e-7)


@pytest.mark.parametrize(("n", "clear"), [(380, False), (381, True)])
def test_without_any_difference_so_many_items_clear_one_percent(n: int, clear: bool) -> None:
    # The score test needs n * 0.01 / 0.99 > 1.96 ** 2.
    right = [0.0] * n
    found = paired_rates(right, right)
    assert (found.difference.high < 0.01) == clear == (n * 0.01 / 0.99 > norm.ppf(0.975) ** 2)
    assert items_to_clear(0.01, 0.0) == 381


@given(st.integers(0, 40), st.integers(0, 40))
def test_sign_test_is_mcnemars(b: int, c: int) -> None:
    expected = mcnemar([[0, b], [c, 0]], exact=True).pvalue if b + c else 1.0
    assert sign_test(b, c) == pytest.approx(min(1.0, expected))
    if b + c:
        assert sign_test(b, c) == pytest.approx(min(1.0, binomtest(b, b + c).pvalue))


def test_interval_covers_the_difference() -> None:
    draws = np.random.default_rng(5)
    for worse, better, n in [(0.02, 0.01, 300), (0.05, 0.05, 200), (0.01, 0.0, 500)]:
        covered = 0
        for b, c, _ in draws.multinomial(n, [worse, better, 1 - worse - better], 800):
            low, high = tango_interval(int(b), int(c), n)
            covered += low <= worse - better <= high
        assert covered / 800 > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 800)


@pytest.mark.parametrize("heavy", [1.0, 20.0])
@pytest.mark.parametrize("only_heavy", [False, True])
def test_a_difference_of_the_margin_is_rarely_cleared_whatever_the_weights(
    heavy: float, only_heavy: bool
) -> None:
    # Half of the items are heavy, and few items are discordant, some of them only among the heavy ones.
    n, margin, draws = 400, 0.02, np.random.default_rng(8)
    weights = np.where(np.arange(n) % 2, heavy, 1.0)
    chance = np.where((weights == heavy) | (not only_heavy), 1.0, 0.0)
    chance *= margin * weights.sum() / (chance * weights).sum()
    cleared = 0
    for _ in range(400):
        new = (draws.random(n) < chance).astype(float).tolist()
        cleared += paired_rates([0.0] * n, new, weights.tolist()).difference.high < margin
    assert cleared / 400 <= 0.025 + 3 * math.sqrt(0.025 * 0.975 / 400)


def test_a_null_hypothesis_is_rarely_rejected_at_any_time() -> None:
    draws = np.random.default_rng(11)
    for bound, shares in [(0.0, [0.05, 0.05]), (0.01, [0.02, 0.01]), (0.02, [0.02, 0.0])]:
        rejected = 0
        for _ in range(400):
            test = BettingTest(bound)
            test.update(draws.choice([1.0, -1.0, 0.0], p=[*shares, 1 - sum(shares)], size=600))
            rejected += test.p <= 0.05
        assert rejected / 400 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)


def test_the_mean_of_a_sequential_test_is_weighted_as_that_of_a_fixed_sample() -> None:
    # Heavy items are worse by the margin, light ones better: the weighted mean is the margin, the plain one below.
    draws, margin, rejected = np.random.default_rng(12), 0.02, 0
    for _ in range(300):
        heavy = draws.random(800) < 0.5
        sizes = np.where(heavy, 1.0, 0.2)
        test = BettingTest(margin)
        test.update((draws.random(800) < np.where(heavy, 0.024, 0.0)).astype(float), sizes)
        rejected += test.p <= 0.05
    assert rejected / 300 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 300)


def test_a_clear_difference_ends_a_sequential_test_early() -> None:
    test = BettingTest(0.0)
    values = np.random.default_rng(2).choice([-1.0, 0.0], p=[0.1, 0.9], size=500)
    places = []
    for number, value in enumerate(values):
        test.update([value])
        if test.p <= 0.01:
            places.append(number)
    assert places[0] < 150
    assert test.p < 1e-6


@pytest.mark.parametrize(("difference", "discordant"), [(0.05, 0.1), (0.1, 0.2), (0.03, 0.03)])
def test_so_many_items_see_a_difference_with_the_power_wanted(difference: float, discordant: float) -> None:
    n = items_to_see(difference, discordant, power=0.8)
    worse, better = (discordant + difference) / 2, (discordant - difference) / 2
    draws = np.random.default_rng(3).multinomial(n, [worse, better, 1 - discordant], 600)
    power = np.mean([sign_test(int(b), int(c)) < 0.05 for b, c, _ in draws])
    assert 0.7 < power < 0.93


@pytest.mark.parametrize("discordant", [0.0, 0.02, 0.1])
def test_so_many_items_clear_a_system_that_is_no_worse(discordant: float) -> None:
    n = items_to_clear(0.02, discordant, power=0.8)
    draws = np.random.default_rng(4).multinomial(n, [discordant / 2, discordant / 2, 1 - discordant], 300)
    power = np.mean([tango_interval(int(b), int(c), n)[1] < 0.02 for b, c, _ in draws])
    assert power > 0.68
