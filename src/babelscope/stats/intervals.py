"""95 % intervals of proportions, means and other figures of totals, made for few items and few clusters.

One rule for each kind of figure, all without random numbers; their coverage is in docs/measured/coverage.md.
Functions that end in `_bounds` work on arrays, the clusters on the last axis; the others make an `Estimate`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import gammaincinv, ndtri, stdtrit

from babelscope.core.results import Estimate, grouped
from babelscope.util.errors import BabelscopeError

Array = np.ndarray[Any, Any]
Bounds = tuple[Array, Array]

_OUTSIDE = 0.05
_FEWEST_REPEATED = 3
"""Systems or repetitions, below which an interval over them says nothing."""


# -- proportions ---------------------------------------------------------------------------------------


def wilson_bounds(share: Any, n: Any, outside: float = _OUTSIDE) -> Bounds:
    """Wilson's (1927) interval of a proportion; `n` may be an effective sample size, and need not be whole."""
    z = ndtri(1 - outside / 2)
    extra = z * z / n
    middle = (share + extra / 2) / (1 + extra)
    reach = np.sqrt(share * (1 - share) * extra + extra * extra / 4) / (1 + extra)
    return np.clip(middle - reach, 0.0, share), np.clip(middle + reach, share, 1.0)


def proportion(successes: int, n: int) -> Estimate:
    """successes / n with Wilson's interval, for items that are independent of each other."""
    if n == 0:
        return Estimate.empty()
    return Estimate.around(successes / n, *wilson_bounds(successes / n, n), n)


def proportion_bounds(
    worth: Any, weight: Any, items: Any, outside: float = _OUTSIDE, *, telling_weights: bool = False
) -> Bounds:
    """The interval of sum(worth) / sum(weight), both totals of clusters, each item worth 0 to 1 of its weight.

    Wilson's for an effective sample size (Korn and Graubard 1998; Dean and Pagano 2015): that at which independent
    items would vary as much as the clusters do, less for its own uncertainty (Student's t for as many
    clusters). It is never above `items`, the number of items, nor below that of clusters: items of a cluster can be
    no more alike than equal. Both numbers are what they are worth if weights differ (Kish). Where weights depend on
    what items are worth (`telling_weights`), there is no such least number.
    """
    share = worth.sum(axis=-1) / weight.sum(axis=-1)
    clusters = kish(weight)
    if worth.shape[-1] < 2:
        return wilson_bounds(share, clusters, outside)
    variance = jackknife_variance(leave_one_out(worth, weight))
    with np.errstate(divide="ignore", invalid="ignore"):
        alike = np.where(variance > 0, share * (1 - share) / variance, np.inf)
    alike = np.where((share <= 0) | (share >= 1), clusters, np.minimum(alike, items))
    known = ndtri(1 - outside / 2) / stdtrit(np.maximum(clusters - 1, 1), 1 - outside / 2)
    effective = alike * known**2
    return wilson_bounds(share, effective if telling_weights else np.maximum(effective, clusters), outside)


def clustered_proportion(
    values: Sequence[float],
    clusters: Sequence[str],
    weights: Sequence[float] | None = None,
    *,
    outside: float = _OUTSIDE,
) -> Estimate:
    """The mean, weighted where there are weights, of values from 0 to 1; items of one cluster are not independent."""
    own = [1.0] * len(values) if weights is None else weights
    kept = [i for i, weight in enumerate(own) if weight > 0]
    if not kept:
        return Estimate.empty()
    heavy = [own[i] for i in kept]
    worth = [own[i] * values[i] for i in kept]
    sums = cluster_sums([worth, heavy], [clusters[i] for i in kept])
    value = min(max(math.fsum(worth) / math.fsum(heavy), 0.0), 1.0)
    bounds = proportion_bounds(sums[:, 0], sums[:, 1], kish(np.array(heavy)), outside)
    return Estimate.around(value, *bounds, len(values))


