"""RIBES: word order by rank correlation (Isozaki et al., EMNLP 2010), as defined by the official script 1.03."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass

from babelscope.metrics.base import Metric, References, Scale, Texts
from babelscope.util.errors import BabelscopeError

ALPHA, BETA = 0.25, 0.10
"""Exponents of unigram precision and of the brevity penalty: the official defaults."""

Words = Sequence[str]

_SHORT = 4  # contexts of up to so many words are found by counting, longer ones in a suffix array


@dataclass(frozen=True)
class Ribes(Metric):
    """RIBES, cased, on 13a tokens unless told otherwise; a corpus score is the mean over sentences."""

    def sentence(self, hypotheses: Texts, references: References, sources: Texts = ()) -> list[float]:  # noqa: ARG002
        """RIBES of each hypothesis against its best reference; `sources` are not read."""
        self.check_words(references)
        split = self.splitter.split
        return [
            sentence_ribes(split(text), [split(each) for each in own])
            for text, own in zip(hypotheses, references, strict=True)
        ]


METRIC = Ribes("ribes", Scale(0, 1, "higher", "share"), words_by="13a")


def sentence_ribes(hypothesis: Words, references: Sequence[Words]) -> float:
    """RIBES of a tokenised hypothesis, from 0 to 1: the maximum over its references; 0 for an empty hypothesis."""
    if not references or not all(references):
        raise BabelscopeError("RIBES needs at least one reference, and words in each")
    return max(_score(list(hypothesis), list(reference)) for reference in references)


def _score(hypothesis: list[str], reference: list[str]) -> float:
    """Normalised Kendall's tau of the aligned words, times precision ** alpha and brevity penalty ** beta."""
    places = _align(hypothesis, reference)
    pairs = len(places) * (len(places) - 1) // 2
    # One aligned word has no order: 1 if the reference has one word too, else 0.
    tau = _count_ascending(places) / pairs if pairs else float(len(places) == 1 and len(reference) == 1)
    if not tau:
        return 0.0
    brevity = min(1.0, math.exp(1 - len(reference) / len(hypothesis)))
    return float(tau * (len(places) / len(hypothesis)) ** ALPHA * brevity**BETA)


def _count_ascending(places: Sequence[int]) -> int:
    """How many pairs of positions are in ascending order."""
    seen: list[int] = []
    count = 0
    for place in places:
        count += bisect_left(seen, place)
        insort(seen, place)
    return count


def _align(hypothesis: list[str], reference: list[str]) -> list[int]:
    """Positions in the reference of words that are aligned by a context which is unique on both sides.

    A context is the word with its neighbours on one side; contexts grow by a word at a time, and the left one is
    tried before the right one. Short contexts are found by counting; if these do not suffice, a suffix array is
    used for all.
    """
    found: dict[int, int] = {}
    pending: Sequence[int] = range(len(hypothesis))
    for size in range(1, _SHORT + 1):
        here, there = _unique_starts(hypothesis, size), _unique_starts(reference, size)
        undecided = []
        for at in pending:
            contexts = [
                (tuple(hypothesis[start : start + size]), start)
                for start in (at - size + 1, at)
                if 0 <= start <= len(hypothesis) - size
            ]
            for context, start in contexts:
                if here[context] >= 0 and (place := there.get(context, -1)) >= 0:
                    found[at] = place + at - start
                    break
            else:
                # If the reference lacks a context, it lacks all longer ones that contain it.
                if any(context in there for context, _ in contexts):
                    undecided.append(at)
        if not undecided:
            return [found[at] for at in sorted(found)]
        pending = undecided
    return _align_by_suffixes(hypothesis, reference)


def _unique_starts(words: list[str], size: int) -> dict[tuple[str, ...], int]:
    """Start of each context of `size` words; -1 if it occurs several times."""
    places: dict[tuple[str, ...], int] = {}
    for start, context in enumerate(zip(*(words[offset:] for offset in range(size)), strict=False)):
        places[context] = -1 if context in places else start
    return places


def _align_by_suffixes(hypothesis: list[str], reference: list[str]) -> list[int]:
    """As `_align`, for contexts of any length."""
    right = _shortest_contexts(hypothesis, reference)
    left = _shortest_contexts(hypothesis[::-1], reference[::-1])
    found = []
    for (size, place), (left_size, left_place) in zip(right, reversed(left), strict=True):
        if min(size, left_size) < math.inf:
            found.append(len(reference) - 1 - left_place if left_size <= size else place)
    return found


def _shortest_contexts(hypothesis: list[str], reference: list[str]) -> list[tuple[float, int]]:
    """For each word the shortest context to the right that is unique on both sides: (length, start in the reference).

    The length is infinite if there is none. Contexts are prefixes of suffixes, and suffixes with a common prefix
    are neighbours in the suffix array; so no contexts are compared one by one, which would take cubic time.
    """
    n = len(hypothesis)
    numbers: dict[str, int] = {}
    words = [numbers.setdefault(word, len(numbers)) for word in (*hypothesis, *reference)]
    words.insert(n, len(numbers))  # a separator, so that no prefix crosses the border
    order = _sorted_suffixes(words)
    common = _common_prefixes(words, order)
    # Longest prefix that each suffix of the hypothesis shares with another one of the hypothesis (own), and with the
    # best (longest) and second best (second) of the reference; place is the start of the best.
    own, longest, second, place = ([0] * n for _ in range(4))
    for ranks, step in ((range(len(order)), 0), (range(len(order) - 1, -1, -1), 1)):
        shared = near = far = at = 0
        for rank in ranks:
            head = common[rank + step]
            shared, near, far = min(shared, head), min(near, head), min(far, head)
            start = order[rank]
            if start > n:
                near, far, at = len(words), near, start
            elif start < n:
                own[start] = max(own[start], shared)
                shared = len(words)
                if near > longest[start]:
                    second[start] = max(longest[start], far)
                    longest[start], place[start] = near, at
                else:
                    second[start] = max(second[start], near)
    sizes = (max(pair) + 1 for pair in zip(own, second, strict=True))
    return [
        (size if size <= most else math.inf, there - n - 1)
        for size, most, there in zip(sizes, longest, place, strict=True)
    ]


def _sorted_suffixes(words: Sequence[int]) -> list[int]:
    """The suffix array of a list, by prefix doubling (Manber and Myers 1990)."""
    rank, size = list(words), 1
    while True:
        after = [*(each + 1 for each in rank[size:]), *itertools.repeat(0, min(size, len(rank)))]
        keys = [here * (len(words) + 1) + then for here, then in zip(rank, after, strict=True)]
        ranked = {key: place for place, key in enumerate(sorted(set(keys)))}
        rank = [ranked[key] for key in keys]
        if len(ranked) == len(words):
            return sorted(range(len(words)), key=rank.__getitem__)
        size *= 2


def _common_prefixes(words: Sequence[int], order: Sequence[int]) -> list[int]:
    """Length of the common prefix of each sorted suffix with the one before; 0 at both ends (Kasai et al. 2001)."""
    rank = [0] * len(words)
    for place, start in enumerate(order):
        rank[start] = place
    common = [0] * (len(words) + 1)
    size = 0
    for start in range(len(words)):
        if not rank[start]:
            size = 0
            continue
        before = order[rank[start] - 1]
        end = len(words) - max(start, before)
        while size < end and words[start + size] == words[before + size]:
            size += 1
        common[rank[start]] = size
        size = max(0, size - 1)
    return common
