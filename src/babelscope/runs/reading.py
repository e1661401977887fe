"""Reads finished run folders: manifest, rows, records, and the results that they form."""

from __future__ import annotations

import functools
import hashlib
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from babelscope.core.comparison import SystemResult, without_labels
from babelscope.core.registry import did_you_mean
from babelscope.core.results import Estimate, Record, Row, split_unanswered
from babelscope.methods.base import Method
from babelscope.methods.queue import Drawn, all_entries, draw_queue
from babelscope.methods.registry import method_names
from babelscope.runs.folder import read_object, records_changed
from babelscope.runs.manifest import JOB_LABELS, Manifest, read_manifest
from babelscope.util.errors import BabelscopeError, explain_damage
from babelscope.util.files import open_regular
from babelscope.util.text import json_lines


@dataclass(frozen=True)
class Run:
    """A run with its manifest and rows; its records are in its folder, or in memory."""

    path: Path
    manifest: Manifest
    rows: Sequence[Row] = field(repr=False)
    """Rows of its jobs."""
    comparisons: Sequence[Row] = field(default=(), repr=False)
    """Rows about several jobs together."""
    in_memory: Sequence[Record] | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        return self.path.name or str(self.path)

    @cached_property
    def records(self) -> Sequence[Record]:
        """The records of all answered items of all jobs; read when first used."""
        return split_unanswered(read_records(self.path) if self.in_memory is None else self.in_memory)[0]


def read_records(folder: Path) -> list[Record]:
    """All records of a run folder, answered or not."""
    found: list[Record] = []
    with io.BufferedReader(open_regular(folder / "records.jsonl")) as file:
        for place, record in json_lines(file, file.name):
            if not record.keys() >= set(JOB_LABELS):
                raise BabelscopeError(f"{place} is not a record of a run: the file was changed or damaged")
            found.append(dict(record))
    return found


def read_run(path: str | Path) -> Run:
    """Read a complete run folder; refuses shards and unfinished runs."""
    path = Path(path)
    manifest = read_manifest(path)
    if manifest.shard is not None:
        raise BabelscopeError(
            f"{path} is one shard of a study; put all of them together with babelscope run --merge"
        )
    # A run killed between its last two files has a summary, but no digest of its records yet.
    if manifest.status != "finished" or not (path / "summary.json").is_file():
        raise _unfinished(path)
    check_records(path, manifest)
    summary = read_object(path / "summary.json")
    try:
        rows = [_parse_row(row, JOB_LABELS) for row in summary["rows"]]
        comparisons = [_parse_row(row, ("method", "tests")) for row in summary.get("comparisons", ())]
    except (KeyError, TypeError, ValueError) as error:
        raise BabelscopeError(f"{path / 'summary.json'} is damaged: {error!r}") from None
    return Run(path, manifest, rows, comparisons)


def _unfinished(path: Path) -> BabelscopeError:
    return BabelscopeError(f"the run in {path} is not finished; run the same command again to resume")


def check_records(folder: Path, manifest: Manifest) -> None:
    """Raise unless records.jsonl is as the finished run left it."""
    path, sealed = folder / "records.jsonl", manifest.records
    if sealed is None:
        raise _unfinished(folder)
    digest, count = hashlib.sha256(), 0
    with io.BufferedReader(open_regular(path)) as file:
        while part := file.read(1 << 20):
            digest.update(part)
            count += part.count(b"\n")
    if count != sealed.count:
        raise BabelscopeError(
            f"{path} has {count} records, but its manifest.json says {sealed.count}: the file was cut or changed; "
            "put it back, or run the command that made it again, which asks for what is missing"
        )
    if digest.hexdigest() != sealed.sha256:
        raise records_changed(path)


def check_if_of_a_run(path: Path) -> Path:
    """The file of records that a path names, itself or in a run folder; raises if it is a damaged run's."""
    file = path / "records.jsonl" if path.is_dir() else path
    if file.name == "records.jsonl" and (file.parent / "manifest.json").is_file():
        manifest = read_manifest(file.parent)
        if manifest.status != "finished":
            raise _unfinished(file.parent)
        check_records(file.parent, manifest)
    return file


