"""Figures made of counts of categories, with bootstrap intervals over the items counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.stats import bootstrap

from babelscope.results import Estimate

Counts = np.ndarray[Any, Any]

# Items drawn at once.
_BATCH = 1 << 22


def resampled(
    cells: Sequence[int],
    kinds: int,
    figures: Callable[[Counts], Counts],
    rng: np.random.Generator,
    *,
    resamples: int = 2000,
) -> list[Estimate]:
    """Figures of how many items fall into each of `kinds` cells; `figures` maps counts [..., kinds] to them.

    The figures come first in what it returns, one after another: [figures, ...].
    """
    drawn = np.asarray(cells, dtype=np.int64)
    if len(drawn) == 0:
        return [Estimate.of_nothing() for _ in figures(np.zeros(kinds, dtype=np.int64))]
    values = figures(_tally(drawn, kinds))
    if len(drawn) == 1:  # one item says nothing about others
        return [Estimate(float(value), -np.inf, np.inf, 1) for value in values]
    interval = bootstrap(
        (drawn,),
        lambda sample, axis: figures(_tally(sample, kinds)),  # noqa: ARG005 (scipy passes the last axis)
        vectorized=True,
        n_resamples=resamples,
        batch=max(1, _BATCH // len(drawn)),
        method="percentile",
        rng=rng,
    ).confidence_interval
    return [
        # Rounded or skewed figures can lie outside of their resamples' percentiles.
        Estimate(float(value), min(float(value), float(low)), max(float(value), float(high)), len(drawn))
        for value, low, high in zip(values, interval.low, interval.high, strict=True)
    ]


def _tally(cells: Counts, kinds: int) -> Counts:
    """How often each cell occurs along the last axis."""
    samples = cells.reshape(-1, cells.shape[-1])
    # One count over all samples: each has cells of its own.
    shifted = samples + kinds * np.arange(len(samples))[:, None]
    counted = np.bincount(shifted.ravel(), minlength=kinds * len(samples))
    return counted.reshape(*cells.shape[:-1], kinds)
