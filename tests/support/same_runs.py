"""Two run folders that must be the same: to the byte, but for what asking cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILES = ("manifest.json", "records.jsonl", "summary.json")


def contents(folder: Path) -> dict[str, Any]:
    """What is in a run folder; its manifest without the cost, of which the seconds differ each time."""
    found: dict[str, Any] = {name: (folder / name).read_bytes() for name in FILES}
    manifest = json.loads(found["manifest.json"])
    manifest.pop("cost", None)
    return {**found, "manifest.json": list(manifest.items())}


def assert_same(one: Path, other: Path) -> None:
    mine, theirs = contents(one), contents(other)
    for name in FILES:
        assert mine[name] == theirs[name], name
