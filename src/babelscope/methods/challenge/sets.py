"""Subsets of a challenge set: sentences by phenomenon and by the distance of its dependencies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from babelscope.core.results import Record
from babelscope.making.challenge.reordering import UNITS
from babelscope.stats.intervals import Array
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError
from babelscope.util.json_lines import json_number
from babelscope.util.text import shorten

Side = Literal["source", "target"]
SIDES: tuple[Side, ...] = ("source", "target")
ALL = "all"
WORDS_BETWEEN = "words between"


def unit_of(phenomenon: str) -> str:
    """What the distance of a phenomenon counts: words between two words, unless it is a measure of reordering."""
    return UNITS.get(phenomenon, WORDS_BETWEEN)


@dataclass(frozen=True, slots=True)
class Instance:
    """A long-distance dependency in a sentence; `distance` is in the unit of its phenomenon (`unit_of`)."""

    phenomenon: str
    side: Side
    distance: float


def read_instances(fields: Mapping[str, Any], where: str) -> list[Instance]:
    """The checked dependencies in `fields["dependencies"]` of an item or record; errors begin with `where`."""
    found = fields.get("dependencies")
    if not isinstance(found, list):
        reason = "no field" if found is None else "no list in its field"
        raise BabelscopeError(
            f"{where} has {reason} 'dependencies'; a challenge set is made by `babelscope make challenge`"
        )
    return [_read_instance(each, f"{where}: dependency {number}") for number, each in enumerate(found, 1)]


def _read_instance(each: object, where: str) -> Instance:
    if not isinstance(each, dict):
        raise BabelscopeError(f"{where} is not an object")
    phenomenon, side, distance = each.get("phenomenon"), each.get("side", "source"), each.get("distance")
    if not isinstance(phenomenon, str) or not phenomenon.strip() or phenomenon == ALL:
        raise BabelscopeError(f"{where}: field 'phenomenon' must name one, and {ALL!r} is taken")
    if side not in SIDES:
        raise BabelscopeError(f"{where}: field 'side' must be source or target, not {shorten(str(side))}")
    number = json_number(distance)
    if number is None or not 0 <= number < math.inf:
        raise BabelscopeError(f"{where}: field 'distance' must be a number, 0 or more, not {distance!r}")
    return Instance(phenomenon, side, each["distance"])


@dataclass(frozen=True, slots=True)
class Subset:
    """The sentences that have a phenomenon on one side at some distance; or all sentences."""

    phenomenon: str
    members: Array
    """Numbers of its sentences, counted from 0; no more than the cap."""
    having: Array
    """The same without a cap: all sentences that have the phenomenon at this distance."""
    instances: int = 0
    """Of its members."""
    side: Side | None = None
    min_distance: int | None = None
    """At least this, in the unit of the phenomenon."""
    distance: int | None = None
    """Exactly this."""

    @property
    def labels(self) -> dict[str, str | int]:
        labels = {
            "phenomenon": self.phenomenon,
            "side": self.side,
            "min_distance": self.min_distance,
            "distance": self.distance,
            "unit": None if self.phenomenon == ALL else unit_of(self.phenomenon),
        }
        return {name: value for name, value in labels.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Partition:
    """How sentences are put into sets."""

    distances: Sequence[int]
    """Minimum numbers of words between."""
    order_distances: Sequence[int]
    """Minimum distances of reordering, in the unit of each measure."""
    exact: bool = False
    """Sets of exactly these numbers of words between, too; reordering has minimum distances only."""
    cap: int | None = None
    """Most sentences of a set, drawn at random."""
    seed: int = 0
    """Of that draw."""

    def of_records(self, records: Sequence[Record]) -> tuple[list[Subset], list[list[Instance]]]:
        """All sets of some records, and the instances of each record."""
        found = [read_instances(record.get("extra", {}), f"item {record['id']}") for record in records]
        if self.cap is None or len(records) <= self.cap:
            return self.subsets(found), found
        # By their ids, so that all systems have the same sentences whatever else they left unanswered.
        ranks = np.argsort(np.argsort([digest_json([self.seed, str(record["id"])]) for record in records]))
        return self.subsets(found, ranks), found

    def subsets(self, found: Sequence[Sequence[Instance]], ranks: Array | None = None) -> list[Subset]:
        """All sentences, then each phenomenon and side at each minimum and, if wanted, each exact distance.

        Empty sets are left out. Of a set above the cap, the sentences of the lowest ranks are taken, so that nested
        sets share as many sentences as they can.
        """
        everything = [(number, 0.0) for number, own in enumerate(found) for _ in own]
        whole = np.arange(len(found))
        subsets = [self._capped(Subset(ALL, whole, whole), everything, ranks)]
        for phenomenon, side in phenomena_and_sides(found):
            own = _distances(found, phenomenon, side)
            ordered = phenomenon in UNITS
            least = sorted(self.order_distances if ordered else self.distances)
            ranges = [(d, math.inf, {"min_distance": d}) for d in least]
            if self.exact and not ordered:
                ranges += [(d, d, {"distance": d}) for d in least]
            for low, high, labels in ranges:
                kept = [(number, distance) for number, distance in own if low <= distance <= high]
                having = np.unique(np.array([number for number, _ in kept], dtype=np.int64))
                if len(having):
                    subset = Subset(phenomenon, having, having, side=side, **labels)
                    subsets.append(self._capped(subset, kept, ranks))
        return subsets

    def _capped(self, subset: Subset, kept: Iterable[tuple[int, float]], ranks: Array | None) -> Subset:
        """The set with no more sentences than the cap, and its instances (sentence, distance) counted."""
        members = subset.having
        if ranks is not None and self.cap is not None and len(members) > self.cap:
            members = np.sort(members[np.argsort(ranks[members])[: self.cap]])
        inside = set(members.tolist())
        return replace(subset, members=members, instances=sum(number in inside for number, _ in kept))


def phenomena_and_sides(found: Iterable[Iterable[Instance]]) -> list[tuple[str, Side]]:
    """The pairs (phenomenon, side) that occur, sorted."""
    return sorted({(each.phenomenon, each.side) for own in found for each in own})


def greatest_distances(
    found: Sequence[Sequence[Instance]], phenomenon: str, side: Side
) -> tuple[Array, Array]:
    """Numbers of the sentences that have a phenomenon, and the greatest distance of it in each."""
    greatest: dict[int, float] = {}
    for number, distance in _distances(found, phenomenon, side):
        greatest[number] = max(distance, greatest.get(number, 0.0))
    return np.array(list(greatest), dtype=np.int64), np.array(list(greatest.values()), dtype=float)


def _distances(found: Sequence[Sequence[Instance]], phenomenon: str, side: Side) -> list[tuple[int, float]]:
    """(sentence number, distance) of every instance of a phenomenon."""
    return [
        (number, each.distance)
        for number, own in enumerate(found)
        for each in own
        if (each.phenomenon, each.side) == (phenomenon, side)
    ]
