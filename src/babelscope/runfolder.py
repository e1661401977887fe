"""A run on disk: manifest.json, records.jsonl, summary.json; killed at any moment, it can go on."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from babelscope.errors import BabelscopeError, SystemFailure, at
from babelscope.files import replacing
from babelscope.results import Record, Result, differences, record_line

# Fields of a manifest that two runs must share for one to go on where the other stopped.
_COMPARED = ("config", "cells", "shard")


@dataclass(frozen=True, slots=True)
class Chunk:
    """The unit of asking and storing: items `start` to `stop` of one cell."""

    cell: int
    start: int
    stop: int


def plan(cells: Sequence[Mapping[str, Any]], size: int) -> list[Chunk]:
    """The chunks of all cells; they depend on nothing else, so that a kill changes no batch and no float."""
    return [
        Chunk(number, start, min(start + size, cell["items"]))
        for number, cell in enumerate(cells)
        for start in range(0, cell["items"], size)
    ]


def chunks_of(manifest: Mapping[str, Any]) -> list[Chunk]:
    """What a run has to ask: all chunks, or a shard's share: whole chunks, dealt out one by one."""
    chunks = plan(manifest["cells"], manifest["config"]["chunk"])
    shard = manifest.get("shard")
    return chunks[shard["number"] - 1 :: shard["of"]] if shard else chunks


class RunFolder:
    """A run folder held open, by one process at a time."""

    def __init__(self, path: str | Path, manifest: Mapping[str, Any]) -> None:
        """Start a run, or go on with one of the same configuration; `manifest` has `config` and `cells`."""
        self.path = Path(path)
        self._cells = manifest["cells"]
        self._chunks = chunks_of(manifest)
        _refuse_foreign(self.path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._file = open(self.path / "records.jsonl", "a+b", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise BabelscopeError(f"{self.path} cannot be a run folder: {error.strerror}") from error
        try:
            self._lock()
            self._check_manifest(manifest)
            self.records = self._read()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def missing(self) -> list[Chunk]:
        """The chunks not stored yet, in the order in which they must be stored."""
        ends = itertools.accumulate(chunk.stop - chunk.start for chunk in self._chunks)
        return [chunk for chunk, end in zip(self._chunks, ends, strict=True) if end > len(self.records)]

    @property
    def total(self) -> int:
        """How many records the finished run has."""
        return sum(chunk.stop - chunk.start for chunk in self._chunks)

    def store(self, records: Sequence[Record]) -> None:
        """Append the records of the first missing chunk; when this returns they are on disk."""
        data = b"".join(record_line(record) for record in records)
        end = self._file.seek(0, os.SEEK_END)
        try:
            _write_all(self._file.fileno(), data)
            os.fsync(self._file.fileno())
        except OSError as error:
            os.ftruncate(self._file.fileno(), end)
            raise SystemFailure(
                f"{self._file.name} cannot be written: {error.strerror}; what was answered before is safe: "
                "make room and run the same command again to go on"
            ) from error
        self.records += records

    def finish(self, result: Result) -> None:
        """Write the summary of a run that is complete."""
        _write(self.path / "summary.json", result.to_json())

    def _lock(self) -> None:
        """Held by the open file, so the system lets go of it however this process ends."""
        try:
            fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BabelscopeError(
                f"{self.path} is in use by another process; wait for it, or choose another folder with --out"
            ) from None
        except OSError as error:
            raise BabelscopeError(f"{self.path} is on a disk without locks: {error.strerror}") from error

    def _check_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Refuse the folder of a run that is not this one; write the manifest of a new one."""
        path = self.path / "manifest.json"
        if not path.exists():
            _write(path, json.dumps(manifest, ensure_ascii=False, allow_nan=False, indent=1) + "\n")
            return
        stored = _read_json(path)
        found = [
            place
            for name in _COMPARED
            for place in differences(stored.get(name), json.loads(json.dumps(manifest.get(name))), name)
        ]
        if found:
            more = f" and {len(found) - 3} more" if len(found) > 3 else ""
            raise BabelscopeError(
                f"{self.path} holds another run ({'; '.join(found[:3])}{more}); "
                "choose another folder with --out, or delete this one"
            )

    def _read(self) -> list[Record]:
        """The records of all complete chunks; what a kill left of the one after them is cut off."""
        self._file.seek(0)
        records, size = parse_records(self._file.read(), self._chunks, self._cells, self._file.name)
        os.ftruncate(self._file.fileno(), size)
        return records


def parse_records(
    data: bytes, chunks: Sequence[Chunk], cells: Sequence[Mapping[str, Any]], path: str | Path
) -> tuple[list[Record], int]:
    """The records of the complete chunks at the head of a file, and how many bytes these are."""
    lines = data.split(b"\n")
    lines.pop()  # What follows the last "\n": nothing, or a torn line.
    records: list[Record] = []
    size = 0
    for chunk in chunks:
        here = lines[len(records) : len(records) + chunk.stop - chunk.start]
        parsed = [_parse(line) for line in here]
        keys = [key_of(cells[chunk.cell], item) for item in range(chunk.start, chunk.stop)]
        fits = [
            record is not None and key.items() <= record.items()
            for key, record in zip(keys, parsed, strict=False)
        ]
        if len(here) < len(keys) or not all(fits):
            # A chunk is on disk before the next is asked, so damage before the last is no kill's work.
            if len(records) + len(keys) < len(lines):
                raise _damaged(path, len(records) + fits.index(False) + 1)
            break
        records += [record for record in parsed if record is not None]
        size += sum(len(line) + 1 for line in here)
    else:
        if len(lines) > len(records):
            raise _damaged(path, len(records) + 1)
    return records, size


def key_of(cell: Mapping[str, Any], item: int) -> dict[str, Any]:
    """The first fields of a record: which cell it belongs to, and the place of its item there."""
    return {**{name: cell[name] for name in ("method", "system", "tests")}, "item": item}


def _damaged(path: str | Path, line: int) -> BabelscopeError:
    return BabelscopeError(
        f"{at(path, line)} is not the record that belongs there: the file was changed or "
        "damaged; delete the folder, or choose another with --out"
    )


def _refuse_foreign(path: Path) -> None:
    """A folder with other things in it is never made a run folder."""
    if path.is_dir() and not (path / "manifest.json").exists():
        strange = sorted(
            entry.name
            for entry in path.iterdir()
            # Killed between its first steps, a run leaves an empty file and a manifest half written.
            if not (entry.name == "records.jsonl" and entry.stat().st_size == 0)
            and not re.fullmatch(r"manifest\.json|\.manifest\.json\..*\.part", entry.name)
        )
        if strange:
            raise BabelscopeError(
                f"{path} is not empty and no run folder (it holds {strange[0]}); choose another with --out"
            )


def _parse(line: bytes) -> Record | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _read_json(path: Path) -> dict[str, Any]:
    record = _parse(path.read_bytes())
    if record is None:
        raise BabelscopeError(f"{path} is damaged: it is not a JSON object")
    return record


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _write(path: Path, text: str) -> None:
    with replacing(path) as file:
        file.write(text.encode("utf-8"))
