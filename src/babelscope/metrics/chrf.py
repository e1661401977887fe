"""chrF and chrF++ (Popović 2015, 2017): sacreBLEU's numbers, with n-grams counted once for each text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from babelscope.metrics.base import Array, References, Scale, Texts
from babelscope.metrics.sacre import SacreBleu

# Recall weighs beta squared times as much as precision, as in sacreBLEU.
_BETA = 2
CHAR_ORDER = 6
"""The longest n-grams of characters, sacreBLEU's default."""


@dataclass(frozen=True)
class Chrf(SacreBleu):
    """chrF that counts the n-grams of a text once, however many texts it is compared with."""

    def sentence(self, hypotheses: Texts, references: References, sources: Texts = ()) -> list[float]:  # noqa: ARG002
        """sacreBLEU's sentence chrF against the best reference; `sources` are not read."""
        self.check_words(references)
        groups: dict[tuple[str, ...], list[int]] = {}
        for number, (_, own) in enumerate(zip(hypotheses, references, strict=True)):
            groups.setdefault(tuple(own), []).append(number)
        found = [0.0] * len(hypotheses)
        for own, numbers in groups.items():
            best = self.pairwise([hypotheses[number] for number in numbers], own).max(axis=1)
            for number, value in zip(numbers, best.tolist(), strict=True):
                found[number] = value
        return found

    def pairwise(self, candidates: Texts, references: Texts, source: str = "") -> Array:  # noqa: ARG002
        """chrF of all pairs [candidates, references]; `source` is not read."""
        self.check_words([references])
        return pairwise_chrf(candidates, references, word_order=self.options["word_order"])


METRIC, PLUS_PLUS = (
    Chrf(
        name,
        Scale(0, 100, "higher", "percent"),
        "sacrebleu.metrics.chrf:CHRF",
        {"word_order": order},
        # Words of chrF++ are what stands between spaces and marks, in every language.
        words_by="whitespace" if order else "",
        takes_tokenizer=False,
    )
    for name, order in (("chrf", 0), ("chrf++", 2))
)


def pairwise_chrf(candidates: Sequence[str], references: Sequence[str], *, word_order: int = 0) -> Array:
    """Sentence chrF of each candidate against each reference [candidates, references], 0 to 100.

    chrF++ with word_order=2. Each number equals sacreBLEU's for this candidate and this one reference.
    """
    orders = _count([*candidates, *references], word_order)
    n = len(candidates)
    # N-grams of each text [texts, orders].
    totals = np.stack([np.asarray(counts.sum(axis=1)).ravel() for counts in orders], axis=1)
    matches = []
    for counts in orders:
        levels = _levels(counts)
        matches.append((levels[:n] @ levels[n:].T).toarray())
    return f_scores(totals[:n, None], totals[None, n:], np.stack(matches, axis=-1))


def word_symbols(texts: Sequence[str]) -> list[Array]:
    """The words of each text as sacreBLEU separates them for chrF++, as numbers; equal words have equal ones."""
    from sacrebleu.metrics.chrf import CHRF

    split = CHRF(word_order=1)._remove_punctuation
    numbers: dict[str, int] = {}
    return [
        np.array([numbers.setdefault(word, len(numbers)) for word in split(text)], dtype=np.int64)
        for text in texts
    ]


def _count(texts: Sequence[str], word_order: int) -> list[Any]:
    """Counts of each n-gram in each text: one sparse matrix [texts, n-grams] for every order."""
    from sacrebleu.metrics.chrf import CHRF
    from scipy.sparse import csr_array

    scorer = CHRF(word_order=word_order)
    distinct = list(dict.fromkeys(texts))
    # sacreBLEU extracts the n-grams, so that spaces and punctuation are treated the same.
    found = scorer._extract_reference_info(distinct)["ref_ngrams"]
    where = {text: number for number, text in enumerate(distinct)}
    rows = np.array([where[text] for text in texts], dtype=np.int64)
    orders = []
    for order in range(scorer.order):
        columns: dict[str, int] = {}
        indices = [columns.setdefault(gram, len(columns)) for counts in found for gram in counts[order]]
        data = [count for counts in found for count in counts[order].values()]
        starts = np.cumsum([0, *(len(counts[order]) for counts in found)])
        shape = (len(distinct), max(1, len(columns)))
        orders.append(csr_array((np.array(data, dtype=float), indices, starts), shape=shape)[rows])
    return orders


def _levels(counts: Any) -> Any:
    """Counts as 0/1 columns, one for each repetition of an n-gram: dot products then sum the smaller counts."""
    from scipy.sparse import csr_array

    times = counts.data.astype(np.int64)
    ends = np.cumsum(times)
    level = np.arange(times.sum()) - np.repeat(ends - times, times)
    width = counts.shape[1]
    indices = np.repeat(counts.indices, times) + width * level
    starts = np.concatenate([[0], ends])[counts.indptr]
    shape = (counts.shape[0], width * int(times.max(initial=1)))
    return csr_array((np.ones(len(indices)), indices, starts), shape=shape)


def f_scores(candidate: Array, reference: Array, match: Array) -> Array:
    """F scores [...] of n-gram counts [..., orders]; precision and recall are means over orders both texts have."""
    both = (candidate > 0) & (reference > 0)
    used = np.maximum(1, both.sum(axis=-1))
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.where(both, match / candidate, 0.0).sum(axis=-1) / used
        recall = np.where(both, match / reference, 0.0).sum(axis=-1) / used
        score = (1 + _BETA**2) * precision * recall / (_BETA**2 * precision + recall)
    scores: Array = np.where(precision + recall > 0, 100 * score, 0.0)
    return scores
