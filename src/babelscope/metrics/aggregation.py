"""Reference aggregation for chrF: each candidate against the mean n-gram counts of all references, in linear time.

DeNero et al. (2009), Vamvas and Sennrich (2024). N-grams get whole numbers, order by order, by sorting the n-grams of
the order before by their next symbol; everything else is sums over arrays of positions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from babelscope.metrics.base import Array
from babelscope.metrics.chrf import CHAR_ORDER, f_scores, word_symbols

# NumPy sorts whole numbers of two bytes in linear time.
_SHORT = 2**16


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
    symbols = (np.cumsum(seen) - 1)[codes]
    if len(symbols) < _SHORT:
        symbols = symbols.astype(np.uint16)
    text = np.repeat(np.arange(len(lengths)), lengths)
    ends = np.argsort(symbols, kind="stable")  # of n-grams, sorted by their last symbol
    offsets = (np.arange(len(codes)) - np.repeat(np.cumsum(lengths) - lengths, lengths))[ends]
    prefix = np.zeros_like(symbols)  # at each position the number of the n-gram of the order before
    for n in range(1, order + 1):
        if n > 1:
            within = offsets >= n - 1
            ends, offsets = ends[within], offsets[within]
        total = np.maximum(lengths - (n - 1), 0)
        if not len(ends):
            yield np.zeros((len(means), len(lengths))), total
            continue
        # A stable sort by prefix puts equal n-grams side by side, texts in order.
        sort = np.argsort(prefix[ends - (n - 1)], kind="stable")
        last = ends[sort]
        at = last - (n - 1)
        before, final, own = prefix[at], symbols[last], text[at]
        gram_begins = np.ones(len(at), dtype=bool)
        gram_begins[1:] = (before[1:] != before[:-1]) | (final[1:] != final[:-1])
        gram = np.cumsum(gram_begins) - 1
        prefix[at] = gram
        text_begins = gram_begins.copy()
        text_begins[1:] |= own[1:] != own[:-1]
        first = np.flatnonzero(text_begins)
        counts = np.diff(first, append=len(at)).astype(float)
        starts = np.flatnonzero(gram_begins)
        shared = []
        for mean in means:
            expected = np.add.reduceat(mean[own], starts)[gram[first]]
            shared.append(np.bincount(own[first], np.minimum(counts, expected), minlength=len(lengths)))
        yield np.stack(shared), total
