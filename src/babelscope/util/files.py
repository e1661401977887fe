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
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.terminal import unfiltered


def open_regular(
    path: str | Path,
    *,
    create: bool = False,
    append: bool = False,
    private: bool = False,
) -> io.FileIO:
    """Open a regular file, unbuffered, to read and, if asked for, to write; nothing is truncated.

    `append` makes every write go to the end of the file; `create` makes a missing file, with mode 0600 if
    `private`.
    """
    writing = append or create

    def opened(name: str, _: int) -> int:
        flags = os.O_RDWR if writing else os.O_RDONLY
        flags |= (os.O_CREAT if create else 0) | (os.O_APPEND if append else 0)
        # Without O_NONBLOCK, opening a pipe waits for somebody at its other end.
        flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        descriptor = os.open(name, flags, 0o600 if private else 0o666)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise BabelscopeError(f"{name} is not a regular file")
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    name = os.fspath(path)
    if "\0" in name:  # no file name can have one
        raise BabelscopeError(f"{name}: no such file")
    try:
        return io.FileIO(name, "r+b" if writing else "rb", opener=opened)
    except OSError as error:
        if os.path.islink(name) and error.errno in (errno.ELOOP, errno.EMLINK):
            raise BabelscopeError(
                f"{name} is a symbolic link, which is not followed; name the file itself"
            ) from None
        if error.errno in (errno.EISDIR, errno.ENXIO):  # a folder; a socket, or a device that is not there
            raise BabelscopeError(f"{name} is not a regular file") from None
        if error.errno == errno.ENOENT and not create:
            raise BabelscopeError(f"{name}: no such file") from None
        done = "written" if writing else "read"
        raise BabelscopeError(f"{name} cannot be {done}: {error.strerror or error}") from error


def lock(descriptor: int, name: str | Path, *, instead: str) -> None:
    """Lock an open file or folder; if another process has it, raise an error that says what to do `instead`."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BabelscopeError(f"{name} is in use by another process; wait for it, or {instead}") from None
    except OSError as error:
        raise BabelscopeError(f"{name} is on a disk without locks: {error.strerror}") from error


def open_locked(path: Path, *, instead: str) -> io.FileIO:
    """Open a file to append to, made if missing, and lock it, as `lock` does."""
    while True:
        file = open_regular(path, create=True, append=True)
        try:
            lock(file.fileno(), path, instead=instead)
            # A process that held the lock before may have finished and removed this file.
            if is_at(file, path):
                return file
        except BaseException:
            file.close()
            raise
        file.close()


def is_at(file: io.FileIO, path: Path) -> bool:
    """Whether an open file is what stands under that name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.lstat(path))
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Lock a folder, made if missing; one that was made here and is empty after the block is removed."""
    made = missing_folders(folder / "file")
    try:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (FileExistsError, NotADirectoryError):
            raise BabelscopeError(f"{folder} is a file, not a folder") from None
        except OSError as error:
            raise BabelscopeError(f"{folder} cannot be written: {error.strerror or error}") from error
        try:
            lock(descriptor, folder, instead="use another folder")
            yield
        finally:
            os.close(descriptor)
    finally:
        remove_empty(made)


def missing_folders(path: Path) -> list[Path]:
    """The parents of `path` that do not exist, innermost first."""
    return [folder for folder in path.parents if not folder.exists()]


def remove_empty(folders: list[Path]) -> None:
    """Remove those of the folders that are empty."""
    for folder in folders:
        with contextlib.suppress(OSError):  # not empty, or not there
            folder.rmdir()


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
            raise BabelscopeError(f"{str(path)!r} is a folder; choose a file")
        if status is not None and (stat.S_ISBLK(status.st_mode) or stat.S_ISSOCK(status.st_mode)):
            raise BabelscopeError(f"{path} is a disk or a socket; choose a file")
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
            f"{file.name} cannot be written: {error.strerror or error}; finished work is safe: free "
            f"some space and rerun the same command to resume"
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
        # A file without a name, which a kill cannot leave behind: with it, the folder would be somebody else's.
        with _explain_os_errors(path), tempfile.TemporaryFile(dir=path):
            pass
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


def private_folder(path: Path) -> Path:
    """Make a folder if missing and resolve its links; PermissionError if other users can change its files."""
    if not path.is_absolute():  # it would depend on the working folder
        raise PermissionError(errno.EPERM, "the folder has no absolute path", str(path))
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = path.resolve()
    if sys.platform == "win32":  # a user's profile is guarded by access lists, which these bits do not show
        return path
    for place in (path, *path.parents):
        found = place.stat()
        # In a folder such as /tmp, others can add files but not replace ours.
        sticky = place != path and found.st_mode & stat.S_ISVTX
        if found.st_uid not in ({os.getuid()} if place == path else {os.getuid(), 0}):
            raise PermissionError(errno.EPERM, "the folder is another user's", str(place))
        if found.st_mode & stat.S_IWOTH and not sticky:
            raise PermissionError(errno.EPERM, "the folder can be written by everybody", str(place))
        if found.st_mode & stat.S_IWGRP and not sticky and not _own_group(found.st_gid):
            raise PermissionError(errno.EPERM, "the folder can be written by its group", str(place))
    return path


def _own_group(group: int) -> bool:
    """Whether a group is the user's own: many systems give each user a group of the same name."""
    import grp
    import pwd

    try:
        return grp.getgrgid(group).gr_name == pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return False


