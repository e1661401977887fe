"""Strict JSON from files, bounded in size: one object a line or a whole document; errors name file and line."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NoReturn

from babelscope.util.errors import BabelscopeError, at
from babelscope.util.text import DEEPEST, LONGEST_RECORD, bounded_lines, depth_exceeds, open_to_read, shorten

# Integers of more digits overflow a float.
_DIGITS = re.compile(rb"(?<![0-9])[0-9]{300}")

LocatedRecord = tuple[str, Mapping[str, Any]]
"""A JSON object with its place, `file:line`."""


def read_json_lines(path: str | Path, *, most: int | None = None) -> Iterator[LocatedRecord]:
    """Yield the JSON objects of a file, one a line; `most` as for `bounded_lines`."""
    with open_to_read(path) as file:
        yield from json_lines(file, path, most=most)


def json_lines(file: IO[bytes], path: str | Path, *, most: int | None = None) -> Iterator[LocatedRecord]:
    """As `read_json_lines`, of an open file."""
    for number, line in enumerate(bounded_lines(file, path, longest=LONGEST_RECORD, most=most), 1):
        place = at(path, number)
        record = parse_json(line, path, number)
        if not isinstance(record, dict):
            fail_at(place, f"each line must be a JSON object, not {shorten(line.decode().strip())}")
        yield place, record


def parse_json(data: bytes, path: str | Path, line: int | None = None) -> Any:
    """Parse strict JSON: no NaN, no name twice in an object (one value would be lost), bounded depth."""
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_refuse_constant,
            # A Python callback for every integer is slow: only where a very long one may be.
            parse_int=_bounded_int if _DIGITS.search(data) else None,
        )
        # Counting brackets is quick, and nearly always rules deep nesting out.
        if data.count(b"[") + data.count(b"{") > DEEPEST and depth_exceeds(value, DEEPEST):
            raise RecursionError(f"lists and objects are nested more than {DEEPEST} deep")
        return value
    except UnicodeDecodeError as error:
        fail_at(at(path, line), f"not UTF-8 ({error.reason} at byte {error.start})")
    except json.JSONDecodeError as error:
        place = at(path, line or error.lineno)
        fail_at(place, f"not JSON: {error.msg} at column {error.colno}" if data.strip() else "an empty line")
    except (ValueError, RecursionError) as error:
        fail_at(at(path, line), f"not JSON that can be read: {error}")


def json_number(value: object) -> float | None:
    """A JSON value as a number, None if it is none: to Python, true and false are 1 and 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:  # an integer of hundreds of digits
        return None


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


def fail_at(place: str, reason: object) -> NoReturn:
    """Raise an error that begins with a place, `file:line`."""
    raise BabelscopeError(f"{place}: {reason}") from None
