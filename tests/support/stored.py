"""What is in the store of unfinished work, found without our own code."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path


def unfinished() -> list[str]:
    """The requests whose values are stored."""
    path = Path(os.environ["XDG_STATE_HOME"]) / "babelscope" / "unfinished.sqlite"
    if not path.exists():
        return []
    with contextlib.closing(sqlite3.connect(path)) as database:
        if not database.execute("SELECT name FROM sqlite_master").fetchall():
            return []  # killed before the table was made
        return [request for (request,) in database.execute("SELECT request FROM answers")]