def odds(share: Estimate) -> Estimate:
    """A share with its interval as part : rest, infinite where there is no rest."""
    return share.converted(lambda each: each / (1 - each) if each < 1 else math.inf)


def f1(right: int, single: int, *, both: int = 0, n: int | None = None) -> Estimate:
    """The harmonic mean of precision and recall, from items that are right, and that are missed, false, or both.

    It is the share of right ones where an item that is only missed or only false weighs a half.
    """
    worth = np.repeat([1.0, 0.0, 0.0], [right, single, both])
    weights = np.repeat([1.0, 0.5, 1.0], [right, single, both])
    if not len(worth):
        return Estimate.empty()
    bounds = proportion_bounds(worth, weights, len(worth), telling_weights=True)
    return Estimate.around(right / float(weights.sum()), *bounds, len(worth) if n is None else n)


def kish(weights: Array) -> Array:
    """How many equal weights these are worth, over the last axis: the square of their sum by the sum of squares."""
    found: Array = weights.sum(axis=-1) ** 2 / (weights**2).sum(axis=-1)
    return found


def difference_bounds(one: Any, of_one: Bounds, other: Any, of_other: Bounds) -> Bounds:
    """The interval of one - other from those of independent figures (MOVER: Newcombe 1998; Zou and Donner 2008)."""
    apart = one - other
    low = apart - np.sqrt((one - of_one[0]) ** 2 + (of_other[1] - other) ** 2)
    high = apart + np.sqrt((of_one[1] - one) ** 2 + (other - of_other[0]) ** 2)
    return low, high


def difference(one: Estimate, other: Estimate, n: int) -> Estimate:
    """one - other of two figures from independent items, counted as `n`."""
    if not (one.n and other.n):
        return Estimate.empty()
    if why := one.no_interval or other.no_interval:
        return Estimate.without_interval(one.value - other.value, n, why)
    bounds = difference_bounds(one.value, (one.low, one.high), other.value, (other.low, other.high))  # type: ignore[arg-type]
    return Estimate.around(one.value - other.value, *bounds, n)


# -- means and other figures of totals -----------------------------------------------------------------


def leave_one_out(numerators: Array, denominators: Array) -> Array:
    """Ratios of sums without each cluster in turn [..., clusters]."""
    rest = denominators.sum(axis=-1, keepdims=True) - denominators
    found: Array = (numerators.sum(axis=-1, keepdims=True) - numerators) / rest
    return found


def jackknife_variance(left_out: Array) -> Array:
    """Tukey's (1958) variance of a figure from its values without each cluster in turn [..., clusters]."""
    count = left_out.shape[-1]
    apart = left_out - left_out.mean(axis=-1, keepdims=True)
    found: Array = (count - 1) / count * (apart**2).sum(axis=-1)
    return found


