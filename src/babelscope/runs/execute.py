"""The one way to run a study: ask and judge missing chunks, then summarize; in a folder or in memory."""

from __future__ import annotations

import functools
import itertools
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from babelscope.core.comparison import SEED, Comparison, with_labels
from babelscope.core.results import Config, Record, Result, Row, split_unanswered
from babelscope.core.system import METER, System, properties
from babelscope.methods.base import Method, set_up
from babelscope.methods.jobs import (
    Job,
    config_of,
    has_context,
    job_rows,
    judge_all,
    make_jobs,
    systems_by_name,
)
from babelscope.runs.compare import group_runs, prompt_rows, rows_of_method, seed_groups, seed_rows
from babelscope.runs.folder import Chunk, RunFolder, chunks_of
from babelscope.runs.manifest import JOB_LABELS, Cost, Manifest, RecordsPart, manifest_of, total_cost
from babelscope.runs.reading import Run
from babelscope.systems.cache import forget_unfinished, with_store
from babelscope.systems.registry import open_system
from babelscope.testsets import load
from babelscope.testsets.items import NO_SOURCE, Item, TestSet
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError
from babelscope.util.files import check_folder
from babelscope.util.progress import progress, working

# --- Splits records by a field of the items: domain, original language, length -------------------------------------

LENGTH = "length"
"""The field name for quarters of the items by source length in characters."""

_MOST_VALUES = 50
"""Most values of a field to split by: longer tables are not readable."""
_NO_VALUE = "(none)"


def check_fields(records: Sequence[Record], names: Sequence[str]) -> None:
    """Refuse a field that no item of any test set has."""
    for name in names:
        if name == LENGTH and any(record.get("extra", {}).get(NO_SOURCE) for record in records):
            raise BabelscopeError(
                "--group-by length needs sources, and these items have none; use --tests parallel:SOURCES,REFERENCES"
            )
        if records and not _any_has(records, name) and name != LENGTH:
            known = {
                key
                for record in records
                for key, value in {**record.get("extra", {}), **record}.items()
                if isinstance(value, str | int) and key not in ("method", "system", "tests", "item", "id")
            }
            raise BabelscopeError(
                f"items have no field {name!r}; fields are {LENGTH}, {', '.join(sorted(known))}"
            )


def split_by(records: Sequence[Record], name: str) -> dict[str, list[Record]]:
    """Records by the value of a field of the record or its item, sorted by value; empty if none has the field."""
    if not _any_has(records, name):
        return _by_length(records) if name == LENGTH else {}
    written: dict[str, dict[str, list[Record]]] = {}
    for record in records:
        value = _value(record, name)
        written.setdefault(str(value), {}).setdefault(json.dumps(value), []).append(record)
    # The number 1 and the text "1" are two values: where both occur, each is written as in JSON.
    found = {
        (as_json if len(own) > 1 else text): some
        for text, own in written.items()
        for as_json, some in own.items()
    }
    if len(found) > _MOST_VALUES:
        raise BabelscopeError(
            f"items have {len(found)} values of {name!r}; at most {_MOST_VALUES} can be shown"
        )
    return dict(sorted(found.items()))


def _any_has(records: Sequence[Record], name: str) -> bool:
    return any(_value(record, name) != _NO_VALUE for record in records)


def _value(record: Record, name: str) -> str | float:
    value = record.get(name, record.get("extra", {}).get(name, _NO_VALUE))
    return value if isinstance(value, str | int | float | bool) else _NO_VALUE


