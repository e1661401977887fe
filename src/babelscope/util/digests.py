"""SHA-256 of values and files, from which fingerprints and signatures are made; and the digests of git."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO


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
    whole = hashlib.sha256()
    ordered = sorted(paths, key=lambda path: path.name)
    for path in ordered:
        whole.update(f"{path.name}\0{digest_file(path)}\0".encode())
    return whole.hexdigest() if ordered else ""


def digest_git_blob(file: BinaryIO) -> str:
    """SHA-1 of a file's content as git names it: of "blob SIZE", a zero byte and the bytes."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    # Git's SHA-1 names a published file; nothing of ours is signed with it.
    digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    while block := file.read(2**20):
        digest.update(block)
    return digest.hexdigest()
