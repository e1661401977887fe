"""Corpus scores with bootstrap intervals, from statistics that are computed once for each sentence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from babelscope.core.results import Estimate
from babelscope.metrics.base import Array, Metric, References, Texts, find_metric
from babelscope.stats.intervals import percentile_estimate

# Random counts held at the same time.
_BATCH = 1 << 22


def corpus_estimate(
    metric: str | Metric,
    hypotheses: Texts,
    references: References,
    rng: np.random.Generator,
    *,
    sources: Texts = (),
    resamples: int = 1000,
) -> Estimate:
    """A corpus score on the metric's scale, with a percentile bootstrap interval over sentences."""
    if not hypotheses and not references:
        return Estimate.of_nothing()
    found = find_metric(metric)
    statistics = found.statistics(hypotheses, references, sources)
    scores = [
        found.corpus(statistics[rng.integers(0, len(statistics), len(statistics))].sum(axis=0))
        for _ in range(resamples)
    ]
    return percentile_estimate(found.corpus(statistics.sum(axis=0)), np.array(scores), len(hypotheses))


def resampled_sums(
    columns: Array, parts: Sequence[Array], rng: np.random.Generator, *, resamples: int = 1000
) -> list[Array]:
    """Sums of columns [sentences, k] over each part in bootstrap resamples of all sentences: [resamples, k] a part.

    Parts are given as indices of sentences. All parts share the same resamples, and so do two calls with equal
    generators and numbers of sentences: differences between parts, or between systems, are paired.
    """
    sentences = len(columns)
    found: list[list[Array]] = [[] for _ in parts]
    size = max(1, _BATCH // max(1, sentences))
    for start in range(0, resamples, size):
        drawn = rng.multinomial(
            sentences, np.full(sentences, 1 / sentences), size=min(size, resamples - start)
        ).astype(float)
        for own, part in zip(found, parts, strict=True):
            own.append(drawn[:, part] @ columns[part])
    return [np.concatenate(own) for own in found]
