"""Finished parts of a long command, kept on disk, so that it can be stopped at any moment and resumed.

A journal is a file of JSON lines. The first says what was asked; every other line is one finished part: its number,
its place (what the part is about, in the caller's words) and its value. Work asks for its parts in a fixed order;
those that are stored are read, and only the others are made.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError, SystemFailure, at
from babelscope.util.files import (
    append_synced,
    missing_folders,
    open_locked,
    open_regular,
    remove_empty,
    replacing,
)

_Value = TypeVar("_Value")

_BLOCK = 1 << 20
# After this long, the journal of a command that only prints is removed.
_STALE_SECONDS = 30 * 24 * 3600.0


class Keep(Protocol):
    """Gives the value of a part: the stored one, or what `make` returns, which is then stored (as JSON)."""

    def __call__(self, place: str, make: Callable[[], _Value], /) -> _Value: ...


def keep_nothing(_place: str, make: Callable[[], _Value]) -> _Value:
    """A `Keep` that stores nothing."""
    return make()


class NothingStored:
    """Parts of work that cannot be resumed: each is made."""

    stored = 0
    part = staticmethod(keep_nothing)


class Journal:
    """An open journal, locked by one process; removed when its block ends without an error."""

    def __init__(self, path: Path, asked: Mapping[str, Any], *, private: bool = False) -> None:
        """Start a journal, or resume one with the same `asked`."""
        self.path = path
        self._stored = 0
        self._taken = 0
        self._made_folders = missing_folders(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open_locked(path, instead="write to another file", private=private)
        except OSError as error:
            remove_empty(self._made_folders)
            raise SystemFailure(f"{path} cannot be written: {error.strerror or error}") from error
        except BaseException:
            remove_empty(self._made_folders)
            raise
        self._lines = io.BufferedReader(self._file)
        try:
            self._begin(json.loads(json.dumps({"asked": asked})))
        except BaseException:
            self._lines.close()
            raise

    @property
    def stored(self) -> int:
        return self._stored

    def part(self, place: str, make: Callable[[], _Value]) -> _Value:
        """The value of the next part, stored or made now; either way after a round trip through JSON."""
        self._taken += 1
        if self._taken <= self.stored:
            stored: _Value = self._read(place)
            return stored
        line = json.dumps([self._taken, place, make()], ensure_ascii=False)
        self._append(line.encode("utf-8", "surrogatepass") + b"\n")
        self._stored += 1
        value: _Value = json.loads(line)[2]
        return value

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or not self.stored:
            self.path.unlink(missing_ok=True)
        self._lines.close()
        if kind is not None:
            remove_empty(self._made_folders)

    def _begin(self, header: Mapping[str, Any]) -> None:
        """Cut off an incomplete last line, check that the journal is of the same work, and count its parts."""
        lines, complete = self._measure()
        os.ftruncate(self._file.fileno(), complete)
        if not lines:
            self._append(json.dumps(header, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")
            return
        found = _parse(self._lines.readline())
        if not isinstance(found, dict) or not isinstance(found.get("asked"), dict):
            raise BabelscopeError(
                f"{self.path} stands where unfinished work is kept, and holds something else or work of an older "
                "version; move it away, or delete it to start anew"
            )
        then, now = found["asked"], header["asked"]
        if different := sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name)):
            raise BabelscopeError(
                f"{self.path} holds unfinished work of another command ({', '.join(different)} differ); run that "
                "command again to finish it, or delete the file to start anew"
            )
        self._stored = lines - 1

    def _measure(self) -> tuple[int, int]:
        """Number of complete lines, and their bytes."""
        lines = complete = position = 0
        self._file.seek(0)
        while block := self._file.read(_BLOCK):
            lines += block.count(b"\n")
            if (last := block.rfind(b"\n")) >= 0:
                complete = position + last + 1
            position += len(block)
        self._file.seek(0)
        return lines, complete

    def _read(self, place: str) -> Any:
        found = _parse(self._lines.readline())
        if not isinstance(found, list) or len(found) != 3 or found[:2] != [self._taken, place]:
            raise BabelscopeError(
                f"{at(self.path, self._taken + 1)} is not the part that belongs there ({place}): the file was "
                "changed or damaged; delete it to start anew"
            )
        return found[2]

    def _append(self, data: bytes) -> None:
        append_synced(self._file, data, os.fstat(self._file.fileno()).st_size)


@contextlib.contextmanager
def keeping(out: Path | None, asked: Mapping[str, Any]) -> Iterator[Journal | NothingStored]:
    """Keep a command's parts in OUT.partial beside its output or, if it only prints, in the user's state folder.

    Write the output inside the block: when that ends without an error, the parts are removed.
    """
    if out is not None and may_keep_beside(out):
        with Journal(partial_path(out), asked) as journal:
            yield journal
        return
    try:
        opened = _user_journal(asked)
    # The same command runs already, or the folder cannot be written: work without a journal.
    except (BabelscopeError, OSError):
        yield NothingStored()
        return
    with opened as journal:
        yield journal


def may_keep_beside(out: Path) -> bool:
    """Whether a journal may be kept beside an output: only if that is a regular file, or not there yet."""
    try:
        return stat.S_ISREG(out.lstat().st_mode)
    except OSError:  # not there yet
        return True


def file_stamp(path: Path) -> tuple[str, int, int]:
    """Name, size in bytes and modification time in ns of a file, to see later whether it has changed."""
    try:
        found = path.stat()
    except OSError:
        return str(path), 0, 0
    return str(path), found.st_size, found.st_mtime_ns


def partial_path(out: Path) -> Path:
    """Where the finished parts of an output are kept: OUT.partial."""
    return out.with_name(f"{out.name}.partial")


def _user_journal(asked: Mapping[str, Any]) -> Journal:
    from platformdirs import user_state_path

    folder = user_state_path("babelscope") / "unfinished"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for path in folder.glob("*.jsonl"):
        with contextlib.suppress(OSError):  # another process was faster
            if time.time() - path.lstat().st_mtime > _STALE_SECONDS:
                path.unlink()
    return Journal(folder / f"{digest_json(asked)}.jsonl", asked, private=True)


def _parse(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


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


class Streamed:
    """Parts written to a pipe, a device or stdout, which cannot be read back: nothing is resumed."""

    stored = 0

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write

    def part(self, _place: str, make: Callable[[], tuple[bytes, Any]]) -> Any:
        data, state = make()
        self._write(data)
        return state


class StatesOnly:
    """Parts whose bytes are thrown away; only their states are kept."""

    def __init__(self, parts: Journal | NothingStored) -> None:
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
            yield Streamed(stream.write)
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
