"""Subsets of a challenge set: sentences by phenomenon and by the distance of its dependencies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from babelscope.core.results import Record
from babelscope.stats.intervals import Array
from babelscope.util.errors import BabelscopeError
from babelscope.util.json_lines import json_number
from babelscope.util.text import shorten

Side = Literal["source", "target"]
SIDES: tuple[Side, ...] = ("source", "target")
ALL = "all"


@dataclass(frozen=True, slots=True)
class Instance:
    """A long-distance dependency in a sentence; `distance` is the number of words between its two ends."""

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
        raise BabelscopeError(
            f"{where}: field 'distance' must be a number of words, 0 or more, not {distance!r}"
        )
    return Instance(phenomenon, side, each["distance"])


@dataclass(frozen=True, slots=True)
class Subset:
    """The sentences that have a phenomenon on one side at some distance; or all sentences."""

    phenomenon: str
    members: Array
    """Numbers of its sentences, counted from 0."""
    instances: int = 0
    side: Side | None = None
    min_distance: int | None = None
    """At least this many words between the two ends."""
    distance: int | None = None
    """Exactly this many words between."""

    @property
    def labels(self) -> dict[str, str | int]:
        labels = {
            "phenomenon": self.phenomenon,
            "side": self.side,
            "min_distance": self.min_distance,
            "distance": self.distance,
        }
        return {name: value for name, value in labels.items() if value is not None}


def instances_by_record(records: Iterable[Record]) -> list[list[Instance]]:
    """The dependencies of each record."""
    return [read_instances(record.get("extra", {}), f"item {record['id']}") for record in records]


def subsets_of(found: Sequence[Sequence[Instance]], distances: Sequence[int], *, exact: bool) -> list[Subset]:
    """All sentences, then each phenomenon and side at each minimum distance and, with `exact`, each exact distance.

    Empty subsets are left out.
    """
    subsets = [Subset(ALL, np.arange(len(found)), sum(map(len, found)))]
    for phenomenon, side in phenomena_and_sides(found):
        own = _distances(found, phenomenon, side)
        chosen = [
            Subset(phenomenon, *_members(own, d, math.inf), side, min_distance=d) for d in sorted(distances)
        ]
        if exact:
            chosen += [Subset(phenomenon, *_members(own, d, d), side, distance=d) for d in sorted(distances)]
        subsets += [each for each in chosen if len(each.members)]
    return subsets


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


def _members(own: Iterable[tuple[int, float]], least: float, most: float) -> tuple[Array, int]:
    """Numbers of the sentences with an instance within these distances, and the count of such instances."""
    kept = [number for number, distance in own if least <= distance <= most]
    return np.unique(np.array(kept, dtype=np.int64)), len(kept)
