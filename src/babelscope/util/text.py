"""Reading text: UTF-8, lines split at "\\n" only, bounded in size; errors name file and line."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import itertools
import json
import os
import re
import stat
import sys
import tomllib
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn, cast

from babelscope.util.errors import BabelscopeError, RefusedText, Side, at
from babelscope.util.terminal import visible

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

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
STANDARD_INPUT = "-"
"""The path of what is piped into the command; it can be read once."""
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
    """A name with spaces instead of underscores."""
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
            f"{shorten(name)} has {len(name)} characters, and a name with its options has at most "
            f"{LONGEST_NAME}; a long prompt can stand in a .toml file"
        )
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        raise BabelscopeError(f"{name!r} is not valid Unicode text; rename the file") from None
    return name


def text_fault(text: str) -> str | None:
    """Why `text` cannot be one line of UTF-8 text, as a predicate; None if it can."""
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
        if number > 1 or raw != codecs.BOM_UTF8:  # a file of such a mark alone has no line
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
        raise BabelscopeError(f"{name} is not a regular file; a study may only name regular files")
    return descriptor


@contextlib.contextmanager
def open_to_read(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file to read bytes, or standard input; errors of the operating system become one sentence."""
    if "\0" in str(path):  # no file name can have one
        raise BabelscopeError(f"{path}: no such file")
    if str(path) == STANDARD_INPUT and not _REGULAR_ONLY.get():
        if sys.stdin is None:
            raise BabelscopeError("standard input is closed, so that - cannot be read")
        yield sys.stdin.buffer
        return
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
    return [_line(line, path, number, keep_separators=keep_separators) for number, line in enumerate(raw, 1)]


def _line(raw: bytes, path: str | Path, number: int, *, keep_separators: bool) -> str:
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
    """Refuse line-parallel files of different lengths, with their counts."""
    if len(set(counts.values())) > 1:
        sizes = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise BabelscopeError(f"line-parallel files must have equally many lines, but {sizes}")


@dataclass(frozen=True, slots=True)
class FileRange:
    """A run of units (lines or sentences) in a file: where it starts, and how many units it has."""

    number: int = 1
    """Number of its first unit, from 1."""
    line: int = 1
    """Line at which the first unit begins, from 1."""
    byte: int = 0
    """Byte at which the first unit begins, from 0."""
    count: int | None = None
    """Number of units; None for all that follow."""


WHOLE = FileRange()

# Text compresses to a tenth, one parsed sentence repeated to a fiftieth. A higher ratio is a zip bomb.
_MOST_EXPANDED = 100
_EXPANDED_FREELY = 4 << 20  # bytes below which the ratio is not looked at


@contextlib.contextmanager
def open_at(path: str | Path, byte: int = 0) -> Iterator[IO[bytes]]:
    """Open a file to read from a byte on; a name in .gz is unzipped, and `byte` counts unzipped bytes."""
    with open_to_read(path) as file:
        if not str(path).endswith(".gz"):
            if byte:
                file.seek(byte)
            yield file
            return
        try:
            packed = _Counted(file)
            unzipped = gzip.GzipFile(fileobj=cast(IO[bytes], packed), mode="rb")
            unzipped.seek(byte)
            yield io.BufferedReader(_Unzipped(unzipped, packed, path), 1 << 17)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise BabelscopeError(f"{path} cannot be read: {error}") from error


class _Counted:
    """A file that counts the bytes read from it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.count = 0

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.count += len(data)
        return data


class _Unzipped(io.RawIOBase):
    """The content of a gzipped file; an error if it expands more than text can."""

    def __init__(self, unzipped: gzip.GzipFile, packed: _Counted, path: str | Path) -> None:
        self._unzipped, self._packed, self._path = unzipped, packed, path
        self._expanded = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        count = self._unzipped.readinto(buffer)
        self._expanded += count
        if self._expanded > max(_EXPANDED_FREELY, _MOST_EXPANDED * self._packed.count):
            raise BabelscopeError(
                f"{self._path} expands to more than {_MOST_EXPANDED} times its size, as no text does"
            )
        return count


def stream_lines(path: str | Path, part: FileRange = WHOLE) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, or of a range of it, without their newlines."""
    with open_at(path, part.byte) as file:
        lines = bounded_lines(file, path, first=part.line)
        for number, raw in enumerate(itertools.islice(lines, part.count), part.line):
            text = raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw  # no character of the first line
            yield _line(text, path, number, keep_separators=True)


