"""The 95 % interval of a weighted share, where weights may depend on values, and a few clusters may be large."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri, stdtrit

from babelscope.core.results import Estimate
from babelscope.stats.intervals import (
    Array,
    cluster_sums,
    jackknife_variance,
    kish,
    members_of,
    wilson_bounds,
)

OUTSIDE = 0.05


def weighted_share(
    values: Sequence[float],
    clusters: Sequence[str],
    weights: Sequence[float],
    ranked_in: Sequence[str] | None = None,
    *,
    outside: float = OUTSIDE,
) -> Estimate:
    """The weighted mean of values from 0 to 1, where weights may depend on values, and a few clusters may be large.

    Wilson's interval for `effective_size`. Where weights are ranks within groups of items (`ranked_in` names them),
    the jackknife ranks what is left anew.
    """
    if not values:
        return Estimate.empty()
    worth = [weight * value for weight, value in zip(weights, values, strict=True)]
    value = min(max(math.fsum(worth) / math.fsum(weights), 0.0), 1.0)
    size = effective_size(values, clusters, weights, ranked_in, outside=outside)
    low, high = wilson_bounds(value, size, outside)
    return Estimate.around(value, low, high, len(values))


def effective_size(
    values: Sequence[float],
    clusters: Sequence[str],
    weights: Sequence[float],
    ranked_in: Sequence[str] | None = None,
    *,
    outside: float = OUTSIDE,
) -> float:
    """How many independent, equal items a weighted share is worth: as many as vary as it does, by the jackknife.

    Fewer for the uncertainty of that variance, by Student's t: its degrees of freedom are what squared cluster
    weights are worth (Satterthwaite 1946, items of a cluster alike). Never fewer than the heaviest cluster's weight
    goes into all weight: no share varies more, however its weights depend on its values; where all values are 0 or
    all are 1, this least number is taken.
    """
    heavy = np.asarray(weights, dtype=float)
    worth = heavy * np.asarray(values, dtype=float)
    own = [worth.tolist(), heavy.tolist()]
    sums = cluster_sums(own, clusters)
    total, weight = sums.sum(axis=0)
    least = float(weight / sums[:, 1].max())
    share = total / weight
    if len(sums) < 2 or not 0 < share < 1:
        return least
    left = (total, weight) - sums
    if ranked_in is not None:
        left = left - _lowered_ranks(np.asarray(values, dtype=float), heavy, clusters, ranked_in)
    variance = float(jackknife_variance(left[:, 0] / left[:, 1]))
    alike = min(share * (1 - share) / variance, float(kish(heavy))) if variance > 0 else float(kish(heavy))
    degrees = max(float(kish(sums[:, 1] ** 2)) - 1, 1.0)
    known = ndtri(1 - outside / 2) / stdtrit(degrees, 1 - outside / 2)
    return max(alike * float(known) ** 2, least)


def _lowered_ranks(values: Array, ranks: Array, clusters: Sequence[str], groups: Sequence[str]) -> Array:
    """By how much the other clusters' sums of rank times value, and of ranks, fall without each cluster.

    Without an item, the ranks of its group that are above its own fall by 1, and equal ones by a half.
    """
    columns = np.stack([values, np.ones_like(values)], axis=-1)
    lowered = np.empty_like(columns)
    for members in members_of(groups).values():
        order = np.array(sorted(members, key=lambda i: ranks[i]))
        sums = np.concatenate([np.zeros((1, 2)), np.cumsum(columns[order], axis=0)])
        places = [np.searchsorted(ranks[order], ranks[order], side=side) for side in ("left", "right")]
        lowered[order] = sums[-1] - (sums[places[0]] + sums[places[1]]) / 2
    found = []
    for _, members in sorted(members_of(clusters).items()):
        own = lowered[members].sum(axis=0)
        for inside in members_of([groups[i] for i in members]).values():
            of_both = np.array([members[i] for i in inside])
            above = np.sign(ranks[of_both] - ranks[of_both][:, None])
            own = own - ((above + 1) / 2 @ columns[of_both]).sum(axis=0)
        found.append(own)
    return np.array(found)
