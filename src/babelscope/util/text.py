"""Lines of text: UTF-8, split on "\\n" only, faults told with file and line."""

from __future__ import annotations

import contextlib
import io
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import IO, Any

from babelscope.util.errors import BabelscopeError, RefusedText, Side, at
from babelscope.util.terminal import visible

# Where other tools, and str.splitlines, would break a line; we break at "\n" only.
SEPARATORS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"

# What is read has bounds, so that no file ends in a kill or a hang. Streams (corpora, records) have none in total.
LONGEST_LINE = 1 << 20
"""Bytes of a line of text, which is a sentence: half of "War and Peace" on one line is more."""
LONGEST_RECORD = 16 << 20
"""Bytes of a line of JSON, or of a parsed sentence: an item with thousands of hypotheses has a few million."""
LARGEST_DOCUMENT = 16 << 20
"""Bytes of a file read as a whole, such as JSON: the largest published one has 3.2 million, and in memory, JSON
takes up to thirty times its size."""
LARGEST_TOML = 1 << 18
"""Bytes of a study or of rules, which are written by hand."""
LARGEST_HELD = 2 << 30
"""Bytes of all lines that are held at once: sources, translations, test sets."""
DEEPEST = 100
"""Lists and objects in one another. Python can read more, but not write or compare them: it calls itself."""

# Python's reader of TOML takes time that grows with the square of a key's parts.
_DOTTED = re.compile(rb"""(?<![\w"'.-])(?:[\w"'-]++[ \t]*+\.[ \t]*+){32}""")
_REGULAR_ONLY: ContextVar[bool] = ContextVar("regular_only", default=False)


def shorten(text: str, width: int = 60) -> str:
    """A text as shown in messages: quoted, and cut."""
    return quoted(text if len(text) <= width else text[: width - 1] + "…")


def quoted(text: str) -> str:
    """A text quoted as by `repr`, what steers or hides text escaped."""
    # Not `repr` itself, which takes the joiners that many scripts are written with for unprintable.
    quote = '"' if "'" in text and '"' not in text else "'"
    return quote + visible(text.replace("\\", "\\\\").replace(quote, f"\\{quote}")) + quote


def check_texts(texts: Iterable[str], *, what: Side, allow_empty: bool = False) -> None:
    """Refuse what no system can be asked: empty text, NUL, line breaks, lone surrogates."""
    for number, text in enumerate(texts, 1):
        reason = text_fault(text)
        if reason is None and not text.strip() and not allow_empty:
            reason = "is empty"
        if reason:
            raise RefusedText(what, number, f"{reason}: {shorten(text)}")


def check_name(name: str) -> str:
    """A system's or test set's name, which is stored with results; a file's name need be no text at all."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        raise BabelscopeError(f"{name!r} is not valid Unicode text; rename the file") from None
    return name


def text_fault(text: str) -> str | None:
    """Why `text` cannot be one line of UTF-8 text, or None."""
    if "\n" in text or "\r" in text:
        return "has a line break inside"
    if "\0" in text:
        return "has a NUL character"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "has a lone surrogate, which is not valid Unicode text"
    return None


def read_lines(path: str | Path, *, keep_separators: bool = False) -> list[str]:
    """The lines of a UTF-8 file; a last line without a newline counts, an empty file has none.

    Unicode line separators inside a line are refused, since other tools would count lines differently,
    unless `keep_separators` (for published files, whose lines are defined by "\\n" alone).
    """
    return parse_lines(read_line_bytes(path), path, keep_separators=keep_separators)


def read_line_bytes(path: str | Path) -> bytes:
    """The content of a file of lines, for `parse_lines`."""
    with reading(path) as file:
        return held_lines(file, path)


def held_lines(file: IO[bytes], path: str | Path) -> bytes:
    """The same of a file that is open."""
    return b"".join(bounded_lines(file, path, most=LARGEST_HELD))


def read_bytes(path: str | Path, *, most: int = LARGEST_DOCUMENT) -> bytes:
    """A file's content as a whole, or one clear sentence why not."""
    with reading(path) as file:
        return within(file.read(most + 1), path, most)


def within(data: bytes, path: str | Path, most: int = LARGEST_DOCUMENT) -> bytes:
    """The bytes of a file, of which one more than `most` was asked for; refused if it is there."""
    if len(data) > most:
        raise BabelscopeError(f"{path} has more than {_size(most)}, too much for one document")
    return data