# --- Checks, before any work, of all files that a command will write -----------------------------------------------


_RUN_FILES = ("manifest.json", "records.jsonl", "summary.json")


def check_outputs(
    files: Mapping[str, Path | None], *, folder: Path | None = None, inputs: Iterable[str | Path | None] = ()
) -> None:
    """Refuse outputs that cannot be written, or that would overwrite each other, stdout or an input.

    `files` are paths by option, `folder` is a run folder. Inputs are paths, or specs with paths in them.
    """
    taken = {path: f"which is read ({path})" for path in _read_files(inputs)}
    if folder is not None:
        check_folder(folder)
        taken |= {_resolved(folder / name): "which the run folder keeps for itself" for name in _RUN_FILES}
    for option, path in files.items():
        if path is None:
            continue
        place = check_writable(path)
        if place.is_stream:
            continue
        if place.target in taken:
            raise BabelscopeError(
                f"{option} {path} would overwrite a file {taken[place.target]}; choose another"
            )
        if place.status is not None and _is_stdout(place.status):
            raise BabelscopeError(f"{option} {path} is the file that stdout is redirected to; choose another")
        taken[place.target] = f"that {option} writes, too"


def _read_files(inputs: Iterable[str | Path | None]) -> Iterator[Path]:
    """The files that inputs name; for a run folder, the files in it."""
    for given in inputs:
        for name in [given] if isinstance(given, Path) else _paths_in(given or ""):
            if not str(name):
                continue
            path = Path(name)
            with contextlib.suppress(OSError, ValueError):  # too long, or with a NUL: no file's name
                if path.is_file():
                    yield _resolved(path)
                elif path.is_dir():
                    yield from (_resolved(path / each) for each in _RUN_FILES)


def _paths_in(spec: str) -> set[str]:
    """All texts in `scheme:path,path?option=path&option=path` that may be paths."""
    found = {spec, *re.split(r"[?&=,]", spec)}
    return found | {name.partition(":")[2] for name in found}


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _is_stdout(status: os.stat_result) -> bool:
    try:
        return os.path.samestat(status, os.fstat(unfiltered(sys.stdout).fileno()))
    except (OSError, ValueError, AttributeError):  # closed, or no file at all
        return False


_VARIABLE = "PYTHONSAFEPATH"


@contextlib.contextmanager
def safe_import_path() -> Iterator[None]:
    """Start Python processes in the block without the working folder on their import path.

    multiprocessing starts them with `-c`, which puts the working folder before the standard library.
    """
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = before


def file_stamp(path: Path) -> tuple[str, int, int]:
    """Name, size in bytes and modification time in ns of a file, to see later whether it has changed."""
    try:
        found = path.stat()
    except OSError:
        return str(path), 0, 0
    return str(path), found.st_size, found.st_mtime_ns
