"""Agreement beyond chance, with intervals for few items: Cohen's kappa, Krippendorff's alpha."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from scipy.stats import f, norm, t

from babelscope.core.results import Estimate
from babelscope.stats.intervals import Array, Bounds, jackknife_variance, wilson_bounds

# One item more, its labels equally likely in all combinations: a few items without a disagreement, or without a
# label, do not prove that there is none.
_PRIOR = 1.0


def _by_chance(observed: Array, smoothed: Array, expected: Array, variance: Array, items: Any) -> Bounds:
    """The interval of 1 - observed / expected disagreement: Wilson's of the observed one.

    Its sample size is that at which the logarithm of a proportion varies as that of the quotient does.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        alike = np.minimum((1 - smoothed) / (smoothed * variance), items)
    low, high = wilson_bounds(np.minimum(observed, 1.0), alike)
    return np.maximum(1 - high / expected, -1.0), np.minimum(1 - low / expected, 1.0)


def kappa_bounds(tables: Array) -> Bounds:
    """The interval of Cohen's kappa, from counts [..., first label, second label]."""
    names = tables.shape[-1]
    n = tables.sum(axis=(-1, -2))
    observed = 1 - np.einsum("...kk->...", tables) / n
    shares = (tables + _PRIOR / names**2) / (n + _PRIOR)[..., None, None]
    first, second = shares.sum(axis=-1), shares.sum(axis=-2)
    disagreement = 1 - np.einsum("...kk->...", shares)
    chance = (first * second).sum(axis=-1)
    # What each cell adds to the logarithm of observed / expected (the delta method).
    influence = (
        (1 - np.eye(names)) / disagreement[..., None, None]
        - 1
        + (second[..., :, None] + first[..., None, :] - 2 * chance[..., None, None])
        / (1 - chance)[..., None, None]
    )
    variance = (shares * influence**2).sum(axis=(-1, -2)) / (n + _PRIOR)
    return _by_chance(observed, disagreement, 1 - chance, variance, n)


def cohens_kappa(first: Sequence[str], second: Sequence[str]) -> Estimate:
    """Cohen's kappa; 1 without an interval if both said one and the same thing throughout."""
    n = len(first)
    if not n:
        return Estimate.of_nothing()
    names = sorted({*first, *second})
    if len(names) == 1:  # chance agreement is certain too, and the quotient is 0 / 0
        return Estimate.without_interval(1.0, n, "one label only")
    table = np.zeros((len(names), len(names)))
    for one, other in zip(first, second, strict=True):
        table[names.index(one), names.index(other)] += 1
    chance = float(table.sum(axis=0) @ table.sum(axis=1)) / n**2
    value = 1 - (1 - float(np.trace(table)) / n) / (1 - chance)
    low, high = kappa_bounds(table)
    return Estimate(value, min(value, float(low)), max(value, float(high)), n)


Level = Literal["nominal", "interval"]
"""What a difference between two values is: any or none, or as large as it is."""


def nominal_bounds(counts: Array) -> Bounds:
    """The interval of Krippendorff's alpha for names, from how often units got each [..., units, names]."""
    units, names = counts.shape[-2:]
    sizes = counts.sum(axis=-1)
    disagreed = (sizes**2 - (counts**2).sum(axis=-1)) / (sizes - 1)
    one, other = np.divmod(np.arange(names**2), names)
    pairs = np.eye(names)[one] + np.eye(names)[other]
    weight = _PRIOR / names**2
    totals = counts.sum(axis=-2) + weight * pairs.sum(axis=0)
    whole, differing = totals.sum(axis=-1), disagreed.sum(axis=-1) + weight * 2.0 * (one != other).sum()
    products = whole**2 - (totals**2).sum(axis=-1)

    def influence(own: Array, of: Array, size: Array) -> Array:
        """What a unit adds to the logarithm of observed / expected."""
        chance = size * whole[..., None] - (of * totals[..., None, :]).sum(axis=-1)
        found: Array = (
            own / differing[..., None] - 2 * chance / products[..., None] + size / (whole - 1)[..., None]
        )
        return found

    variance = (influence(disagreed, counts, sizes) ** 2).sum(axis=-1)
    variance = variance + weight * (influence(2.0 * (one != other), pairs, np.full(names**2, 2.0)) ** 2).sum(
        axis=-1
    )
    known = norm.ppf(0.975) / t.ppf(0.975, max(units - 1, 1))
    return _by_chance(
        disagreed.sum(axis=-1) / sizes.sum(axis=-1),
        differing / whole,
        products / (whole * (whole - 1)),
        variance / known**2,
        # A unit with m values has m - 1 independent chances to disagree.
        units * (sizes.mean(axis=-1) - 1) * known**2,
    )