def count_lines(path: str | Path) -> int:
    """The number of lines of a file; a last one without a newline counts."""
    count = begun = 0
    with open_at(path) as file:
        while some := file.read(LONGEST_LINE):
            some = some if count or begun else some.removeprefix(codecs.BOM_UTF8)
            first = some.find(b"\n")
            if begun + (first if first >= 0 else len(some)) > LONGEST_LINE:
                raise too_long(path, count + 1)
            begun = begun + len(some) if first < 0 else len(some) - some.rfind(b"\n") - 1
            count += some.count(b"\n")
    return count + bool(begun)


def line_ranges(path: str | Path, size: int) -> list[FileRange]:
    """Divide a file into ranges of `size` lines; the last one may be shorter."""

    def starts() -> Iterator[tuple[int, int]]:
        byte = 0
        with open_at(path) as file:
            for number, raw in enumerate(bounded_lines(file, path), 1):
                yield number, byte
                byte += len(raw)

    return split_units(starts(), size, path)


def is_seekable(path: str | Path) -> bool:
    """Require a regular file that is not gzipped, so that it can be read from any byte."""
    return Path(path).is_file() and not str(path).endswith(".gz")


def split_units(starts: Iterable[tuple[int, int]], size: int, path: str | Path) -> list[FileRange]:
    """Group units, given as (line, byte) of their starts, into ranges of `size`; keeps one start per range."""
    if str(path).endswith(".gz"):
        # Reaching a byte of it means unzipping all bytes before.
        raise BabelscopeError(f"{path} is gzipped, so workers cannot share it; unzip it first")
    if Path(path).exists() and not Path(path).is_file():
        raise BabelscopeError(f"{path} is not a regular file, so workers cannot share it")
    found: list[FileRange] = []
    number = 0
    for number, (line, byte) in enumerate(starts, 1):
        if (number - 1) % size == 0:
            found.append(FileRange(number, line, byte, size))
    if found:
        last = found[-1]
        found[-1] = FileRange(last.number, last.line, last.byte, number - last.number + 1)
    return found


def parallel_rows(
    columns: Sequence[tuple[str, Iterator[Any]]], first: int
) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Yield (number, row) of columns read in parallel, from `first`; unequal lengths are an error with all counts."""
    end = object()
    finite = [place for place, (_, column) in enumerate(columns) if not isinstance(column, itertools.repeat)]
    for number in itertools.count(first):
        row = tuple(next(column, end) for _, column in columns)
        ended = [row[place] is end for place in finite]
        if all(ended):
            return
        if any(ended):
            counts = {}
            for place, over in zip(finite, ended, strict=True):
                name, column = columns[place]
                counts[name] = number - 1 if over else number + sum(1 for _ in column)
            require_equal_counts(counts)
        yield number, row


# --- Strict JSON from files, bounded in size: one object per line or a whole document ------------------------------


# Integers of more digits overflow a float.
_DIGITS = re.compile(rb"(?<![0-9])[0-9]{300}")

LocatedRecord = tuple[str, Mapping[str, Any]]
"""A JSON object with its place, `file:line`."""


def read_json_lines(path: str | Path, *, most: int | None = None) -> Iterator[LocatedRecord]:
    """Yield the JSON objects of a file, one per line; `most` as for `bounded_lines`."""
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
        raise ValueError(f"the name {shorten(twice)} occurs twice in an object")
    return made


def _bounded_int(digits: str) -> int:
    if len(digits) > 300:
        raise ValueError(f"a number has {len(digits)} digits")
    return int(digits)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def fail_at(place: str, reason: object) -> NoReturn:
    """Raise an error that begins with the place `file:line`."""
    raise BabelscopeError(f"{place}: {reason}") from None
