"""Named public test sets and models: found in the data folder, or downloaded into it."""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from babelscope.errors import BabelscopeError, SystemFailure
from babelscope.testsets.published import MODELS, SETS, File, NamedSet, Part, url
from babelscope.testsets.sets import TestSet

SERVER = "https://raw.githubusercontent.com"

Status = Literal["present", "downloaded", "unchecked", "missing"]
"""present: found, and its checksum is right. unchecked: found, but its checksum is not known to us.
missing: not found, and not downloaded, since its checksum is not known to us."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file of a named set, where it is now, and how it came there."""

    file: File
    path: Path
    status: Status


def named_sets() -> Mapping[str, NamedSet]:
    """All public test sets by name."""
    return SETS


def find_set(name: str) -> NamedSet:
    """A public test set by its name."""
    if name not in SETS:
        close = difflib.get_close_matches(name, [*SETS, *MODELS], n=1, cutoff=0.5)
        hint = f"did you mean {close[0]}?" if close else "see babelscope data list"
        kind = "a model, not a test set" if name in MODELS else "no registered test set"
        raise BabelscopeError(f"{name!r} is {kind}; {hint}")
    return SETS[name]


def find_download(name: str) -> NamedSet:
    """A public test set or model by its name."""
    return MODELS[name] if name in MODELS else find_set(name)


def data_folder(given: str | Path | None = None) -> Path:
    """Where test sets are kept: as given, else BABELSCOPE_DATA, else the user's data folder."""
    if given or (given := os.environ.get("BABELSCOPE_DATA")):
        return Path(given).expanduser()
    import platformdirs

    return Path(platformdirs.user_data_dir("babelscope", appauthor=False))


def file_url(file: File) -> str:
    """Where a file is downloaded from; BABELSCOPE_MIRROR names another server with the same paths."""
    server = os.environ.get("BABELSCOPE_MIRROR") or SERVER
    if not server.startswith(("http://", "https://")):
        raise BabelscopeError(f"BABELSCOPE_MIRROR must begin with http:// or https://, unlike {server!r}")
    return url(file, server)


def fetch(name: str, data_dir: str | Path | None = None, *, refresh: bool = False) -> list[Fetched]:
    """See that the files of a named set or model are in the data folder and are the published ones.

    Missing files are downloaded; with `refresh`, all are. A file that is there but differs is an error.
    """
    folder, wanted = data_folder(data_dir), find_download(name)
    found: dict[File, Status] = {}
    for file in wanted.files:
        if (folder / file.local).exists() and not (refresh and file.sha256):
            found[file] = _check(file, folder / file.local, name)
    needed = [file for file in wanted.files if file not in found and file.sha256]
    if needed:
        # Late, since most runs find their files, and httpx is slow to import.
        from babelscope.testsets.download import download, progress

        with progress(name, sum(file.bytes for file in needed)) as advance:
            for file in needed:
                path = folder / file.local
                download(file_url(file), path, size=file.bytes, sha256=file.sha256, advance=advance)
                found[file] = "downloaded"
    made = [Fetched(file, folder / file.local, found.get(file, "missing")) for file in wanted.files]
    if all(file.status == "missing" for file in made):
        raise BabelscopeError(
            f"{name} cannot be downloaded, since its checksum is not known to us; put its files in "
            f"{made[0].path.parent} yourself, from {', '.join(file_url(each.file) for each in made)}"
        )
    return made


def load_named(name: str, data_dir: str | Path | None = None) -> TestSet:
    """Load a named set, all its parts together; a part that cannot be had is counted as skipped."""
    from babelscope.testsets.loading import read_format

    wanted = find_set(name)
    status = {fetched.file: fetched.status for fetched in fetch(name, data_dir)}
    read: list[TestSet] = []
    skipped: dict[str, int] = {}
    for part in wanted.parts:
        if all(status[file] == "missing" for file in part.files):
            reason = f"{part.name} is not in the data folder, and its checksum is not known to us"
            skipped[reason] = part.items
            continue
        made = read_format(part.format, data_folder(data_dir) / part.path)
        _check_count(part, made)
        read.append(made)
        for reason, count in made.skipped.items():
            skipped[reason] = skipped.get(reason, 0) + count
    return TestSet(name, tuple(item for made in read for item in made.items), skipped)


def _check(file: File, path: Path, name: str) -> Status:
    if not file.sha256:
        return "unchecked"
    try:
        with open(path, "rb") as content:
            found = hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise SystemFailure(f"{path} cannot be read: {error.strerror}") from error
    if found != file.sha256:
        raise BabelscopeError(
            f"{path} is not the published file: its SHA-256 is {found}, expected {file.sha256}; "
            f"move it away, or replace it with: babelscope data get --refresh {name}"
        )
    return "present"


def _check_count(part: Part, made: TestSet) -> None:
    count = len(made) + sum(made.skipped.values())
    if count != part.items:
        raise BabelscopeError(
            f"{part.name} has {count} items in the data folder, but {part.items} are published"
        )
