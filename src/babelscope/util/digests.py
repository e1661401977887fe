"""SHA-256 of values and files, from which fingerprints and signatures are made; and the digests of git."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.text import depth_exceeds


def digest_json(value: object) -> str:
    """SHA-256 of a value as canonical JSON, 64 hexadecimal digits."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def digest_file(path: str | Path) -> str:
    """SHA-256 of a file's content."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_files(paths: Iterable[Path]) -> str:
    """SHA-256 over the names and contents of files, in the order of their names; "" for none."""
    return _digest_contents({path.name: digest_file(path) for path in paths})


def _digest_contents(digests: Mapping[str, str]) -> str:
    whole = "".join(f"{name}\0{digest}\0" for name, digest in sorted(digests.items()))
    return hashlib.sha256(whole.encode()).hexdigest() if whole else ""


def digest_open(file: BinaryIO, kind: str = "sha256") -> str:
    """Digest of an open file's content, from its start: `sha256`, or `git_blob`.

    The latter is SHA-1 as git names files: of "blob SIZE", a zero byte and the bytes.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    # Git's SHA-1 names a published file; nothing of ours is signed with it.
    git = kind == "git_blob"
    digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False) if git else hashlib.sha256()
    while block := file.read(2**20):
        digest.update(block)
    return digest.hexdigest()


# --- Files of one folder that are checked when opened and must not change while they are used ----------------------


_DEEPEST = 50


class SealedFiles:
    """Regular files of a folder, by relative name; `check` raises if one has changed since."""

    def __init__(self, folder: Path, names: Iterable[str], *, also_inside: Iterable[Path] = ()) -> None:
        """Files may be links, but only to files inside `folder` or the folders of `also_inside`."""
        self.folder = folder
        places = (folder.resolve(), *also_inside)
        self.paths = {name: _regular_file(folder, name, places) for name in sorted(set(names))}
        self._stamps = {name: stamp(path) for name, path in self.paths.items()}
        self._contents: dict[str, str] = {}

    def size(self, name: str) -> int:
        return self._stamps[name][1]

    def read_json(self, name: str, *, most: int) -> dict[str, Any]:
        """The JSON object in a file of at most `most` bytes."""
        if self.size(name) > most:
            raise BabelscopeError(
                f"{self.folder / name} has {self.size(name):,} bytes; a file of its kind has at most {most:,}"
            )
        with open(self.paths[name], "rb") as file:
            data = file.read(most)
        try:
            value = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise BabelscopeError(f"{self.folder / name} cannot be read as JSON: {error}") from None
        if not isinstance(value, dict):
            raise BabelscopeError(f"{self.folder / name} is not a JSON object")
        if depth_exceeds(value, _DEEPEST):
            raise BabelscopeError(
                f"{self.folder / name} has more than {_DEEPEST} levels of lists and objects"
            )
        return value

    def digest(self, names: Iterable[str] | None = None) -> str:
        """SHA-256 over names and contents, the same as that of `digest_files`; "" for no files."""
        chosen = list(self.paths if names is None else names)
        for name in chosen:
            if name not in self._contents:
                self._contents[name] = digest_file(self.paths[name])
        self.check()
        return _digest_contents({name: self._contents[name] for name in chosen})

    def check(self) -> None:
        """Raise if a file is gone or has changed since this was made."""
        for name, was in self._stamps.items():
            try:
                now = stamp(self.paths[name])
            except OSError:
                raise SystemFailure(
                    f"{self.folder / name} is gone, although it was in use; put it back and start again"
                ) from None
            if now == was:
                continue
            # A new hard link or new permissions change only the ctime; then compare the contents.
            if now[:3] == was[:3] and self._contents.get(name) == digest_file(self.paths[name]):
                self._stamps[name] = now
                continue
            raise SystemFailure(f"{self.folder / name} changed while it was in use; start again")

    @contextmanager
    def view(self, instead: Mapping[str, bytes] | None = None) -> Iterator[Path]:
        """A temporary folder of links to these files and no others; `instead` replaces the contents of some."""
        instead = instead or {}
        try:
            place = tempfile.TemporaryDirectory(prefix="babelscope-", ignore_cleanup_errors=True)
        except OSError as error:
            raise SystemFailure(f"no temporary folder can be made: {error}") from error
        with place as outer:
            folder = Path(outer) / "model"
            folder.mkdir()
            for name, path in self.paths.items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                if name in instead:
                    (folder / name).write_bytes(instead[name])
                else:
                    (folder / name).symlink_to(path)
            yield folder
        self.check()

    def __getstate__(self) -> dict[str, Any]:
        """For another process: digests, but no stamps, since the files' contents are sent along."""
        self.digest()
        return {**self.__dict__, "_stamps": {}}


def _regular_file(folder: Path, name: str, places: Iterable[Path]) -> Path:
    path = folder / name
    try:
        real = path.resolve(strict=True)
        mode = real.stat().st_mode
    except (OSError, RuntimeError, ValueError):
        raise BabelscopeError(f"{path} is missing, or a link that leads nowhere") from None
    if not any(real.is_relative_to(place) for place in places):
        raise BabelscopeError(f"{path} leads out of its folder, to {real}; copy that file into the folder")
    if not stat.S_ISREG(mode):
        raise BabelscopeError(f"{path} is not a regular file")
    return real


def stamp(path: str | Path) -> tuple[int, int, int, int]:
    """Inode, size in bytes, modification and change time in ns."""
    found = os.stat(path)
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
