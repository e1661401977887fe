"""Outputs written part by part, which a command that was stopped resumes after the last complete part."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.files import append_synced, replacing
from babelscope.util.journal import Journal, Parts, keeping, may_keep_beside, partial_path
from babelscope.util.regular import open_regular

_BLOCK = 1 << 20


class _Output:
    """One output: its bytes so far in OUT.partial.data; those before offset `_end` belong to complete parts."""

    def __init__(self, out: Path, *, begun: bool) -> None:
        self._out = out
        self.data = out.with_name(f"{partial_path(out).name}.data")
        self._end = 0
        # Killed between renaming the output and removing the journal: the output is complete.
        self._finished = begun and not self.data.exists() and out.is_file()
        self._file = open_regular(out) if self._finished else open_regular(self.data, create=True)

    def write(self, data: bytes) -> tuple[int, str] | None:
        """Append a part and give its size and SHA-256; None if the output was complete already."""
        if self._finished:
            return None
        append_synced(self._file, data, self._end)
        return len(data), hashlib.sha256(data).hexdigest()

    def has(self, size: int, digest: str) -> bool:
        """Whether the bytes from `_end` on have this size and SHA-256."""
        found = hashlib.sha256()
        for start in range(self._end, self._end + size, _BLOCK):
            wanted = min(_BLOCK, self._end + size - start)
            found.update(os.pread(self._file.fileno(), wanted, start))
        return found.hexdigest() == digest

    def lines(self) -> Iterator[str]:
        left = self._end
        with io.BufferedReader(open_regular(self._file.name)) as file:
            while left > 0:
                line = file.readline()
                left -= len(line)
                yield line.decode("utf-8").removesuffix("\n")

    def advance(self, size: int) -> None:
        self._end += size

    def finish(self) -> None:
        """Give the output its name."""
        if not self._finished:
            os.ftruncate(self._file.fileno(), self._end)
            os.replace(self.data, self._out)

    def close(self, *, keep: bool) -> None:
        self._file.close()
        if not (keep or self._finished):
            self.data.unlink(missing_ok=True)


class ResumableOutputs:
    """Several outputs written in step; the journal keeps each part's sizes, digests and state."""

    def __init__(self, outs: Sequence[Path], journal: Journal) -> None:
        self._journal = journal
        self._tails: list[_Output] = []
        self._taken = 0
        try:
            for out in outs:
                self._tails.append(_Output(out, begun=bool(journal.stored)))
        except BaseException:
            self.close()
            raise

    @property
    def stored(self) -> int:
        return self._journal.stored

    def part(self, place: str, make: Callable[[], tuple[bytes, Any]]) -> Any:
        """The state of the next part: the stored one, or that of `make`, whose bytes are then written."""

        def several() -> tuple[Sequence[bytes], Any]:
            data, state = make()
            return [data], state

        return self.parts(place, several)

    def parts(self, place: str, make: Callable[[], tuple[Sequence[bytes], Any]]) -> Any:
        """As `part`, with bytes for each of the outputs."""

        def written() -> list[Any]:
            data, state = make()
            found = [tail.write(each) for tail, each in zip(self._tails, data, strict=True)]
            if None in found:
                raise self._damaged(place)
            return [found, state]

        self._taken += 1
        before = self._taken <= self.stored
        found, state = self._journal.part(place, written)
        for tail, (size, digest) in zip(self._tails, found, strict=True):
            if before and not tail.has(size, digest):
                raise self._damaged(place)
            tail.advance(size)
        return state

    def lines(self, number: int) -> Iterator[str]:
        """The lines written so far to output `number`."""
        return self._tails[number].lines()

    def finish(self) -> None:
        """Give the outputs their names, one after the other."""
        for tail in self._tails:
            tail.finish()

    def close(self) -> None:
        for tail in self._tails:
            tail.close(keep=bool(self.stored))

    def _damaged(self, place: str) -> BabelscopeError:
        names = ", ".join(str(tail.data) for tail in self._tails)
        return BabelscopeError(
            f"{names} is not what {self._journal.path} tells of ({place}): it was changed or damaged; delete both to "
            "start anew"
        )


class Writable(Protocol):
    def write(self, data: bytes, /) -> object: ...


class Streamed:
    """Parts written to a pipe, a device or stdout, which cannot be read back: nothing is resumed."""

    stored = 0

    def __init__(self, file: Writable) -> None:
        self._file = file

    def part(self, _place: str, make: Callable[[], tuple[bytes, Any]]) -> Any:
        data, state = make()
        self._file.write(data)
        return state


class StatesOnly:
    """Parts whose bytes are thrown away; only their states are kept."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.stored = parts.stored

    def part(self, place: str, make: Callable[[], tuple[bytes, Any]]) -> Any:
        return self._parts.part(place, lambda: make()[1])


@contextlib.contextmanager
def resumable_output(
    out: Path | None, asked: Mapping[str, Any]
) -> Iterator[ResumableOutputs | Streamed | StatesOnly]:
    """The output of a command: complete when the block ends without an error, otherwise kept to be resumed.

    `asked` identifies the work. Without `out`, only states are kept, in the user's state folder.
    """
    if out is None:
        with keeping(None, asked) as parts:
            yield StatesOnly(parts)
        return
    if not may_keep_beside(out):
        with replacing(out) as stream:
            yield Streamed(stream)
        return
    with resumable_outputs(partial_path(out), [out], asked) as file:
        yield file


@contextlib.contextmanager
def resumable_outputs(
    journal: Path, outs: Sequence[Path], asked: Mapping[str, Any]
) -> Iterator[ResumableOutputs]:
    """As `resumable_output`, for several outputs, which get their names in this order."""
    with Journal(journal, asked) as stored:
        file = ResumableOutputs(outs, stored)
        try:
            yield file
            file.finish()
        except OSError as error:
            raise SystemFailure(f"{outs[0]} cannot be written: {error.strerror or error}") from error
        finally:
            file.close()
