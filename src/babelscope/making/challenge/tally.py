"""Counts of sentences and instances of each phenomenon, by distance."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from babelscope.core.results import Row
from babelscope.language.ud_rules import Instance
from babelscope.making.challenge.reordering import PHENOMENA, UNITS
from babelscope.stats.intervals import mean_of_counts, proportion

Lengths = Counter[int]
"""Absolute difference in length between the two sides (0 for one side) -> number of sentences."""


@dataclass(slots=True)
class _Counts:
    """Counts of one phenomenon, by distance in whole words."""

    instances: Counter[int] = field(default_factory=Counter)
    reaching: dict[int, Lengths] = field(default_factory=lambda: defaultdict(Counter))
    """Greatest distance in a sentence -> sentences."""
    having: dict[int, Lengths] = field(default_factory=lambda: defaultdict(Counter))
    """Distance -> sentences that have an instance at it."""


class Tally:
    """Counts of a corpus, in constant memory; phenomena that were not found have counts of 0."""

    def __init__(self, phenomena: Iterable[tuple[str, str]], *, parallel: bool) -> None:
        """`phenomena` are (name, side); `parallel` if sentences have two sides."""
        self.instances = 0
        self.words = 0
        """Words read, of both sides of parallel text."""
        self._parallel = parallel
        self._lengths: Lengths = Counter()
        self._counts = {key: _Counts() for key in phenomena}

    @property
    def sentences(self) -> int:
        return self._lengths.total()

    @property
    def mean_length(self) -> float:
        """Mean number of words of a sentence, over both sides of parallel text."""
        return self.words / max(self.sentences, 1) / (2 if self._parallel else 1)

    def add(self, instances: Sequence[Instance], *sides: int) -> None:
        """Count a sentence with its instances; `sides` are the numbers of words of each of its sides."""
        length_difference = max(sides) - min(sides)
        self._lengths[length_difference] += 1
        self.words += sum(sides)
        self.instances += len(instances)
        found: dict[tuple[str, str], list[int]] = {}
        for each in instances:
            found.setdefault((each.phenomenon, each.side), []).append(math.floor(each.distance))
        for key, distances in found.items():
            counts = self._counts[key]
            counts.instances.update(distances)
            counts.reaching[max(distances)][length_difference] += 1
            for distance in set(distances):
                counts.having[distance][length_difference] += 1

    def found(self, phenomenon: str) -> int:
        """How many instances of a phenomenon were counted, on both sides."""
        return sum(own.instances.total() for (name, _), own in self._counts.items() if name == phenomenon)

    def sentences_with(self, phenomenon: str) -> int:
        """In how many sentences a phenomenon was found; on one side, since only one is parsed."""
        reaching = [own.reaching for (name, _), own in self._counts.items() if name == phenomenon]
        return sum(lengths.total() for each in reaching for lengths in each.values())

    def as_json(self) -> dict[str, Any]:
        """The counts as JSON, for `absorb`."""

        def by_distance(found: Mapping[int, Lengths]) -> list[Any]:
            return [[distance, list(lengths.items())] for distance, lengths in found.items()]

        counts = [
            [*key, list(own.instances.items()), by_distance(own.reaching), by_distance(own.having)]
            for key, own in self._counts.items()
        ]
        return {
            "instances": self.instances,
            "words": self.words,
            "lengths": list(self._lengths.items()),
            "counts": counts,
        }

    def absorb(self, other: Mapping[str, Any]) -> None:
        """Add the counts (`as_json`) of other sentences for the same phenomena."""
        self.instances += other["instances"]
        self.words += other["words"]
        self._lengths.update(dict(other["lengths"]))
        for phenomenon, side, instances, reaching, having in other["counts"]:
            counts = self._counts[phenomenon, side]
            counts.instances.update(dict(instances))
            for mine, found in ((counts.reaching, reaching), (counts.having, having)):
                for distance, lengths in found:
                    mine[distance].update(dict(lengths))

    def rows(
        self,
        distances: Callable[[str], Sequence[int]],
        *,
        exact: bool = False,
        labels: Mapping[str, str | int] | None = None,
        counts: Mapping[str, int] | None = None,
    ) -> list[Row]:
        """Rows with the share of sentences that have a phenomenon, at each of its `distances`.

        A distance is the minimum number of words between or, with `exact`, the exact number (reordering: always
        the minimum). For parallel text, the whole set comes first, and every set also has a row with the mean
        difference in length of its pairs.
        """
        made = []

        def add(said: dict[str, str | int], lengths: Lengths, instances: int) -> None:
            said |= labels or {}
            share = proportion(lengths.total(), self.sentences)
            numbers = {"sentences": lengths.total(), "instances": instances, **(counts or {})}
            made.append(Row("share", share, said, numbers))
            if self._parallel:
                made.append(Row("length_difference", mean_of_counts(lengths), said))

        if self._parallel:
            add({"phenomenon": "all"}, self._lengths, self.instances)
        for (phenomenon, side), own in self._counts.items():
            very = exact and phenomenon not in PHENOMENA
            for wanted in distances(phenomenon):
                kept = [d for d in own.instances if d == wanted or (d > wanted and not very)]
                by_distance = own.having if very else own.reaching
                unit: dict[str, str | int] = {"unit": UNITS[phenomenon]} if phenomenon in UNITS else {}
                by: dict[str, str | int] = {"distance" if very else "min_distance": wanted}
                add(
                    {"phenomenon": phenomenon, "side": side, **by, **unit},
                    sum((by_distance[d] for d in kept if d in by_distance), Counter()),
                    sum(own.instances[d] for d in kept),
                )
        return made
