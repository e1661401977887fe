"""JSON from files: one object a line, or a whole document; bounded, strict, faults told with file and line."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NoReturn

from babelscope.util.errors import BabelscopeError, at
from babelscope.util.text import DEEPEST, LONGEST_RECORD, bounded_lines, depth_exceeds, reading, shorten

# What is too large for a float is no number of ours.
_DIGITS = re.compile(rb"(?<![0-9])[0-9]{300}")

Row = tuple[str, Mapping[str, Any]]
"""Where something stands (`file:line`), and the JSON object of an item."""


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
            fault(place, f"each line must be a JSON object, not {shorten(line.decode().strip())}")
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
        fault(at(path, line), f"not UTF-8 ({error.reason} at byte {error.start})")
    except json.JSONDecodeError as error:
        place = at(path, line or error.lineno)
        fault(place, f"not JSON: {error.msg} at column {error.colno}" if data.strip() else "an empty line")
    except (ValueError, RecursionError) as error:
        fault(at(path, line), f"not JSON that can be read: {error}")


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


def fault(place: str, reason: object) -> NoReturn:
    raise BabelscopeError(f"{place}: {reason}") from None
