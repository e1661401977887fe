"""Intervals of proportions, means and paired differences, with truths to try them on; see `benchmarks.coverage`.

A kind is a function of n and a list of points. A point has a label, and a function that draws many data sets at once
and says of each whether its interval covers the truth, whether it was refused, how wide it is, and, where the
truth is no difference, whether the test rejects it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from babelscope.stats.detection import corrected_bounds
from babelscope.stats.intervals import (
    difference_bounds,
    f1,
    jackknife_bounds,
    kish,
    leave_one_out,
    mean_of_counts,
    proportion_bounds,
    wilson_bounds,
)
from babelscope.stats.paired import paired_bounds

Array = np.ndarray[Any, Any]
Rng = np.random.Generator

SHARES = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98)
ALIKE = (0.0, 0.2, 0.4, 0.6)
"""Intra-class correlations."""
KAPPAS = (0.0, 0.3, 0.6, 0.8, 0.9)
NAMES = {
    "2 even": (0.5, 0.5),
    "2 uneven": (0.8, 0.2),
    "3 even": (1 / 3,) * 3,
    "5 uneven": (0.5, 0.2, 0.15, 0.1, 0.05),
}
SIZES = ("4 each", "1 to 7", "1, 2, 4 or 9")
TAILS = ("normal", "exponential")


@dataclass(frozen=True)
class Tried:
    """What came of many draws, an array each."""

    covers: Array
    width: Array
    refused: Array
    rejects: Array | None = None
    """Only where the truth is that there is no difference."""
    disagrees: Array | None = None
    """Whether the interval has 0 although p < 0.05, or the other way round."""


Point = tuple[str, Callable[[Rng, int], Tried]]


def tried(truth: Any, low: Array, high: Array, refused: Array | None = None, **more: Any) -> Tried:
    none = np.zeros(np.shape(low), dtype=bool) if refused is None else refused
    return Tried((low <= truth) & (truth <= high), high - low, none | ~np.isfinite(low + high), **more)


def ends_of(found: list[Any]) -> tuple[Array, Array]:
    return np.array([each.low for each in found]), np.array([each.high for each in found])


def sizes_of(rng: Rng, kind: str, shape: tuple[int, int]) -> Array:
    if kind == SIZES[0]:
        return np.full(shape, 4)
    return rng.integers(1, 8, shape) if kind == SIZES[1] else rng.choice([1, 2, 4, 9], shape)


def shares_of(rng: Rng, shape: tuple[int, int], share: float, alike: float) -> Array:
    """The share of each cluster (beta-binomial)."""
    if not alike or share == 1:
        return np.full(shape, share)
    spread = (1 - alike) / alike
    return rng.beta(share * spread, (1 - share) * spread, shape)


def values_of(rng: Rng, tail: str, *shape: int) -> Array:
    """Mean 0, variance 1."""
    return rng.normal(size=shape) if tail == "normal" else rng.exponential(size=shape) - 1


def totals_of(rng: Rng, tail: str, sizes: Array, alike: float) -> Array:
    """Sums of clusters of values with mean 0 that are alike within each."""
    there = np.arange(sizes.max()) < sizes[..., None]
    inside = (values_of(rng, tail, *there.shape) * there).sum(axis=-1)
    found: Array = np.sqrt(alike) * values_of(rng, tail, *sizes.shape) * sizes + np.sqrt(1 - alike) * inside
    return found


def proportions(n: int) -> Iterator[Point]:
    for share in SHARES:

        def draw(rng: Rng, draws: int, share: float = share) -> Tried:
            return tried(share, *wilson_bounds(rng.binomial(n, share, draws) / n, n))

        yield f"p {share}", draw


def clustered_proportions(n: int) -> Iterator[Point]:
    for share, alike, kind in itertools.product(SHARES, ALIKE, SIZES):

        def draw(rng: Rng, draws: int, share: float = share, alike: float = alike, kind: str = kind) -> Tried:
            sizes = sizes_of(rng, kind, (draws, n))
            right = rng.binomial(sizes, shares_of(rng, sizes.shape, share, alike)).astype(float)
            return tried(share, *proportion_bounds(right, sizes.astype(float), sizes.sum(axis=-1)))

        yield f"p {share}, icc {alike}, {kind}", draw


def weighted_proportions(n: int) -> Iterator[Point]:
    """Weights n to 1, as those of conditioning."""
    for share in SHARES:

        def draw(rng: Rng, draws: int, share: float = share) -> Tried:
            weights = np.broadcast_to(np.arange(1.0, n + 1), (draws, n))
            return tried(
                share, *proportion_bounds(weights * (rng.random((draws, n)) < share), weights, kish(weights))
            )

        yield f"p {share}", draw


def minima(n: int) -> Iterator[Point]:
    """The smallest of three accuracies, n items each; as `methods.condition.figures.minimum`."""
    for shares in ((0.5,) * 3, (0.8,) * 3, (0.95,) * 3, (0.6, 0.7, 0.9), (0.9, 0.95, 0.98)):

        def draw(rng: Rng, draws: int, shares: tuple[float, ...] = shares) -> Tried:
            found = np.stack([rng.binomial(n, share, draws) / n for share in shares])
            low = wilson_bounds(found, n)[0].min(axis=0)
            return tried(min(shares), low, wilson_bounds(found, n, 0.05 / 3)[1].min(axis=0))

        yield f"p {', '.join(map(str, shares))}", draw


def differences(n: int) -> Iterator[Point]:
    """Of two proportions, n clusters of four each (excess errors)."""
    for (one, other), alike in itertools.product(
        ((0.1, 0.02), (0.5, 0.1), (0.3, 0.3), (0.9, 0.05)), (0.0, 0.4)
    ):

        def draw(rng: Rng, draws: int, one: float = one, other: float = other, alike: float = alike) -> Tried:
            found, ends = [], []
            for share in (one, other):
                right = rng.binomial(4, shares_of(rng, (draws, n), share, alike)).astype(float)
                found.append(right.mean(axis=-1) / 4)
                ends.append(proportion_bounds(right, np.full((draws, n), 4.0), 4 * n))
            return tried(one - other, *difference_bounds(found[0], ends[0], found[1], ends[1]))

        yield f"p {one} and {other}, icc {alike}", draw


def f1_scores(n: int) -> Iterator[Point]:
    for right, single, both in (
        (0.5, 0.5, 0.0),
        (0.8, 0.2, 0.0),
        (0.95, 0.05, 0.0),
        (0.6, 0.2, 0.2),
        (0.1, 0.8, 0.1),
    ):

        def draw(rng: Rng, draws: int, chances: tuple[float, float, float] = (right, single, both)) -> Tried:
            counts = rng.multinomial(n, chances, draws)
            known, where = np.unique(counts, axis=0, return_inverse=True)
            found = [f1(int(a), int(b), both=int(c)) for a, b, c in known]
            low, high = (
                np.array([getattr(each, end) for each in found])[where.ravel()] for end in ("low", "high")
            )
            return tried(chances[0] / (chances[0] + chances[1] / 2 + chances[2]), low, high)

        yield f"right {right}, single {single}, both {both}", draw


def corrected(n: int) -> Iterator[Point]:
    for share, (sensitivity, wrong, false_rate, right) in itertools.product(
        (0.02, 0.2, 0.5, 0.9), ((0.6, 33, 0.0, 33), (0.9, 100, 0.02, 100), (0.3, 50, 0.01, 100))
    ):

        def draw(
            rng: Rng,
            draws: int,
            share: float = share,
            known: tuple[float, int, float, int] = (sensitivity, wrong, false_rate, right),
        ) -> Tried:
            found, bad, false, good = known
            alarms = rng.binomial(n, share * found + (1 - share) * false, draws)
            samples = (
                (alarms, n),
                (rng.binomial(bad, found, draws), bad),
                (rng.binomial(good, false, draws), good),
            )
            value, (low, high) = corrected_bounds(*samples)
            # As `rogan_gladen` does: cut where the value is possible, and it is never denied.
            inside = (value >= 0) & (value <= 1)
            low, high = (np.where(inside, np.clip(end, 0, 1), end) for end in (low, high))
            return tried(share, np.fmin(low, value), np.fmax(high, value))

        yield f"share {share}, finds {sensitivity} of {wrong}, false {false_rate} of {right}", draw


def means(n: int) -> Iterator[Point]:
    for tail in TAILS:

        def draw(rng: Rng, draws: int, tail: str = tail) -> Tried:
            values = values_of(rng, tail, draws, n)
            return tried(
                0.0, *jackknife_bounds(values.mean(axis=-1), leave_one_out(values, np.ones((draws, n))))
            )

        yield tail, draw


def clustered_means(n: int) -> Iterator[Point]:
    for tail, alike, kind in itertools.product(TAILS, ALIKE, SIZES):

        def draw(rng: Rng, draws: int, tail: str = tail, alike: float = alike, kind: str = kind) -> Tried:
            sizes = sizes_of(rng, kind, (draws, n))
            totals = totals_of(rng, tail, sizes, alike)
            value = totals.sum(axis=-1) / sizes.sum(axis=-1)
            left_out = leave_one_out(totals, sizes.astype(float))
            return tried(0.0, *jackknife_bounds(value, left_out, kish(sizes.astype(float))))

        yield f"{tail}, icc {alike}, {kind}", draw


def means_of_counts(n: int) -> Iterator[Point]:
    for name, mean in (("poisson", 3.0), ("geometric", 2.0)):

        def draw(rng: Rng, draws: int, name: str = name, mean: float = mean) -> Tried:
            drawn = (
                rng.poisson(mean, (draws, n)) if name == "poisson" else rng.geometric(1 / mean, (draws, n))
            )
            found = [
                mean_of_counts(
                    dict(zip(*map(np.ndarray.tolist, np.unique(row, return_counts=True)), strict=True))
                )
                for row in drawn
            ]
            return tried(mean, *ends_of(found))

        yield name, draw


def paired_verdicts(n: int) -> Iterator[Point]:
    pairs = (
        (0.02, 0.02),
        (0.1, 0.1),
        (0.25, 0.25),
        (0.5, 0.5),
        (0.1, 0.02),
        (0.3, 0.05),
        (0.5, 0.1),
        (0.8, 0.05),
    )
    for (won, lost), (alike, kind) in itertools.product(
        pairs, ((0.0, "1 each"), *itertools.product((0.0, 0.3, 0.6), SIZES))
    ):

        def draw(
            rng: Rng, draws: int, won: float = won, lost: float = lost, alike: float = alike, kind: str = kind
        ) -> Tried:
            sizes = np.ones((draws, n), dtype=int) if kind == "1 each" else sizes_of(rng, kind, (draws, n))
            # How often a pair differs is a cluster's own; which side wins, too.
            differs = rng.binomial(sizes, shares_of(rng, sizes.shape, won + lost, alike))
            wins = rng.binomial(differs, shares_of(rng, sizes.shape, won / (won + lost), alike))
            # Both are drawn apart, so the mean of their product is that of the means.
            return _paired((2.0 * wins - differs), sizes.astype(float), won - lost, verdicts=True)

        yield f"won {won}, lost {lost}, icc {alike}, {kind}", draw


def paired_scores(n: int) -> Iterator[Point]:
    for tail, alike, kind, shift in itertools.product(
        ("normal", "double exponential"), (0.0, 0.3, 0.6), SIZES, (0.0, 0.5)
    ):

        def draw(
            rng: Rng,
            draws: int,
            tail: str = tail,
            alike: float = alike,
            kind: str = kind,
            shift: float = shift,
        ) -> Tried:
            sizes = sizes_of(rng, kind, (draws, n))
            totals = totals_of(rng, "normal" if tail == "normal" else "exponential", sizes, alike)
            if tail != "normal":
                totals = totals - totals_of(rng, "exponential", sizes, alike)
            return _paired(totals + shift * sizes, sizes.astype(float), shift, verdicts=False)

        yield f"{tail}, shift {shift}, icc {alike}, {kind}", draw


def _paired(totals: Array, sizes: Array, truth: float, *, verdicts: bool) -> Tried:
    (low, high), p = paired_bounds(totals, sizes, verdicts=verdicts)
    # As `paired_difference` does: no interval denies its own value.
    value = totals.sum(axis=-1) / sizes.sum(axis=-1)
    low, high = np.minimum(low, value), np.maximum(high, value)
    rejects = p < 0.05
    apart = (low > 0) | (high < 0)
    return tried(truth, low, high, rejects=rejects if truth == 0 else None, disagrees=rejects != apart)
