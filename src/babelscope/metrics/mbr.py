"""Minimum Bayes risk decoding: of a source's samples the one that is, on average, most like all of them.

Eikema and Aziz (2020): the samples are the candidates, and each stands for a reference as often as it was drawn;
itself included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from babelscope.metrics.chrf import Array, pairwise_chrf
from babelscope.util.errors import BabelscopeError

# Sums of the same utilities in another order differ by less, on a scale of 0 to 100.
_ROUNDING = 1e-9

Expected = Callable[[Sequence[str], Sequence[str]], Array]
"""The expected utility of each candidate, were the truth one of the references, each as likely [candidates]."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen, of how many."""

    number: int
    """Of the first sample that has the chosen text."""
    text: str
    utility: float
    n: int


def quadratic(utility: Callable[[Sequence[str], Sequence[str]], Array] = pairwise_chrf) -> Expected:
    """Compare everything with everything; `utility` gives a matrix [candidates, references]."""

    def expected(candidates: Sequence[str], references: Sequence[str]) -> Array:
        distinct = list(dict.fromkeys(references))
        where = {text: number for number, text in enumerate(distinct)}
        weights = np.bincount([where[text] for text in references]) / len(references)
        answer: Array = utility(candidates, distinct) @ weights
        return answer

    return expected


def of_pairs(quality: Callable[[Sequence[str], Sequence[str]], Sequence[float]]) -> Expected:
    """Any quality function of translations and their references, one score a pair, as an expected utility."""

    def utility(candidates: Sequence[str], references: Sequence[str]) -> Array:
        pairs = [(candidate, reference) for candidate in candidates for reference in references]
        scores = quality([candidate for candidate, _ in pairs], [reference for _, reference in pairs])
        return np.asarray(scores, dtype=float).reshape(len(candidates), len(references))

    return quadratic(utility)


def mbr_decode(samples: Sequence[str], expected: Expected | None = None) -> Choice:
    """The sample of highest expected utility, the first drawn of several; by default chrF, all against all.

    `babelscope.metrics.chrf.aggregated_chrf` is an `expected` that takes linear time.
    """
    if not samples:
        raise BabelscopeError("minimum Bayes risk decoding needs at least one sample")
    distinct = list(dict.fromkeys(samples))
    utilities = (expected or quadratic())(distinct, samples)
    best = int(np.argmax(utilities >= utilities.max() - _ROUNDING))
    return Choice(samples.index(distinct[best]), distinct[best], float(utilities[best]), len(samples))
