"""Readers of public formats of test sets."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from babelscope.testsets.items import BEGINNING, NO_SOURCE, TestSet, make_items, read_items
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.text import (
    LARGEST_HELD,
    LocatedRecord,
    parse_json,
    read_bytes,
    read_json_lines,
    read_lines,
    require_equal_counts,
)

_DISTIL_FILES = ("src.en", "tgt.correct.de", "tgt.incorrect.de")
_REFERENCE_KINDS = {"human": "human", "mt": "machine"}
_FEW = 5
"""How many skipped items are named."""


def read_jsonl(path: str | Path, *, skip_empty: bool = False) -> TestSet:
    """Read our own format: one item per line, as JSON."""
    skipped: dict[str, int] = {}
    items = tuple(read_items(path, skipped=skipped if skip_empty else None))
    return TestSet(Path(path).stem, items, skipped)


def read_parallel(paths: str | Sequence[str | Path], *, skip_empty: bool = False) -> TestSet:
    """Read line-parallel text: a file of sources, and one or more of references; the id is the line number.

    `paths` is a list, or text separated by commas.
    """
    paths = paths.split(",") if isinstance(paths, str) else paths
    if len(paths) < 2:
        raise BabelscopeError("parallel text needs a source and a reference file: parallel:SOURCE,REFERENCE")
    rows = (
        (place, _sentence(n, source, references)) for n, place, (source, *references) in _side_by_side(paths)
    )
    return _collect(Path(paths[0]).name, rows, skip_empty=skip_empty)


def read_references(paths: str | Sequence[str | Path]) -> TestSet:
    """Read references without sources; a placeholder stands for each source, and no system can be asked about it."""
    paths = paths.split(",") if isinstance(paths, str) else paths
    # Sources tell sentences apart, in intervals too, so that each has a note of its own.
    records = (
        (place, {**_sentence(n, f"[source of sentence {n} not given]", own), NO_SOURCE: True})
        for n, place, own in _side_by_side(paths)
    )
    return _collect(Path(paths[0]).name, records, skip_empty=False)


def _side_by_side(paths: Sequence[str | Path]) -> Iterator[tuple[int, str, list[str]]]:
    """Number, place and texts of each line of parallel files."""
    columns = [read_lines(path) for path in paths]
    require_equal_counts({str(path): len(lines) for path, lines in zip(paths, columns, strict=True)})
    for number, texts in enumerate(zip(*columns, strict=True), 1):
        yield number, at(paths[0], number), list(texts)


def read_sources(path: str | Path, *, skip_empty: bool = False) -> TestSet:
    """Read sources without references, one per line; the id is the line number."""
    rows = ((at(path, n), {"id": str(n), "source": line}) for n, line in enumerate(read_lines(path), 1))
    return _collect(Path(path).stem, rows, skip_empty=skip_empty)


def read_tsv(path: str | Path, *, skip_empty: bool = False) -> TestSet:
    """Read tab-separated text: source, then one or more references; the id is the line number."""

    def rows() -> Iterator[LocatedRecord]:
        width = 0
        for number, line in enumerate(read_lines(path), 1):
            source, *references = line.split("\t")
            if not references:
                raise BabelscopeError(f"{at(path, number)}: no tab between source and reference")
            width = width or len(references)
            if len(references) != width:
                raise BabelscopeError(
                    f"{at(path, number)} has {len(references) + 1} columns, the first line has {width + 1}"
                )
            yield at(path, number), _sentence(number, source, references)

    return _collect(Path(path).stem, rows(), skip_empty=skip_empty)


def read_distil_lingeval(folder: str | Path, *, empty: bool = False) -> TestSet:
    """Read DistilLingEval: a folder `<phenomenon>.<human|mt>` of three line-parallel files, or a folder of such.

    Pairs with an empty text are left out and counted, unless `empty`: score files have scores for them.
    """
    folder = Path(folder)
    if not os.path.isdir(folder):  # not Path.is_dir, which raises on a name that is too long
        raise BabelscopeError(f"{folder}: no such folder")
    folders = _distil_folders(folder)
    if not folders:
        raise BabelscopeError(
            f"{folder} is not a DistilLingEval set: it has neither {_DISTIL_FILES[0]} nor folders "
            "named <phenomenon>.human or <phenomenon>.mt"
        )
    # "." gets the name of the folder.
    name = folder.resolve().name
    return _pairs(name, (row for path in folders for row in _distil_rows(path)), empty=empty)


def read_sentence_pairs(path: str | Path, *, continued: bool = False) -> TestSet:
    """Read pairs of sentences in one language: a good one and a bad one, and no source (BLiMP's fields).

    `continued`: what both begin with is the source, and the rest of each what may follow; pairs that differ from
    their first word on, or of which one only goes on, are left out and counted.
    """
    skipped: dict[str, int] = {}
    rows = _sentence_rows(path, skipped, continued=continued)
    return _collect(Path(path).stem, rows, skip_empty=True, skipped=skipped)


def _sentence_rows(path: str | Path, skipped: dict[str, int], *, continued: bool) -> Iterator[LocatedRecord]:
    for number, (place, row) in enumerate(read_json_lines(path, most=LARGEST_HELD), 1):
        good, bad = (row.get(name) for name in ("sentence_good", "sentence_bad"))
        if not isinstance(good, str) or not isinstance(bad, str):
            raise BabelscopeError(f"{place}: sentence_good and sentence_bad must be texts")
        named = next((row[name] for name in ("UID", "phenomenon") if isinstance(row.get(name), str)), "")
        item: dict[str, Any] = {
            "id": str(number),
            "phenomenon": named or Path(path).stem,
            "reference": "human",
        }
        if not continued:
            item |= {"source": f"[sentence {number}, which has no source]", NO_SOURCE: True}
            yield place, {**item, "correct": good, "contrastive": bad}
            continue
        here, there = good.split(), bad.split()
        shared = next((n for n, (a, b) in enumerate(zip(here, there, strict=False)) if a != b), None)
        if not shared:
            skipped["no shared beginning"] = skipped.get("no shared beginning", 0) + 1
            continue
        item |= {"source": " ".join(here[:shared]), "correct": " ".join(here[shared:])}
        yield place, {**item, "contrastive": " ".join(there[shared:]), BEGINNING: True}


def read_mucow_scoring(path: str | Path, *, empty: bool = False) -> TestSet:
    """Read MuCoW's scoring suite: an ambiguous word translated right, and variants with words of other senses.

    Items without a variant are left out, named and counted, unless `empty`: score files have scores for them.
    """
    entries = parse_json(read_bytes(path), path)
    if not isinstance(entries, list):
        raise BabelscopeError(f"{path} is not a MuCoW scoring suite: it must be a JSON list of items")
    rows = list(_mucow_rows(path, entries))
    bare = [] if empty else [fields["id"] for _, fields in rows if not fields["contrastive"]]
    whole = iter(row for row in rows if empty or row[1]["contrastive"])
    skipped = {f"no contrastive variant: {_listed(bare)}": len(bare)} if bare else {}
    return _pairs(Path(path).stem, whole, empty=empty, skipped=skipped)


def _collect(
    name: str, rows: Iterator[LocatedRecord], *, skip_empty: bool, skipped: dict[str, int] | None = None
) -> TestSet:
    skipped = {} if skipped is None else skipped
    items = tuple(make_items(rows, skipped=skipped if skip_empty else None))
    return TestSet(name, items, skipped)


def _pairs(
    name: str, rows: Iterator[LocatedRecord], *, empty: bool, skipped: dict[str, int] | None = None
) -> TestSet:
    if empty:
        return TestSet(name, tuple(make_items(rows, for_scores=True)))
    return _collect(name, rows, skip_empty=True, skipped=skipped)


def _listed(ids: Sequence[str]) -> str:
    """The first few ids, and how many more there are."""
    more = f" and {len(ids) - _FEW} more" if len(ids) > _FEW else ""
    return f"{'item' if len(ids) == 1 else 'items'} {', '.join(ids[:_FEW])}{more}"


def _sentence(number: int, source: str, references: list[str]) -> dict[str, Any]:
    return {"id": str(number), "source": source, "reference": references}


def _distil_folders(folder: Path) -> list[Path]:
    """The folder itself if it is a set, else the sets in it, sorted by name."""
    if (folder / _DISTIL_FILES[0]).exists():
        return [folder]
    return [path for path in sorted(folder.glob("*")) if path.is_dir() and _distil_name(path)]


def _distil_name(folder: Path) -> re.Match[str] | None:
    return re.fullmatch(r"(?P<phenomenon>.+)\.(?P<reference>human|mt)", folder.resolve().name)


def _distil_rows(folder: Path) -> Iterator[LocatedRecord]:
    name = _distil_name(folder)
    if name is None:
        raise BabelscopeError(f"{folder} must be named <phenomenon>.human or <phenomenon>.mt")
    files = [folder / file for file in _DISTIL_FILES]
    columns = [read_lines(file, keep_separators=True) for file in files]
    require_equal_counts({str(file): len(lines) for file, lines in zip(files, columns, strict=True)})
    for number, (source, correct, incorrect) in enumerate(zip(*columns, strict=True), 1):
        yield (
            at(files[0], number),
            {
                "id": f"{name[0]}:{number}",
                "source": source,
                "correct": correct,
                "contrastive": incorrect,
                "phenomenon": name["phenomenon"],
                "reference": _REFERENCE_KINDS[name["reference"]],
            },
        )


def _mucow_rows(path: str | Path, entries: list[Any]) -> Iterator[LocatedRecord]:
    for number, entry in enumerate(entries, 1):
        # The JSON parser keeps no line numbers, so messages give the item's number.
        place = f"{path}: item {number}"
        try:
            errors = entry["errors"]
            fields = {
                "id": str(number),
                "source": entry["source"],
                "correct": entry["reference"],
                "contrastive": [error["contrastive"] for error in errors],
                "phenomenon": "word_sense",
                "reference": "human",
                "replacement": [error["replacement"] for error in errors],
                "type": [error["type"] for error in errors],
            }
        except KeyError as error:
            raise BabelscopeError(f"{place}: field {error} is missing") from None
        except TypeError:
            raise BabelscopeError(f"{place} is not an object with a list of errors") from None
        texts = (fields["source"], fields["correct"], *fields["contrastive"])
        if not all(isinstance(text, str) for text in texts):
            raise BabelscopeError(f"{place}: source, reference and contrastive must be texts")
        yield place, {**{k: v for k, v in entry.items() if k not in ("errors", "reference")}, **fields}
