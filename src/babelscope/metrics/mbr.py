"""Minimum Bayes risk decoding: choose the sample that is, on average, most similar to all samples.

As in Eikema and Aziz (2020), samples are both candidates and references, each as often as it was drawn; a
candidate is compared with itself too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from babelscope.metrics.base import Array, Metric, find_metric
from babelscope.util.errors import BabelscopeError

# Summing the same utilities (0 to 100) in another order changes a sum by less; such candidates are tied.
_ROUNDING = 1e-9

Expected = Callable[[Sequence[str], Sequence[str]], Array]
"""(candidates, references) -> expected utility [candidates], with all references equally likely."""


@dataclass(frozen=True, slots=True)
class MbrChoice:
    """The sample chosen from `n`, and its expected utility."""

    number: int
    """Index of the first sample with the chosen text."""
    text: str
    utility: float
    n: int


def expected_utility(metric: str | Metric = "chrf", *, source: str = "") -> Expected:
    """Expected utility by comparing every candidate with every reference; metrics where lower is better are negated.

    `source` is the common source, for metrics that read it.
    """
    found = find_metric(metric)

    def expected(candidates: Sequence[str], references: Sequence[str]) -> Array:
        distinct = list(dict.fromkeys(references))
        where = {text: number for number, text in enumerate(distinct)}
        weights = np.bincount([where[text] for text in references]) / len(references)
        answer: Array = found.pairwise(candidates, distinct, source) @ weights
        return answer if found.scale.better == "higher" else -answer

    return expected


def mbr_decode(samples: Sequence[str], expected: Expected | None = None) -> MbrChoice:
    """The sample with the highest expected utility, the first of equals; by default pairwise chrF.

    `babelscope.metrics.chrf.aggregated_chrf` can be used as `expected`, in linear time.
    """
    if not samples:
        raise BabelscopeError("minimum Bayes risk decoding needs at least one sample")
    distinct = list(dict.fromkeys(samples))
    utilities = (expected or expected_utility())(distinct, samples)
    best = int(np.argmax(utilities >= utilities.max() - _ROUNDING))
    return MbrChoice(samples.index(distinct[best]), distinct[best], float(utilities[best]), len(samples))
