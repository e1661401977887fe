"""Splits records by a field of the items: domain, original language, length."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise

from babelscope.core.results import Record
from babelscope.testsets.items import NO_SOURCE
from babelscope.testsets.sets import TestSet
from babelscope.util.errors import BabelscopeError

LENGTH = "length"
"""The field name for quarters of the items by source length in characters."""

_MOST_VALUES = 50
"""Most values of a field to split by: longer tables are not readable."""
_NO_VALUE = "(none)"


def check_fields(records: Sequence[Record], names: Sequence[str]) -> None:
    """Refuse a field that no item of any test set has."""
    for name in names:
        if name == LENGTH and any(record.get("extra", {}).get(NO_SOURCE) for record in records):
            raise BabelscopeError(
                "--by length is about sources, and these items have none; say --source FILE"
            )
        if records and not _any_has(records, name) and name != LENGTH:
            known = {
                key
                for record in records
                for key, value in {**record.get("extra", {}), **record}.items()
                if isinstance(value, str | int) and key not in ("method", "system", "tests", "item", "id")
            }
            raise BabelscopeError(
                f"items have no field {name!r}; fields are {LENGTH}, {', '.join(sorted(known))}"
            )


def check_before_asking(tests: Iterable[TestSet], names: Sequence[str]) -> None:
    """Refuse fields that no item has, or that have too many values, before any system is asked."""
    records = {each.name: [{**item.as_json(), "extra": item.extra} for item in each.items] for each in tests}
    check_fields([record for own in records.values() for record in own], names)
    for own in records.values():
        for name in names:
            split_by(own, name)


def split_by(records: Sequence[Record], name: str) -> dict[str, list[Record]]:
    """Records by the value of a field of the record or its item, sorted by value; empty if none has the field."""
    if not _any_has(records, name):
        return _by_length(records) if name == LENGTH else {}
    written: dict[str, dict[str, list[Record]]] = {}
    for record in records:
        value = _value(record, name)
        written.setdefault(str(value), {}).setdefault(json.dumps(value), []).append(record)
    # The number 1 and the text "1" are two values: where both occur, each is written as in JSON.
    found = {
        (as_json if len(own) > 1 else text): some
        for text, own in written.items()
        for as_json, some in own.items()
    }
    if len(found) > _MOST_VALUES:
        raise BabelscopeError(
            f"items have {len(found)} values of {name!r}; figures are split into {_MOST_VALUES} at most"
        )
    return dict(sorted(found.items()))


def _any_has(records: Sequence[Record], name: str) -> bool:
    return any(_value(record, name) != _NO_VALUE for record in records)


def _value(record: Record, name: str) -> str | float:
    value = record.get(name, record.get("extra", {}).get(name, _NO_VALUE))
    return value if isinstance(value, str | int | float | bool) else _NO_VALUE


def _by_length(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Quarters with about equally many items, named by their shortest and longest source in characters."""
    lengths = sorted(len(str(record.get("source", ""))) for record in records)
    edges = (
        sorted({lengths[len(lengths) * quarter // 4] for quarter in range(4)} | {lengths[-1] + 1})
        if lengths
        else []
    )
    found: dict[str, list[Record]] = {}
    for low, high in pairwise(edges):
        own = [record for record in records if low <= len(str(record.get("source", ""))) < high]
        longest = max((len(str(record.get("source", ""))) for record in own), default=low)
        found[f"{low}-{longest} characters"] = own
    return found
