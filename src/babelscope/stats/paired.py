"""Paired differences: an interval and a p-value of one and the same test, so that they cannot disagree."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import stdtr, stdtrit

from babelscope.core.results import Estimate, Row
from babelscope.stats.intervals import (
    Array,
    Bounds,
    alike,
    cluster_sums,
    jackknife_variance,
    kish,
    leave_one_out,
    no_interval,
)

_ROUNDING = 1e-12


def paired_bounds(totals: Array, sizes: Array, *, verdicts: bool) -> tuple[Bounds, Array]:
    """The interval of a mean difference, and the p of none, from totals and sizes of clusters [..., clusters].

    Student's t for as many clusters as they are worth. Differences of verdicts, which are -1 to 1, get two clusters
    more, one with all of its pairs won and one with all lost (Bonett and Price 2012): a few pairs without a
    difference do not prove that there is none.
    """
    degrees = np.maximum(kish(sizes) - 1, 1)
    telling = (totals != 0).sum(axis=-1).astype(float)
    if verdicts:
        usual = sizes.mean(axis=-1, keepdims=True)
        totals = np.concatenate([totals, usual, -usual], axis=-1)
        sizes = np.concatenate([sizes, usual, usual], axis=-1)
    center = totals.sum(axis=-1) / sizes.sum(axis=-1)
    error = np.sqrt(jackknife_variance(leave_one_out(totals, sizes)))
    reach = stdtrit(degrees, 0.975) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stdtr(degrees, -np.abs(center) / error)
    low, high = center - reach, center + reach
    if verdicts:
        # Verdicts are coarse: no p is below the least that flipping signs of clusters can give.
        p = np.maximum(p, np.minimum(2.0 ** (1 - telling), 1.0))
        low, high = (
            np.where(p < 0.05, end, bound(end, 0.0)) for end, bound in ((low, np.minimum), (high, np.maximum))
        )
        low, high = np.maximum(low, -1.0), np.minimum(high, 1.0)
    return (low, high), p


def paired_difference(
    differences: Sequence[float],
    clusters: Sequence[str],
    *,
    verdicts: bool,
    what: str = "source sentences",
    weights: Sequence[float] | None = None,
) -> tuple[Estimate, float]:
    """Mean of paired differences, weighted where there are weights, with its interval, and the two-sided p of none.

    `verdicts`: each side is worth 0 to 1. Where there is no interval, p is that of flipped signs: 1 if no pair
    differs, else 2 to the power of 1 - clusters.
    """
    n = len(differences)
    if not n:
        return Estimate.empty(), 1.0
    own = [1.0] * n if weights is None else weights
    weighted = [weight * each for weight, each in zip(own, differences, strict=True)]
    totals, sizes = cluster_sums([weighted, own], clusters).T
    value = math.fsum(weighted) / math.fsum(own)
    count = len(totals)
    if count < 2 or (not verdicts and alike(leave_one_out(totals, sizes))):
        why = f"all {count} {what} alike" if count > 1 else f"1 {what.removesuffix('s')}"
        return Estimate.without_interval(value, n, why), 2.0 ** (1 - count) if value else 1.0
    (low, high), p = paired_bounds(totals, sizes, verdicts=verdicts)
    # The center of verdicts is nearer to 0 than their mean; an interval may not deny its own value.
    return Estimate.around(value, low, high, n), float(p)


def jackknife_difference(
    value: float,
    left_out: Array,
    n: int,
    *,
    fewest: int = 2,
    what: str = "sentences",
    clusters: float | None = None,
) -> tuple[Estimate, float]:
    """A difference of two figures of n items with its interval, and the two-sided p of there being none.

    `left_out` are the differences without each cluster in turn; `what` names the clusters, and `clusters` is how
    many of equal size they are worth. Where there is no interval, p is that of flipped signs, as in
    `paired_difference`.
    """
    count = len(left_out)
    if not n or not math.isfinite(value):
        return Estimate.empty(), 1.0
    if why := no_interval(left_out, what, fewest):
        decided = count < fewest or np.isfinite(left_out).all()
        flipped = min(1.0, 2.0 ** (1 - count)) if value and decided else 1.0
        return Estimate.without_interval(value, n, why), flipped
    error = math.sqrt(float(jackknife_variance(left_out)))
    freedom = (count if clusters is None else clusters) - 1
    reach = float(stdtrit(freedom, 0.975)) * error
    return Estimate(value, value - reach, value + reach, n), float(2 * stdtr(freedom, -abs(value) / error))


Tested = tuple[Mapping[str, str | float], Estimate, float, Mapping[str, int]]
"""A difference that was tested: labels, the difference, the p of none, and counts."""


def tested_rows(name: str, found: Sequence[Tested]) -> list[Row]:
    """A row for each test of a family, with its p and Holm's."""
    adjusted = holm([p for _, _, p, _ in found])
    return [
        Row(name, difference, {**labels, "p": p, "p_holm": corrected}, counts)
        for (labels, difference, p, counts), corrected in zip(found, adjusted, strict=True)
    ]


def count_wins(better: Sequence[float]) -> dict[str, int]:
    """How many items the first system wins, loses and ties, from differences that are positive where it is better.

    A difference of two sums that is only rounding is a tie.
    """
    wins = sum(value > _ROUNDING for value in better)
    losses = sum(value < -_ROUNDING for value in better)
    return {"wins": wins, "losses": losses, "ties": len(better) - wins - losses}


def holm(ps: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values of a family of tests, in the order given."""
    values = np.asarray(ps, dtype=float)
    order = np.argsort(values)
    adjusted = np.empty_like(values)
    # As many times as there are tests left, and never below the p of a test before.
    adjusted[order] = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    return [float(p) for p in np.minimum(adjusted, 1.0)]
