"""Released sets of reordering that have no ids, only text: their sentences are found in a corpus by what they say."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from babelscope.util.errors import at
from babelscope.util.json_lines import LocatedRecord
from babelscope.util.text import read_lines, require_equal_counts

REORDERING = re.compile(r"(?P<corpus>.+)_reorder(?P<above>\d+)\.(?P<ending>[a-z]+)")
"""Name of a file of a reordering set, `Books_reorder5.de`. The code behind it kept a difference of positions *above*
the number."""

Key = tuple[str, str]
"""A sentence pair without its spaces, which differ between the released files."""


@dataclass(frozen=True, slots=True)
class TextSet:
    """A reordering set as text: its sentence pairs, each with its line."""

    path: Path
    least: int
    """Minimum difference of the positions of two aligned words."""
    pairs: dict[Key, tuple[int, str, str]]
    found: set[Key] = field(default_factory=set)
    """Pairs that the corpus has."""


def text_sets(folder: Path, language: str, other: str, *, not_of: tuple[str, ...] = ()) -> list[TextSet]:
    """The reordering sets of a folder with text in both languages and no ids; `not_of`: names of other corpora."""
    made = []
    for path in sorted(folder.glob(f"*_reorder*.{language}")):
        match, beside = REORDERING.fullmatch(path.name), path.with_suffix(f".{other}")
        if match is None or not beside.exists() or path.with_suffix(".ids").exists():
            continue
        if path.name.startswith(not_of):
            continue
        columns = [
            [line.strip() for line in read_lines(each, keep_separators=True)] for each in (path, beside)
        ]
        require_equal_counts({str(path): len(columns[0]), str(beside): len(columns[1])})
        pairs = {
            _key(source, target): (line, source, target)
            for line, (source, target) in enumerate(zip(*columns, strict=True), 1)
        }
        made.append(TextSet(path, int(match["above"]) + 1, pairs))
    return made


def with_reordering(
    rows: Iterator[LocatedRecord], sets: list[TextSet], *, add_others: bool
) -> Iterator[LocatedRecord]:
    """Items with the reordering that these sets tell of them; then, with `add_others`, their other sentences.

    A set of which the corpus has some sentences, but not all, is told; one of which it has none is of another corpus.
    """
    for place, item in rows:
        key = _key(item["source"], item["reference"])
        least = max((each.least for each in sets if key in each.pairs), default=None)
        if least is not None:
            for each in sets:
                if key in each.pairs:
                    each.found.add(key)
            item = {**item, "dependencies": [*item["dependencies"], _dependency(least)]}
        yield place, item
    if add_others:
        yield from _others(sets)
        return
    nowhere = not any(each.found for each in sets)
    for each in sets:
        if len(each.found) < len(each.pairs) and (each.found or nowhere):
            warnings.warn(
                f"{each.path} has {len(each.pairs):,} sentence pairs, of which {len(each.found):,} are in the "
                "corpus; its set is of these only",
                stacklevel=2,
            )


def _others(sets: list[TextSet]) -> Iterator[LocatedRecord]:
    """Sentences of the sets that were not among the items, each once, under its line in the largest minimum."""
    seen: set[Key] = set()
    for each in sorted(sets, key=lambda one: -one.least):
        for key, (line, source, target) in each.pairs.items():
            if key not in each.found and key not in seen:
                seen.add(key)
                fields: dict[str, Any] = {
                    "id": f"{each.path.stem}:{line}",
                    "source": source,
                    "reference": target,
                }
                yield at(each.path, line), {**fields, "dependencies": [_dependency(each.least)]}


def _dependency(least: int) -> dict[str, Any]:
    return {"phenomenon": "reordering", "side": "source", "distance": least}


def _key(source: str, target: str) -> Key:
    return "".join(source.split()), "".join(target.split())