def results_of_run(run: Run) -> list[SystemResult]:
    """What a run found: one result per job."""
    manifest = run.manifest
    found = []
    for job in manifest.jobs:
        method, system = manifest.methods[job.method], manifest.systems[job.system]
        names = job.labels
        rows = [row for row in run.rows if names.items() <= row.labels.items()]
        found.append(
            SystemResult(
                job.system,
                run,
                job.method,
                method.name,
                method.version,
                {**method.settings, **method.identity},
                method.roles,
                job.system,
                system.fingerprint,
                job.tests,
                manifest.tests[job.tests].digest,
                system.factors,
                tuple(method.paired),
                without_labels(rows, {**system.factors, **names}),
                functools.cache(functools.partial(_records_of_job, run, names)),
            )
        )
    return found


def _records_of_job(run: Run, names: Mapping[str, str]) -> list[Record]:
    """The records of a job's answered items, in order, with the fields that depend on all of them."""
    own = [record for record in run.records if names.items() <= record.items()]
    if run.in_memory is not None or run.manifest.methods[names["method"]].name not in method_names():
        return own
    with explain_damage(str(run.path)):
        return list(run.manifest.method_of(names["method"]).complete(own))


def _parse_row(stored: Mapping[str, Any], needed: Sequence[str]) -> Row:
    """A row from JSON; `Row.as_json` writes labels before the value and counts after n."""
    names = list(stored)
    before, after = names.index("value"), names.index("n") + 1
    labels = {name: stored[name] for name in names[:before] if name != "name"}
    texts = (stored["name"], *labels.values())
    if not labels.keys() >= set(needed) or not all(isinstance(each, str | int | float) for each in texts):
        raise ValueError("a row without its name and labels")
    estimate = Estimate.empty()
    if stored["n"]:
        # JSON has null for what is not finite: a perplexity, an end of its interval.
        value, low, high = (stored[name] for name in ("value", "low", "high"))
        value = math.inf if value is None else value
        if "no_interval" in stored:
            if not isinstance(stored["no_interval"], str):
                raise ValueError("a row whose reason for no interval is none")
            estimate = Estimate.without_interval(value, stored["n"], stored["no_interval"])
        else:
            ends = -math.inf if low is None else low, math.inf if high is None else high
            estimate = Estimate(value, *ends, stored["n"])
    return Row(stored["name"], estimate, labels, {name: stored[name] for name in names[after:]})


# --- What people are asked about a finished run: the queue of one of its methods on one of its test sets -----------

_WORDS = {"method": "methods", "tests": "test sets", "system": "systems"}


def queue_of_run(
    folder: str | Path,
    *,
    method: str = "",
    tests: str = "",
    systems: Sequence[str] = (),
    n: int,
    per_group: int | None = None,
    seed: int = 0,
) -> Drawn:
    """A queue from the records of a run: of the method and test set named, if there are several, and of all systems.

    The same arguments give the same queue.
    """
    found, records = records_of_run(folder, method=method, tests=tests, systems=systems)
    with explain_damage(str(folder)):
        return draw_queue(found, records, n=n, per_group=per_group, seed=seed)


def records_of_run(
    folder: str | Path, *, method: str = "", tests: str = "", systems: Sequence[str] = ()
) -> tuple[Method, list[Record]]:
    """The method that people judge of a run, and its records of one test set and of some systems."""
    run = read_run(folder)
    results = results_of_run(run)
    if not method:
        # A method that has nothing to be judged leaves no choice.
        known = method_names()
        results = [
            each
            for each in results
            if each.kind in known and all_entries(run.manifest.method_of(each.method), each.records)
        ] or results
    for what, chosen in (("method", method), ("tests", tests)):
        name = _one(folder, [str(getattr(each, what)) for each in results], what, chosen)
        results = [each for each in results if getattr(each, what) == name]
    for name in systems:
        _known(folder, name, [each.system for each in results], "system")
    results = [each for each in results if not systems or each.system in systems]
    with explain_damage(str(folder)):
        found = run.manifest.method_of(results[0].method)
        return found, [record for each in results for record in each.records]


def _one(folder: str | Path, names: Iterable[str], what: str, chosen: str) -> str:
    """The name that was chosen, or the only one there is."""
    known = list(dict.fromkeys(names))
    if chosen:
        return _known(folder, chosen, known, what)
    if len(known) != 1:
        told = f"{', '.join(known)}; choose one with --{what}" if known else "none"
        raise BabelscopeError(f"one of the {_WORDS[what]} of {folder} is judged at a time, and it has {told}")
    return known[0]


def _known(folder: str | Path, name: str, names: Iterable[str], what: str) -> str:
    known = list(dict.fromkeys(names))
    if name not in known:
        hint = did_you_mean(name, known, f"it has {', '.join(known)}")
        raise BabelscopeError(f"{folder} has no {name!r} among its {_WORDS[what]}; {hint}")
    return name
