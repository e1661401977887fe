"""Locks on open files and folders, which the operating system releases however the process ends."""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
from collections.abc import Iterator
from pathlib import Path

from babelscope.util.errors import BabelscopeError
from babelscope.util.regular import open_regular


def lock(descriptor: int, name: str | Path, *, instead: str) -> None:
    """Lock an open file or folder; if another process has it, raise an error that says what to do `instead`."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BabelscopeError(f"{name} is in use by another process; wait for it, or {instead}") from None
    except OSError as error:
        raise BabelscopeError(f"{name} is on a disk without locks: {error.strerror}") from error


def open_locked(path: Path, *, instead: str, private: bool = False) -> io.FileIO:
    """Open a file to append to, made if missing, and lock it, as `lock` does."""
    while True:
        file = open_regular(path, create=True, append=True, private=private)
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