def bounded_lines(
    file: IO[bytes], path: str | Path, *, longest: int = LONGEST_LINE, most: int | None = None, first: int = 1
) -> Iterator[bytes]:
    """The lines of a binary file, which break at "\\n" only; one that is too long is refused before it is held.

    So is what is more than `most` bytes in all, for those who hold every line. `first` is the first one's number.
    """
    left = most
    for number, raw in enumerate(iter(partial(file.readline, longest + 1), b""), first):
        size = len(raw)
        if size > longest and not raw.endswith(b"\n"):
            raise too_long(path, number, longest)
        if left is not None and (left := left - size) < 0:
            raise BabelscopeError(f"{path} has more than {_size(most or 0)}; split it")
        yield raw


def too_long(path: str | Path, number: int, longest: int = LONGEST_LINE) -> BabelscopeError:
    """What to say of a line that has more than it may have."""
    return BabelscopeError(f"{at(path, number)} has more than {_size(longest)}, too much for one line")


def _size(count: int) -> str:
    return next(
        f"{count >> bits} {unit}"
        for bits, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB"), (0, "bytes"))
        if count >> bits
    )


@contextlib.contextmanager
def regular_only() -> Iterator[None]:
    """Within this block only regular files are read: files that a stranger's file names could be pipes or devices."""
    before = _REGULAR_ONLY.set(True)
    try:
        yield
    finally:
        _REGULAR_ONLY.reset(before)


def _open_regular(name: str, flags: int) -> int:
    descriptor = os.open(name, flags | os.O_NONBLOCK)  # or a pipe would be waited for
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise BabelscopeError(f"{name} is no regular file, and only such can be named in a file")
    return descriptor


@contextlib.contextmanager
def reading(path: str | Path) -> Iterator[IO[bytes]]:
    """A file to read bytes from; what the disk refuses is told in a sentence."""
    if "\0" in str(path):  # which no file's name can have
        raise BabelscopeError(f"{path}: no such file")
    try:
        with open(path, "rb", opener=_open_regular if _REGULAR_ONLY.get() else None) as file:
            yield file
    except FileNotFoundError:
        raise BabelscopeError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise BabelscopeError(f"{path} is a folder, not a file") from None
    except OSError as error:
        raise BabelscopeError(f"{path} cannot be read: {error.strerror or error}") from error


def read_toml(path: str | Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    try:
        data = read_bytes(path, most=LARGEST_TOML)
        if _DOTTED.search(data):
            raise ValueError("a key has more than 32 parts")
        found = tomllib.loads(data.decode("utf-8"))
        if depth_exceeds(found, DEEPEST):
            raise ValueError(f"tables and lists are nested more than {DEEPEST} deep")
        return found
    except UnicodeDecodeError as error:
        raise BabelscopeError(f"{path}: not UTF-8 ({error.reason} at byte {error.start})") from None
    except (ValueError, RecursionError) as error:  # not TOML, or numbers and nests too large for Python
        raise BabelscopeError(f"{path}: not TOML: {error}") from None


def depth_exceeds(value: Any, most: int) -> bool:
    """Whether lists and objects are nested more than `most` deep."""
    level = [value]
    for _ in range(most + 1):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return True


def whole_number(text: str) -> int | None:
    """The number that up to 18 digits stand for, or None; Python refuses thousands of digits with an error."""
    return int(text) if text.isdecimal() and len(text) <= 18 else None


def parse_lines(data: bytes, path: str | Path, *, keep_separators: bool = False) -> list[str]:
    """The lines of bytes already read; `path` is for the messages."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    refused = "\r\0" if keep_separators else "\r\0" + SEPARATORS
    if not any(char in text for char in refused):
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        if 4 * max(map(len, lines), default=0) <= LONGEST_LINE:  # bytes of a character
            return lines
    # One of them has a fault, or may be too long: which one?
    raw = bounded_lines(io.BytesIO(data), path)
    return [_line(line, path, number, keep_separators) for number, line in enumerate(raw, 1)]


def _line(raw: bytes, path: str | Path, number: int, keep_separators: bool) -> str:
    try:
        text = raw.removesuffix(b"\n").decode("utf-8")
    except UnicodeDecodeError as error:
        told = f"not UTF-8 ({error.reason} at byte {error.start})"
        raise BabelscopeError(f"{at(path, number)}: {told}") from None
    fault = text_fault(text)
    if fault is None and not keep_separators:
        fault = next((f"has the line separator U+{ord(c):04X} inside" for c in SEPARATORS if c in text), None)
    if fault:
        raise BabelscopeError(f"{at(path, number)} {fault}: {shorten(text)}")
    return text


def require_equal_counts(counts: dict[str, int]) -> None:
    """Refuse line-parallel files of unequal length, naming each with its count."""
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise BabelscopeError(f"line-parallel files must have equally many lines, but {told}")
