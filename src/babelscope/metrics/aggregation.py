"""Reference aggregation for chrF: each candidate against the mean n-gram counts of all references, in linear time.

DeNero et al. (2009), Vamvas and Sennrich (2024). N-grams get whole numbers, order by order, by sorting the n-grams of
the order before by the symbol before them; everything else is sums over arrays of positions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from babelscope.metrics.base import Array
from babelscope.metrics.chrf import CHAR_ORDER, f_scores, word_symbols


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
