"""What readers of public formats share: checked JSON documents, parallel lines and contexts."""

from __future__ import annotations

import csv
import io
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from babelscope.testsets.items import TestSet, make_items
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.text import parse_json, read_bytes, read_lines, require_equal_counts

LARGEST_RELEASE = 64 << 20
"""Bytes of a released JSON document at most; ContraPro's has 14 MB."""

Row = tuple[str, dict[str, Any]]
"""Where an item stands, for messages, and its fields."""


def collect(name: str, rows: Iterable[Row], skipped: dict[str, int] | None = None) -> TestSet:
    """A test set of rows; those with an empty text or without a difference are left out and counted."""
    skipped = {} if skipped is None else skipped
    items = tuple(make_items(iter(rows), skipped=skipped))
    return TestSet(name, items, skipped)


def read_document(path: str | Path, kind: type[list[Any]] | type[dict[str, Any]], what: str) -> Any:
    """A JSON document that is a list or an object, as the format demands."""
    document = parse_json(read_bytes(path, most=LARGEST_RELEASE), path)
    if not isinstance(document, kind):
        form = "list" if kind is list else "object"
        raise BabelscopeError(f"{path} is no {what} file: it must be a JSON {form}")
    return document


def numbered(path: str | Path, entries: Iterable[Any]) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """Number, place and fields of every entry, which must be a JSON object."""
    for number, entry in enumerate(entries, 1):
        place = f"{path}: item {number}"
        if not isinstance(entry, Mapping):
            raise BabelscopeError(f"{place} must be a JSON object")
        yield number, place, entry


def field(entry: Mapping[str, Any], name: str, place: str, kind: type = str) -> Any:
    """A field of an entry, of this type."""
    if name not in entry:
        raise BabelscopeError(f"{place}: field {name!r} is missing")
    if not isinstance(entry[name], kind) or (kind is int and isinstance(entry[name], bool)):
        wanted = {str: "text", list: "a list", dict: "an object", int: "a whole number"}[kind]
        raise BabelscopeError(f"{place}: field {name!r} must be {wanted}")
    return entry[name]


def texts(entry: Mapping[str, Any], name: str, place: str, count: int | None = None) -> list[str]:
    """A field that is a list of texts, of so many if `count` is given."""
    found: list[str] = field(entry, name, place, list)
    if not all(isinstance(each, str) for each in found) or len(found) != (count or len(found)):
        raise BabelscopeError(
            f"{place}: field {name!r} must be a list of {f'{count} ' if count else ''}texts"
        )
    return found


def parallel_lines(*paths: Path) -> Iterator[tuple[int, str, list[str]]]:
    """Number, place and texts of each line of files that are parallel."""
    columns = [read_lines(path, keep_separators=True) for path in paths]
    require_equal_counts({str(path): len(lines) for path, lines in zip(paths, columns, strict=True)})
    for number, row in enumerate(zip(*columns, strict=True), 1):
        yield number, at(paths[0], number), list(row)


def read_csv(
    path: Path, columns: Sequence[str], what: str, *, delimiter: str = ","
) -> Iterator[tuple[int, str, dict[str, str]]]:
    """Number, place and cells by column of each row; line breaks inside a quoted cell become spaces."""
    text = read_bytes(path, most=LARGEST_RELEASE).removeprefix(BOM_UTF8)
    try:
        lines = io.StringIO(text.decode("utf-8"), newline="")
    except UnicodeDecodeError as error:
        raise BabelscopeError(f"{path}: not UTF-8 ({error.reason} at byte {error.start})") from None
    table = csv.reader(
        lines, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if delimiter == "," else csv.QUOTE_NONE
    )
    try:
        header = [name.strip() for name in next(table, [])]
        if missing := [name for name in columns if name not in header]:
            raise BabelscopeError(f"{path} is no {what} file: it has no column {missing[0]!r}")
        for number, cells in enumerate(table, 1):
            place = at(path, table.line_num)
            if len(cells) > len(header):
                raise BabelscopeError(f"{place} has {len(cells)} columns, the first line has {len(header)}")
            cells += [""] * (len(header) - len(cells))
            yield (
                number,
                place,
                {name: " ".join(cell.split()) for name, cell in zip(header, cells, strict=True)},
            )
    except csv.Error as error:
        raise BabelscopeError(f"{at(path, table.line_num)}: {error}") from None


def extra(entry: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The fields of these names that an entry has, with underscores for spaces."""
    return {name.replace(" ", "_"): entry[name] for name in names if entry.get(name) is not None}
