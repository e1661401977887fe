"""The parts of a challenge set: sentences by phenomenon and by the distance of its dependencies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from babelscope.core.results import Record
from babelscope.stats.intervals import Array
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import shorten

Side = Literal["source", "target"]
SIDES: tuple[Side, ...] = ("source", "target")
ALL = "all"


@dataclass(frozen=True, slots=True)
class Instance:
    """A dependency found in a sentence; `distance` is the number of words between its two words."""

    phenomenon: str
    side: Side
    distance: float


def read_instances(extra: Mapping[str, Any], where: str) -> list[Instance]:
    """The dependencies that an item or record carries in its field `dependencies`."""
    found = extra.get("dependencies")
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
    if isinstance(distance, bool) or not isinstance(distance, int | float) or not 0 <= distance < math.inf:
        raise BabelscopeError(
            f"{where}: field 'distance' must be a number of words, 0 or more, not {distance!r}"
        )
    return Instance(phenomenon, side, distance)


@dataclass(frozen=True, slots=True)
class Subset:
    """Some of the sentences, by number, and what they have in common."""

    phenomenon: str
    members: Array
    """Numbers of sentences, from 0."""
    instances: int = 0
    side: Side | None = None
    least: int | None = None
    """At least so many words between."""
    exact: int | None = None
    """Exactly so many."""

    @property
    def labels(self) -> dict[str, str | int]:
        said = {
            "phenomenon": self.phenomenon,
            "side": self.side,
            "min_distance": self.least,
            "distance": self.exact,
        }
        return {name: value for name, value in said.items() if value is not None}


def instances_by_record(records: Iterable[Record]) -> list[list[Instance]]:
    """The dependencies of each record."""
    return [read_instances(record.get("extra", {}), f"item {record['id']}") for record in records]


def subsets_of(found: Sequence[Sequence[Instance]], distances: Sequence[int], *, exact: bool) -> list[Subset]:
    """The whole, then each phenomenon (with its side) at each minimum distance and, if asked, exact distance.

    Parts without a sentence are left out.
    """
    parts = [Subset(ALL, np.arange(len(found)), sum(map(len, found)))]
    for phenomenon, side in phenomena_and_sides(found):
        own = _distances(found, phenomenon, side)
        chosen = [Subset(phenomenon, *_members(own, d, math.inf), side, least=d) for d in sorted(distances)]
        if exact:
            chosen += [Subset(phenomenon, *_members(own, d, d), side, exact=d) for d in sorted(distances)]
        parts += [part for part in chosen if len(part.members)]
    return parts


def phenomena_and_sides(found: Iterable[Iterable[Instance]]) -> list[tuple[str, Side]]:
    """The phenomena with the side they were looked for on, sorted."""
    return sorted({(each.phenomenon, each.side) for own in found for each in own})


def greatest_distances(
    found: Sequence[Sequence[Instance]], phenomenon: str, side: Side
) -> tuple[Array, Array]:
    """The sentences that have a phenomenon, by number, and in each the greatest distance it has there."""
    greatest: dict[int, float] = {}
    for number, distance in _distances(found, phenomenon, side):
        greatest[number] = max(distance, greatest.get(number, 0.0))
    return np.array(list(greatest), dtype=np.int64), np.array(list(greatest.values()), dtype=float)


def _distances(found: Sequence[Sequence[Instance]], phenomenon: str, side: Side) -> list[tuple[int, float]]:
    """The number of the sentence, and the distance, of every instance."""
    return [
        (number, each.distance)
        for number, own in enumerate(found)
        for each in own
        if (each.phenomenon, each.side) == (phenomenon, side)
    ]


def _members(own: Iterable[tuple[int, float]], least: float, most: float) -> tuple[Array, int]:
    """The sentences with an instance in these bounds, and the number of such instances."""
    kept = [number for number, distance in own if least <= distance <= most]
    return np.unique(np.array(kept, dtype=np.int64)), len(kept)
