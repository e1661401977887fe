"""Broken files, made from good ones: bytes, lines and JSON values changed at random."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

Mutation = Callable[[bytes, Random, Sequence[bytes]], bytes]

DEEP = b"[" * 1500 + b"]" * 1500  # deeper than Python can call
NESTED = b"[" * 600 + b"]" * 600  # deeper than anything needs
LONG_NUMBER = b"9" * 4301  # longer than Python turns into an int
WORDS = (
    *(b"\0", b"\n", b"\r\n", b"\r", b"\t", b"\v", b" ", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"\x1b[31m"),
    *(text.encode() for text in ("\u2028", "\x85", "ß", "İ", "\u0301", "😀", "²", "٣", "\u200f")),
    *(b"NaN", b"-inf", b"1e999", b"1_0", b"-1", b"0", b"007", b"1.5", b"true", b"null", LONG_NUMBER),
    *(b'"', b"'", b"[", b"]", b"{", b"}", b":", b",", b"=", b"?", b"&", b"%00", b"|||", b" ||| ", b"-", b"_"),
    *(
        b"#",
        b"*",
        b"**",
        b"[a",
        b"\\",
        b"\\ud800",
        b"a" * 300,
        DEEP,
        NESTED,
        b"<script>",
        b"0-0",
        b"1-2",
        b"..",
        b"=",
    ),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 3, 2**70, 0.5, 1e308, float("nan"), float("inf")),
    *("", " ", "a", "a b", "a\nb", "a\0b", "a\u2028b", "\ud800", "9" * 4301, "a" * 300, "male", "1", "-1"),
    *([], {}, [[]], [None], ["a"], [1, "a"], {"a": 1}, {"": {}}, [["a", "b", 1]]),
)


def mutate(data: bytes, dice: Random, others: Sequence[bytes] = ()) -> bytes:
    """`data` with one to four changes; `others` are good inputs that parts may come from."""
    for _ in range(dice.choice((1, 1, 1, 2, 2, 4))):
        data = dice.choice(_MUTATIONS)(data, dice, others)
    return data


def _insert(data: bytes, dice: Random, _others: Sequence[bytes]) -> bytes:
    place = dice.randint(0, len(data))
    return data[:place] + dice.choice(WORDS) + data[place:]


def _overwrite(data: bytes, dice: Random, _others: Sequence[bytes]) -> bytes:
    start, end = _span(data, dice)
    return data[:start] + dice.choice(WORDS) + data[end:]


def _flip(data: bytes, dice: Random, _others: Sequence[bytes]) -> bytes:
    if not data:
        return dice.randbytes(3)
    place = dice.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << dice.randrange(8)]) + data[place + 1 :]


def _delete(data: bytes, dice: Random, _others: Sequence[bytes]) -> bytes:
    start, end = _span(data, dice)
    return data[:start] + data[end:]


def _repeat(data: bytes, dice: Random, _others: Sequence[bytes]) -> bytes:
    start, end = _span(data, dice)
    return data[:end] + data[start:end] * dice.choice((1, 1, 2, 9)) + data[end:]


def _cut(data: bytes, dice: Random, _others: Sequence[bytes]) -> bytes:
    return data[: dice.randint(0, len(data))]


def _splice(data: bytes, dice: Random, others: Sequence[bytes]) -> bytes:
    other = dice.choice(others) if others else data
    return data[: dice.randint(0, len(data))] + other[dice.randint(0, len(other)) :]


def _lines(data: bytes, dice: Random, _others: Sequence[bytes]) -> bytes:
    """A line left out, doubled, moved, or emptied."""
    lines = data.split(b"\n")
    place = dice.randrange(len(lines))
    line = lines.pop(place)
    again = dice.choice(((), (line, line), (line,), (b"",)))
    where = dice.randint(0, len(lines)) if len(again) == 1 and again[0] else place
    lines[where:where] = again
    return b"\n".join(lines)


def _cells(data: bytes, dice: Random, _others: Sequence[bytes]) -> bytes:
    """A cell of a table left out, doubled, or replaced."""
    lines = data.split(b"\n")
    place = dice.randrange(len(lines))
    cells = lines[place].split(b"\t")
    number = dice.randrange(len(cells))
    cells[number : number + 1] = dice.choice(((), (cells[number],) * 2, (dice.choice(WORDS),), (b"",)))
    lines[place] = b"\t".join(cells)
    return b"\n".join(lines)


def _json(data: bytes, dice: Random, others: Sequence[bytes]) -> bytes:
    """A value or a name somewhere in a JSON document, or in a line of JSON, changed."""
    lines = data.split(b"\n")
    place = dice.randrange(len(lines))
    for text in (lines[place], data):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        try:
            changed = json.dumps(_changed(value, dice)).encode()
        except (ValueError, RecursionError):
            continue
        if text is data:
            return changed
        return b"\n".join([*lines[:place], changed, *lines[place + 1 :]])
    return _insert(data, dice, others)


def _changed(value: Any, dice: Random) -> Any:
    if not isinstance(value, dict | list) or not value or dice.random() < 0.1:
        return dice.choice(VALUES)
    if isinstance(value, list):
        place = dice.randrange(len(value))
        new = dice.choice(((), (value[place],) * 2, (_changed(value[place], dice),)))
        return [*value[:place], *new, *value[place + 1 :]]
    name = dice.choice(list(value))
    what = dice.random()
    if what < 0.2:
        return {key: own for key, own in value.items() if key != name}
    if what < 0.3:
        return {(f"{key}x" if key == name else key): own for key, own in value.items()}
    return {**value, name: _changed(value[name], dice)}


def _span(data: bytes, dice: Random) -> tuple[int, int]:
    start = dice.randint(0, len(data))
    return start, min(len(data), start + dice.choice((1, 1, 2, 5, 20, 100)))


# JSON twice: most of our files are JSON, and one value changed goes deeper than broken syntax.
_MUTATIONS: tuple[Mutation, ...] = (
    *(_insert, _overwrite, _flip, _delete, _repeat, _cut, _splice, _lines, _cells, _json, _json, _json),
)
