"""Corpus scores with jackknife intervals, from statistics that are computed once for each sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from babelscope.core.results import Estimate
from babelscope.metrics.base import Array, Metric, References, Scale, Texts, find_metric
from babelscope.stats.intervals import jackknife_estimate, kish
from babelscope.stats.paired import jackknife_difference
from babelscope.util.digests import digest_json

# Groups of sentences that are left out in turn; beyond that more of them would not make an interval any surer.
MOST_GROUPS = 1000
FEWEST = 3
"""Sentences, below which the interval of a corpus score would cover the truth too seldom."""


def corpus_estimate(
    metric: str | Metric, hypotheses: Texts, references: References, *, sources: Texts = ()
) -> Estimate:
    """A corpus score on the metric's scale, with a jackknife's interval over sentences, or sources if given."""
    if not hypotheses and not references:
        return Estimate.of_nothing()
    found = find_metric(metric)
    statistics = found.statistics(hypotheses, references, sources)
    groups = source_groups(sources) if sources else np.arange(len(statistics)) % MOST_GROUPS
    return estimate_of_statistics(found, statistics, groups)


def estimate_of_statistics(metric: Metric, statistics: Array, groups: Array) -> Estimate:
    """A corpus score from the statistics of its sentences [sentences, columns] and their groups."""
    rest = sums_without(statistics, [np.arange(len(statistics))], groups)[0]
    left_out = np.array([metric.corpus(sums) for sums in rest])
    value = metric.corpus(statistics.sum(axis=0))
    return grouped_estimate(value, left_out, groups, within=bounds_of(metric.scale))


def bounds_of(scale: Scale) -> tuple[float, float]:
    """The ends of a scale; what has none is unbounded."""
    return -math.inf if scale.low is None else scale.low, math.inf if scale.high is None else scale.high


def source_groups(sources: Sequence[str]) -> Array:
    """The group of each sentence, from 0: sentences of one source are not independent, and so in one group.

    A group is one source, or where there are over a thousand, each thousandth in the order of their digests.
    """
    distinct = list(dict.fromkeys(sources))
    if len(distinct) > MOST_GROUPS:
        distinct.sort(key=digest_json)
    group = {source: place % MOST_GROUPS for place, source in enumerate(distinct)}
    return np.array([group[source] for source in sources], dtype=np.int64)


def sums_without(columns: Array, parts: Sequence[Array], groups: Array) -> list[Array]:
    """Sums of columns [sentences, k] over each part without each group of sentences in turn: [groups, k] a part.

    Parts are numbers of sentences. All parts leave out the same groups, and so do calls with the same sources:
    differences between parts, or between systems, are paired.
    """
    found = []
    for part in parts:
        sums = np.zeros((int(groups.max(initial=-1)) + 1, columns.shape[1]))
        np.add.at(sums, groups[part], columns[part])
        found.append(columns[part].sum(axis=0) - sums)
    return found


def grouped_estimate(
    value: float, left_out: Array, groups: Array, *, within: tuple[float, float] = (-math.inf, math.inf)
) -> Estimate:
    """A figure of sentences from its values without each group in turn; `groups` are those of these sentences."""
    own, what, clusters = _clusters(groups)
    if len(own) < FEWEST:  # then sentences of other groups cannot make an interval
        left_out = left_out[own]
    return jackknife_estimate(
        value, left_out, len(groups), what=what, fewest=FEWEST, within=within, clusters=clusters
    )


def grouped_difference(value: float, left_out: Array, groups: Array) -> tuple[Estimate, float]:
    """As `grouped_estimate` for a difference between two figures of the same sentences, with its p."""
    own, what, clusters = _clusters(groups)
    return jackknife_difference(
        value, left_out[own], len(groups), fewest=FEWEST, what=what, clusters=clusters
    )


def _clusters(groups: Array) -> tuple[Array, str, float]:
    """The groups that occur, what they are called, and how many of equal size they are worth."""
    own, sizes = np.unique(groups, return_counts=True)
    repeated = len(own) < min(len(groups), MOST_GROUPS)
    return own, "source sentences" if repeated else "sentences", float(kish(sizes.astype(float)))
