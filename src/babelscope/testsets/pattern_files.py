"""Files for pattern matching beside translations: lemmas and verdicts, matched with items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from babelscope.systems.stored.alignment import find_lines, index_of
from babelscope.systems.stored.formats import Given, renamed
from babelscope.testsets.items import AmbiguousSource
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import read_json_lines, read_lines, require_equal_counts, shorten


def read_lemmas(path: str | Path, given: Sequence[Given], *, parallel_to: str) -> list[Given]:
    """Add lemmas from a line-parallel file to translations."""
    lines = read_lines(path, keep_separators=True)
    require_equal_counts({parallel_to: len(given), str(path): len(lines)})
    return [
        Given(each.place, each.translation, each.source, line)
        for each, line in zip(given, lines, strict=True)
    ]


def match_translations(
    items: Sequence[AmbiguousSource], given: Sequence[Given], *, what: str, skip_missing: bool = False
) -> list[int | None]:
    """For every item the index of its translation: by source where sources are given, else by line.

    A source that occurs several times is matched in order. An item without a translation is an error, or None
    with `skip_missing`.
    """
    if not given:
        raise BabelscopeError(f"{what} has no translations")
    if given[0].source is None:
        require_equal_counts({"the test set": len(items), what: len(given)})
        return list(range(len(items)))
    lines = index_of([each.source or "" for each in given], str.strip)
    matched = find_lines([item.source for item in items], lines)
    missing = [item for item, number in zip(items, matched, strict=True) if number is None]
    if missing and not skip_missing:
        raise BabelscopeError(
            f"{what} has no translation of {shorten(missing[0].source)} (item {missing[0].id}; "
            f"{len(missing)} of {len(items)} are missing)"
        )
    if len(missing) == len(items):
        raise BabelscopeError(f"{what} has no translation of any item of the test set")
    return matched


def read_verdicts(path: str | Path) -> list[tuple[str, Mapping[str, Any]]]:
    """Read (place, record) of each item's verdict: our own records, or the released log of pattern matching."""
    # Records of items without an answer have no verdict.
    rows = read_json_lines(path)
    return [(place, renamed(record)) for place, record in rows if "unanswered" not in record]
