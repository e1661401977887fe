"""Corpus scores of many parts of one test set: statistics once a sentence, then every figure is made of sums."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from babelscope.errors import BabelscopeError
from babelscope.measures.quality import tokens
from babelscope.measures.ribes import sentence_ribes
from babelscope.measures.statistics import Array
from babelscope.results import Estimate

CorpusMetric = Literal["bleu", "chrf", "ribes"]
METRICS: tuple[CorpusMetric, ...] = ("bleu", "chrf", "ribes")
"""BLEU and chrF2 are sacreBLEU's, 0 to 100, cased, on 13a tokens; RIBES 0 to 1, on the same tokens."""

# Numbers drawn at once.
_BATCH = 1 << 22


def sentence_statistics(
    metric: CorpusMetric, translations: Sequence[str], references: Sequence[Sequence[str]]
) -> Array:
    """Sufficient statistics [sentences, columns]: a corpus score depends on their sum over its sentences."""
    if len(translations) != len(references):
        raise BabelscopeError(
            f"{len(translations)} translations cannot be held against {len(references)} references"
        )
    if metric == "ribes":
        scores = [
            sentence_ribes(tokens(translation), [tokens(each) for each in own])
            for translation, own in zip(translations, references, strict=True)
        ]
        return np.array([[score, 1.0] for score in scores]).reshape(-1, 2)
    most = max(map(len, references), default=0)
    streams = [[own[i] if i < len(own) else None for own in references] for i in range(most)]
    found = _scorer(metric)._extract_corpus_statistics(list(translations), streams) if most else []
    return np.array(found, dtype=float).reshape(len(translations), -1)


def corpus_score(metric: CorpusMetric, sums: Array) -> float:
    """The score of a corpus from the sums of its sentences' statistics [columns]; NaN if it has none."""
    if metric == "ribes":
        return float(sums[0] / sums[1]) if sums[1] else math.nan
    # The reference is never empty, so no reference length means no sentence (BLEU's column 1, chrF's too).
    if not sums[1]:
        return math.nan
    return float(_scorer(metric)._compute_score_from_stats(sums.tolist()).score)


def sentence_score(metric: CorpusMetric, statistics: Array) -> float:
    """The score of one sentence; BLEU with effective order, as sacreBLEU's `sentence_bleu`."""
    if metric != "bleu":
        return corpus_score(metric, statistics)
    return float(_scorer("bleu", by_sentence=True)._compute_score_from_stats(statistics.tolist()).score)


def resampled_sums(
    columns: Array, parts: Sequence[Array], rng: np.random.Generator, *, resamples: int = 1000
) -> list[Array]:
    """Sums of columns [sentences, k] over each part in bootstrap resamples of all sentences: [resamples, k] a part.

    Parts are numbers of sentences. All parts see the same resamples, and so do two calls with the same
    stream and number of sentences: differences between parts, or between systems, are paired.
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


@functools.cache
def _scorer(metric: Literal["bleu", "chrf"], *, by_sentence: bool = False) -> Any:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    return CHRF() if metric == "chrf" else BLEU(effective_order=by_sentence)
