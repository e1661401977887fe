"""Folders that only this user can write to, for what is believed when it is read back."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path


def private_folder(path: Path) -> Path:
    """The folder, links resolved, made if it is not there; PermissionError if others can change what is in it."""
    if not path.is_absolute():  # in a working folder that may be a stranger's, though its files are ours
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
    """True for the group of one that many systems give each user, called as the user is."""
    import grp
    import pwd

    try:
        return grp.getgrgid(group).gr_name == pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return False
