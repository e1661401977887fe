"""Intervals and conversions; everything that is statistics is done by scipy."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import bootstrap, chi2, norm, permutation_test, t

from babelscope.core.results import Estimate
from babelscope.util.errors import BabelscopeError

Array = np.ndarray[Any, Any]

# Numbers drawn at once; a resample of a large test set is as large as the test set.
_BATCH = 1 << 22


def ratio_of_sums(
    numerators: Sequence[float],
    denominators: Sequence[float],
    rng: np.random.Generator,
    *,
    resamples: int = 2000,
) -> Estimate:
    """sum(numerators) / sum(denominators) with its 95 % bootstrap interval over clusters.

    A cluster (an item with all its tokens, say) is drawn as a whole, since what belongs to one item is not
    independent. The interval is the percentile interval: it commutes with monotone conversions, so that
    the interval of a perplexity is the perplexity of the interval, and it exists where BCa has no answer
    (all clusters equal). One cluster says nothing about the others: its interval is unbounded.
    """
    count = len(numerators)
    if count == 0:
        return Estimate.of_nothing()
    sums = math.fsum(numerators), math.fsum(denominators)
    if not (all(math.isfinite(each) for each in sums) and min(denominators) > 0):
        raise BabelscopeError("a ratio of sums needs finite numerators and positive denominators")
    value = sums[0] / sums[1]
    if count == 1:
        return Estimate(value, -math.inf, math.inf, 1)
    interval = bootstrap(
        (np.asarray(numerators, dtype=float), np.asarray(denominators, dtype=float)),
        _ratio,
        paired=True,
        vectorized=True,
        n_resamples=resamples,
        batch=max(1, _BATCH // count),
        method="percentile",
        rng=rng,
    ).confidence_interval
    # Few or skewed clusters can leave the value itself outside; no interval may deny its own value.
    return Estimate(value, min(value, float(interval.low)), max(value, float(interval.high)), count)


def percentile_estimate(value: float, resampled: Array, n: int) -> Estimate:
    """A figure with the 95 % percentile interval of its resamples; those that have no value are left out.

    One sentence says nothing about others: the interval of n = 1 is unbounded, as it is where no resample
    has a value.
    """
    if n == 0 or math.isnan(value):
        return Estimate.of_nothing()
    known = resampled[~np.isnan(resampled)]
    if n == 1 or not len(known):
        return Estimate(value, -math.inf, math.inf, n)
    low, high = np.percentile(known, [2.5, 97.5])
    # Few or skewed sentences can leave the value itself outside; no interval may deny its own value.
    return Estimate(value, min(value, float(low)), max(value, float(high)), n)


def _ratio(numerators: Any, denominators: Any, axis: int) -> Any:
    return numerators.sum(axis=axis) / denominators.sum(axis=axis)


def perplexity(nats_a_token: Estimate) -> Estimate:
    """exp(-mean): the one place where natural logs a token become a perplexity."""

    def convert(mean: float) -> float:
        try:
            return math.exp(-mean)
        except OverflowError:  # below -709 nats a token it is infinite for any purpose
            return math.inf

    if nats_a_token.n == 0:
        return nats_a_token
    return Estimate(
        convert(nats_a_token.value), convert(nats_a_token.high), convert(nats_a_token.low), nats_a_token.n
    )


def proportion(successes: int, n: int) -> Estimate:
    """successes / n with Wilson's 95 % interval, for items that are independent of each other."""
    from statsmodels.stats.proportion import proportion_confint

    if n == 0:
        return Estimate.of_nothing()
    low, high = proportion_confint(successes, n, method="wilson")
    value = successes / n
    # Rounding can put the bound of 0 or n successes a hair inside.
    return Estimate(value, min(value, float(low)), max(value, float(high)), n)


