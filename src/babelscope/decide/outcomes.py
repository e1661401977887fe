"""Right or wrong, check by check: what the verdicts of methods say about each item."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from babelscope.core.results import PairedField, Record, split_unanswered
from babelscope.methods.base import Method
from babelscope.methods.jobs import judges
from babelscope.testsets.items import TestSet
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import shorten

Key = tuple[str, str, str]
"""Method, test set and name of a check."""
WEIGHT = "weight"
"""Field of items that were drawn with unequal probabilities."""
_MOST_WEIGHT = 1e6
UNANSWERED = "unanswered"
"""The check that every test set has: was there an answer at all?"""


@dataclass(slots=True)
class Source:
    """The errors of two systems on one source; the means over its items, if it has several."""

    id: str
    """The item on which the new system does worst, compared with the old one."""
    weight: float
    """How many sentences of a pool it stands for (`plan --pool`), as a share; 1 elsewhere."""
    old: float
    new: float
    """Errors from 0 (right) to 1 (wrong)."""
    applied: bool
    """Whether there was something to get wrong; if not, it counts as right."""
    items: int = 1
    worst: tuple[float, float] = field(init=False)

    def __post_init__(self) -> None:
        self.worst = self.difference, self.new

    @property
    def difference(self) -> float:
        """New minus old."""
        return self.new - self.old

    def add(self, other: Source) -> None:
        """Count another item of the same source."""
        self.items += 1
        for name in ("weight", "old", "new"):
            mean = getattr(self, name)
            setattr(self, name, mean + (getattr(other, name) - mean) / self.items)
        self.applied |= other.applied
        if other.worst > self.worst:
            self.id, self.worst = other.id, other.worst


@dataclass(slots=True)
class Check:
    """The errors of two systems on the same sources, by one check of a method.

    Items of one source are not independent, so a source counts once, however many items it has.
    """

    method: str
    tests: str
    name: str
    """What is checked: an error type, a phenomenon, a category."""
    sources: dict[str, Source] = field(default_factory=dict)
    skipped: int = 0
    """Items on which only one of the systems could be judged."""

    @property
    def key(self) -> Key:
        return self.method, self.tests, self.name

    @property
    def applies(self) -> int:
        """Number of sources in which there was something to get wrong."""
        return sum(each.applied for each in self.sources.values())

    @property
    def difference(self) -> float:
        """New minus old, the weighted mean over all sources."""
        total = math.fsum(each.weight for each in self.sources.values())
        apart = math.fsum(each.weight * each.difference for each in self.sources.values())
        return apart / total if total else math.nan

    def add(self, record: Record, old: float | None, new: float | None) -> None:
        """Count one item; None where a system could not be judged."""
        if (old is None) != (new is None):
            self.skipped += 1
            return
        weight = weight_of(record.get("extra", {}))
        found = Source(str(record["id"]), weight, old or 0.0, new or 0.0, old is not None)
        name = str(record.get("source", record["id"]))
        if (known := self.sources.setdefault(name, found)) is not found:
            known.add(found)


def weight_of(extra: Mapping[str, Any]) -> float:
    """The weight that an item states; an error if it is no positive number."""
    weight = extra.get(WEIGHT, 1.0)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight <= _MOST_WEIGHT:
        raise BabelscopeError(f"the weight of an item must be a number above 0, not {shorten(str(weight))}")
    return float(weight)


def add_outcomes(
    checks: dict[Key, Check], method: Method, tests: str, old: Sequence[Record], new: Sequence[Record]
) -> None:
    """Add the records of two systems on the same items to the checks."""
    fields = verdict_fields(method)
    for mine, its in zip(old, new, strict=True):
        answered = [float("unanswered" in each) for each in (mine, its)]
        _check(checks, method, tests, UNANSWERED).add(mine, *answered)
        if any(answered):
            continue
        for paired in fields:
            part = paired.part(mine)
            if part == paired.part(its):
                name = ", ".join(value for label, value in part if label != "of") or method.label
                _check(checks, method, tests, name).add(mine, _error(paired, mine), _error(paired, its))


def completed(method: Method, records: Sequence[Record]) -> list[Record]:
    """The records of items that were asked together, with the fields that depend on all of them."""
    answered, _ = split_unanswered(records)
    whole = iter(method.complete(answered))
    return [record if "unanswered" in record else next(whole) for record in records]


def verdict_fields(method: Method) -> list[PairedField]:
    """The fields of its records that say whether an answer is right."""
    return [each for each in method.paired() if each.is_verdict and not each.worst_of]


def count_checks(methods: Sequence[Method], tests: Mapping[str, TestSet]) -> int:
    """How many checks there can be, known before anything is asked: what p-values are corrected for."""
    return sum(_count_checks(method, each) for method, each in _judged(methods, tests))


def _judged(methods: Sequence[Method], tests: Mapping[str, TestSet]) -> Iterator[tuple[Method, TestSet]]:
    for method in methods:
        for name, each in tests.items():
            if judges(method, name, each):
                yield method, each


def _count_checks(method: Method, tests: TestSet) -> int:
    items = [item.as_json() for item in tests.items]
    parts = sum(
        len({tuple(str(item.get(name, "")) for name in paired.by) for item in items})
        for paired in verdict_fields(method)
    )
    return parts + 1  # and whether there was an answer


def _check(checks: dict[Key, Check], method: Method, tests: str, name: str) -> Check:
    key = (method.label, tests, name)
    return checks.setdefault(key, Check(*key))


def _error(paired: PairedField, record: Record) -> float | None:
    value = paired.value(record)
    if value is None:
        return None
    return 1.0 - value if paired.higher_is_better else value
