"""A run folder (manifest.json, records.jsonl, summary.json) that can be resumed after a kill at any moment."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final

from babelscope.core.results import Record, differences, record_line
from babelscope.util.errors import BabelscopeError, at
from babelscope.util.files import append_synced, lock, open_regular, replacing
from babelscope.util.text import (
    DEEPEST,
    LARGEST_DOCUMENT,
    LONGEST_RECORD,
    bounded_lines,
    depth_exceeds,
    parse_json,
    require_size,
    text_fault,
)
from babelscope.util.version import __version__

FORMAT: Final = 3
"""The format of a run folder, in its manifest: raised when manifest, records or summary change their form."""
# Fields of a manifest that must be equal for a run to be resumed.
_MUST_MATCH = ("config", "jobs", "shard")
# Names of the files that a killed `replacing` leaves behind.
_TEMPORARY_FILE = re.compile(r"\.(?:manifest|summary)\.json\..*\.part")


@dataclass(frozen=True, slots=True)
class Chunk:
    """The unit of asking and storing: items `start` to `stop` of one job."""

    job: int
    start: int
    stop: int


def plan_chunks(
    jobs: Sequence[Mapping[str, Any]], size: int, number: int = 1, of: int = 1
) -> Iterator[Chunk]:
    """The chunks of all jobs, or those of shard `number` of `of`; shards take chunks in turn.

    Chunks depend on the arguments alone, so a resumed run has the same batches and floats. A generator, because
    a stranger's manifest may claim more chunks than fit into memory.
    """
    for job, starts, items in _chunk_starts(jobs, size, number, of):
        for start in starts:
            yield Chunk(job, start, min(start + size, items))


def _chunk_starts(
    jobs: Sequence[Mapping[str, Any]], size: int, number: int, of: int
) -> Iterator[tuple[int, range, int]]:
    """(job, first items of its chunks in this shard, number of its items) for each job."""
    if type(size) is not int or size < 1:
        raise ValueError(f"a chunk has at least one item, not {size!r}")
    before = number - 1  # chunks to skip before the next one of this shard
    for job, described in enumerate(jobs):
        items = described["items"]
        yield job, range(before * size, items, of * size), items
        before = (before + items // -size) % of  # minus the number of chunks of this job


def _chunk_arguments(manifest: Mapping[str, Any]) -> tuple[Sequence[Mapping[str, Any]], int, int, int]:
    """The arguments of `plan_chunks` for a run or shard."""
    shard = manifest.get("shard") or {"number": 1, "of": 1}
    return manifest["jobs"], manifest["config"]["chunk"], shard["number"], shard["of"]


def chunks_of(manifest: Mapping[str, Any]) -> Iterator[Chunk]:
    """The chunks of a run, or of a shard."""
    return plan_chunks(*_chunk_arguments(manifest))


def count_records(manifest: Mapping[str, Any]) -> int:
    """How many records a run or shard has when it is finished."""
    jobs, size, number, of = _chunk_arguments(manifest)
    return sum(
        len(starts) * size - max(0, starts[-1] + size - items)
        for _, starts, items in _chunk_starts(jobs, size, number, of)
        if starts
    )


class RunFolder:
    """An open, locked run folder: one process at a time."""

    def __init__(self, path: str | Path, manifest: Mapping[str, Any]) -> None:
        """Start a run, or resume one of the same configuration; `manifest` has `config` and `jobs`."""
        self.path = Path(path)
        self._jobs = manifest["jobs"]
        self._chunks = list(chunks_of(manifest))
        try:
            _refuse_foreign(self.path)
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BabelscopeError(f"{self.path} cannot be a run folder: {error.strerror}") from error
        self._file = open_regular(self.path / "records.jsonl", append=True, create=True)
        try:
            self._lock()
            self._check_manifest(manifest)
            self.records = self._read()
            # A finished run that was cut is asked for what is missing, and must end in the same records.
            if len(self.records) == self.total:
                self.check_sealed()
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
        """Append the records of the first missing chunk and sync them to disk."""
        lines = [record_line(record) for record in records]
        for line, record in zip(lines, records, strict=True):
            if len(line) > LONGEST_RECORD:  # it could not be read back
                raise BabelscopeError(
                    f"the record of item {record.get('id')!r} has {len(line)} bytes; a line of "
                    f"{self._file.name} has at most {LONGEST_RECORD}"
                )
        data = b"".join(lines)
        append_synced(self._file, data, self._file.seek(0, os.SEEK_END))
        self._digest.update(data)
        self.records += records

    @property
    def seal(self) -> dict[str, Any]:
        """Count and SHA-256 of the records, for the manifest of a finished run."""
        return {"count": len(self.records), "sha256": self._digest.hexdigest()}

    def check_sealed(self) -> None:
        """Raise if the run was finished before, and its records are others now."""
        sealed = self.stored_manifest.get("records")
        if sealed is not None and sealed != self.seal:
            raise records_changed(self._file.name)

    def complete(self, records: Sequence[Record]) -> None:
        """Replace the records of a complete run by the same with what depends on all of them, such as weights."""
        data = b"".join(map(record_line, records))
        digest = hashlib.sha256(data)
        changed = digest.hexdigest() != self.seal["sha256"]
        self._digest = digest
        self.records = list(records)
        self.check_sealed()
        if changed:
            with replacing(self.path / "records.jsonl") as file:
                file.write(data)
            self._file.close()
            self._file = open_regular(self.path / "records.jsonl", append=True)
            self._lock()

    def finish(self, summary: str) -> None:
        """Write summary.json of a complete run."""
        _replace_file(self.path / "summary.json", summary)

    def rewrite_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Replace manifest.json, to update status and cost."""
        _replace_file(self.path / "manifest.json", _manifest_text(manifest))

    def _lock(self) -> None:
        """Lock the open records file; the operating system releases the lock however this process ends."""
        lock(self._file.fileno(), self.path, instead="choose another folder with --out")

    def _check_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Refuse the folder of another run; write the manifest of a new run."""
        path = self.path / "manifest.json"
        if not os.path.lexists(path):
            _replace_file(path, _manifest_text(manifest))
            self.stored_manifest = manifest
            return
        stored = _parse_object(read_run_file(path))
        if stored is None:
            raise BabelscopeError(f"{path} is damaged: it is not a JSON object")
        require_format(stored, path)
        self.stored_manifest = stored
        found = [
            place
            for name in _MUST_MATCH
            for place in differences(stored.get(name), json.loads(json.dumps(manifest.get(name))), name)
        ]
        if found:
            more = f" and {len(found) - 3} more" if len(found) > 3 else ""
            raise BabelscopeError(
                f"{self.path} holds another run ({'; '.join(found[:3])}{more}); "
                "choose another folder with --out, or delete this one"
            )

    def _read(self) -> list[Record]:
        """The records of all complete chunks; cuts off what a kill left of the next chunk."""
        self._file.seek(0)
        # Detached below, not closed: closing it would close the file and release the lock.
        lines = io.BufferedReader(self._file)
        try:
            records, size = parse_records(lines, self._chunks, self._jobs, self._file.name)
        finally:
            lines.detach()
        os.ftruncate(self._file.fileno(), size)
        self._file.seek(0)
        self._digest = hashlib.file_digest(self._file, "sha256")
        for entry in self.path.iterdir():  # remove what a kill left; the lock keeps others out
            if _TEMPORARY_FILE.fullmatch(entry.name):
                entry.unlink()
        return records


def parse_records(
    file: IO[bytes], chunks: Iterable[Chunk], jobs: Sequence[Mapping[str, Any]], path: str | Path
) -> tuple[list[Record], int]:
    """The records of the complete chunks at the start of a file, and their size in bytes.

    After them only the remains of a killed write may follow: some lines of the next chunk, the last cut off.
    """
    lines = bounded_lines(file, path, longest=LONGEST_RECORD)
    records: list[Record] = []
    size = 0
    for chunk in chunks:
        here = list(itertools.islice(lines, chunk.stop - chunk.start))
        found: list[Record] = []
        for item, line in enumerate(here, chunk.start):
            key = record_key(jobs[chunk.job], item)
            record = _parse_object(line) if line.endswith(b"\n") else None
            if record is None or not key.items() <= record.items():
                last = item - chunk.start == len(here) - 1 and next(lines, None) is None
                if not (last and _is_cut_record(line, key)):
                    raise _damage_error(path, len(records) + len(found) + 1)
                break
            found.append(record)
        if len(found) < chunk.stop - chunk.start:
            break
        records += found
        size += sum(map(len, here))
    if next(lines, None) is not None:
        raise _damage_error(path, len(records) + 1)
    return records, size


def _is_cut_record(line: bytes, key: Mapping[str, Any]) -> bool:
    """Whether a line can be the start of a record; after a power cut, zero bytes may follow."""
    line = line.rstrip(b"\0")
    head = json.dumps(key, ensure_ascii=False).encode().removesuffix(b"}")
    return head.startswith(line) or line.startswith((head + b",", head + b"}"))


def record_key(job: Mapping[str, Any], item: int) -> dict[str, Any]:
    """The first fields of a record: its job, and the number of its item there."""
    return {**{name: job[name] for name in ("method", "system", "tests")}, "item": item}


def _damage_error(path: str | Path, line: int) -> BabelscopeError:
    before = f"keep only its first {line - 1} lines to resume from there, or " if line > 1 else ""
    return BabelscopeError(
        f"{at(path, line)} is not the record that belongs there: the file was changed or damaged, and is left "
        f"as it is; {before}delete the folder or choose another with --out"
    )


def records_changed(path: str | Path) -> BabelscopeError:
    """The error for records that are not those of the digest in the manifest."""
    return BabelscopeError(
        f"{path} is not as the run left it: its SHA-256 is not the one in manifest.json, so records were changed or "
        "damaged; put the file back, or delete the folder and run again"
    )


def require_format(manifest: Mapping[str, Any], path: Path) -> None:
    """Raise unless a manifest has the format of this version."""
    stated = manifest.get("format", 0)
    if stated == FORMAT:
        return
    if isinstance(stated, int) and stated < FORMAT:
        raise BabelscopeError(f"{path} was made by a version before 0.2.0; run the study again")
    raise BabelscopeError(
        f"{path} has the format {stated!r}; this Babelscope ({__version__}) reads {FORMAT}: get a newer one"
    )


def read_run_file(path: Path) -> bytes:
    """The bytes of a file in a run folder; refuses links, pipes and files that are too large."""
    with io.BufferedReader(open_regular(path)) as file:
        return require_size(file.read(LARGEST_DOCUMENT + 1), path)


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file of a run folder."""
    found = parse_json(read_run_file(path), path)
    if not isinstance(found, dict):
        raise BabelscopeError(f"{path} is damaged: it is not a JSON object")
    if fault := text_fault(json.dumps(found, ensure_ascii=False)):
        raise BabelscopeError(f"{path} is damaged: it {fault}")
    return found


def _refuse_foreign(path: Path) -> None:
    """Refuse to use a folder that has files of something else."""
    if path.is_dir() and not os.path.lexists(path / "manifest.json"):
        strange = sorted(
            entry.name
            for entry in path.iterdir()
            # A run killed at its start leaves an empty records file and a temporary manifest.
            if not (entry.name == "records.jsonl" and entry.lstat().st_size == 0)
            and not _TEMPORARY_FILE.fullmatch(entry.name)
        )
        if strange:
            raise BabelscopeError(
                f"{path} is not empty, and not a run folder (it holds {strange[0]}); choose another with --out"
            )


def _parse_object(line: bytes) -> Record | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if line.count(b"[") + line.count(b"{") > DEEPEST and depth_exceeds(record, DEEPEST):
        return None
    return record if isinstance(record, dict) else None


def _manifest_text(manifest: Mapping[str, Any]) -> str:
    return json.dumps(manifest, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _replace_file(path: Path, text: str) -> None:
    with replacing(path) as file:
        file.write(text.encode("utf-8"))