def jackknife_bounds(
    value: Any, left_out: Array, clusters: Any = None, *, outside: float = _OUTSIDE, noise: float = 0.0
) -> Bounds:
    """The interval of a figure from its values without each cluster in turn [..., clusters].

    Student's t for as many clusters (what they are worth, if their sizes differ), and on the side of the longer
    tail Johnson's (1978) correction for skewness: without it the mean of 10 exponential values is covered in 89 %.
    `noise` is a variance that the clusters do not show, such as that of random draws.
    """
    count = left_out.shape[-1]
    degrees = np.maximum((count if clusters is None else clusters) - 1, 1)
    quantile = stdtrit(degrees, 1 - outside / 2)
    error = np.sqrt(jackknife_variance(left_out) + noise)
    apart = left_out.mean(axis=-1, keepdims=True) - left_out
    spread = (apart**2).mean(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        skewness = np.where(spread > 0, (apart**3).mean(axis=-1) / spread**1.5, 0.0)
    return _skewed_bounds(value, error, skewness, count, quantile)


def _skewed_bounds(value: Any, error: Any, skewness: Any, count: int, quantile: Any) -> Bounds:
    """Student's interval, its end on the side of the longer tail moved out by Johnson's term."""
    skewness = skewness * (math.sqrt(count * (count - 1)) / (count - 2) if count > 2 else 0.0)
    shift = skewness / math.sqrt(count) / 6 * (1 + 2 * quantile**2) * error
    low = value - quantile * error + np.minimum(shift, 0.0)
    return low, value + quantile * error + np.maximum(shift, 0.0)


def no_interval(left_out: Array, what: str, fewest: int = 2) -> str:
    """Why values with each cluster left out in turn give no interval; empty if they give one."""
    count = len(left_out)
    if count < fewest:
        return _counted(count, what)
    if not np.isfinite(left_out).all():
        return f"one of the {what} decides whether there is a value"
    return f"all {count} {what} alike" if alike(left_out) else ""


def alike(values: Any) -> bool:
    """Whether rounding explains all differences."""
    return bool(np.ptp(values) <= 1e-12 * max(1e-300, float(np.abs(values).max())))


def jackknife_estimate(
    value: float,
    left_out: Array,
    n: int,
    *,
    what: str = "sentences",
    fewest: int = 2,
    within: tuple[float, float] = (-math.inf, math.inf),
    clusters: float | None = None,
    outside: float = _OUTSIDE,
    noise: float = 0.0,
) -> Estimate:
    """A figure with the interval of `jackknife_bounds`, or without one where its clusters say nothing about others.

    `what` names the clusters; `within` are the ends of the figure's scale.
    """
    if n == 0 or math.isnan(value):
        return Estimate.empty()
    if why := no_interval(left_out, what, fewest):
        return Estimate.without_interval(value, n, why)
    low, high = jackknife_bounds(value, left_out, clusters, outside=outside, noise=noise)
    return Estimate.around(value, max(float(low), within[0]), min(float(high), within[1]), n)


def ratio_of_sums(
    numerators: Sequence[float],
    denominators: Sequence[float],
    *,
    what: str = "sentences",
    n: int | None = None,
    within: tuple[float, float] = (-math.inf, math.inf),
) -> Estimate:
    """sum(numerators) / sum(denominators) of clusters: an item with all its tokens, say.

    `within` are the ends of the figure's scale, which no interval leaves.
    """
    if not numerators:
        return Estimate.empty()
    sums = math.fsum(numerators), math.fsum(denominators)
    if not (all(math.isfinite(each) for each in sums) and min(denominators) > 0):
        raise BabelscopeError("a ratio of sums needs finite numerators and positive denominators")
    size = len(numerators) if n is None else n
    if len(numerators) == 1:
        return Estimate.without_interval(sums[0] / sums[1], size, _counted(1, what))
    above, below = np.asarray(numerators, dtype=float), np.asarray(denominators, dtype=float)
    worth = float(kish(below))
    left_out = leave_one_out(above, below)
    return jackknife_estimate(sums[0] / sums[1], left_out, size, what=what, within=within, clusters=worth)


def clustered_mean(
    values: Sequence[float],
    clusters: Sequence[str],
    *,
    what: str = "source sentences",
    within: tuple[float, float] = (-math.inf, math.inf),
) -> Estimate:
    """The mean of values that are not independent within the clusters they come from; `n` counts values.

    What the clusters are called decides their order, so the interval depends neither on the order of the
    values nor on how often all of them are repeated.
    """
    sums, sizes = cluster_sums([values, [1.0] * len(values)], clusters).T
    return ratio_of_sums(sums.tolist(), sizes.tolist(), what=what, n=len(values), within=within)


def figure_of_totals(sample: Array, figure: Callable[[Array], Array], n: int, *, what: str) -> Estimate:
    """A figure of the column totals of clusters [clusters, columns]; `figure` takes totals [..., columns]."""
    total = sample.sum(axis=0)
    return jackknife_estimate(float(figure(total)), figure(total - sample), n, what=what)


def members_of(names: Sequence[str]) -> dict[str, list[int]]:
    """The places of each name in a list of names."""
    return grouped((name, place) for place, name in enumerate(names))


def cluster_sums(columns: Sequence[Sequence[float]], clusters: Sequence[str]) -> Array:
    """Sums of columns over each cluster [clusters, columns], clusters ordered by name."""
    members = members_of(clusters)
    rows = [[math.fsum(column[i] for i in members[name]) for column in columns] for name in sorted(members)]
    return np.array(rows, dtype=float).reshape(len(rows), len(columns))


def perplexity(nats_a_token: Estimate) -> Estimate:
    """exp(-mean): the one place where natural logs a token become a perplexity."""

    def convert(mean: float) -> float:
        try:
            return math.exp(-mean)
        except OverflowError:  # below -709 nats per token it is infinite for any purpose
            return math.inf

    return nats_a_token.converted(convert)


# -- means over a few systems or repetitions -----------------------------------------------------------


def mean_and_sd(
    values: Sequence[float], what: str = "values", within: tuple[float, float] = (-math.inf, math.inf)
) -> tuple[Estimate, Estimate]:
    """Mean and sample standard deviation of a few values, with normal theory's 95 % intervals (t, chi2).

    Two values have no interval: Student's t would reach 6.4 times as far as they lie apart. `within` are the ends
    of the mean's scale.
    """
    n = len(values)
    if n < 2:
        raise BabelscopeError("a standard deviation needs at least two values")
    mean, sd = float(np.mean(values)), float(np.std(values, ddof=1))
    if sd <= 1e-12 * max(map(abs, values)):
        why = f"all {n} {what} alike"
        return Estimate.without_interval(mean, n, why), Estimate.without_interval(0.0, n, why)
    if n < _FEWEST_REPEATED:
        why = _counted(n, what)
        return Estimate.without_interval(mean, n, why), Estimate.without_interval(sd, n, why)
    reach = float(stdtrit(n - 1, 0.975)) * sd / math.sqrt(n)
    low, high = (sd * math.sqrt((n - 1) / float(2 * gammaincinv((n - 1) / 2, q))) for q in (0.975, 0.025))
    ends = max(mean - reach, within[0]), min(mean + reach, within[1])
    return Estimate.around(mean, *ends, n), Estimate.around(sd, low, high, n)


def welch(ours: Sequence[float], theirs: Sequence[float], what: str = "values") -> Estimate:
    """Difference of the means of two independent groups, with Welch's (1947) interval."""
    from scipy.stats import ttest_ind

    value = math.fsum(ours) / len(ours) - math.fsum(theirs) / len(theirs)
    n = len(ours) + len(theirs)
    if (fewest := min(len(ours), len(theirs))) < _FEWEST_REPEATED:
        return Estimate.without_interval(value, n, f"a group of {_counted(fewest, what)}")
    if np.ptp(ours) == 0 and np.ptp(theirs) == 0:
        return Estimate.without_interval(value, n, f"all {what} of a group alike")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of one group whose seeds all give the same
        bounds = ttest_ind(ours, theirs, equal_var=False).confidence_interval()
    return Estimate.around(value, bounds.low, bounds.high, n)


def mean_of_counts(counts: Mapping[int, int], what: str = "sentences") -> Estimate:
    """Mean of whole numbers, given by how often there is each, with the interval of a mean.

    Sums are exact, so that no order of counting changes it.
    """
    n = sum(counts.values())
    if n == 0:
        return Estimate.empty()
    total = sum(value * count for value, count in counts.items())
    if n == 1 or len(counts) == 1:
        why = _counted(1, what) if n == 1 else f"all {n} {what} alike"
        return Estimate.without_interval(total / n, n, why)
    squares, cubes = (
        sum((n * value - total) ** power * count for value, count in counts.items()) for power in (2, 3)
    )
    error = math.sqrt(squares / (n - 1) / n) / n
    skewness = cubes / n / (squares / n) ** 1.5
    bounds = _skewed_bounds(total / n, error, skewness, n, stdtrit(n - 1, 0.975))
    return Estimate.around(total / n, *bounds, n)


def _counted(number: int, what: str) -> str:
    return f"{number} {what.removesuffix('s') if number == 1 else what}"
