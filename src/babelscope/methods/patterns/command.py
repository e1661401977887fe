"""What the commands of pattern matching share: `--translations` as a system, `--to`, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from babelscope.core.options import Option, writes
from babelscope.methods.command import Given
from babelscope.testsets.pattern_files import read_translations
from babelscope.util.errors import BabelscopeError

OPTIONS = (
    Option("skip-missing", "Count items without a translation instead of stopping.", bool),
    writes("to", "Write to a file instead of stdout."),
)
_FILES = (".txt", ".json", ".jsonl", ".tsv")


def check(given: Given) -> None:
    """Refuse what leaves open whose translations are judged, or where figures go."""
    if given["system"] and given["translations"] is not None:
        raise BabelscopeError("--system and --translations exclude each other")
    if given["out"] is not None and given["out"].suffix in _FILES:
        raise BabelscopeError(
            f"--out names a run folder; to write figures to a file, say --to {given['out']}"
        )


def entries(given: Given, tests: str, stored: Path | None, *, skip_missing: bool = False) -> dict[str, Any]:
    """The tables of the study: a file of stored translations is a system, called as the file is."""
    found: dict[str, Any] = {"tests": [{"spec": tests, "name": given["tests"]}]}
    if stored is not None:
        found["systems"] = [_system(stored, skip_missing=skip_missing or given["skip-missing"])]
    return found


def _system(path: Path, *, skip_missing: bool) -> Mapping[str, str]:
    first = next(iter(read_translations(path)), None)
    if first is None or first.source is None:
        form = "plain"
    else:
        form = ("log" if path.suffix == ".jsonl" else "pairs") + ("&missing=skip" if skip_missing else "")
    return {"spec": f"file:{path}?format={form}", "name": path.name}
