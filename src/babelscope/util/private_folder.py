"""Folders that only this user can write to, for files that are trusted when they are read again."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path


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
