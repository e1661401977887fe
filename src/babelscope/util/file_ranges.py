"""Large text files as streams of lines: the whole file, or a range of it for one of several workers."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import itertools
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from babelscope.util.errors import BabelscopeError, at
from babelscope.util.text import (
    LONGEST_LINE,
    bounded_lines,
    open_to_read,
    require_equal_counts,
    shorten,
    text_fault,
    too_long,
)

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


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
    """How many units; None for all that follow."""


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
            try:
                line = text.removesuffix(b"\n").decode("utf-8")
            except UnicodeDecodeError as error:
                reason = f"not UTF-8 ({error.reason} at byte {error.start})"
                raise BabelscopeError(f"{at(path, number)}: {reason}") from None
            if fault := text_fault(line):
                raise BabelscopeError(f"{at(path, number)} {fault}: {shorten(line)}")
            yield line


def count_lines(path: str | Path) -> int:
    """How many lines a file has; a last one without a newline counts."""
    count = begun = 0
    with open_at(path) as file:
        while some := file.read(LONGEST_LINE):
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
    """Whether a file can be read from any byte on: a regular file, not gzipped."""
    return Path(path).is_file() and not str(path).endswith(".gz")


def split_units(starts: Iterable[tuple[int, int]], size: int, path: str | Path) -> list[FileRange]:
    """Group units, given as (line, byte) of their starts, into ranges of `size`; keeps one start a range."""
    if str(path).endswith(".gz"):
        # Reaching a byte of it means unzipping all bytes before.
        raise BabelscopeError(f"{path} is gzipped, so that workers cannot share it; unzip it first")
    if Path(path).exists() and not Path(path).is_file():
        raise BabelscopeError(f"{path} is no regular file, so that workers cannot share it")
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
