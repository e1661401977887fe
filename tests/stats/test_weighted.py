"""Weighted shares: ranks made anew by the jackknife; intervals hold where weights tell and clusters are few."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from scipy.stats import norm, rankdata, t

from babelscope.stats.intervals import jackknife_variance, kish
from babelscope.stats.weighted import effective_size, weighted_share

Sample = tuple[Sequence[float], Sequence[str], Sequence[float]]


def ranked(sure: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Ranks within groups, 1 for the least sure."""
    weights = np.zeros(len(sure))
    for group in set(groups):
        weights[groups == group] = rankdata(sure[groups == group])
    return weights


def test_what_is_left_without_a_cluster_is_ranked_anew() -> None:
    rng = np.random.default_rng(0)
    n = 80
    sure, groups = np.round(rng.random(n), 1), rng.integers(0, 2, n).astype(str)
    clusters, values = rng.integers(0, 30, n).astype(str), rng.integers(0, 2, n).astype(float)
    weights = ranked(sure, groups)
    left_out = []
    for name in sorted(set(clusters)):
        kept = clusters != name
        own = ranked(sure[kept], groups[kept])
        left_out.append((own * values[kept]).sum() / own.sum())
    share = (weights * values).sum() / weights.sum()
    sums = np.array([weights[clusters == name].sum() for name in sorted(set(clusters))])
    size = effective_size(values.tolist(), clusters.tolist(), weights.tolist(), groups.tolist())
    # The number at which independent items vary as much, and its correction by Student's t.
    alike = share * (1 - share) / float(jackknife_variance(np.array(left_out)))
    known = norm.ppf(0.975) / t.ppf(0.975, float(kish(sums**2)) - 1)
    assert size == pytest.approx(alike * known**2)
    assert sums.sum() / sums.max() < size < float(kish(weights))


def test_equal_weights_of_single_items_are_worth_as_many() -> None:
    values = [1.0] * 30 + [0.0] * 10
    assert effective_size(values, [str(n) for n in range(40)], [1.0] * 40) == 40


def test_one_large_cluster_is_worth_little() -> None:
    clusters = ["large"] * 60 + [str(n) for n in range(40)]
    found = weighted_share([1.0] * 60 + [0.0] * 40, clusters, [1.0] * 100)
    assert found.high - found.low > 0.5


def covered(draw: Callable[[np.random.Generator], Sample], truth: float, draws: int) -> tuple[float, float]:
    """How often the interval holds the truth, and its mean width."""
    rng = np.random.default_rng(1)
    found = []
    for _ in range(draws):
        values, clusters, weights = draw(rng)
        found.append(weighted_share(values, clusters, weights, [""] * len(values)))
    held = [each.low <= truth <= each.high for each in found]
    return float(np.mean(held)), float(np.mean([each.high - each.low for each in found]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "truth", "width"),
    [
        (lambda sure: 0.5 + 0.5 * sure, 5 / 6, 0.13),  # the surer, the more often right
        (lambda sure: 1 - 0.25 * (sure > 0.8), 0.91, 0.12),  # rare errors, all of them sure
        (lambda sure: 1 - 0.04 * sure, 1 - 0.08 / 3, 0.07),
    ],
)
def test_intervals_hold_where_confidence_tells(
    right: Callable[[np.ndarray], np.ndarray], truth: float, width: float
) -> None:
    def draw(rng: np.random.Generator) -> Sample:
        sure = rng.random(200)
        values = (rng.random(200) < right(sure)).astype(float)
        return values.tolist(), [str(n) for n in range(200)], rankdata(sure).tolist()

    held, wide = covered(draw, truth, 1000)
    assert held >= 0.93
    assert wide < width


@pytest.mark.slow
@pytest.mark.parametrize("alike", [0.3, 1.0])
def test_intervals_hold_with_few_large_clusters(alike: float) -> None:
    """Three sources of 40 items among 57 single ones; Wilson's interval with Kish's number held 83 %."""
    clusters = np.repeat(np.arange(60), [40] * 3 + [1] * 57)

    def draw(rng: np.random.Generator) -> Sample:
        common, own = rng.random(60) < 0.8, rng.random(len(clusters)) < 0.8
        copied = rng.random(len(clusters)) < np.sqrt(alike)
        values = np.where(copied, common[clusters], own).astype(float)
        ranks = rankdata(rng.random(len(clusters)))
        return values.tolist(), [str(each) for each in clusters], ranks.tolist()

    held, wide = covered(draw, 0.8, 500)
    assert held >= 0.93
    assert wide < 0.6
