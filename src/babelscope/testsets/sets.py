"""A test set: items of one kind with unique ids, its digest, and JSON lines in and out."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any, NoReturn, TypeVar

from babelscope.digests import digest_json
from babelscope.errors import BabelscopeError, at
from babelscope.files import replacing
from babelscope.testsets.items import EmptyText, Item, kind_of
from babelscope.text import (
    DEEPEST,
    LARGEST_HELD,
    LONGEST_RECORD,
    bounded_lines,
    depth_exceeds,
    reading,
    shorten,
)

_Kind = TypeVar("_Kind", bound=Item)

# What is too large for a float is no number of ours.
_DIGITS = re.compile(rb"(?<![0-9])[0-9]{300}")

Row = tuple[str, Mapping[str, Any]]
"""Where something stands (`file:line`), and the JSON object of an item."""


@dataclass(frozen=True)
class TestSet:
    """Items of one kind, in order."""

    # Not a test of ours, whatever pytest thinks of the name.
    __test__ = False

    name: str
    items: tuple[Item, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)
    """How many items of the files are left out, by reason."""

    def __post_init__(self) -> None:
        if not self.items:
            left_out = "".join(f"; {count} left out: {reason}" for reason, count in self.skipped.items())
            raise BabelscopeError(f"the test set {self.name} has no items{left_out}")
        seen: set[str] = set()
        for item in self.items:
            if type(item) is not self.kind:
                raise BabelscopeError(
                    f"the test set {self.name} mixes {self.kind.__name__} and {type(item).__name__}"
                )
            if item.id in seen:
                raise BabelscopeError(f"the test set {self.name} has the id {item.id!r} twice")
            seen.add(item.id)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    @property
    def kind(self) -> type[Item]:
        """What its items are."""
        return type(self.items[0])

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the items, whatever the set is called and wherever it was read from."""
        return digest_json([self.kind.__name__, [item.as_json() for item in self.items]])

    def items_of(self, kind: type[_Kind], *, what_for: str) -> tuple[_Kind, ...]:
        """The items for a method that needs one kind, or an error that says so."""
        if self.kind is not kind:
            raise BabelscopeError(
                f"{what_for} needs {kind.__name__} items, but {self.name} has {self.kind.__name__} items"
            )
        return self.items  # type: ignore[return-value]

    def write(self, path: str | Path) -> None:
        """Write the items as JSON lines; an existing file is replaced when all are written."""
        with replacing(Path(path)) as file:
            for item in self.items:
                file.write(json.dumps(item.as_json(), ensure_ascii=False).encode() + b"\n")


def read_items(path: str | Path, *, skipped: MutableMapping[str, int] | None = None) -> Iterator[Item]:
    """The items of a JSON-lines file, one after another; with `skipped`, empty ones are counted there."""
    return make_items(read_json_lines(path, most=LARGEST_HELD), skipped=skipped)


def make_items(rows: Iterable[Row], *, skipped: MutableMapping[str, int] | None = None) -> Iterator[Item]:
    """Items from JSON objects, all of the kind of the first; every fault is told with its place."""
    kind: type[Item] | None = None
    places: dict[str, str] = {}
    for place, record in rows:
        try:
            kind = kind or kind_of(record)
            item = kind.from_json(record)
        except EmptyText as error:
            if skipped is None:
                _fault(place, error)
            reason = f"empty {error.name}"
            skipped[reason] = skipped.get(reason, 0) + 1
            continue
        except BabelscopeError as error:
            _fault(place, error)
        if item.id in places:
            _fault(place, f"id {item.id!r} is already used at {places[item.id]}")
        places[item.id] = place
        yield item


def read_json_lines(path: str | Path, *, most: int | None = None) -> Iterator[Row]:
    """The JSON objects of a file, one a line, without holding the whole file; `most` as for `bounded_lines`."""
    with reading(path) as file:
        yield from json_lines(file, path, most=most)


def json_lines(file: IO[bytes], path: str | Path, *, most: int | None = None) -> Iterator[Row]:
    """The same of a file that is open."""
    for number, line in enumerate(bounded_lines(file, path, longest=LONGEST_RECORD, most=most), 1):
        place = at(path, number)
        record = parse_json(line, path, number)
        if not isinstance(record, dict):
            _fault(place, f"each line must be a JSON object, not {shorten(line.decode().strip())}")
        yield place, record


def parse_json(data: bytes, path: str | Path, line: int | None = None) -> Any:
    """Strict JSON: no NaN, no name twice in an object (the first would be lost), no nests without end."""
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_refuse_constant,
            # Asked of every number only where there may be one: it takes time.
            parse_int=_bounded_int if _DIGITS.search(data) else None,
        )
        # Counted first, since it is quick and nearly always enough.
        if data.count(b"[") + data.count(b"{") > DEEPEST and depth_exceeds(value, DEEPEST):
            raise RecursionError(f"lists and objects are nested more than {DEEPEST} deep")
        return value
    except UnicodeDecodeError as error:
        _fault(at(path, line), f"not UTF-8 ({error.reason} at byte {error.start})")
    except json.JSONDecodeError as error:
        place = at(path, line or error.lineno)
        _fault(place, f"not JSON: {error.msg} at column {error.colno}" if data.strip() else "an empty line")
    except (ValueError, RecursionError) as error:
        _fault(at(path, line), f"not JSON that can be read: {error}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the name {shorten(twice)} stands twice in an object")
    return made


def _bounded_int(digits: str) -> int:
    if len(digits) > 300:
        raise ValueError(f"a number has {len(digits)} digits")
    return int(digits)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _fault(place: str, reason: object) -> NoReturn:
    raise BabelscopeError(f"{place}: {reason}") from None
