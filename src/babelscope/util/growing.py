"""An output that grows part by part beside its place; stopped at any moment, it goes on after the last whole part."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from babelscope.errors import BabelscopeError, SystemFailure
from babelscope.files import replacing
from babelscope.util.journal import Journal, Parts, is_plain, keeping, partial
from babelscope.util.regular import open_regular

_BLOCK = 1 << 20


class Growing:
    """The parts of an output: their bytes in OUT.partial.data; their sizes, digests and states in a journal."""

    def __init__(self, out: Path, journal: Journal) -> None:
        self._out, self._journal = out, journal
        self._data = out.with_name(f"{partial(out).name}.data")
        self._end = 0
        self._taken = 0
        # Killed between its last two steps, the work is done: what was written has its name already.
        self._finished = bool(journal.stored) and not self._data.exists() and out.is_file()
        if self._finished:
            self._file = open_regular(out)
        else:
            self._file = open_regular(self._data, create=True)

    @property
    def stored(self) -> int:
        """How many parts are on disk."""
        return self._journal.stored

    def part(self, place: str, make: Callable[[], tuple[bytes, Any]]) -> Any:
        """The state of the next part: as it was stored, or made now with the part's bytes, which are then written."""
        self._taken += 1
        before = self._taken <= self.stored
        size, digest, state = self._journal.part(place, lambda: self._write(place, *make()))
        if before and self._digest(size) != digest:
            raise self._damaged(place)
        self._end += size
        return state

    def finish(self) -> None:
        """Give the output its name."""
        if not self._finished:
            os.ftruncate(self._file.fileno(), self._end)
            os.replace(self._data, self._out)

    def close(self) -> None:
        self._file.close()
        if not self.stored and not self._finished:
            self._data.unlink(missing_ok=True)

    def _damaged(self, place: str) -> BabelscopeError:
        return BabelscopeError(
            f"{self._data} is not what {self._journal.path} tells of ({place}): it was changed or damaged; delete "
            "both to start anew"
        )

    def _write(self, place: str, data: bytes, state: Any) -> list[Any]:
        if self._finished:
            raise self._damaged(place)
        descriptor = self._file.fileno()
        digest = hashlib.sha256(data).hexdigest()
        try:
            os.ftruncate(descriptor, self._end)  # a kill may have left the beginning of this part
            os.lseek(descriptor, self._end, os.SEEK_SET)
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
            os.fsync(descriptor)
        except OSError as error:
            raise SystemFailure(
                f"{self._data} cannot be written: {error.strerror or error}; what was done before is safe: make "
                "room and run the same command again to go on"
            ) from error
        return [len(data), digest, state]

    def _digest(self, size: int) -> str:
        found = hashlib.sha256()
        for start in range(self._end, self._end + size, _BLOCK):
            wanted = min(_BLOCK, self._end + size - start)
            found.update(os.pread(self._file.fileno(), wanted, start))
        return found.hexdigest()


class Streamed:
    """Parts that are written where nothing can be read back: a pipe, a device, stdout."""

    stored = 0

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def part(self, _place: str, make: Callable[[], tuple[bytes, Any]]) -> Any:
        data, state = make()
        self._file.write(data)
        return state


class StatesOnly:
    """Parts without bytes."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.stored = parts.stored

    def part(self, place: str, make: Callable[[], tuple[bytes, Any]]) -> Any:
        return self._parts.part(place, lambda: make()[1])


@contextlib.contextmanager
def growing(out: Path | None, asked: Mapping[str, Any]) -> Iterator[Growing | Streamed | StatesOnly]:
    """The output of a piece of work, there as a whole when the block ends well; else it can be gone on with.

    Without `out`, only states are kept, in the user's state folder.
    """
    if out is None:
        with keeping(None, asked) as parts:
            yield StatesOnly(parts)
        return
    if not is_plain(out):
        with replacing(out) as stream:
            yield Streamed(stream)
        return
    with Journal(partial(out), asked) as journal:
        file = Growing(out, journal)
        try:
            yield file
            file.finish()
        except OSError as error:
            raise SystemFailure(f"{out} cannot be written: {error.strerror or error}") from error
        finally:
            file.close()
