"""Corpus scores with bootstrap intervals, from statistics that are computed once for each sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from babelscope.core.results import Estimate
from babelscope.metrics.base import Array, Metric, References, Scale, Texts, find_metric
from babelscope.stats.intervals import jackknife_estimate

# Groups of sentences that are left out in turn; beyond that more of them would not make an interval any surer.
MOST_GROUPS = 1000
FEWEST = 3
"""Sentences, below which the interval of a corpus score would cover the truth too seldom."""


def corpus_estimate(
    metric: str | Metric, hypotheses: Texts, references: References, *, sources: Texts = ()
) -> Estimate:
    """A corpus score on the metric's scale, with a jackknife's interval over sentences."""
    if not hypotheses and not references:
        return Estimate.of_nothing()
    found = find_metric(metric)
    return estimate_of_statistics(found, found.statistics(hypotheses, references, sources))


def estimate_of_statistics(metric: Metric, statistics: Array) -> Estimate:
    """A corpus score from the statistics of its sentences [sentences, columns], as `corpus_estimate` gives it."""
    rest = sums_without(statistics, [np.arange(len(statistics))])[0]
    left_out = np.array([metric.corpus(sums) for sums in rest])
    value = metric.corpus(statistics.sum(axis=0))
    return jackknife_estimate(value, left_out, len(statistics), fewest=FEWEST, within=bounds_of(metric.scale))


def bounds_of(scale: Scale) -> tuple[float, float]:
    """The ends of a scale; what has none is unbounded."""
    return -math.inf if scale.low is None else scale.low, math.inf if scale.high is None else scale.high


def sums_without(columns: Array, parts: Sequence[Array]) -> list[Array]:
    """Sums of columns [sentences, k] over each part without each group of sentences in turn: [groups, k] a part.

    Parts are numbers of sentences. A group is one sentence, or where there are over a thousand, each thousandth.
    All parts leave out the same groups, and so do calls with as many sentences: differences between parts, or
    between systems, are paired.
    """
    groups = np.arange(len(columns)) % MOST_GROUPS
    found = []
    for part in parts:
        sums = np.zeros((min(len(columns), MOST_GROUPS), columns.shape[1]))
        np.add.at(sums, groups[part], columns[part])
        found.append(columns[part].sum(axis=0) - sums)
    return found
