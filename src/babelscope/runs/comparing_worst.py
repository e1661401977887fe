"""Two systems compared by the group of items in which each is worst (conditioning paper, section 4.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from babelscope.core.comparable import Comparable
from babelscope.core.results import Estimate, Record
from babelscope.stats.paired import count_wins, paired_difference


@dataclass(frozen=True, slots=True)
class _Worst:
    """The group in which a system is worst."""

    name: str
    mean: float
    values: Mapping[str, float]
    """Value of each of its items by id."""
    pull: Mapping[str, float]
    """How far each item pulls the weighted mean: its weight times its distance from the mean, over all weights."""


def _worst_group(records: Sequence[Record], by: Comparable) -> _Worst | None:
    """The group with the lowest weighted mean; None if no item of a group has a value and a weight."""
    groups: dict[str, dict[str, tuple[float, float]]] = {}
    for record in records:
        value, weight = by.value(record), record.get(by.weight) if by.weight else 1.0
        name = str(record.get(by.worst_of, ""))
        if value is not None and isinstance(weight, int | float) and weight > 0 and name not in by.unranked:
            groups.setdefault(name, {})[str(record["id"])] = value, float(weight)
    found = []
    for name in sorted(groups):
        own = groups[name]
        whole = math.fsum(weight for _, weight in own.values())
        mean = math.fsum(value * weight for value, weight in own.values()) / whole
        pull = {item: weight * (value - mean) / whole for item, (value, weight) in own.items()}
        found.append(_Worst(name, mean, {item: value for item, (value, _) in own.items()}, pull))
    return min(found, key=lambda each: each.mean, default=None)


def worst_difference(
    ours: Sequence[Record], theirs: Sequence[Record], by: Comparable
) -> tuple[str, Estimate, float, dict[str, int]] | None:
    """The groups compared, the difference of their weighted means with its interval, p, and wins, losses, ties.

    Each system has its own worst group and its own weights, so the difference is that of the two printed figures.
    Its error is that of the items' pulls on either mean, paired by item, over source sentences. Which group is the
    worst is taken as given.
    """
    one, other = _worst_group(ours, by), _worst_group(theirs, by)
    if one is None or other is None:
        return None
    clusters = {str(record["id"]): str(record.get(by.cluster, record["id"])) for record in (*ours, *theirs)}
    items = [item for item in clusters if item in one.pull or item in other.pull]
    apart = one.mean - other.mean
    values = [apart + len(items) * (one.pull.get(item, 0.0) - other.pull.get(item, 0.0)) for item in items]
    estimate, p = paired_difference(values, [clusters[item] for item in items], verdicts=by.is_verdict)
    both = [
        one.values[item] - other.values[item] for item in items if item in one.values and item in other.values
    ]
    groups = one.name if one.name == other.name else f"{one.name} against {other.name}"
    return groups, estimate, p, count_wins(both)
