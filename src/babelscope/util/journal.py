"""Finished parts of a long command, kept on disk, so that it can be stopped at any moment and resumed.

A journal is a file of JSON lines. The first says what was asked; every other line is one finished part: its number,
its place (what the part is about, in the caller's words) and its value. Work asks for its parts in a fixed order;
those that are stored are read, and only the others are made.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError, SystemFailure, at
from babelscope.util.files import append_synced
from babelscope.util.locks import lock, missing_folders, remove_empty
from babelscope.util.regular import open_regular

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


class Parts(Protocol):
    """The parts of a command's work, asked for in a fixed order."""

    @property
    def stored(self) -> int: ...

    @property
    def part(self) -> Keep: ...


class NothingStored:
    """Parts of work that cannot be resumed: each is made."""

    stored = 0
    part = staticmethod(keep_nothing)


class Journal:
    """An open journal, locked by one process; removed when its block ends without an error."""

    def __init__(
        self, path: Path, asked: Mapping[str, Any], *, private: bool = False, lasting: bool = False
    ) -> None:
        """Start a journal, or resume one with the same `asked`; a `lasting` one is not removed at the end."""
        self.path = path
        self._stored = 0
        self._taken = 0
        self._lasting = lasting
        self._made_folders = missing_folders(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._open(private)
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
        done = kind is None and not self._lasting
        if done or not self.stored:
            self.path.unlink(missing_ok=True)
        self._lines.close()
        if kind is not None:
            remove_empty(self._made_folders)

    def _open(self, private: bool) -> io.FileIO:
        while True:
            file = open_regular(self.path, create=True, append=True, private=private)
            try:
                lock(file.fileno(), self.path, instead="write to another file")
                # A process that held the lock before may have finished and removed this file.
                if os.path.samestat(os.fstat(file.fileno()), os.stat(self.path, follow_symlinks=False)):
                    return file
            except FileNotFoundError:
                pass
            except BaseException:
                file.close()
                raise
            file.close()

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
def keeping(out: Path | None, asked: Mapping[str, Any]) -> Iterator[Parts]:
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
