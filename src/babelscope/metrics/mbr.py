"""Minimum Bayes risk decoding: of a source's samples the one that is, on average, most like all of them.

Eikema and Aziz (2020): the samples are the candidates, and each stands for a reference as often as it was drawn;
itself included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from babelscope.metrics.base import Array, Metric, find_metric
from babelscope.util.errors import BabelscopeError

# Sums of the same utilities in another order differ by less, on a scale of 0 to 100.
_ROUNDING = 1e-9

Expected = Callable[[Sequence[str], Sequence[str]], Array]
"""The expected utility of each candidate, were the truth one of the references, each as likely [candidates]."""


@dataclass(frozen=True, slots=True)
class Choice:
    number: int
    """Of the first sample that has the chosen text."""
    text: str
    utility: float
    n: int


def expected_utility(metric: str | Metric = "chrf", *, source: str = "") -> Expected:
    """Every candidate compared with every reference by any metric; lower is better counts negatively.

    `source` is what all of them translate, for metrics that read it.
    """
    found = find_metric(metric)

    def expected(candidates: Sequence[str], references: Sequence[str]) -> Array:
        distinct = list(dict.fromkeys(references))
        where = {text: number for number, text in enumerate(distinct)}
        weights = np.bincount([where[text] for text in references]) / len(references)
        answer: Array = found.pairwise(candidates, distinct, source) @ weights
        return answer if found.scale.better == "higher" else -answer

    return expected


def mbr_decode(samples: Sequence[str], expected: Expected | None = None) -> Choice:
    """The sample of highest expected utility, the first drawn of several; by default of chrF, all against all.

    `babelscope.metrics.chrf.aggregated_chrf` is an `expected` that takes linear time.
    """
    if not samples:
        raise BabelscopeError("minimum Bayes risk decoding needs at least one sample")
    distinct = list(dict.fromkeys(samples))
    utilities = (expected or expected_utility())(distinct, samples)
    best = int(np.argmax(utilities >= utilities.max() - _ROUNDING))
    return Choice(samples.index(distinct[best]), distinct[best], float(utilities[best]), len(samples))
