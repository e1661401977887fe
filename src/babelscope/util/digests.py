"""SHA-256 of values and files, from which fingerprints and signatures are made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path


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
