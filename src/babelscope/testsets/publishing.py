"""Publishing one's own test sets, and loading those that others registered, by name and verified."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import quote, urljoin, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from babelscope.core.settings import explain
from babelscope.testsets.items import TestSet
from babelscope.testsets.registry import RELEASES, SETS
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.files import replacing
from babelscope.util.published import MODELS, NamedSet, Project, PublishedFile, SetPart
from babelscope.util.terminal import HIDDEN, mark_hidden
from babelscope.util.text import parse_json, read_bytes, shorten

REGISTRY = "registry.json"
_LARGEST_REGISTRY = 1 << 20
_LARGEST_SET = 1 << 28  # bytes of the items of a registered set
_SECONDS = 30  # for a registry to arrive
_SEGMENT = r"[a-z0-9][a-z0-9._-]{0,63}"
_PATH = rf"{_SEGMENT}(/{_SEGMENT}){{0,7}}"


def _one_line(text: str) -> str:
    if "\n" in text or HIDDEN.search(text):
        raise ValueError("must be one line of visible text")
    return text


_Line = Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_one_line)]
_Language = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{0,20}$")]


class Entry(BaseModel):
    """A published test set as a registry names it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=rf"^{_PATH}$", max_length=128)]
    version: Annotated[int, Field(ge=1, le=1_000_000)]
    about: _Line
    """What it tests."""
    made: _Line
    """How it was made."""
    license: _Line
    citation: _Line
    source_language: _Language
    target_language: _Language
    items: Annotated[int, Field(ge=1)]
    file: Annotated[str, Field(pattern=rf"^{_PATH}$")]
    """Its items, as JSON lines; a path beside the registry."""
    bytes: Annotated[int, Field(ge=1, le=_LARGEST_SET)]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]

    @property
    def key(self) -> str:
        """The name with its version, by which every version can be loaded."""
        return f"{self.name}@{self.version}"