def _by_length(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Quarters with about equally many items, named by their shortest and longest source in characters."""
    lengths = sorted(len(str(record.get("source", ""))) for record in records)
    quarters = {lengths[len(lengths) * quarter // 4] for quarter in range(4) if lengths}
    edges = sorted(quarters | {length + 1 for length in lengths[-1:]})
    found: dict[str, list[Record]] = {}
    for low, high in pairwise(edges):
        own = [record for record in records if low <= len(str(record.get("source", ""))) < high]
        longest = max((len(str(record.get("source", ""))) for record in own), default=low)
        found[f"{low}-{longest} characters"] = own
    return found


# --- The one way to run a study: ask and judge missing chunks, then summarize; in a folder or in memory ------------

Methods = Mapping[str, Method]
"""Methods by their labels in the study."""


@dataclass
class InMemory:
    """Keeps the records of a run in memory only."""

    manifest: Manifest
    records: list[Record] = field(default_factory=list)

    def missing(self) -> list[Chunk]:
        return list(chunks_of(self.manifest.as_json()))

    def store(self, records: Sequence[Record]) -> None:
        self.records += records


def execute(jobs: Sequence[Job], manifest: Manifest, folder: Path | None) -> Result:
    """Ask the missing chunks of a run and summarize it; of a shard, only store the records."""
    _check_asked_for(jobs, manifest)
    methods: Methods = {job.method.label: job.method for job in jobs}
    if folder is None:
        kept = InMemory(manifest)
        _ask(jobs, manifest, kept)
        return summarize_run(manifest, kept.records, methods)
    with RunFolder(folder, manifest.as_json()) as run:
        spent = _ask(jobs, manifest, run)
        cost = total_cost([Cost.model_validate(run.stored_manifest.get("cost", {})), spent])
        if manifest.shard is not None:
            run.check_sealed()
            run.rewrite_manifest(_finished_manifest(run, manifest, cost))
            return Result(manifest.config, (), run.records, folder)
        return finish(run, manifest, methods, cost)


def _check_asked_for(jobs: Sequence[Job], manifest: Manifest) -> None:
    """Refuse what the summary could not give: figures by an unknown field, means over a group of one system."""
    tests = {job.tests_name: job.tests.items for job in jobs}.values()
    records = [[{**item.as_json(), "extra": item.extra} for item in items] for items in tests]
    check_fields([record for own in records for record in own], manifest.by)
    for own_records, name in itertools.product(records, manifest.by):
        split_by(own_records, name)
    if manifest.seed_groups:
        for own in {(job.method.label, job.tests_name): None for job in jobs}:
            names = [job.system_name for job in jobs if (job.method.label, job.tests_name) == own]
            seed_groups({name: manifest.systems[name].factors for name in names}, manifest.seed_groups)


def _ask(jobs: Sequence[Job], manifest: Manifest, store: RunFolder | InMemory) -> Cost:
    """Ask the missing chunks, store their records, and return the cost."""
    begun, tokens, retries = time.monotonic(), METER.tokens, METER.retries
    missing = store.missing()
    total = len(store.records) + sum(chunk.stop - chunk.start for chunk in missing)
    with progress(manifest.study, total) as advance:
        advance(len(store.records))
        for records in judge_all([(jobs[each.job], range(each.start, each.stop)) for each in missing]):
            store.store(records)
            advance(len(records))
    return Cost(
        seconds=round(time.monotonic() - begun, 3) if missing else 0.0,
        tokens=METER.tokens - tokens,
        retries=METER.retries - retries,
    )


def finish(run: RunFolder, manifest: Manifest, methods: Methods, cost: Cost) -> Result:
    """Summarize a run whose records are all stored; complete these, write its summary, then its status and cost."""
    result = summarize_run(manifest, run.records, methods, run.path)
    completed = iter(result.records)
    run.complete([record if "unanswered" in record else next(completed) for record in run.records])
    run.finish(result.to_json())
    digest, answers = digest_json(result.config), result.config.get("answers")
    signed = {"signature": result.signature, "sha256": digest, "answers": answers}
    run.rewrite_manifest(_finished_manifest(run, manifest.model_copy(update=signed), cost))
    return result


def _finished_manifest(run: RunFolder, manifest: Manifest, cost: Cost) -> dict[str, Any]:
    sealed = RecordsPart.model_validate(run.seal)
    return manifest.model_copy(update={"status": "finished", "records": sealed, "cost": cost}).as_json()


def _signed_config(manifest: Manifest, records: Sequence[Record]) -> Config:
    """The configuration, with a digest of what systems that are not reproducible answered.

    It is known only at the end, so that runs are resumed by the configuration without it. Names are left out, and the
    reasons why items were not answered, which may name ports and seconds.
    """
    answers = []
    for job, own in manifest.by_job(records):
        for record in () if job.reproducible else own:
            kept = {name: value for name, value in record.items() if name not in JOB_LABELS}
            answers.append({**kept, "unanswered": True} if "unanswered" in kept else kept)
    return {**manifest.config, "answers": digest_json(answers)} if answers else manifest.config


def summarize_run(
    manifest: Manifest, records: Sequence[Record], methods: Methods, folder: Path | None = None
) -> Result:
    """Summarize all records of a run: rows of each job, rows by fields of items (`manifest.by`), comparisons."""
    rows: list[Row] = []
    completed: list[Record] = []
    check_fields(split_unanswered(records)[0], manifest.by)
    with progress("computing figures", len(manifest.jobs)) as advance:
        for job, own in manifest.by_job(records):
            method = methods[job.method]
            labels: dict[str, str | int] = {**job.labels}
            context = any(has_context(record.get("extra", {})) for record in own)
            if manifest.systems[job.system].drops_context and context:
                labels["context"] = 0
            answered, unanswered = split_unanswered(own)
            answered = list(method.complete(answered))
            rows_of = functools.partial(job_rows, method, manifest.seed)
            own_rows = rows_of([*answered, *unanswered], labels, job.skipped)
            for name in manifest.by:
                for value, some in split_by(answered, name).items():
                    own_rows += rows_of(some, {**labels, "by": name, name: value}, {})
            rows += with_labels(own_rows, manifest.systems[job.system].factors)
            completed += answered
            advance(1)
    run = Run(folder or Path("memory"), manifest, rows, in_memory=completed)
    groups = group_runs([run], summary_only=True)
    with working("comparing systems"):
        compared = _comparison_rows(run, groups, methods)
    unanswered = split_unanswered(records)[1]
    of_methods = {label: method.settings for label, method in methods.items()}
    return Result(
        _signed_config(manifest, records),
        [*rows, *compared],
        completed,
        folder,
        unanswered,
        comparisons=compared,
        settings=of_methods,
        groups=groups,
    )


def _comparison_rows(run: Run, groups: Sequence[Comparison], methods: Methods) -> list[Row]:
    """Rows that compare the systems of a run, for each method and test set."""
    rows: list[Row] = []
    patterns = run.manifest.seed_groups
    for group in groups:
        rows += rows_of_method(group, methods[group.method], run.manifest.seed)
        if patterns or any(SEED in column.factors for column in group.results):
            rows += seed_rows(group, patterns)
        rows += prompt_rows(group)
    return rows


def chunk_size(
    methods: Sequence[Method], systems: Iterable[System], tests: Iterable[TestSet], given: int | None = None
) -> int:
    """Items per chunk: as given, or all if a method or system must be asked as a whole, or the fewest of any method.

    Items of a chunk share batches, which can change the last bits of floats; so the size is part of the signature.
    """
    longest = max(len(each) for each in tests)
    whole = [method.label for method in methods if method.settings.is_whole]
    if given and whole and given < longest:
        raise BabelscopeError(f"{whole[0]} asks a test set as a whole: remove chunk = {given}")
    asked = [*systems, *(role for method in methods for role in method.roles.values())]
    if whole or any(properties(system).asked_as_a_whole for system in asked):
        return given or longest
    return given or min(method.settings.chunk for method in methods)


# --- One method, called from Python --------------------------------------------------------------------------------

Systems = str | System | Sequence[str | System] | Mapping[str, str | System]
"""One system or several: specs such as `lab:student` or objects, by name in a mapping."""
TestsOrSpec = str | Path | TestSet | Iterable[Item]
Tests = TestsOrSpec | Mapping[str, TestsOrSpec]
"""A test set: its spec or file, loaded, or items; several by name in a mapping."""


def run_method(
    method: type[Method] | str,
    systems: Systems,
    tests: Tests,
    *,
    seed: int = 0,
    chunk: int | None = None,
    by: Sequence[str] = (),
    seed_groups: Sequence[str] = (),
    out: str | Path | None = None,
    **settings: Any,
) -> Result:
    """Run one method on systems and test sets, in memory or in the run folder `out`.

    `by`: fields of the items, or `length`, for whose values all figures are also given. `seed_groups`: patterns of
    names (`lab:teacher-*`) of systems that differ by their seed only. `chunk`: items asked at once. `settings` are
    those of the method, and its other systems, such as `evaluator`.
    """
    folder = None if out is None else Path(out).absolute()
    if folder is not None:
        check_folder(folder)
    opened: list[System] = []  # by their specs; answers of servers are kept until the result is there

    def opener(system: str | System) -> System:
        if not isinstance(system, str):
            return system
        opened.append(with_store(open_system(system), None))
        return opened[-1]

    ready = set_up(method, settings, opener=opener)
    sets = _test_sets(tests)
    named = _open_systems(systems, opener)
    jobs = make_jobs([ready], named, sets, seed)
    chunk = chunk_size([ready], named.values(), sets.values(), chunk)
    config = config_of([ready], named, sets, seed=seed, chunk=chunk)
    manifest = manifest_of(
        ready.label,
        config,
        [ready],
        jobs,
        {"systems": {name: own.name for name, own in named.items()}, "tests": {name: name for name in sets}},
        by=by,
        seed_groups=seed_groups,
    )
    result = execute(jobs, manifest, folder)
    if opened:
        forget_unfinished()
    return result


def _open_systems(given: Systems, opener: Callable[[str | System], System]) -> dict[str, System]:
    """Systems by the names that the caller gives them, else by their own."""
    if isinstance(given, Mapping):
        if not given:
            raise BabelscopeError("there is no system to run")
        return {name: opener(each) for name, each in given.items()}
    several = given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    return systems_by_name(several, opener)


def _test_sets(given: Tests) -> dict[str, TestSet]:
    """Test sets by the names that the caller gives them, else by their own."""
    if isinstance(given, Mapping):
        return {name: _test_set(each) for name, each in given.items()}
    made = _test_set(given)
    return {made.name: made}


def _test_set(given: TestsOrSpec) -> TestSet:
    if isinstance(given, str | Path):
        return load(given)
    return given if isinstance(given, TestSet) else TestSet("items", tuple(given))
