"""Checks, before any work, of all files that a command will write."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from babelscope.util.errors import BabelscopeError
from babelscope.util.files import check_folder, check_writable
from babelscope.util.terminal import unfiltered

_RUN_FILES = ("manifest.json", "records.jsonl", "summary.json")


def check_outputs(
    files: Mapping[str, Path | None], *, folder: Path | None = None, inputs: Iterable[str | Path | None] = ()
) -> None:
    """Refuse outputs that cannot be written, or that would overwrite each other, stdout or an input.

    `files` are paths by option, `folder` is a run folder. Inputs are paths, or specs with paths in them.
    """
    taken = {path: f"which is read ({path})" for path in _read_files(inputs)}
    if folder is not None:
        check_folder(folder)
        taken |= {_resolved(folder / name): "which the run folder keeps for itself" for name in _RUN_FILES}
    for option, path in files.items():
        if path is None:
            continue
        place = check_writable(path)
        if place.is_stream:
            continue
        if place.target in taken:
            raise BabelscopeError(
                f"{option} {path} would overwrite a file {taken[place.target]}; name another"
            )
        if place.status is not None and _is_stdout(place.status):
            raise BabelscopeError(f"{option} {path} is the file that stdout goes to; name another")
        taken[place.target] = f"that {option} writes, too"


def _read_files(inputs: Iterable[str | Path | None]) -> Iterator[Path]:
    """The files that inputs name; for a run folder, the files in it."""
    for given in inputs:
        for name in [given] if isinstance(given, Path) else _paths_in(given or ""):
            if not str(name):
                continue
            path = Path(name)
            with contextlib.suppress(OSError, ValueError):  # too long, or with a NUL: no file's name
                if path.is_file():
                    yield _resolved(path)
                elif path.is_dir():
                    yield from (_resolved(path / each) for each in _RUN_FILES)


def _paths_in(spec: str) -> set[str]:
    """All texts in `scheme:path,path?option=path&option=path` that may be paths."""
    found = {spec, *re.split(r"[?&=,]", spec)}
    return found | {name.partition(":")[2] for name in found}


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _is_stdout(status: os.stat_result) -> bool:
    try:
        return os.path.samestat(status, os.fstat(unfiltered(sys.stdout).fileno()))
    except (OSError, ValueError, AttributeError):  # closed, or no file at all
        return False
