"""How well a model ranks its own hypotheses: kRG and kQRG (paper hypothesis-space, section 3.1).

Ranks count from 1, so that the best rank weighs 1 / log2(2) = 1. Hypotheses of equal quality share the mean
relevance of their ranks (k-1 for the best to 0), so their order among each other does not matter, and a list in
which none precedes a better one has kRG 1. Hypotheses of equal log-probability share the mean weight of their
ranks, which is the expectation over their possible orders.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from babelscope.metrics.base import Array, Metric
from babelscope.util.errors import BabelscopeError

Normalize = Literal["bound", "ideal"]
"""What kQRG is divided by. bound: the upper bound of eq. 19, reached if all qualities are the highest. ideal: the
gain of the same list in its best order."""
Gains = Literal["linear", "exponential"]
"""What kRG gains by a hypothesis of relevance f. linear: f (eq. 13). exponential: 2^f - 1, the official code's."""
Ties = Literal["shared", "random"]
"""What hypotheses of equal quality have. shared: the mean of their relevances, in the ideal order too. random: each a
relevance of its own, in random order (eq. 13 as printed); the value is the expectation over these orders, in closed
form."""


def quality_bound(metric: Metric) -> float:
    """The highest quality for kQRG, that of the metric's scale; an error if it has none."""
    bound = metric.scale.best_quality
    if bound is None or bound <= 0:
        raise BabelscopeError(
            f"kQRG needs the highest quality that {metric.name} can give, a positive number: name it, as in "
            "cmd:COMMAND?bound=1, or divide by the ideal order"
        )
    return bound


def krg(
    qualities: Sequence[float],
    logprobs: Sequence[float] | None = None,
    *,
    gains: Gains = "linear",
    ties: Ties = "shared",
) -> float:
    """k-approximated ranked gains of k hypotheses (eq. 13 to 15); NaN for fewer than two.

    `qualities`, higher is better, stand in the model's order, best first, or in any order beside `logprobs`.
    """
    values = _checked(qualities)
    if len(values) < 2:  # a single hypothesis has relevance 0
        return math.nan
    gained, ideal = _gains_and_ideal(values, gains, ties)
    return _discounted(gained, _weights(values, logprobs)) / ideal


def kqrg(
    qualities: Sequence[float],
    logprobs: Sequence[float] | None = None,
    *,
    normalize: Normalize = "bound",
    bound: float = 1.0,
) -> float:
    """k-approximated quality-based ranked gains (eq. 16 to 19); NaN for an empty list.

    `bound` is the highest quality (see `quality_bound`). Qualities in [0, bound] give a value in [0, 1]; others
    (COMET, 1 - TER) may leave that range. With `normalize="ideal"`, a list without positive gain gives NaN.
    """
    values = _checked(qualities)
    if not len(values):
        return math.nan
    best = bound * math.fsum(_discounts(len(values))) if normalize == "bound" else _ideal_gain(values)
    return _discounted(values, _weights(values, logprobs)) / best if best > 0 else math.nan


def random_krg(qualities: Sequence[float], *, gains: Gains = "linear", ties: Ties = "shared") -> float:
    """The exact expectation of kRG over random orders of these hypotheses: 0.8042 for 10 without ties."""
    values = _checked(qualities)
    if len(values) < 2:
        return math.nan
    gained, ideal = _gains_and_ideal(values, gains, ties)
    return math.fsum(gained) / len(values) * math.fsum(_discounts(len(values))) / ideal


def _checked(qualities: Sequence[float]) -> Array:
    values = np.asarray(qualities, dtype=float)
    if not np.isfinite(values).all():
        raise BabelscopeError("a quality is NaN or infinite; hypotheses cannot be ranked by it")
    return values


def _gains_and_ideal(qualities: Array, gains: Gains, ties: Ties) -> tuple[Array, float]:
    """What each hypothesis gains by its relevance, k - rank by quality (eq. 15), and the gain of the best order."""
    k = len(qualities)
    by_rank: Array = np.arange(k, dtype=float)
    if gains == "exponential":  # divided by 2^(k-1), which cancels out, since 2^1024 is no float
        by_rank = np.exp2(by_rank - (k - 1)) - np.exp2(1.0 - k)
    gained = _share_by_rank(qualities, by_rank)
    return gained, _ideal_gain(gained if ties == "shared" else by_rank)


def _weights(qualities: Array, logprobs: Sequence[float] | None) -> Array:
    """1 / log2(rank + 1) of each hypothesis, ranked by log-probability."""
    if logprobs is None:
        return _discounts(len(qualities))
    if len(logprobs) != len(qualities):
        raise BabelscopeError(
            f"{len(qualities)} qualities cannot be ranked by {len(logprobs)} log-probabilities"
        )
    return _share_by_rank(-np.asarray(logprobs, dtype=float), _discounts(len(qualities)))


def _share_by_rank(keys: Array, values: Array) -> Array:
    """Give each key the value of its rank in ascending order; equal keys share the mean of their ranks' values."""
    _, group, size = np.unique(keys, return_inverse=True, return_counts=True)
    shared = np.bincount(np.sort(group), weights=values) / size
    return np.asarray(shared[group])


def _discounts(k: int) -> Array:
    """1 / log2(rank + 1) for ranks 1 to k [k]."""
    return 1 / np.log2(np.arange(2, k + 2))


def _ideal_gain(gains: Array) -> float:
    """The sum of discounted gains in their best order."""
    return _discounted(np.sort(gains)[::-1], _discounts(len(gains)))


def _discounted(gains: Array, weights: Array) -> float:
    """The weighted sum of gains, rounded once: a BLAS product differs between machines, and an ideal list above 1."""
    return math.fsum(gains * weights)
