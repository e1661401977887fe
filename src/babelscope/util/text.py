"""Reading text: UTF-8, lines split at "\\n" only, bounded in size; errors name file and line."""

from __future__ import annotations

import codecs
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

# Other tools, and str.splitlines, break lines here too; we break at "\n" only.
SEPARATORS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"

# Bounds keep a hostile file from filling the memory. Streams (corpora, records) have none in total.
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
LONGEST_NAME = 4096
"""Characters of the name of a system, metric or test set, options included: as many as a path has at most."""
DEEPEST = 100
"""Levels of nested lists and objects. Python parses deeper ones, but fails to write or compare them."""

# tomllib takes time quadratic in the number of parts of a dotted key.
_DOTTED = re.compile(rb"""(?<![\w"'.-])(?:[\w"'-]++[ \t]*+\.[ \t]*+){32}""")
_REGULAR_ONLY: ContextVar[bool] = ContextVar("regular_only", default=False)


def shorten(text: str, width: int = 60) -> str:
    """A text for messages: cut to `width` characters, and quoted."""
    return quoted(text if len(text) <= width else text[: width - 1] + "…")


def quoted(text: str) -> str:
    """A text quoted as by `repr`, control characters escaped."""
    # Not `repr` itself, which escapes the zero-width joiners that many scripts need.
    quote = '"' if "'" in text and '"' not in text else "'"
    return quote + visible(text.replace("\\", "\\\\").replace(quote, f"\\{quote}")) + quote


def plain_words(name: str) -> str:
    """A name as it stands in a sentence: spaces in place of underscores."""
    return name.replace("_", " ")


def check_texts(texts: Iterable[str], *, what: Side, allow_empty: bool = False) -> None:
    """Raise RefusedText for texts that no system can take: empty, or with NUL, line breaks or lone surrogates."""
    for number, text in enumerate(texts, 1):
        reason = text_fault(text)
        if reason is None and not text.strip() and not allow_empty:
            reason = "is empty"
        if reason:
            raise RefusedText(what, number, f"{reason}: {shorten(text)}")


def check_name(name: str) -> str:
    """Return the name of a system, metric or test set; an error if it is too long or no valid Unicode."""
    if len(name) > LONGEST_NAME:
        raise BabelscopeError(
            f"{shorten(name)} has {len(name)} characters, and a name with its options has at most {LONGEST_NAME}; "
            "a long prompt can stand in a .toml file"
        )
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        raise BabelscopeError(f"{name!r} is not valid Unicode text; rename the file") from None
    return name


def text_fault(text: str) -> str | None:
    """Why `text` cannot be one line of UTF-8 text, as the end of a sentence; None if it can."""
    if "\n" in text or "\r" in text:
        windows = text.endswith("\r") and len(text.splitlines()) == 1
        how = ", a carriage return at its end as in Windows files (dos2unix converts them)" if windows else ""
        return f"has a line break inside{how}"
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
    """The bytes of a file of lines, for `parse_lines`; a name in .gz is unzipped."""
    from babelscope.util.file_ranges import open_at  # which needs what stands here

    with open_at(path) as file:
        return read_all_lines(file, path)


def read_all_lines(file: IO[bytes], path: str | Path) -> bytes:
    """As `read_line_bytes`, of an open file."""
    return b"".join(bounded_lines(file, path, most=LARGEST_HELD))


def read_bytes(path: str | Path, *, most: int = LARGEST_DOCUMENT) -> bytes:
    """The content of a file of at most `most` bytes."""
    with open_to_read(path) as file:
        return require_size(file.read(most + 1), path, most)


def require_size(data: bytes, path: str | Path, most: int = LARGEST_DOCUMENT) -> bytes:
    """Return bytes that were read with a limit of `most` + 1; an error if there are more than `most`."""
    if len(data) > most:
        raise BabelscopeError(f"{path} has more than {_size(most)}, too much for one document")
    return data


def bounded_lines(
    file: IO[bytes], path: str | Path, *, longest: int = LONGEST_LINE, most: int | None = None, first: int = 1
) -> Iterator[bytes]:
    """Yield the lines of a binary file, newlines included; one of more than `longest` bytes is an error.

    So are more than `most` bytes in all, for callers that keep every line. `first` is the first line's number.
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
    """The error for a line of more than `longest` bytes."""
    return BabelscopeError(f"{at(path, number)} has more than {_size(longest)}, too much for one line")


def _size(count: int) -> str:
    return next(
        f"{count >> bits} {unit}"
        for bits, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB"), (0, "bytes"))
        if count >> bits
    )


@contextlib.contextmanager
def regular_only() -> Iterator[None]:
    """Refuse, inside the block, to read anything but regular files: paths in a stranger's file may name pipes."""
    before = _REGULAR_ONLY.set(True)
    try:
        yield
    finally:
        _REGULAR_ONLY.reset(before)


def _open_regular(name: str, flags: int) -> int:
    descriptor = os.open(name, flags | os.O_NONBLOCK)  # opening a pipe would block
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise BabelscopeError(f"{name} is no regular file, and only such can be named in a file")
    return descriptor


@contextlib.contextmanager
def open_to_read(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file to read bytes; errors of the operating system become one sentence."""
    if "\0" in str(path):  # no file name can have one
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


def parse_toml(data: bytes, path: str | Path) -> dict[str, Any]:
    """The tables of a TOML file, given what was read of it."""
    try:
        if _DOTTED.search(data):
            raise ValueError("a key has more than 32 parts")
        found = tomllib.loads(data.decode("utf-8"))
        if depth_exceeds(found, DEEPEST):
            raise ValueError(f"tables and lists are nested more than {DEEPEST} deep")
        return found
    except UnicodeDecodeError as error:
        raise BabelscopeError(f"{path}: not UTF-8 ({error.reason} at byte {error.start})") from None
    except (ValueError, RecursionError) as error:  # not TOML, or numbers or nesting beyond Python's limits
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
    """The number that 1 to 18 decimal digits stand for, else None; int() raises on thousands of digits."""
    return int(text) if text.isdecimal() and len(text) <= 18 else None


def parse_lines(data: bytes, path: str | Path, *, keep_separators: bool = False) -> list[str]:
    """Split bytes into checked lines; `path` is for the messages."""
    try:
        # A byte-order mark says how a file is encoded, and is no character of its first line.
        text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    refused = "\r\0" if keep_separators else "\r\0" + SEPARATORS
    if not any(char in text for char in refused):
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        if 4 * max(map(len, lines), default=0) <= LONGEST_LINE:  # bytes of a character
            return lines
    # Some line is faulty or may be too long: look at each, to name it.
    raw = bounded_lines(io.BytesIO(data.removeprefix(codecs.BOM_UTF8)), path)
    return [_line(line, path, number, keep_separators) for number, line in enumerate(raw, 1)]


def _line(raw: bytes, path: str | Path, number: int, keep_separators: bool) -> str:
    try:
        text = raw.removesuffix(b"\n").decode("utf-8")
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 ({error.reason} at byte {error.start})"
        raise BabelscopeError(f"{at(path, number)}: {reason}") from None
    fault = text_fault(text)
    if fault is None and not keep_separators:
        fault = next((f"has the line separator U+{ord(c):04X} inside" for c in SEPARATORS if c in text), None)
    if fault:
        raise BabelscopeError(f"{at(path, number)} {fault}: {shorten(text)}")
    return text


def require_equal_counts(counts: dict[str, int]) -> None:
    """Refuse line-parallel files of unequal length, naming each with its count."""
    if len(set(counts.values())) > 1:
        sizes = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise BabelscopeError(f"line-parallel files must have equally many lines, but {sizes}")
