"""Opening a file that must be a plain one: no link is followed, nothing but a regular file is read or written."""

from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path

from babelscope.util.errors import BabelscopeError


def open_regular(
    path: str | Path,
    *,
    write: bool = False,
    create: bool = False,
    append: bool = False,
    private: bool = False,
) -> io.FileIO:
    """An unbuffered file at its start, readable, and writable if asked for; opening it changes no byte of it.

    A symbolic link as its last part, a folder, pipe, socket or device is refused. So is, to write, a file with
    several names (hard links): what is written would change under the others too. `append` lets all writing go
    to the end, whoever else has written; `create` makes a missing file, with mode 0600 if `private`.
    """
    writing = write or append or create

    def opened(name: str, _: int) -> int:
        flags = os.O_RDWR if writing else os.O_RDONLY
        flags |= (os.O_CREAT if create else 0) | (os.O_APPEND if append else 0)
        # Without O_NONBLOCK, opening a pipe waits for somebody at its other end.
        flags |= os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        descriptor = os.open(name, flags, 0o600 if private else 0o666)
        try:
            _check(name, os.fstat(descriptor), writing)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    name = os.fspath(path)
    if "\0" in name:  # which no file's name can have
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
        told = "written" if writing else "read"
        raise BabelscopeError(f"{name} cannot be {told}: {error.strerror or error}") from error


def _check(name: str, found: os.stat_result, writing: bool) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise BabelscopeError(f"{name} is not a regular file")
    if writing and found.st_nlink > 1:
        raise BabelscopeError(
            f"{name} has {found.st_nlink} names (hard links), and all would change with it; "
            "put a copy in its place"
        )
