"""Writing files atomically: an output is there as a whole, or not at all."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.locks import missing_folders, remove_empty


@dataclass(frozen=True, slots=True)
class OutputTarget:
    """Where an output goes: a file to be replaced, or a stream to be written into."""

    target: Path
    """The path with links followed, also where a link points to nothing yet."""
    status: os.stat_result | None
    """Status of what is there now; None if nothing is."""
    descriptor: int | None = None
    """Number of the open file that the path names: /dev/stdout, /dev/fd/3."""

    @property
    def is_stream(self) -> bool:
        """Whether it is written into (a pipe, a device, an open file) and not replaced."""
        if self.descriptor is not None:
            return True
        return self.status is not None and not stat.S_ISREG(self.status.st_mode)


def resolve_target(path: Path) -> OutputTarget:
    """Find where writing to `path` leads; folders, disks and sockets are refused."""
    if "\0" in str(path):
        raise BabelscopeError(f"{path} cannot be the name of a file")
    with _explain_os_errors(path):
        descriptor = _open_descriptor(path)
        if descriptor is not None:
            if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
                raise BabelscopeError(f"{path} cannot be written: it is open for reading only")
            return OutputTarget(path, os.fstat(descriptor), descriptor)
        try:
            status = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            status = None
        if not path.name or (status is not None and stat.S_ISDIR(status.st_mode)):
            raise BabelscopeError(f"{str(path)!r} is a folder; name a file to be written")
        if status is not None and (stat.S_ISBLK(status.st_mode) or stat.S_ISSOCK(status.st_mode)):
            raise BabelscopeError(f"{path} is a disk or a socket; name a file to be written")
        return OutputTarget(Path(os.path.realpath(path)), status)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file that replaces `path` when the block ends without an error; otherwise `path` stays unchanged.

    Links and permissions stay; other hard links of the file keep the old content. Pipes and devices are
    written into directly.
    """
    place = resolve_target(path)
    with _explain_os_errors(path):
        if place.is_stream:
            with _stream(place) as stream:
                yield stream
            return
        with _part_file(place) as (part, file):
            yield file
            file.flush()
            os.fsync(file.fileno())  # some file systems report a full disk only here
            os.replace(part, place.target)


def append_synced(file: io.FileIO, data: bytes, end: int) -> None:
    """Write bytes at offset `end` of an open file and sync; on an error, truncate the file back to `end`."""
    descriptor = file.fileno()
    try:
        if os.fstat(descriptor).st_size > end:  # a killed process may have written part of this before
            os.ftruncate(descriptor, end)
        os.lseek(descriptor, end, os.SEEK_SET)
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]
        os.fsync(descriptor)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, end)
        raise SystemFailure(
            f"{file.name} cannot be written: {error.strerror or error}; what was done before is safe: make room "
            "and run the same command again to go on"
        ) from error


def check_writable(path: Path) -> OutputTarget:
    """Raise now the error that `replacing` would raise later; nothing is left behind."""
    place = resolve_target(path)
    with _explain_os_errors(path):
        if not place.is_stream:
            with _part_file(place):
                pass
        elif place.descriptor is None and not os.access(place.target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return place


def check_folder(path: Path) -> None:
    """Raise now if a folder cannot be made or written to; nothing is left behind."""
    if path.is_dir():
        check_writable(path / f".{secrets.token_hex(4)}")
    elif path.exists():
        raise BabelscopeError(f"{path} is a file, not a folder")
    else:
        with _explain_os_errors(path), _folders(path):
            pass


@contextlib.contextmanager
def _part_file(place: OutputTarget) -> Iterator[tuple[Path, BinaryIO]]:
    """A temporary file beside the target (a rename is atomic only within a file system); removed at the end."""
    target, status = place.target, place.status
    if status is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    with _folders(target.parent):
        _remove_stale(target)
        part, descriptor = _create_locked(target, stat.S_IMODE(status.st_mode) if status else 0o666)
        try:
            with open(descriptor, "w+b") as file:  # readable, so that its digest can be checked
                if status is not None:
                    with contextlib.suppress(PermissionError):  # only root gives files away
                        os.fchown(descriptor, status.st_uid, status.st_gid)
                    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
                yield part, file
        finally:
            with contextlib.suppress(OSError):  # renamed
                part.unlink()


def _create_locked(target: Path, mode: int) -> tuple[Path, int]:
    """Create a part file, locked for as long as this process lives, so that others see it is in use."""
    while True:
        part = target.with_name(f"{_part_prefix(target)}.{secrets.token_hex(4)}.part")
        descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        try:
            # On a disk without locks, `_remove_stale` cannot lock a file either, and so removes none.
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Between creation and lock, another process may have removed it as stale.
            if part.exists() and os.path.samestat(part.stat(), os.fstat(descriptor)):
                return part, descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _remove_stale(target: Path) -> None:
    """Remove part files that no process has locked: a killed process left them."""
    named = re.compile(rf"{re.escape(_part_prefix(target))}\.[0-9a-f]{{8}}\.part")
    for entry in os.scandir(target.parent):
        if named.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
            with contextlib.suppress(OSError):  # in use, or another's
                descriptor = os.open(entry.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(entry.path)
                finally:
                    os.close(descriptor)


def _part_prefix(target: Path) -> str:
    """What part files of a target begin with: hidden, and short enough for the longest file name."""
    return "." + os.fsdecode(os.fsencode(target.name)[:200])


@contextlib.contextmanager
def _folders(path: Path) -> Iterator[None]:
    """Make a folder and its parents for the block; remove those that were made and are empty afterwards."""
    missing = missing_folders(path / "file")
    try:
        try:
            path.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from None
        yield
    finally:
        remove_empty(missing)


@contextlib.contextmanager
def _stream(place: OutputTarget) -> Iterator[BinaryIO]:
    if place.descriptor is None:
        opened = os.open(place.target, os.O_WRONLY | os.O_CLOEXEC)
    else:
        with contextlib.suppress(AttributeError):  # keep what was printed in front
            sys.stdout.flush()
        opened = os.dup(place.descriptor)
    with open(opened, "wb") as file:
        yield file


def _open_descriptor(path: Path) -> int | None:
    """The number of an open file of this process that `path` stands for, perhaps through links."""
    here = os.path.abspath(path)
    own = {"/dev/fd", os.path.realpath("/proc/self/fd"), os.path.realpath("/proc/thread-self/fd")}
    for _ in range(40):
        folder, name = os.path.split(here)
        if re.fullmatch("[0-9]{1,9}", name) and {folder, os.path.realpath(folder)} & own:
            return int(name)
        if not os.path.islink(here):
            return None
        here = os.path.normpath(os.path.join(os.path.realpath(folder), os.readlink(here)))
    return None


@contextlib.contextmanager
def _explain_os_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SystemFailure(f"{path} cannot be written: {error.strerror or error}") from error
