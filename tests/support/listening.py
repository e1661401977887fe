"""At which addresses a process and its children listen, read from /proc."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path


def children(pid: int) -> list[int]:
    own: list[int] = []
    for each in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # the thread has ended
            own += map(int, each.read_text().split())
    return [pid, *(each for child in own for each in children(child))]


def listening(pids: list[int]) -> dict[str, set[str]]:
    """Addresses, in the kernel's hexadecimal, at which processes listen, with the names of the processes."""
    inodes: dict[str, str] = {}
    for pid in pids:
        with contextlib.suppress(OSError):  # ended meanwhile
            name = Path(f"/proc/{pid}/comm").read_text().strip()
            for link in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    if inode := re.fullmatch(r"socket:\[(\d+)\]", os.readlink(link)):
                        inodes[inode[1]] = name
    found: dict[str, set[str]] = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *rest = line.split()
            if state == "0A" and rest[5] in inodes:
                found.setdefault(local.partition(":")[0], set()).add(inodes[rest[5]])
    return found


LOOPBACK = {
    "0100007F",
    "0000000000000000FFFF00000100007F",  # the same within IPv6
    "00000000000000000000000001000000",
}