def interval_bounds(means: Array, within: Array, sizes: Array) -> Bounds:
    """The interval of alpha for numbers, from units' means, sums of squares within and sizes [..., units].

    Alpha is then an intra-class correlation, a function of F, the mean square between units by that within. The
    interval is the wider of the F distribution's (Shrout and Fleiss 1979), exact for normal values, and the
    jackknife's of log F (Arvesen 1969), which long tails do not mislead.
    """
    units = means.shape[-1]
    total = sizes.sum(axis=-1)

    def log_ratio(axis_sums: Sequence[Array], count: int) -> Array:
        size, first, second, inside = axis_sums
        between = np.maximum(second - first**2 / size, 0.0) / (count - 1)
        with np.errstate(divide="ignore"):
            found: Array = np.log(between) - np.log(inside / (size - count))
        return found

    columns = [sizes, sizes * means, sizes * means**2, within]
    sums = [column.sum(axis=-1) for column in columns]
    ratio = log_ratio(sums, units)
    degrees = units - 1, total - units
    low, high = (ratio - np.log(f.ppf(q, *degrees)) for q in (0.975, 0.025))
    if units > 3:
        left_out = log_ratio(
            [whole[..., None] - column for whole, column in zip(sums, columns, strict=True)], units - 1
        )
        reach = t.ppf(0.975, units - 1) * np.sqrt(jackknife_variance(left_out))
        low, high = np.fmin(low, ratio - reach), np.fmax(high, ratio + reach)
    usual = (total - (sizes**2).sum(axis=-1) / total) / (units - 1)

    def correlation(logarithm: Array) -> Array:
        found: Array = (np.exp(logarithm) - 1) / (np.exp(logarithm) + usual - 1)
        return found

    return np.maximum(correlation(low), -1.0), np.minimum(correlation(high), 1.0)


def krippendorffs_alpha(units: Sequence[Sequence[Any]], *, level: Level = "nominal") -> Estimate:
    """Krippendorff's alpha of what annotators said about each unit.

    1 minus observed by expected disagreement (Krippendorff 2011, "Computing Krippendorff's
    Alpha-Reliability"). A unit with fewer than two values says nothing about agreement and is left out;
    `n` counts the others. It is 1 if everything is one and the same value, as kappa is.
    """
    told = [list(unit) for unit in units if len(unit) > 1]
    n = len(told)
    if not told:
        return Estimate.of_nothing()
    values = sorted({value for unit in told for value in unit})
    if len(values) == 1:
        return Estimate.without_interval(1.0, n, "one label only" if level == "nominal" else "one value only")
    counts = np.array([[unit.count(value) for value in values] for unit in told], dtype=float)
    if level == "nominal":
        distances: Array = 1.0 - np.eye(len(values))
    else:
        distances = np.subtract.outer(values, values).astype(float) ** 2
    sizes, drawn = counts.sum(axis=1), counts.sum(axis=0)
    observed = float((np.einsum("uc,cd,ud->u", counts, distances, counts) / (sizes - 1)).sum())
    value = 1.0 - observed * (float(drawn.sum()) - 1) / float(drawn @ distances @ drawn)
    if n == 1:
        return Estimate.without_interval(value, n, "1 item")
    if level == "nominal":
        low, high = nominal_bounds(counts)
    else:
        numbers = np.array(values, dtype=float) - float(np.mean(values))
        means = counts @ numbers / sizes
        within = counts @ numbers**2 - sizes * means**2
        if float(within.sum()) <= 1e-12 * float(drawn @ numbers**2):
            return Estimate.without_interval(value, n, "all annotators alike")
        low, high = interval_bounds(means, np.maximum(within, 0.0), sizes)
    return Estimate(value, min(value, float(low)), max(value, float(high)), n)
