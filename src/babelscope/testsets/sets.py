"""A test set: items of one kind with unique ids, its digest, and JSON lines in and out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from babelscope.testsets.items import Item, UnusableItem, kind_of
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError
from babelscope.util.files import replacing
from babelscope.util.json_lines import LocatedRecord, fail_at, read_json_lines
from babelscope.util.text import LARGEST_HELD

_Kind = TypeVar("_Kind", bound=Item)


@dataclass(frozen=True)
class TestSet:
    """Items of one kind, in order."""

    # Keeps pytest from collecting the class because of its name.
    __test__ = False

    name: str
    items: tuple[Item, ...]
    skipped: Mapping[str, int] = field(default_factory=dict)
    """How many items of the files are left out, by reason."""
    version: int = 1
    """Raised by its reader or publisher when figures over it change."""

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
        """The class of its items."""
        return type(self.items[0])

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the items; name and path of the set are not part of it."""
        return digest_json([self.kind.__name__, [item.as_json() for item in self.items]])

    @property
    def identity(self) -> dict[str, str | int]:
        """What goes into a signature."""
        return {"kind": self.kind.__name__, "digest": self.digest, "version": self.version}

    def items_of(self, kind: type[_Kind], *, what_for: str) -> tuple[_Kind, ...]:
        """The items if they are of this kind; else an error that says what needs it."""
        if self.kind is not kind:
            raise BabelscopeError(
                f"{what_for} needs {kind.__name__} items, but {self.name} has {self.kind.__name__} items"
            )
        return self.items  # type: ignore[return-value]

    def write(self, path: str | Path) -> None:
        """Write the items as JSON lines; an existing file is replaced at the end, atomically."""
        with replacing(Path(path)) as file:
            for item in self.items:
                file.write(json.dumps(item.as_json(), ensure_ascii=False).encode() + b"\n")


def read_items(path: str | Path, *, skipped: MutableMapping[str, int] | None = None) -> Iterator[Item]:
    """Yield the items of a JSON-lines file; with `skipped`, those of no use are counted there instead."""
    return make_items(read_json_lines(path, most=LARGEST_HELD), skipped=skipped)


def make_items(
    rows: Iterable[LocatedRecord], *, skipped: MutableMapping[str, int] | None = None, **how: bool
) -> Iterator[Item]:
    """Yield items made from JSON objects, all of the first one's kind; errors name the place of the object."""
    kind: type[Item] | None = None
    places: dict[str, str] = {}
    for place, record in rows:
        try:
            kind = kind or kind_of(record)
            item = kind.from_json(record, **how)
        except UnusableItem as error:
            if skipped is None:
                fail_at(place, error)
            skipped[error.reason] = skipped.get(error.reason, 0) + 1
            continue
        except BabelscopeError as error:
            fail_at(place, error)
        if item.id in places:
            fail_at(place, f"id {item.id!r} is already used at {places[item.id]}")
        places[item.id] = place
        yield item