def rogan_gladen(
    alarms: float, n: int, *, found: float, wrong: int, false_alarms: float, right: int
) -> Estimate:
    """The share of wrong texts behind `alarms` in n, by a detector that misses some and raises false alarms.

    Its sensitivity is known from `wrong` texts, of which it found `found`, its false-positive rate from
    `right` texts with `false_alarms`; the three samples are independent. The value is Rogan and Gladen's
    (1978), kept between 0 and 1. The 95 % interval, of Lang and Reiczigel (2014), has the uncertainty of all
    three rates in it. A detector that raises no more alarms on wrong texts than on right ones tells
    nothing: its share of alarms is left as it is, between 0 and 1.
    """
    samples = ((alarms, n), (found, wrong), (false_alarms, right))
    for count, size in samples:
        if not 0 <= count <= size:
            raise BabelscopeError(f"{count} of {size} texts is no count")
    if min(n, wrong, right) == 0:
        return Estimate.of_nothing()

    def share(apparent: float, sensitivity: float, false_rate: float) -> float:
        return (apparent - false_rate) / (sensitivity - false_rate)

    if found / wrong <= false_alarms / right:
        return Estimate(alarms / n, 0.0, 1.0, n)
    value = min(max(share(*(count / size for count, size in samples)), 0.0), 1.0)
    # Adjusted as in the paper: z^2 observations more, half of them alarms, and two more for each known rate.
    z = float(norm.ppf(0.975))
    more = (z * z, 2.0, 2.0)
    sizes = [size + extra for (_, size), extra in zip(samples, more, strict=True)]
    rates = [(count + extra / 2) / size for (count, _), extra, size in zip(samples, more, sizes, strict=True)]
    if rates[1] <= rates[2]:
        return Estimate(value, 0.0, 1.0, n)
    centre = share(*rates)
    own, of_sensitivity, of_false_rate = (
        rate * (1 - rate) / size for rate, size in zip(rates, sizes, strict=True)
    )
    variance = own + centre**2 * of_sensitivity + (1 - centre) ** 2 * of_false_rate
    reach = z * math.sqrt(variance) / (rates[1] - rates[2])
    centre += 2 * z * z * (centre * of_sensitivity - (1 - centre) * of_false_rate)
    low, high = (min(max(edge, 0.0), 1.0) for edge in (centre - reach, centre + reach))
    return Estimate(value, min(value, low), max(value, high), n)


def clustered_mean(
    values: Sequence[float], clusters: Sequence[str], rng: np.random.Generator, *, resamples: int = 2000
) -> Estimate:
    """The mean of values, with a bootstrap interval over the clusters they come from; `n` counts values.

    What the clusters are called decides their order, so the interval depends neither on the order of the
    values nor on how often all of them are repeated.
    """
    sums, sizes = cluster_sums([values, [1.0] * len(values)], clusters).T
    found = ratio_of_sums(sums.tolist(), sizes.tolist(), rng, resamples=resamples)
    return Estimate(found.value, found.low, found.high, len(values))


def clustered_proportion(
    values: Sequence[float], clusters: Sequence[str], rng: np.random.Generator, *, resamples: int = 2000
) -> Estimate:
    """The same for values from 0 to 1; where all are 0 or all 1, Wilson's interval for as many as clusters.

    Resamples of what is all alike are all alike too, and would claim certainty.
    """
    found = clustered_mean(values, clusters, rng, resamples=resamples)
    if found.n == 0:
        return found
    if found.value in (0.0, 1.0):
        count = len(set(clusters))
        wilson = proportion(count if found.value else 0, count)
        return Estimate(found.value, wilson.low, wilson.high, found.n)
    return Estimate(found.value, max(0.0, found.low), min(1.0, found.high), found.n)


def cluster_sums(columns: Sequence[Sequence[float]], clusters: Sequence[str]) -> Array:
    """Sums of columns over each cluster [clusters, columns], the clusters in the order of their names."""
    members: dict[str, list[int]] = {}
    for number, cluster in enumerate(clusters):
        members.setdefault(cluster, []).append(number)
    rows = [[math.fsum(column[i] for i in members[name]) for column in columns] for name in sorted(members)]
    return np.array(rows, dtype=float).reshape(len(rows), len(columns))


