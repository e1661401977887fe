"""Intervals and conversions; everything that is statistics is done by scipy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import bootstrap

from babelscope.errors import BabelscopeError
from babelscope.results import Estimate

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


def _ratio(numerators: Any, denominators: Any, axis: int = -1) -> Any:
    return numerators.sum(axis=axis) / denominators.sum(axis=axis)


def perplexity(nats_a_token: Estimate) -> Estimate:
    """exp(-mean): the one place where natural logs a token become a perplexity."""

    def convert(mean: float) -> float:
        # exp overflows below -709 nats a token, where the perplexity is infinite for any purpose.
        return math.exp(-mean) if mean > -700 else math.inf

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
