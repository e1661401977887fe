"""Published test sets and models: found in the data folder and checked, or downloaded into it by pooch."""

from __future__ import annotations

import io
import json
import os
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from babelscope.util.digests import digest_open
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.files import replacing
from babelscope.util.progress import progress
from babelscope.util.text import shorten

SERVER = "https://raw.githubusercontent.com"
LARGEST = 2**30
"""Bytes of a file whose size is not known beforehand."""
_RETRIES = 3
_SECONDS = 30  # until a server sends something
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
    url: str = ""
    """Where a registered file is downloaded from, which `remote` does not say."""

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
    """How many items are published, including those that we skip; 0 if that is not stated."""
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


def _read_sets(known: Mapping[str, Any]) -> dict[str, NamedSet]:
    projects = {
        name: Project(**{**fields, "languages": tuple(fields["languages"])})
        for name, fields in known["projects"].items()
    }
    parts = [
        SetPart(name, **{**fields, "files": tuple(PublishedFile(**file) for file in fields["files"])})
        for name, fields in known["parts"].items()
    ]
    return {
        name: NamedSet(
            name,
            own["description"],
            projects[own["project"]],
            tuple(part for part in parts if part.name.startswith(name)),
        )
        for name, own in known["sets"].items()
    }


def _read_models(known: Mapping[str, Any]) -> dict[str, NamedSet]:
    found = {}
    for treebank, language, git_blob in known["models"]:
        name, file_name = f"udpipe/{treebank}", f"{treebank}-ud-2.5-191206.udpipe"
        project = Project(known["repository"], (language, ""), known["license"], known["citation"])
        file = PublishedFile(f"udpipe/{file_name}", f"{known['folder']}/{file_name}", git_blob=git_blob)
        part = SetPart(name, "udpipe", file.local, 0, (file,))
        found[name] = NamedSet(name, f"a parser, used as --parser udpipe:{treebank}", project, (part,))
    return found


_KNOWN = tomllib.loads((files("babelscope.util") / "published.toml").read_text("utf-8"))
SETS: Mapping[str, NamedSet] = _read_sets(_KNOWN)
"""The test sets that are listed one by one; `testsets/registry.py` adds those of whole releases."""
MODELS: Mapping[str, NamedSet] = _read_models(_KNOWN["udpipe"])
"""Every public model of a parser, by name."""


def data_folder(given: str | Path | None = None) -> Path:
    """Where test sets are kept: as given, else BABELSCOPE_DATA, else the user's data folder."""
    if given or (given := os.environ.get("BABELSCOPE_DATA")):
        return Path(given).expanduser()
    import platformdirs

    return Path(platformdirs.user_data_dir("babelscope", appauthor=False))


def file_url(file: PublishedFile) -> str:
    """Where a file is downloaded from; BABELSCOPE_MIRROR names another server with the same paths."""
    if file.url or not file.remote:
        return file.url
    server = os.environ.get("BABELSCOPE_MIRROR") or SERVER
    if not server.startswith(("http://", "https://")):
        raise BabelscopeError(f"BABELSCOPE_MIRROR must begin with http:// or https://, unlike {server!r}")
    return f"{server.rstrip('/')}/{quote(file.remote)}"


def fetch(wanted: NamedSet, data_dir: str | Path | None = None, *, refresh: bool = False) -> list[Fetched]:
    """Check the files of a named set or model in the data folder, and download those that are missing.

    A file whose digest differs is an error, or with `refresh` replaced.
    """
    folder, name = data_folder(data_dir), wanted.name
    found: dict[PublishedFile, FetchStatus] = {}
    for file in wanted.files:
        path = folder / file.local
        if path.exists() and (fault := _fault(file, path)):
            if not refresh or not file_url(file):
                way = f"move it away, or replace it with: babelscope data get --refresh {name}"
                raise BabelscopeError(f"{path} {fault}; {way if file_url(file) else 'ask its publisher'}")
            path.unlink()
        elif path.exists():
            found[file] = "present" if file.digest else "unchecked"
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
    project = wanted.project
    urls = {file: file_url(file) for file in needed}
    print(f"{wanted.name} ({project.repository}); license: {project.license}", file=sys.stderr, flush=True)
    with progress(wanted.name, sum(file.bytes for file in needed) or None, of_bytes=True) as advance:
        for file, url in urls.items():
            _download_file(file, url, folder, advance)
            note = {
                "name": wanted.name,
                "url": url,
                "project": project.repository,
                "license": project.license,
                "citation": project.citation,
                "digest": f"{file.digest_kind} {file.digest}",
            }
            with replacing(origin_file(folder / file.local)) as written:
                written.write(json.dumps(note, ensure_ascii=False, indent=1).encode() + b"\n")


class _Limited(io.FileIO):
    """A file that takes no more bytes than a published file has, however much a server sends."""

    def __init__(self, path: str, most: int, advance: Callable[[int], None]) -> None:
        super().__init__(path, "wb")
        self._most, self._advance = most, advance

    def write(self, data: Any, /) -> int:
        if self.tell() + len(data) > self._most:
            raise BabelscopeError(f"is not the published file: it has more than {self._most} bytes")
        self._advance(len(data))
        return super().write(data)


def _download_file(file: PublishedFile, url: str, folder: Path, advance: Callable[[int], None]) -> None:
    """Download a file that is the published one, whole or not at all."""
    # Imported late: slow to import, and most runs have their files.
    import pooch
    import requests

    def download(url: str, path: str, _pooch: object) -> None:
        with _Limited(path, file.bytes or LARGEST, advance) as limited:
            # A registry is a stranger's: its server may not lead to another one.
            more = {"allow_redirects": False} if file.url else {}
            pooch.HTTPDownloader(timeout=_SECONDS, chunk_size=2**14, **more)(url, limited, None)
        if fault := _fault(file, Path(path)):
            raise BabelscopeError(fault)

    pooch.get_logger().setLevel("WARNING")
    path = folder / file.local
    one = pooch.create(
        folder, "", registry={file.local: None}, urls={file.local: url}, retry_if_failed=_RETRIES
    )
    try:
        # pooch makes the folder, too, and fails if another process does so at the same time.
        path.parent.mkdir(parents=True, exist_ok=True)
        one.fetch(file.local, downloader=download)
        path.chmod(0o644)
    except BabelscopeError as error:
        raise BabelscopeError(f"{url} {error}; nothing was kept") from None
    except requests.RequestException as error:
        answer = error.response
        reason = (
            shorten(str(error), 200)
            if answer is None
            else f"the server says {answer.status_code} {answer.reason}"
        )
    except OSError as error:
        raise SystemFailure(f"{path} cannot be written: {error.strerror}") from error
    else:
        return
    raise SystemFailure(
        f"{url} cannot be downloaded: {reason}; put the file at {path} yourself, or try again with a connection"
    )


def _fault(file: PublishedFile, path: Path) -> str:
    """What is wrong with the bytes of a file; empty if nothing is, or its digest is not known."""
    if not file.digest:
        return ""
    try:
        with open(path, "rb") as opened:
            found = digest_open(opened, "sha256" if file.sha256 else "git_blob")
    except OSError as error:
        raise SystemFailure(f"{path} cannot be read: {error.strerror}") from error
    if found == file.digest:
        return ""
    return f"is not the published file: its {file.digest_kind} is {found}, expected {file.digest}"
