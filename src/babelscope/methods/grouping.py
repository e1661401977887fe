"""Records of minimal pairs, grouped as figures need them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from babelscope.core.results import Record

Key = TypeVar("Key")
Value = TypeVar("Value")


def sources(records: Iterable[Record]) -> list[str]:
    """The cluster of each record, its source: pairs of one source sentence are not independent."""
    return [record["source"] for record in records]


def pair_texts(record: Record) -> tuple[str, list[str]]:
    """The correct translation of a minimal pair and its variants; without tokens they are in a field of their own."""
    if "texts" in record:
        return record["texts"]["correct"], record["texts"]["contrastive"]
    return record["correct"]["text"], [each["text"] for each in record["contrastive"]]


def by_phenomenon(records: Iterable[Record]) -> dict[tuple[str, str], list[Record]]:
    """Records by (phenomenon, reference kind), sorted."""
    return group_records(((record["phenomenon"], record["reference"]), record) for record in records)


def group_records(keyed: Iterable[tuple[Any, Record]]) -> dict[Any, list[Record]]:
    """Records by their keys, sorted; records with the key None are left out."""
    return dict(sorted(grouped((key, record) for key, record in keyed if key is not None).items()))


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """The values of each key, in the order in which they come."""
    found: dict[Key, list[Value]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found
