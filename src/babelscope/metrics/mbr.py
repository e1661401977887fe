"""Minimum Bayes risk decoding: choose the candidate that is, on average, most similar to all candidates.

As in Eikema and Aziz (2020), samples are both candidates and references, each as often as it was drawn; a
candidate is compared with itself too. Hypotheses of a list can be weighed by their probabilities instead (Kumar and
Byrne 2004).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from babelscope.metrics.aggregation import aggregated_chrf
from babelscope.metrics.base import Array, Metric, find_metric
from babelscope.metrics.chrf import Chrf
from babelscope.util.errors import BabelscopeError

# Summing the same utilities (0 to 100) in another order changes a sum by less; such candidates are tied.
_ROUNDING = 1e-9

Expected = Callable[[Sequence[str], Sequence[str]], Array]
"""(candidates, references) -> expected utility [candidates]."""


@dataclass(frozen=True, slots=True)
class MbrChoice:
    """The candidate chosen from `n`, and its expected utility on the metric's scale, negated if lower is better."""

    number: int
    """Index of the first candidate with the chosen text."""
    text: str
    utility: float
    n: int
    distinct: int = 0
    """Different texts among the `n`."""
    tied: int = 0
    """Other texts of the same expected utility; the first of equals is chosen."""


def expected_utility(
    metric: str | Metric = "chrf",
    *,
    source: str = "",
    weights: Sequence[float] | None = None,
    parts: int = 0,
) -> Expected:
    """Expected utility by a metric; metrics where lower is better are negated.

    Every candidate is compared with every reference, or with the mean n-gram counts of so many `parts` of the
    references, in linear time, which chrF and chrF++ allow. `source` is the common source, for metrics that read it;
    `weights` are those of the references, equal if not given.
    """
    found = find_metric(metric)
    if not found.reads_references:
        raise BabelscopeError(
            f"{found.name} reads no reference, so it cannot compare candidates with each other: it is no utility"
        )
    if parts and not isinstance(found, Chrf):
        raise BabelscopeError(f"{found.name} has no linear-time form; only chrf and chrf++ have one")

    def expected(candidates: Sequence[str], references: Sequence[str]) -> Array:
        if weights is not None and len(weights) != len(references):
            raise BabelscopeError(f"{len(weights)} weights cannot be those of {len(references)} candidates")
        if parts:
            order = found.options["word_order"] if isinstance(found, Chrf) else 0
            return aggregated_chrf(candidates, references, word_order=order, parts=parts, weights=weights)
        distinct = list(dict.fromkeys(references))
        where = {text: number for number, text in enumerate(distinct)}
        sums = np.bincount([where[text] for text in references], weights)
        answer: Array = found.pairwise(candidates, distinct, source) @ (sums / sums.sum())
        return answer if found.scale.better == "higher" else 0.0 - answer

    return expected


def mbr_decode(samples: Sequence[str], expected: Expected | None = None) -> MbrChoice:
    """The candidate with the highest expected utility, the first of equals; by default pairwise chrF."""
    if not samples:
        raise BabelscopeError("minimum Bayes risk decoding needs at least one sample")
    distinct = list(dict.fromkeys(samples))
    utilities = (expected or expected_utility())(distinct, samples)
    among_best = utilities >= utilities.max() - _ROUNDING
    best = int(np.argmax(among_best))
    return MbrChoice(
        samples.index(distinct[best]),
        distinct[best],
        float(utilities[best]),
        len(samples),
        distinct=len(distinct),
        tied=int(among_best.sum()) - 1,
    )


def probability_weights(logprobs: Sequence[float]) -> list[float]:
    """Probabilities of hypotheses from their log-probabilities, as if there were no others."""
    if not logprobs or max(logprobs) == -math.inf:
        raise BabelscopeError("no candidate has a probability above 0, so they cannot be weighed by it")
    best = max(logprobs)
    ratios = [math.exp(each - best) for each in logprobs]
    return [each / math.fsum(ratios) for each in ratios]
