"""The probability of a string, summed over its segmentations into the tokens of a vocabulary.

A model gives probabilities to sequences of tokens, and many sequences are one string: P(string) is the sum over
all of them (Cao and Rimell 2021). Prefixes of segmentations are expanded best first, so that the sum of what is
found is a lower bound that grows quickly, and the probability itself once no prefix is left.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from babelscope.decoding.model import Array, OpenModel

Ids = tuple[int, ...]

# Prefixes expanded at once.
_AT_ONCE = 32
_LEAST = 100
# What an impossible token of the usual segmentation counts in estimates, in nats.
_LOWEST = -1e4


class Pieces:
    """The tokens of a vocabulary by the bytes that they stand for."""

    def __init__(self, surfaces: Mapping[int, bytes]) -> None:
        self.surfaces = surfaces
        self._ids: dict[bytes, list[int]] = {}
        for token, surface in surfaces.items():
            if surface:  # tokens of no bytes could be repeated without end
                self._ids.setdefault(surface, []).append(token)
        self._longest = max(map(len, self._ids), default=0)

    def at(self, text: bytes, place: int) -> Iterator[tuple[int, int]]:
        """Tokens that stand at `place` of `text`, each with the place after it."""
        for end in range(place + 1, min(place + self._longest, len(text)) + 1):
            for token in self._ids.get(text[place:end], ()):
                yield token, end


@dataclass(frozen=True, slots=True)
class _Prefix:
    """The beginning of segmentations, of which all but the last token were fed."""

    ids: Ids
    place: int
    """How much of the string it is, in bytes."""
    total: float
    """Log-probability."""
    node: int
    """The memory's node that its last token is fed after."""


def find_segmentations(
    model: OpenModel,
    source: Sequence[int],
    usual: Sequence[int],
    logprobs: Sequence[float],
    pieces: Pieces,
    *,
    n: int,
) -> tuple[dict[Ids, float], bool]:
    """Segmentations of the string of `usual` (ids with EOS) with their log-probabilities, and whether these are all.

    The search stops after `n`, or after `n` times (at least 100 times) as many prefixes as the usual one has. That
    one, whose tokens have the log-probabilities `logprobs`, is always found. What is impossible is left out.
    """
    vocabulary = model.vocabulary
    text = b"".join(pieces.surfaces.get(token, b"") for token in usual[:-1])
    rest = _estimates(usual, logprobs, pieces, len(text))
    following = [list(pieces.at(text, place)) for place in range(len(text) + 1)]
    found = {tuple(usual): math.fsum(logprobs)}
    memory = model.encode([source])
    node = 0
    for token in vocabulary.prefix[:-1]:
        model.step(memory, [node], [token])
        node = memory.size - 1
    heap = [(-rest[0], 0, _Prefix((), 0, 0.0, node))]
    number, left = 0, max(n, _LEAST) * len(usual)
    while heap and left > 0 and len(found) < n:
        some = [heapq.heappop(heap)[2] for _ in range(min(len(heap), left, _AT_ONCE))]
        left -= len(some)
        first = memory.size
        fed = [each.ids[-1] if each.ids else vocabulary.prefix[-1] for each in some]
        logs = model.step(memory, [each.node for each in some], fed).cpu().numpy()
        for row, each in enumerate(some):
            if each.place == len(text):
                total = each.total + float(logs[row, vocabulary.eos])
                if total > -math.inf:
                    found.setdefault((*each.ids, vocabulary.eos), total)
            if vocabulary.target_limit is not None and len(each.ids) + 2 > vocabulary.target_limit:
                continue
            for token, end in following[each.place]:
                total = each.total + float(logs[row, token])
                if total > -math.inf:
                    number += 1
                    grown = _Prefix((*each.ids, token), end, total, first + row)
                    heapq.heappush(heap, (-total - rest[end], number, grown))
    return found, not heap


def _estimates(usual: Sequence[int], logprobs: Sequence[float], pieces: Pieces, size: int) -> Array:
    """What the string from each place on may cost [size + 1]: what the usual tokens do, in proportion to bytes."""
    ends = np.cumsum([0, *(len(pieces.surfaces.get(token, b"")) for token in usual[:-1])])
    after = np.cumsum([max(each, _LOWEST) for each in logprobs][::-1])[::-1]
    estimates: Array = np.interp(np.arange(size + 1), ends, after)
    return estimates


def sum_probabilities(logs: Sequence[float]) -> float:
    """Natural log of the sum of probabilities given as natural logs."""
    return float(np.logaddexp.reduce(np.array(logs, dtype=np.float64)))