class RegistryFile(BaseModel):
    """A list of published test sets, each in one version or more."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["babelscope-registry-1"] = "babelscope-registry-1"
    sets: Annotated[list[Entry], Field(max_length=10_000)] = []


def read_registries(registries: Sequence[str]) -> dict[str, NamedSet]:
    """The test sets of registries by name, which stands for the newest version, and by name@version."""
    found: dict[str, NamedSet] = {}
    origin: dict[str, str] = {}
    for place in dict.fromkeys(registries):
        own = _sets_in(place)
        if clash := sorted(own.keys() & found.keys()):
            raise BabelscopeError(
                f"{place} and {origin[clash[0]]} both have a test set {clash[0]}: name one of the registries"
            )
        found |= own
        origin |= dict.fromkeys(own, place)
    return found


def _sets_in(place: str) -> dict[str, NamedSet]:
    is_remote = "://" in place
    path = Path(place).expanduser()
    file = path / REGISTRY if not is_remote and path.is_dir() else path
    data = _download(place) if is_remote else read_bytes(file, most=_LARGEST_REGISTRY)
    made: dict[str, NamedSet] = {}
    newest: dict[str, NamedSet] = {}
    for entry in sorted(_parse(data, place).sets, key=lambda entry: entry.version):
        if entry.name in (*SETS, *RELEASES, *MODELS):
            raise BabelscopeError(f"{place}: {entry.name} is the name of a public test set, release or model")
        if entry.key in made:
            raise BabelscopeError(f"{place}: {entry.key} is there twice")
        files = _remote_file(entry, place) if is_remote else _local_file(entry, file)
        made[entry.key] = newest[entry.name] = NamedSet(
            entry.key,
            entry.about,
            Project(place, (entry.source_language, entry.target_language), entry.license, entry.citation),
            (SetPart(entry.key, "jsonl", files.local, entry.items, (files,)),),
            entry.version,
        )
    return {**newest, **made}


def _parse(data: bytes, place: str | Path) -> RegistryFile:
    try:
        return RegistryFile.model_validate(parse_json(data, place))
    except ValidationError as error:
        raise BabelscopeError(explain(error, RegistryFile, str(place))) from None


def _remote_file(entry: Entry, url: str) -> PublishedFile:
    # Two registries may have a set of one name.
    folder = hashlib.sha256(url.encode()).hexdigest()[:12]
    local = f"registered/{folder}/{entry.name}/{entry.version}.jsonl"
    beside = urljoin(url, quote(entry.file))
    return PublishedFile(local, "", entry.bytes, entry.sha256, url=beside)


def _local_file(entry: Entry, registry: Path) -> PublishedFile:
    folder = registry.resolve().parent
    path = folder / entry.file
    if not path.is_file() or not path.resolve().is_relative_to(folder):
        raise BabelscopeError(f"{registry}: {entry.key} names {entry.file}, which is no file beside it")
    if path.stat().st_size != entry.bytes:
        raise BabelscopeError(
            f"{path} is not the published file: it has {path.stat().st_size} bytes, expected {entry.bytes}"
        )
    return PublishedFile(str(path), "", entry.bytes, entry.sha256)


def _download(url: str) -> bytes:
    """The bytes of a registry; from https, or from this machine."""
    import requests

    parts = urlsplit(url)
    is_here = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1")
    if not (is_here or parts.scheme == "https") or not parts.hostname:
        raise BabelscopeError(f"the registry {shorten(url)} must be a file, a folder or an https:// address")
    if not parts.path.endswith(".json"):
        raise BabelscopeError(f"the registry {shorten(url)} must end in .json, such as {REGISTRY}")
    data, until = b"", time.monotonic() + _SECONDS
    try:
        with requests.get(url, stream=True, timeout=_SECONDS, allow_redirects=False) as answer:
            if answer.status_code != 200:
                raise SystemFailure(
                    f"the registry {url} cannot be read: the server says {answer.status_code} {answer.reason}"
                )
            for chunk in answer.iter_content(2**14):
                data += chunk
                if len(data) > _LARGEST_REGISTRY:
                    raise BabelscopeError(
                        f"the registry {url} has more than {_LARGEST_REGISTRY} bytes; nothing was kept"
                    )
                if time.monotonic() > until:
                    raise SystemFailure(f"the registry {url} did not arrive in {_SECONDS} seconds")
    except requests.RequestException as error:
        raise SystemFailure(f"the registry {url} cannot be downloaded: {shorten(str(error), 200)}") from error
    return data


def publish(
    tests: TestSet,
    folder: Path,
    *,
    name: str,
    version: int,
    license: str,
    about: str,
    made: str,
    citation: str,
) -> Entry:
    """Write a test set into a folder with a registry: its items, a card and checksums; returns the registry's entry.

    A version that is there already is refused if its items differ.
    """
    data = b"".join(json.dumps(item.as_json(), ensure_ascii=False).encode() + b"\n" for item in tests)
    try:
        entry = Entry(
            name=name,
            version=version,
            about=about,
            made=made,
            license=license,
            citation=citation,
            source_language=_language(tests, "source_language"),
            target_language=_language(tests, "target_language"),
            items=len(tests),
            file=f"{name}/{version}/items.jsonl",
            bytes=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
        )
    except ValidationError as error:
        raise BabelscopeError(explain(error, Entry, "the published set")) from None
    if name in (*SETS, *RELEASES, *MODELS):
        raise BabelscopeError(f"{name} is the name of a public test set, release or model: choose another")
    registry = folder / REGISTRY
    others = _parse(read_bytes(registry, most=_LARGEST_REGISTRY), registry).sets if registry.exists() else []
    if any(other.key == entry.key and other.sha256 != entry.sha256 for other in others):
        newest = max(other.version for other in others if other.name == name)
        raise BabelscopeError(
            f"{entry.key} is published with other items: a change needs a new version, --version {newest + 1}"
        )
    card = _card(tests, entry).encode()
    _write(folder / entry.file, data)
    _write((folder / entry.file).with_name("README.md"), card)
    sums = {"README.md": card, "items.jsonl": data}
    listed = "".join(f"{hashlib.sha256(each).hexdigest()}  {path}\n" for path, each in sums.items())
    _write((folder / entry.file).with_name("SHA256SUMS"), listed.encode())
    kept = [other for other in others if other.key != entry.key]
    listing = RegistryFile(sets=sorted([*kept, entry], key=lambda each: (each.name, each.version)))
    _write(registry, listing.model_dump_json(indent=1).encode() + b"\n")
    return entry


def _write(path: Path, data: bytes) -> None:
    with replacing(path) as file:
        file.write(data)


def _language(tests: TestSet, side: str) -> str:
    """The language of all items; empty if they state none, or several."""
    found = {getattr(item, side, None) for item in tests}
    return (found.pop() or "") if len(found) == 1 else ""


def _card(tests: TestSet, entry: Entry) -> str:
    """The card as Markdown: what the set tests, how it was made, counts, languages, license and citation."""
    source, target = entry.source_language or "not stated", entry.target_language or "not stated"
    lines = [
        f"# {entry.name}, version {entry.version}",
        "",
        entry.about,
        "",
        f"- How it was made: {entry.made}",
        f"- Items: {len(tests)} ({tests.kind.__name__})",
        *_counts(tests, ("phenomenon", "category", "reference")),
        *(f"- Left out of its source: {count} ({reason})" for reason, count in tests.skipped.items()),
        f"- With context: {sum(bool(getattr(item, 'context_source', None)) for item in tests)}",
        f"- Languages: source {source}, target {target}",
        f"- License: {entry.license}",
        f"- Citation: {entry.citation}",
        f"- SHA-256 of items.jsonl: {entry.sha256}",
        "",
        f"Load it with `--registry REGISTRY --tests {entry.key}`, where REGISTRY is the address of {REGISTRY}.",
        "",
    ]
    return "\n".join(lines)


def _counts(tests: TestSet, fields: Iterable[str]) -> list[str]:
    """A line per field that the items have, with the number of items for each of its values."""
    lines = []
    for field in fields:
        counts = Counter(str(own) for item in tests if isinstance(own := getattr(item, field, None), str))
        if counts:
            lines.append(f"- By {field}: {_listed(counts)}")
    return lines


def _listed(counts: Mapping[str, int], most: int = 30) -> str:
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    rest = f" and {len(ordered) - most} more" if len(ordered) > most else ""
    return ", ".join(f"{mark_hidden(value[:60])} {count}" for value, count in ordered[:most]) + rest
