"""Reordering of a sentence pair, measured by its word alignment (long-distance paper, section 4.1)."""

from __future__ import annotations

import math
from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from babelscope.language.align import Links
from babelscope.language.ud_rules import Instance

DIFFERENCE, NORMALIZED, CROSSING = "reordering", "reordering_normalized", "reordering_crossing"
PHENOMENA = (DIFFERENCE, NORMALIZED, CROSSING)
LABELS = {
    DIFFERENCE: "words far out of order",
    NORMALIZED: "words out of order for the length",
    CROSSING: "words in crossing order",
}
"""The measures in plain words, for a reader who has not read the papers."""
UNITS = {
    DIFFERENCE: "positions apart",
    NORMALIZED: "words off the diagonal",
    CROSSING: "links crossed",
}
"""What the distance of each measure counts."""


@dataclass(frozen=True, slots=True)
class LinkDistance:
    """A link (positions from 0) and a measure of how far it is out of order."""

    source: int
    target: int
    measure: float


@dataclass(frozen=True, slots=True)
class Order:
    """Measures of the reordering of a pair; None where there are too few links."""

    difference: LinkDistance | None
    """The link with the greatest |i - j|, the paper's measure, in words; unequal lengths alone make it large."""
    normalized: LinkDistance | None
    """The link farthest from the diagonal between the sentences' ends, in words of a sentence of mean length."""
    crossing: LinkDistance | None
    """The link that crosses most others, with their number."""
    tau: float | None
    """Kendall's tau-b of the positions of all links: 1 without a crossing, -1 for a reversed sentence."""


def measure_order(links: Links, source_length: int, target_length: int) -> Order:
    """All measures of a sentence pair; lengths in words."""
    points = sorted(set(links))
    if not points:
        return Order(None, None, None, None)
    last_source, last_target = source_length - 1, target_length - 1
    mean = (last_source + last_target) / 2
    # With one word on a side there is no diagonal; its links count as being on it.
    scale_source = mean / last_source if last_source and last_target else 0.0
    scale_target = mean / last_target if last_source and last_target else 0.0
    far = max(points, key=lambda link: abs(link[0] - link[1]))
    off = max(points, key=lambda link: abs(link[0] * scale_source - link[1] * scale_target))
    crossed, pairs = _crossings(points)
    most = max(range(len(points)), key=crossed.__getitem__)
    return Order(
        LinkDistance(*far, abs(far[0] - far[1])),
        LinkDistance(*off, round(abs(off[0] * scale_source - off[1] * scale_target), 9)),
        LinkDistance(*points[most], crossed[most]),
        _tau(points, pairs),
    )


def _crossings(points: Sequence[tuple[int, int]]) -> tuple[list[int], int]:
    """How many others each link crosses, and the number of crossing pairs; links that share a word do not cross."""
    # Points are sorted: a link crosses earlier ones with a greater target, and later ones with a lesser.
    crossed = [0] * len(points)
    seen: list[int] = []
    for place, (_, target) in enumerate(points):
        crossed[place] = len(seen) - bisect_right(seen, target)
        insort(seen, target)
    pairs = sum(crossed)
    if pairs:
        seen = []
        for place in range(len(points) - 1, -1, -1):
            target = -points[place][1]
            crossed[place] += len(seen) - bisect_right(seen, target)
            insort(seen, target)
    return crossed, pairs


def _tau(points: Sequence[tuple[int, int]], crossing: int) -> float | None:
    """Kendall's tau-b: (straight - crossing pairs) / sqrt(pairs not tied here * pairs not tied there)."""
    every = len(points) * (len(points) - 1) // 2
    apart = [
        every - sum(n * (n - 1) // 2 for n in Counter(point[side] for point in points).values())
        for side in (0, 1)
    ]
    if not min(apart):
        return None
    # Points differ, so no pair is tied on both sides.
    straight = apart[0] + apart[1] - every - crossing
    return (straight - crossing) / math.sqrt(apart[0] * apart[1])


@dataclass(frozen=True, slots=True)
class Limits:
    """Thresholds from which a pair counts as reordered, for each measure."""

    words: int = 5
    """Minimum in words of the difference (the paper's d) and of the normalized difference."""
    tau: float = 0.8
    """Maximum tau; a ninth of newstest2013 is below, about the size of the paper's reordering set."""

    def instances(self, order: Order, source: Sequence[str], target: Sequence[str]) -> list[Instance]:
        """One instance for each measure by which the pair is reordered: the link with the greatest measure.

        The head is the source word, the dependent the target word.
        """
        chosen = []
        if order.difference is not None and order.difference.measure >= self.words:
            chosen.append((DIFFERENCE, order.difference))
        if order.normalized is not None and order.normalized.measure >= self.words:
            chosen.append((NORMALIZED, order.normalized))
        if order.crossing is not None and order.tau is not None and order.tau <= self.tau:
            chosen.append((CROSSING, order.crossing))
        return [
            Instance(
                name,
                "source",
                point.source + 1,
                point.target + 1,
                point.measure,
                source[point.source],
                target[point.target],
            )
            for name, point in chosen
        ]
