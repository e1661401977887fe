"""RIBES: word order by rank correlation (Isozaki et al., EMNLP 2010), as the official program 1.03 defines it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from babelscope.errors import BabelscopeError

ALPHA, BETA = 0.25, 0.10
"""Exponents of unigram precision and of the brevity penalty: the official defaults."""

Words = Sequence[str]


def corpus_ribes(hypotheses: Sequence[Words], references: Sequence[Sequence[Words]]) -> float:
    """Mean of the sentences' scores, 0 to 1; NaN without a sentence."""
    if len(hypotheses) != len(references):
        raise BabelscopeError(
            f"{len(hypotheses)} hypotheses cannot be held against {len(references)} references"
        )
    scores = [sentence_ribes(*pair) for pair in zip(hypotheses, references, strict=True)]
    return math.fsum(scores) / len(scores) if scores else math.nan


def sentence_ribes(hypothesis: Words, references: Sequence[Words]) -> float:
    """RIBES of one sentence of words against its best reference, 0 to 1; 0 for an empty hypothesis."""
    if not references or not all(references):
        raise BabelscopeError("RIBES needs at least one reference, and words in each")
    return max(_against(list(hypothesis), list(reference)) for reference in references)


def _against(hypothesis: list[str], reference: list[str]) -> float:
    """Normalised Kendall's tau of the aligned words, times precision ** alpha and brevity penalty ** beta."""
    places = [
        place for at in range(len(hypothesis)) if (place := _align(at, hypothesis, reference)) is not None
    ]
    pairs = list(itertools.combinations(places, 2))
    if pairs:
        tau = sum(first < second for first, second in pairs) / len(pairs)
    else:  # one word has no order: right if it is all there is to say, else nothing is known
        tau = float(len(places) == 1 and len(reference) == 1)
    if not tau:
        return 0.0
    brevity = min(1.0, math.exp(1 - len(reference) / len(hypothesis)))
    return float(tau * (len(places) / len(hypothesis)) ** ALPHA * brevity**BETA)


def _align(at: int, hypothesis: list[str], reference: list[str]) -> int | None:
    """Where the word stands in the reference, if it or its shortest telling context occurs once on both sides.

    Contexts grow word by word; at each length the one to the left is tried before the one to the right.
    """
    if hypothesis[at] not in reference:
        return None
    for more in range(max(at, len(hypothesis) - 1 - at) + 1):
        for start, end in ((at - more, at + 1), (at, at + more + 1)):
            if start < 0 or end > len(hypothesis):
                continue
            context = hypothesis[start:end]
            if (
                len(_occurrences(context, hypothesis)) == 1
                and len(there := _occurrences(context, reference)) == 1
            ):
                return there[0] + at - start
    return None


def _occurrences(context: list[str], words: list[str]) -> list[int]:
    """Where it begins, overlapping ones included."""
    size = len(context)
    return [
        at
        for at in range(len(words) - size + 1)
        if words[at] == context[0] and words[at : at + size] == context
    ]
