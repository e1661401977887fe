"""Our table of rules: sources, and words or expressions that their translations must have, or must not have."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babelscope.testsets.formats.shared import Row, collect
from babelscope.testsets.items import TestSet
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.text import read_lines

_RULES = ("require", "ban", "right", "wrong")
_KEPT = ("severity", "comment")
_OTHERS = ("id", "source", "regex", "phenomenon", "category", "source_language", "target_language")


def read_rules(path: str | Path) -> TestSet:
    """Read a tab-separated table with a header; lines of one id (or one source, without ids) are one item."""
    items: dict[str, dict[str, Any]] = {}
    for place, row in _lines(Path(path)):
        if not row["source"].strip():
            raise BabelscopeError(f"{place}: the source is empty")
        name = row.get("id") or row["source"]
        item = items.setdefault(name, {"place": place, "rules": [], "source": row["source"]})
        if item["source"] != row["source"]:
            raise BabelscopeError(f"{place}: id {name!r} has another source at {item['place']}")
        item |= {key: row[key] for key in _OTHERS[3:] if row.get(key)}
        more = {key: row[key] for key in _KEPT if row.get(key)}
        expression = {"regex": True} if row.get("regex", "").lower() in ("yes", "true", "1") else {}
        item["rules"] += [{key: row[key], **expression, **more} for key in _RULES if row.get(key)]
    return collect(Path(path).stem, _rows(items))


def _lines(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    lines = read_lines(path, keep_separators=True)
    table = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    header = next(table, [])
    known = (*_OTHERS, *_RULES, *_KEPT)
    if "source" not in header or not set(_RULES) & set(header):
        raise BabelscopeError(f"{path}: the first line must name source and some of {', '.join(_RULES)}")
    if strange := [name for name in header if name not in known]:
        raise BabelscopeError(f"{path}: column {strange[0]!r} is not known; known are {', '.join(known)}")
    for number, cells in enumerate(table, 2):
        if len(cells) > len(header):
            raise BabelscopeError(
                f"{at(path, number)} has {len(cells)} columns, the first line has {len(header)}"
            )
        yield at(path, number), dict(zip(header, cells, strict=False))


def _rows(items: dict[str, dict[str, Any]]) -> Iterator[Row]:
    for number, (name, item) in enumerate(items.items(), 1):
        place = item.pop("place")
        yield place, {"id": name if name != item["source"] else str(number), **item}
