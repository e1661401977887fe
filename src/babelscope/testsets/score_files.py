"""Files of scores parallel to a test set of minimal pairs: MuCoW's and DistilLingEval's layouts, and columns."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from babelscope.testsets import readers
from babelscope.testsets.items import MinimalPair
from babelscope.testsets.loading import load
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.json_lines import parse_json
from babelscope.util.text import read_bytes, read_lines, shorten

Direction = Literal["higher", "lower"]
Layout = Literal["auto", "blocks", "interleaved", "columns"]
"""blocks: the scores of all correct targets, then those of all contrastive ones (DistilLingEval).
interleaved: item by item, the correct one first (MuCoW). columns: a line an item, tabs between the correct
one, the contrastive ones and, if it is known, the 1-best. auto: columns if there are tabs, else the format's."""


@dataclass(frozen=True, slots=True)
class Tests:
    """What a score file is parallel to: the fields of each item, empty texts included."""

    name: str
    items: tuple[Mapping[str, Any], ...]
    default: Literal["blocks", "interleaved"]
    skipped: int = 0
    """Items left out, which have no scores either."""

    def asked(self) -> Tests:
        """Without the items that no system can be asked, such as those with an empty source."""
        kept = tuple(item for item in self.items if _has_texts(item))
        return Tests(self.name, kept, self.default, self.skipped + len(self.items) - len(kept))


class Stored(NamedTuple):
    """The scores of an item, higher is better."""

    correct: float
    contrastive: tuple[float, ...]
    best: float | None = None
    """The 1-best's, where the file has it."""


def read_tests(spec: str, data_dir: str | Path | None = None) -> Tests:
    """The items of a test set, with those of empty text where its format counts them in score files."""
    name, _, path = spec.partition(":")
    # The readers leave out what no system can be asked; a score file has a line for it all the same.
    if name == "distil-lingeval" and path:
        folders = readers.distil_folders(Path(path))
        items = tuple(fields for folder in folders for _, fields in readers.distil_rows(folder))
        if not items:
            readers.read_distil_lingeval(path)  # says what is wrong with the folder
        return Tests(Path(path).resolve().name, items, "blocks")
    if name == "mucow-scoring" and path:
        loaded = readers.read_mucow_scoring(path)
        rows = readers.mucow_rows(path, parse_json(read_bytes(path), path))
        return Tests(loaded.name, tuple(fields for _, fields in rows), "interleaved")
    loaded = load(spec, data_dir=data_dir)
    items = tuple(item.as_json() for item in loaded.items_of(MinimalPair, what_for="contrast"))
    blocks = spec.startswith("distil-lingeval/")
    return Tests(loaded.name, items, "blocks" if blocks else "interleaved", sum(loaded.skipped.values()))


def read_scores(
    path: str | Path, tests: Tests, *, direction: Direction = "higher", layout: Layout = "auto"
) -> tuple[Tests, list[Stored]]:
    """The items a file has scores of, and their scores, higher is better.

    A file may be parallel to all items, or to those that have texts to be scored. Items without a
    contrastive variant have a score, but no choice to make: they are left out, and counted.
    """
    lines = [line.split("\t") for line in read_lines(path)]
    if layout == "auto":
        layout = "columns" if lines and len(lines[0]) > 1 else tests.default
    for candidate in (tests, tests.asked()):
        if _expected_lines(candidate, layout) == len(lines):
            break
    else:
        raise BabelscopeError(_wrong_count(path, len(lines), tests, layout))
    sign = 1.0 if direction == "higher" else -1.0
    numbers = [[_number(cell, at(path, n), sign) for cell in line] for n, line in enumerate(lines, 1)]
    variants = [_variants(item) for item in candidate.items]
    if layout == "columns":
        found = [
            _from_columns(row, count, at(path, n))
            for n, (row, count) in enumerate(zip(numbers, variants, strict=True), 1)
        ]
    else:
        found = _from_lines(path, numbers, variants, layout)
    kept = [(item, scores) for item, scores in zip(candidate.items, found, strict=True) if scores.contrastive]
    skipped = candidate.skipped + len(found) - len(kept)
    return Tests(tests.name, tuple(item for item, _ in kept), tests.default, skipped), [s for _, s in kept]


def _from_lines(
    path: str | Path, numbers: Sequence[Sequence[float]], variants: Sequence[int], layout: str
) -> list[Stored]:
    for n, row in enumerate(numbers, 1):
        if len(row) > 1:
            raise BabelscopeError(f"{at(path, n)} has {len(row)} columns; the layout {layout} has one")
    flat = [row[0] for row in numbers]
    if layout == "blocks":
        correct, rest = iter(flat[: len(variants)]), iter(flat[len(variants) :])
    else:
        correct = rest = iter(flat)
    return [Stored(next(correct), tuple(itertools.islice(rest, count))) for count in variants]


def _variants(item: Mapping[str, Any]) -> int:
    contrastive = item["contrastive"]
    return 1 if isinstance(contrastive, str) else len(contrastive)


def _has_texts(item: Mapping[str, Any]) -> bool:
    contrastive = item["contrastive"]
    texts = [contrastive] if isinstance(contrastive, str) else contrastive
    return bool(texts) and all(text.strip() for text in (item["source"], item["correct"], *texts))


def _expected_lines(tests: Tests, layout: str) -> int:
    items = len(tests.items)
    return items if layout == "columns" else items + sum(_variants(item) for item in tests.items)


def _wrong_count(path: str | Path, found: int, tests: Tests, layout: str) -> str:
    told = [
        f"{_expected_lines(tests, tried)} lines in the layout {tried}"
        for tried in ((layout,) if layout == "columns" else ("blocks", "interleaved", "columns"))
    ]
    kept = tests.asked()
    less = f" ({len(kept.items)} without empty texts)" if len(kept.items) < len(tests.items) else ""
    return f"{path} has {found} lines; {tests.name} has {len(tests.items)} items{less}: {', '.join(told)}"


def _number(text: str, place: str, sign: float) -> float:
    try:
        # To Python, 1_0 is a number too.
        number = math.nan if "_" in text else float(text)
        fault = "is no score" if math.isnan(number) else None
    except ValueError:
        fault = "is not a number"
    if fault:
        raise BabelscopeError(f"{place}: {shorten(text)} {fault}")
    if sign * number == math.inf:
        raise BabelscopeError(f"{place}: {shorten(text)} is better than any score; is the direction right?")
    return sign * number


def _from_columns(row: Sequence[float], variants: int, place: str) -> Stored:
    if len(row) not in (1 + variants, 2 + variants):
        raise BabelscopeError(
            f"{place} has {len(row)} columns; it must have {1 + variants} (correct, contrastive) "
            f"or {2 + variants} (and the 1-best)"
        )
    return Stored(row[0], tuple(row[1 : 1 + variants]), row[-1] if len(row) > 1 + variants else None)