def resampled_totals(
    samples: Sequence[Array],
    figures: Callable[..., Array],
    rng: np.random.Generator,
    *,
    sizes: Sequence[int],
    resamples: int = 2000,
) -> list[Estimate]:
    """Figures of column totals of independent samples [clusters, columns], by bootstrap over their clusters.

    `figures` takes the totals of each sample, [..., columns], and gives [figures, ...]; `sizes` are their `n`.
    """

    def statistic(*drawn: Array, axis: int) -> Array:  # noqa: ARG001 (scipy passes the last one)
        return figures(*(_drawn_often(at) @ sample for at, sample in zip(drawn, samples, strict=True)))

    values = figures(*(sample.sum(axis=0) for sample in samples))
    if min(len(sample) for sample in samples) < 2:  # one cluster says nothing about others
        return [
            Estimate(float(value), -math.inf, math.inf, n) for value, n in zip(values, sizes, strict=True)
        ]
    interval = bootstrap(
        tuple(np.arange(len(sample)) for sample in samples),
        statistic,
        vectorized=True,
        n_resamples=resamples,
        batch=max(1, _BATCH // max(len(sample) for sample in samples)),
        method="percentile",
        rng=rng,
    ).confidence_interval
    return [
        Estimate(float(value), min(float(value), float(low)), max(float(value), float(high)), n)
        for value, low, high, n in zip(values, interval.low, interval.high, sizes, strict=True)
    ]


def resampled_counts(
    cells: Sequence[int],
    kinds: int,
    figures: Callable[[Array], Array],
    rng: np.random.Generator,
    *,
    resamples: int = 2000,
) -> list[Estimate]:
    """The same of how many items fall into each of `kinds` cells, by bootstrap over the items."""
    ones = np.eye(kinds)[np.asarray(cells, dtype=np.int64)]
    found = len(figures(ones.sum(axis=0)))
    if not len(cells):
        return [Estimate.of_nothing()] * found
    return resampled_totals([ones], figures, rng, sizes=[len(cells)] * found, resamples=resamples)


def _drawn_often(drawn: Array) -> Array:
    """How often each of its `clusters` numbers stands in each row of [resamples, clusters]."""
    rows, clusters = drawn.shape
    shifted = drawn.astype(np.int64) + clusters * np.arange(rows)[:, None]
    return np.bincount(shifted.ravel(), minlength=drawn.size).reshape(drawn.shape).astype(float)


def paired_p(differences: Sequence[float], rng: np.random.Generator, *, resamples: int = 9999) -> float:
    """Two-sided p of "no difference" between paired figures, one difference a cluster, by flipping signs.

    With differences of -1, 0 and 1 this is McNemar's test; here a cluster may have several pairs, and a
    tie be worth a half. It is exact for up to 13 clusters that differ, else at least 2 / (resamples + 1).
    """
    telling = np.array([each for each in differences if each], dtype=float)
    if len(telling) < 2:  # one flipped is as far from none as one not flipped
        return 1.0
    tested = permutation_test(
        (telling,),
        np.sum,
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        batch=max(1, _BATCH // len(telling)),
        rng=rng,
    )
    return float(tested.pvalue)


def holm(ps: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values of a family of tests, in the order given."""
    from statsmodels.stats.multitest import multipletests

    return [float(p) for p in multipletests(ps, method="holm")[1]] if ps else []


def mean_and_sd(values: Sequence[float]) -> tuple[Estimate, Estimate]:
    """Mean and sample standard deviation of a few values, with normal theory's 95 % intervals (t, chi2)."""
    n = len(values)
    if n < 2:
        raise BabelscopeError("a standard deviation needs at least two values")
    mean, sd = float(np.mean(values)), float(np.std(values, ddof=1))
    reach = float(t.ppf(0.975, n - 1)) * sd / math.sqrt(n)
    low, high = (sd * math.sqrt((n - 1) / float(chi2.ppf(q, n - 1))) for q in (0.975, 0.025))
    return Estimate(mean, mean - reach, mean + reach, n), Estimate(sd, min(low, sd), max(high, sd), n)


def mean_of_counts(counts: Mapping[int, int]) -> Estimate:
    """Mean of whole numbers, given by how often there is each, with normal theory's 95 % interval (t).

    Sums are exact, so that no order of counting changes it. One number alone has an unbounded interval.
    """
    n = sum(counts.values())
    if n == 0:
        return Estimate.of_nothing()
    total = sum(value * count for value, count in counts.items())
    if n == 1:
        return Estimate(float(total), -math.inf, math.inf, 1)
    squares = sum(value * value * count for value, count in counts.items())
    sd = math.sqrt((n * squares - total * total) / (n * (n - 1)))
    mean, reach = total / n, float(t.ppf(0.975, n - 1)) * sd / math.sqrt(n)
    return Estimate(mean, mean - reach, mean + reach, n)
