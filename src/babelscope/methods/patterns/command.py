"""What the commands of pattern matching share: `--translations` as a system, `--to`, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from babelscope.core.options import Option, writes
from babelscope.methods.command import Given, Tables
from babelscope.util.errors import BabelscopeError

OPTIONS = (
    Option(
        "skip-missing",
        "Count items without a translation instead of stopping.",
        bool,
        not_with=("system", "rejudge"),
    ),
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


def tables(given: Given, tests: str, stored: Path | None, *, skip_missing: bool = False) -> Tables:
    """The tables of the study: a file of stored translations is a system, called as the file is."""
    found: dict[str, Any] = {"tests": [{"spec": tests, "name": given["tests"]}]}
    if stored is not None:
        missing = "skip" if skip_missing or given["skip-missing"] else "error"
        found["systems"] = [{"spec": f"file:{stored}?format=auto&missing={missing}", "name": stored.name}]
    return found
