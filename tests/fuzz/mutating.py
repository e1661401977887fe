"""Broken files, made from good ones: bytes, lines and JSON values changed at random."""

from __future__ import annotations

import gzip
import json
from random import Random
from typing import Any

DEEP = b"[" * 1500 + b"]" * 1500  # deeper than Python can call
NESTED = b"[" * 600 + b"]" * 600  # deeper than anything needs
LONG_NUMBER = b"9" * 4301  # longer than Python turns into an int
WORDS = (
    *(
        b"\0",
        b"\n",
        b"\r\n",
        b"\r",
        b"\t",
        b"\v",
        b" ",
        b"\xff",
        b"\xc3",
        b"\xef\xbb\xbf",
        b"\x1b[31m",
        b" ||| ",
    ),
    *"\u2028 \x85 ß İ \u0301 😀 ² ٣ \u200f".encode().split(b" "),
    *b"NaN -inf 1e999 1_0 -1 0 007 1.5 true null".split(),
    *rb""" " ' [ ] { } : , = ? & %00 ||| - _ # * ** [a \ \ud800 <script> 0-0 1-2 .. """.split(),
    *(b"a" * 300, DEEP, NESTED, LONG_NUMBER),
)
# What grows: each many times over, where others grow with their square or fill the memory.
GROWING = (
    *(b". ", b"A. ", b"; ", b"a ", b" ", b"\n", b"\t", b"\r", b"\0", b"0-0 ", b"1\t", b"(..) ", b" ||| a"),
    *(b"a.b=1\n", b"[a]\n", b"[[a]]\n", b"er geht, ", b"unfair "),
    *rb""". [ ] {"a": [[], 9 0 1e a - a- 1- , "", "a":1, ( ' a' \ = a=1& % %25 ||| a. # * ? { &""".split(),
    *"é \u0301 ß İ 😀 Haus \u2028 …".encode().split(b" "),
)
SIZES = (1_000, 1_000, 10_000, 10_000, 40_000, 100_000, 1_000_000)
BOMBS = tuple(
    gzip.compress(each, mtime=0)
    for each in (
        b"\0" * 30_000_000,
        (b"a" * 99 + b"\n") * 400_000,
        gzip.compress(gzip.compress(b"\0" * 30_000_000, mtime=0), mtime=0),
    )
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 3, 2**70, 0.5, 1e308, float("nan"), float("inf")),
    *("", " ", "a", "a b", "a\nb", "a\0b", "a\u2028b", "\ud800", "9" * 4301, "a" * 300, "male", "1", "-1"),
    *([], {}, [[]], [None], ["a"], [1, "a"], {"a": 1}, {"": {}}, [["a", "b", 1]]),
)
BIG: tuple[Any, ...] = (
    *(10**12, -(10**12), 1e12, 2**63, 2**64, 10**30, 10**4000, [0] * 100_000, ["a"] * 10_000, "." * 40_000),
    *("a " * 20_000, "a" * 1_000_000, {str(n): n for n in range(10_000)}, [[[]] * 100] * 100, "9" * 100_000),
    *(json.loads("[" * 90 + "]" * 90), {"a": "b" * 100_000}, [{"a": 1}] * 10_000, "Haus" * 10_000),
)
# One input in a hundred is large: most of the time goes into these all the same.
_LARGE = 0.01


def mutate(data: bytes, dice: Random, other: bytes) -> bytes:
    """`data` with one to four changes; `other` is a good input that parts may come from."""
    if dice.random() < _LARGE:
        data = dice.choice((_grow, _grow, _grow, _many, _pack))(data, dice)
    for _ in range(dice.choice((1, 1, 1, 2, 2, 4))):
        # JSON most often: most of our files are JSON, and one value changed goes deeper than broken syntax.
        data = dice.choice((_bytes, _bytes, _bytes, _bytes, _lines, _cells, _json, _json))(data, dice)
    if dice.random() < 0.1:
        data = data[: dice.randint(0, len(data))] + other[dice.randint(0, len(other)) :]
    return data


def _grow(data: bytes, dice: Random) -> bytes:
    """A pattern put somewhere, many times over."""
    place = dice.randint(0, len(data))
    pattern = dice.choice(GROWING)
    return data[:place] + pattern * (dice.choice(SIZES) // len(pattern)) + data[place:]


def _many(data: bytes, dice: Random) -> bytes:
    """Part of the file itself, many times over."""
    start, end = _span(data, dice) if dice.random() < 0.5 else (0, len(data))
    size = dice.choice(SIZES[:-1])
    return data[:end] + data[start:end] * (size // max(1, end - start)) + data[end:]


def _pack(data: bytes, dice: Random) -> bytes:
    """Gzipped once more, or a small file that is a large one."""
    return dice.choice((gzip.compress(data, mtime=0), *BOMBS))


def _bytes(data: bytes, dice: Random) -> bytes:
    """Some bytes overwritten, inserted, flipped, left out or repeated, or the file cut."""
    start, end = _span(data, dice)
    found = data[start:end]
    word = dice.choice(WORDS)
    flipped = bytes([found[0] ^ 1 << dice.randrange(8)]) + found[1:] if found else dice.randbytes(3)
    if dice.random() < 0.1:
        return data[:start]
    return data[:start] + dice.choice((word, word + found, flipped, b"", found * 2, found * 10)) + data[end:]


def _lines(data: bytes, dice: Random) -> bytes:
    """A line left out, doubled, moved, or emptied."""
    lines = data.split(b"\n")
    place = dice.randrange(len(lines))
    line = lines.pop(place)
    again = dice.choice(((), (line, line), (line,), (b"",)))
    where = dice.randint(0, len(lines)) if again == (line,) else place
    lines[where:where] = again
    return b"\n".join(lines)


def _cells(data: bytes, dice: Random) -> bytes:
    """A cell of a table left out, doubled, or replaced."""
    lines = data.split(b"\n")
    place = dice.randrange(len(lines))
    cells = lines[place].split(b"\t")
    number = dice.randrange(len(cells))
    cells[number : number + 1] = dice.choice(((), (cells[number],) * 2, (dice.choice(WORDS),), (b"",)))
    lines[place] = b"\t".join(cells)
    return b"\n".join(lines)


def _json(data: bytes, dice: Random) -> bytes:
    """A value or a name somewhere in a JSON document, or in a line of JSON, changed."""
    lines = data.split(b"\n")
    place = dice.randrange(len(lines))
    for before, text, after in ((lines[:place], lines[place], lines[place + 1 :]), ([], data, [])):
        try:
            changed = json.dumps(_changed(json.loads(text), dice)).encode()
        except (ValueError, RecursionError):
            continue
        return b"\n".join([*before, changed, *after])
    return _bytes(data, dice)


def _changed(value: Any, dice: Random) -> Any:
    if not isinstance(value, dict | list) or not value or dice.random() < 0.1:
        return dice.choice(BIG if dice.random() < _LARGE else VALUES)
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
    return start, min(len(data), start + dice.choice((0, 1, 1, 2, 5, 20, 100)))
