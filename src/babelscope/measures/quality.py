"""How good translations are, against one or several references: sacreBLEU's metrics with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from babelscope.errors import BabelscopeError
from babelscope.results import Estimate

Metric = Literal["bleu", "chrf", "ter"]


def corpus_quality(
    metric: Metric,
    translations: Sequence[str],
    references: Sequence[Sequence[str]],
    rng: np.random.Generator,
    *,
    resamples: int = 1000,
) -> Estimate:
    """A corpus score on sacreBLEU's scale (0 to 100), with the percentile bootstrap interval over sentences.

    `references[i]` are the references of translation i; their number may differ.
    """
    if len(translations) != len(references):
        raise BabelscopeError(
            f"{len(translations)} translations cannot be held against {len(references)} references"
        )
    if not translations:
        return Estimate.of_nothing()
    scorer = _scorer(metric)
    most = max(map(len, references))
    streams = [[group[i] if i < len(group) else None for group in references] for i in range(most)]
    # Sufficient statistics are collected once a sentence, so that a resample costs one sum.
    statistics = np.asarray(scorer._extract_corpus_statistics(list(translations), streams), dtype=float)
    value = scorer._compute_score_from_stats(_numbers(statistics.sum(axis=0))).score
    scores = [
        scorer._compute_score_from_stats(
            _numbers(statistics[rng.integers(0, len(statistics), len(statistics))].sum(axis=0))
        ).score
        for _ in range(resamples)
    ]
    low, high = np.percentile(scores, [2.5, 97.5])
    return Estimate(value, min(value, float(low)), max(value, float(high)), len(translations))


def _scorer(metric: Metric) -> Any:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

    return {"bleu": BLEU, "chrf": CHRF, "ter": TER}[metric]()


def _numbers(sums: Any) -> list[float]:
    return [float(number) for number in sums]
