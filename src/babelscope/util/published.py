"""Published files: found in the data folder and checked, or downloaded into it with a note of their origin."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from babelscope.util.digests import digest_open
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.files import replacing
from babelscope.util.progress import progress

SERVER = "https://raw.githubusercontent.com"
_LONGEST_NOTE = 100_000  # bytes of a note that are read

FetchStatus = Literal["present", "downloaded", "unchecked", "missing"]
"""present: found, and its checksum is right. unchecked: found, but its checksum is not known to us.
missing: not found, and not downloaded, since its checksum is not known to us."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file of a named set: where it is on this machine, and how it got there."""

    file: PublishedFile
    path: Path
    status: FetchStatus


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A file on a public server, with its size in bytes and its digest, as far as they are known.

    Without a digest it is used if the user has it, and never downloaded.
    """

    local: str
    """Its path in the data folder."""
    remote: str
    """Its path at the server: owner/repository/revision/path."""
    bytes: int = 0
    sha256: str = ""
    git_blob: str = ""
    """SHA-1 of the file as a git blob, for files that are known by nothing else."""

    @property
    def digest(self) -> str:
        """The digest that it is checked by; empty if none is known."""
        return self.sha256 or self.git_blob

    @property
    def digest_kind(self) -> str:
        return "git blob SHA-1" if self.git_blob and not self.sha256 else "SHA-256"


@dataclass(frozen=True, slots=True)
class SetPart:
    """A part of a named set: one file or folder in one format."""

    name: str
    format: str
    path: str
    """In the data folder."""
    items: int
    """How many items are published, including those that we skip."""
    files: tuple[PublishedFile, ...]


@dataclass(frozen=True, slots=True)
class Project:
    """Where a test set comes from: repository, languages, license and citation."""

    repository: str
    languages: tuple[str, str]
    """Source and target; the target is empty where any will do."""
    license: str
    citation: str


@dataclass(frozen=True, slots=True)
class NamedSet:
    """A public test set that can be loaded by its name."""

    name: str
    description: str
    project: Project
    parts: tuple[SetPart, ...]
    version: int = 1
    """Raised when the same files give other items, or the name stands for other files."""

    @property
    def items(self) -> int:
        return sum(part.items for part in self.parts)

    @property
    def files(self) -> tuple[PublishedFile, ...]:
        return tuple(file for part in self.parts for file in part.files)


def data_folder(given: str | Path | None = None) -> Path:
    """Where test sets are kept: as given, else BABELSCOPE_DATA, else the user's data folder."""
    if given or (given := os.environ.get("BABELSCOPE_DATA")):
        return Path(given).expanduser()
    import platformdirs

    return Path(platformdirs.user_data_dir("babelscope", appauthor=False))


def file_url(file: PublishedFile) -> str:
    """Where a file is downloaded from; BABELSCOPE_MIRROR names another server with the same paths."""
    server = os.environ.get("BABELSCOPE_MIRROR") or SERVER
    if not server.startswith(("http://", "https://")):
        raise BabelscopeError(f"BABELSCOPE_MIRROR must begin with http:// or https://, unlike {server!r}")
    return f"{server.rstrip('/')}/{quote(file.remote)}"


def fetch(wanted: NamedSet, data_dir: str | Path | None = None, *, refresh: bool = False) -> list[Fetched]:
    """Check the files of a named set or model in the data folder, and download those that are missing.

    With `refresh`, all are downloaded. A file whose digest differs is an error.
    """
    folder, name = data_folder(data_dir), wanted.name
    found: dict[PublishedFile, FetchStatus] = {}
    for file in wanted.files:
        if (folder / file.local).exists() and not (refresh and file.digest):
            found[file] = _check(file, folder / file.local, name)
    needed = [file for file in wanted.files if file not in found and file.digest]
    if needed:
        _download(wanted, needed, folder)
        found |= dict.fromkeys(needed, "downloaded")
    made = [Fetched(file, folder / file.local, found.get(file, "missing")) for file in wanted.files]
    if all(file.status == "missing" for file in made):
        raise BabelscopeError(
            f"{name} cannot be downloaded, since its checksum is not known to us; put its files in "
            f"{made[0].path.parent} yourself, from {', '.join(file_url(each.file) for each in made)}"
        )
    return made


def read_origin(path: Path) -> dict[str, str]:
    """Where a downloaded file came from: name, url, license and digest; empty if nothing is known of it."""
    try:
        with open(origin_file(path), "rb") as file:
            found = json.loads(file.read(_LONGEST_NOTE))
    except (OSError, ValueError):
        return {}
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def origin_file(path: Path) -> Path:
    """The note beside a downloaded file that says where it came from."""
    return path.with_name(f"{path.name}.origin.json")


def _download(wanted: NamedSet, needed: Sequence[PublishedFile], folder: Path) -> None:
    # Imported late: httpx is slow to import, and most runs have their files.
    from babelscope.util.download import download

    project = wanted.project
    urls = {file: file_url(file) for file in needed}
    print(f"{wanted.name} ({project.repository}); license: {project.license}", file=sys.stderr, flush=True)
    with progress(wanted.name, sum(file.bytes for file in needed) or None, of_bytes=True) as advance:
        for file, url in urls.items():
            path = folder / file.local
            download(url, path, size=file.bytes, sha256=file.sha256, git_blob=file.git_blob, advance=advance)
            note = {
                "name": wanted.name,
                "url": url,
                "project": project.repository,
                "license": project.license,
                "citation": project.citation,
                "digest": f"{file.digest_kind} {file.digest}",
            }
            with replacing(origin_file(path)) as written:
                written.write(json.dumps(note, ensure_ascii=False, indent=1).encode() + b"\n")


def _check(file: PublishedFile, path: Path, name: str) -> FetchStatus:
    if not file.digest:
        return "unchecked"
    try:
        with open(path, "rb") as opened:
            found = digest_open(opened, "sha256" if file.sha256 else "git_blob")
    except OSError as error:
        raise SystemFailure(f"{path} cannot be read: {error.strerror}") from error
    if found != file.digest:
        raise BabelscopeError(
            f"{path} is not the published file: its {file.digest_kind} is {found}, expected {file.digest}; "
            f"move it away, or replace it with: babelscope data get --refresh {name}"
        )
    return "present"
