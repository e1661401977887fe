"""RIBES: word order by rank correlation (Isozaki et al., EMNLP 2010), as defined by the official script 1.03."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from babelscope.metrics.base import Metric, References, Scale, Texts
from babelscope.util.errors import BabelscopeError

ALPHA, BETA = 0.25, 0.10
"""Exponents of unigram precision and of the brevity penalty: the official defaults."""

Words = Sequence[str]

# Words of a context: bounds the time of texts that repeat a word thousands of times.
_LONGEST = 300


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
    """RIBES of a tokenized hypothesis, from 0 to 1: the maximum over its references; 0 for an empty hypothesis."""
    if not references or not all(references):
        raise BabelscopeError("RIBES needs at least one reference, and words in each")
    return max(_score(list(hypothesis), list(reference)) for reference in references)


def _score(hypothesis: list[str], reference: list[str]) -> float:
    """Normalized Kendall's tau of the aligned words, times precision ** alpha and brevity penalty ** beta."""
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

    A context is the word with its neighbors on one side; contexts grow by a word at a time, and the left one is
    tried before the right one.
    """
    found: dict[int, int] = {}
    pending: Sequence[int] = range(len(hypothesis))
    # The context that begins at each position, as a number once it is longer than a word.
    here: Sequence[Hashable] = hypothesis
    there: Sequence[Hashable] = reference
    for size in range(1, _LONGEST + 1):
        own, known = _unique_starts(here), _unique_starts(there)
        undecided = []
        for at in pending:
            starts = [start for start in (at - size + 1, at) if 0 <= start < len(here)]
            for start in starts:
                if own[here[start]] >= 0 and (place := known.get(here[start], -1)) >= 0:
                    found[at] = place + at - start
                    break
            else:
                # If the reference lacks a context, it lacks all longer ones that contain it.
                if any(here[start] in known for start in starts):
                    undecided.append(at)
        if not (pending := undecided):
            break
        numbers: dict[tuple[Hashable, str], int] = {}
        here, there = (
            [numbers.setdefault(longer, len(numbers)) for longer in zip(names, words[size:], strict=False)]
            for names, words in ((here, hypothesis), (there, reference))
        )
    return [found[at] for at in sorted(found)]


def _unique_starts(contexts: Sequence[Hashable]) -> dict[Hashable, int]:
    """Start of each context; -1 if it occurs several times."""
    places: dict[Hashable, int] = {}
    for start, context in enumerate(contexts):
        places[context] = -1 if context in places else start
    return places
