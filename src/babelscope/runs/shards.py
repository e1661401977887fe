"""Shards of a study: each run asks its share of the chunks, and `merge` makes one run of all."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from babelscope.core.results import Record, Result, differences
from babelscope.metrics.base import allow_only
from babelscope.runs.execute import finish
from babelscope.runs.folder import Chunk, RunFolder, chunks_of, count_records, parse_records
from babelscope.runs.manifest import Manifest, Shard, read_manifest, total_cost
from babelscope.runs.reading import check_records
from babelscope.util.errors import BabelscopeError
from babelscope.util.files import open_regular
from babelscope.util.version import __version__


@dataclass(frozen=True, slots=True)
class _FinishedShard:
    """The folder of a finished shard, with the records of its chunks."""

    path: Path
    shard: Shard
    manifest: Manifest
    answered: Mapping[Chunk, Sequence[Record]]


def merge(shards: Sequence[str | Path], out: str | Path) -> Result:
    """Put all shards of a study together into the run folder that the plain study would have made.

    Needs no system and no test set. After a kill, calling it again resumes.
    """
    stored = [_read_shard(Path(path)) for path in shards]
    if not stored:
        raise BabelscopeError("there is no shard to merge")
    _check_shards(stored)
    first = stored[0].manifest
    made = [each.manifest.software for each in stored]
    software = {
        name: " and ".join(dict.fromkeys(each[name] for each in made if name in each)) for name in made[0]
    }
    unfinished = {"shard": None, "status": "unfinished", "records": None}
    manifest = first.model_copy(update={**unfinished, "software": software})
    answered = {chunk: records for each in stored for chunk, records in each.answered.items()}
    methods = {label: first.method_of(label) for label in first.methods}
    with RunFolder(Path(out).absolute(), manifest.as_json()) as run:
        for chunk in run.missing():
            run.store(answered[chunk])
        try:
            with allow_only(()):
                return finish(run, manifest, methods, total_cost(each.manifest.cost for each in stored))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            # Only a method knows the fields of its records: if it fails on them, they were changed.
            raise BabelscopeError(f"the records of the shards are damaged: {error!r}") from error


def _read_shard(path: Path) -> _FinishedShard:
    """Read a finished shard; refuses whole runs and unfinished shards."""
    manifest = read_manifest(path)
    if manifest.shard is None:
        raise BabelscopeError(f"{path} is a whole run, not a shard")
    shard, stored = manifest.shard, manifest.as_json()
    try:
        wanted = count_records(stored)
        with io.BufferedReader(open_regular(path / "records.jsonl")) as file:
            records, _ = parse_records(file, chunks_of(stored), stored["jobs"], file.name)
        for label in manifest.methods:
            manifest.method_of(label)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise BabelscopeError(f"{path / 'manifest.json'} is damaged: {error!r}") from None
    if len(records) < wanted:
        raise BabelscopeError(
            f"shard {shard} in {path} is not finished: it has {len(records)} of {wanted} records; run it "
            f"again with --shard {shard}"
        )
    check_records(path, manifest)
    rest = iter(records)
    answered = {chunk: list(islice(rest, chunk.stop - chunk.start)) for chunk in chunks_of(stored)}
    return _FinishedShard(path, shard, manifest, answered)


def _check_shards(stored: Sequence[_FinishedShard]) -> None:
    """Refuse folders that are not all shards of one study, each exactly once."""
    first = stored[0]
    ours = first.manifest.as_json()
    seen: dict[int, Path] = {}
    for each in stored:
        found = [
            place
            for name in ("config", "jobs")
            for place in differences(ours[name], each.manifest.as_json()[name], name)
        ]
        if found:
            difference = found[0].replace(" there,", f" in {first.path},").removesuffix(" here")
            raise BabelscopeError(f"{each.path} is a shard of another study ({difference} here)")
        if each.shard.of != first.shard.of:
            raise BabelscopeError(
                f"{each.path} is shard {each.shard}, but {first.path} is {first.shard}: "
                "shards of one study are of equally many"
            )
        if each.shard.number in seen:
            raise BabelscopeError(
                f"shard {each.shard} is given twice: {seen[each.shard.number]} and {each.path}"
            )
        seen[each.shard.number] = each.path
    of = first.shard.of
    if missing := of - len(seen):
        one = f"{next(number for number in range(1, of + 1) if number not in seen)}/{of}"
        more = f" (and {missing - 1} more)" if missing > 1 else ""
        raise BabelscopeError(f"shard {one} is missing{more}; run the study with --shard {one}")
    # The version stands in the signature, so rows must be computed by the version that asked.
    if (version := first.manifest.config.get("version")) != __version__:
        raise BabelscopeError(
            f"the shards were run with Babelscope {version}, and this is {__version__}: merge with that"
        )
