"""Minimum Bayes risk decoding: choose the candidate that is, on average, most similar to all candidates.

As in Eikema and Aziz (2020), samples are both candidates and references, each as often as it was drawn; a
candidate is compared with itself too. Hypotheses of a list can be weighed by their probabilities instead (Kumar and
Byrne 2004).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from babelscope.metrics.base import Array, Metric, find_metric
from babelscope.metrics.chrf import CHAR_ORDER, Chrf, f_scores, word_symbols
from babelscope.util.errors import BabelscopeError


def aggregated_chrf(
    candidates: Sequence[str],
    references: Sequence[str],
    *,
    word_order: int = 0,
    parts: int = 1,
    weights: Sequence[float] | None = None,
) -> Array:
    """chrF of each candidate [candidates] against the mean of all references' n-gram counts.

    An approximation of the mean over `pairwise_chrf`. With several `parts`, the references are split into that many,
    and the scores of the parts are averaged (partial aggregation). `weights` are those of the references, equal if
    not given; chrF++ with word_order=2.
    """
    distinct = list(dict.fromkeys([*candidates, *references]))
    where = {text: number for number, text in enumerate(distinct)}
    shares, means = _parts([where[text] for text in references], len(distinct), parts, weights)
    written = ["".join(text.split()) for text in distinct]
    characters = np.frombuffer("".join(written).encode("utf-32-le"), np.uint32)
    found = list(_matches(characters, np.array(list(map(len, written))), CHAR_ORDER, means))
    if word_order:
        words = word_symbols(distinct)
        found += _matches(np.concatenate(words), np.array(list(map(len, words))), word_order, means)
    matches = [match for match, _ in found]
    counts = np.stack([total for _, total in found], axis=-1).astype(float)
    scores = [
        f_scores(counts, (mean @ counts)[None], np.stack([match[part] for match in matches], axis=-1))
        for part, mean in enumerate(means)
    ]
    means_of_parts: Array = shares @ np.stack(scores)
    return means_of_parts[[where[text] for text in candidates]]


def _parts(
    references: Sequence[int], texts: int, parts: int, weights: Sequence[float] | None
) -> tuple[Array, Array]:
    """The share of each part [parts], and in each the shares of all texts among its references [parts, texts]."""
    numbers = np.asarray(references)
    own = np.ones(len(numbers)) if weights is None else np.asarray(weights, dtype=float)
    borders = np.linspace(0, len(numbers), min(parts, len(numbers)) + 1).round().astype(int)
    sums = np.stack(
        [np.bincount(numbers[a:b], weights=own[a:b], minlength=texts) for a, b in pairwise(borders)]
    )
    sums = sums[sums.sum(axis=1) > 0]  # a part may have references without weight only
    sizes = sums.sum(axis=1)
    return sizes / sizes.sum(), sums / sizes[:, None]


def _matches(codes: Array, lengths: Array, order: int, means: Array) -> Iterator[tuple[Array, Array]]:
    """For each order up to `order`: n-grams that texts share with the mean of each part [parts, texts], and of all.

    A text shares of each n-gram the smaller of its own count and the mean count. `codes` are the symbols of all
    texts, one text after the other, `lengths` how many each has.
    """
    seen = np.zeros(int(codes.max(initial=0)) + 1, dtype=bool)
    seen[codes] = True
    kinds = int(seen.sum())
    # NumPy sorts whole numbers of one or two bytes in linear time.
    symbols = (np.cumsum(seen) - 1)[codes].astype(np.min_scalar_type(kinds))
    text = np.repeat(np.arange(len(lengths)), lengths)
    # The symbol before each position; where a text begins, a number that is sorted last.
    before = np.full_like(symbols, kinds)
    before[1:] = np.where(text[1:] == text[:-1], symbols[:-1], kinds)
    at = np.arange(len(codes)) + 1  # where n-grams of the order before begin, sorted by n-gram, then by text
    gram = np.zeros_like(at)  # the numbers of these n-grams
    for n in range(1, order + 1):
        total = np.maximum(lengths - (n - 1), 0)
        size = int(total.sum())
        if not size:
            yield np.zeros((len(means), len(lengths))), total
            continue
        # Each n-gram grows by the symbol before it. A stable sort by that puts equal ones side by side, texts in
        # order, and those without one last.
        symbol = before.take(at) if n > 1 else symbols
        sort = np.argsort(symbol, kind="stable")[:size]
        at, rest, symbol = at.take(sort) - 1, gram.take(sort), symbol.take(sort)
        begins = np.ones(size + 1, dtype=bool)
        begins[1:-1] = (rest[1:] != rest[:-1]) | (symbol[1:] != symbol[:-1])
        gram = np.cumsum(begins[:-1])
        own = text.take(at)
        begins[1:-1] |= own[1:] != own[:-1]
        borders = np.flatnonzero(begins)  # between the n-grams, and between the texts of each
        counts = np.diff(borders)
        own, which = own.take(borders[:-1]), gram.take(borders[:-1])
        shared = []
        for mean in means:
            expected = np.bincount(which, counts * mean.take(own)).take(which)
            shared.append(np.bincount(own, np.minimum(counts, expected), minlength=len(lengths)))
        yield np.stack(shared), total


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
