"""Opening regular files only: symbolic links, folders, pipes, sockets and devices are refused."""

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
