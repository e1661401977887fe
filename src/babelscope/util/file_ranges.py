"""Large text files, read without being held: whole, or a stretch of one by whoever has its share of the work."""

from __future__ import annotations

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
    reading,
    require_equal_counts,
    shorten,
    text_fault,
    too_long,
)

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some units of a file, be they lines or sentences, and where the first of them is."""

    number: int = 1
    """Of the first unit, from 1."""
    line: int = 1
    """The line it begins at, from 1."""
    byte: int = 0
    """The byte it begins at."""
    count: int | None = None
    """How many units; all that follow without it."""


WHOLE = Stretch()

# Text shrinks to a tenth, one sentence parsed over and over to a fiftieth; what is beyond is made to fill a disk.
_MOST_EXPANDED = 100
_EXPANDED_FREELY = 4 << 20  # bytes


@contextlib.contextmanager
def opened(path: str | Path, byte: int = 0) -> Iterator[IO[bytes]]:
    """A file to read from a byte on, unzipped (once) if its name ends in .gz."""
    with reading(path) as file:
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
    """A file whose bytes are counted while they are read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.count = 0

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.count += len(data)
        return data


class _Unzipped(io.RawIOBase):
    """The content of a gzipped file, unless it expands as no text does."""

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


def stream_lines(path: str | Path, stretch: Stretch = WHOLE) -> Iterator[str]:
    """The lines of a UTF-8 file, one after another."""
    with opened(path, stretch.byte) as file:
        lines = bounded_lines(file, path, first=stretch.line)
        for number, raw in enumerate(itertools.islice(lines, stretch.count), stretch.line):
            try:
                line = raw.removesuffix(b"\n").decode("utf-8")
            except UnicodeDecodeError as error:
                told = f"not UTF-8 ({error.reason} at byte {error.start})"
                raise BabelscopeError(f"{at(path, number)}: {told}") from None
            if fault := text_fault(line):
                raise BabelscopeError(f"{at(path, number)} {fault}: {shorten(line)}")
            yield line


def count_lines(path: str | Path) -> int:
    """How many lines a file has; a last one without a newline counts."""
    count = begun = 0
    with opened(path) as file:
        while some := file.read(LONGEST_LINE):
            first = some.find(b"\n")
            if begun + (first if first >= 0 else len(some)) > LONGEST_LINE:
                raise too_long(path, count + 1)
            begun = begun + len(some) if first < 0 else len(some) - some.rfind(b"\n") - 1
            count += some.count(b"\n")
    return count + bool(begun)


def line_stretches(path: str | Path, size: int) -> list[Stretch]:
    """The lines of a file in stretches of `size`, the last one shorter."""

    def starts() -> Iterator[tuple[int, int]]:
        byte = 0
        with opened(path) as file:
            for number, raw in enumerate(bounded_lines(file, path), 1):
                yield number, byte
                byte += len(raw)

    return cut(starts(), size, path)


def can_be_cut(path: str | Path) -> bool:
    """Whether a file can be read from any of its bytes on: a plain one, not zipped."""
    return Path(path).is_file() and not str(path).endswith(".gz")


def cut(starts: Iterable[tuple[int, int]], size: int, path: str | Path) -> list[Stretch]:
    """Units, given by the line and byte that each begins at, in stretches of `size`; one is kept of each stretch."""
    if str(path).endswith(".gz"):
        # To get at a byte of it, all before must be unzipped.
        raise BabelscopeError(f"{path} is gzipped, so that workers cannot share it; unzip it first")
    if Path(path).exists() and not Path(path).is_file():
        raise BabelscopeError(f"{path} is no regular file, so that workers cannot share it")
    found: list[Stretch] = []
    number = 0
    for number, (line, byte) in enumerate(starts, 1):
        if (number - 1) % size == 0:
            found.append(Stretch(number, line, byte, size))
    if found:
        last = found[-1]
        found[-1] = Stretch(last.number, last.line, last.byte, number - last.number + 1)
    return found


def side_by_side(
    columns: Sequence[tuple[str, Iterator[Any]]], first: int
) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Rows of all columns, numbered from `first`; columns that end before others are an error with all counts."""
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
