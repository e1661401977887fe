"""Corpus scores of many parts of one test set: statistics once a sentence, then every figure is made of sums."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from babelscope.metrics.quality import tokens
from babelscope.metrics.ribes import sentence_ribes
from babelscope.stats.intervals import Array
from babelscope.util.errors import BabelscopeError

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
    if not references or not all(references):
        raise BabelscopeError("a corpus score needs sentences, and at least one reference of each")
    if metric == "ribes":
        scores = [
            sentence_ribes(tokens(translation), [tokens(each) for each in own])
            for translation, own in zip(translations, references, strict=True)
        ]
        return np.array([[score, 1.0] for score in scores])
    most = max(map(len, references))
    streams = [[own[i] if i < len(own) else None for own in references] for i in range(most)]
    return np.array(_scorer(metric)._extract_corpus_statistics(list(translations), streams), dtype=float)


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


@functools.cache
def _scorer(metric: Literal["bleu", "chrf"], *, by_sentence: bool = False) -> Any:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    return CHRF() if metric == "chrf" else BLEU(effective_order=by_sentence)
