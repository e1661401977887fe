"""The one way to run a study: ask and judge what is missing, then conclude; in a folder or in memory."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from babelscope.core.answers import System, properties
from babelscope.core.columns import Group
from babelscope.core.cost import METER
from babelscope.core.results import Record, Result, Row, split_unanswered
from babelscope.methods.base import Method, Settings, Setup, set_up
from babelscope.methods.cells import (
    DEFAULT_CHUNK,
    Cell,
    by_name,
    cells_of,
    config_of,
    judge_all,
    rows_of,
)
from babelscope.methods.view import sections_of
from babelscope.runs.by_field import check_fields, split_by
from babelscope.runs.comparing import group_runs, paired
from babelscope.runs.comparing_groups import over_seeds
from babelscope.runs.folder import Chunk, RunFolder, chunks_of
from babelscope.runs.manifest import Cost, Manifest, manifest_of, total_cost
from babelscope.runs.reading import Run
from babelscope.testsets.items import Item
from babelscope.testsets.sets import TestSet
from babelscope.util.errors import BabelscopeError
from babelscope.util.progress import progress

Methods = Mapping[str, tuple[Method, Settings]]
"""What the study calls a method -> the method and its settings."""


class Store(Protocol):
    """Where records are kept while a run goes on."""

    records: list[Record]

    def missing(self) -> list[Chunk]: ...

    def store(self, records: Sequence[Record]) -> None: ...


@dataclass
class InMemory:
    """A run folder that is not one: nothing is kept beyond the process."""

    manifest: Manifest
    records: list[Record] = field(default_factory=list)

    def missing(self) -> list[Chunk]:
        return list(chunks_of(self.manifest.as_json()))

    def store(self, records: Sequence[Record]) -> None:
        self.records += records


def execute(cells: Sequence[Cell], manifest: Manifest, folder: Path | None) -> Result:
    """Ask what is missing of a run, and conclude it; the records of a shard are only stored."""
    methods: Methods = {cell.setup.label: (cell.setup.method, cell.setup.settings) for cell in cells}
    if folder is None:
        kept = InMemory(manifest)
        _ask(cells, manifest, kept)
        return conclude(manifest, kept.records, methods)
    with RunFolder(folder, manifest.as_json()) as run:
        spent = _ask(cells, manifest, run)
        cost = total_cost([Cost.model_validate(run.stored_manifest.get("cost", {})), spent])
        if manifest.shard is not None:
            run.rewrite_manifest(_finished(manifest, cost))
            return Result(manifest.config, (), run.records, folder)
        return finish(run, manifest, methods, cost)


def _ask(cells: Sequence[Cell], manifest: Manifest, store: Store) -> Cost:
    """Ask the missing chunks and store their records; what that cost."""
    begun, tokens, retries = time.monotonic(), METER.tokens, METER.retries
    missing = store.missing()
    total = len(store.records) + sum(chunk.stop - chunk.start for chunk in missing)
    with progress(manifest.study, total) as advance:
        advance(len(store.records))
        for records in judge_all([(cells[each.cell], each.start, each.stop) for each in missing]):
            store.store(records)
            advance(len(records))
    return Cost(
        seconds=round(time.monotonic() - begun, 3) if missing else 0.0,
        tokens=METER.tokens - tokens,
        retries=METER.retries - retries,
    )


def finish(run: RunFolder, manifest: Manifest, methods: Methods, cost: Cost) -> Result:
    """Conclude a run whose records are all stored: its summary, then its status and cost."""
    result = conclude(manifest, run.records, methods, run.path)
    result = dataclasses.replace(result, sections=sections_of(result.groups))
    run.finish(result.to_json())
    run.rewrite_manifest(_finished(manifest, cost))
    return result


def _finished(manifest: Manifest, cost: Cost) -> dict[str, Any]:
    return manifest.model_copy(update={"status": "finished", "cost": cost}).as_json()


def conclude(
    manifest: Manifest, records: Sequence[Record], methods: Methods, folder: Path | None = None
) -> Result:
    """The figures of all records of a run: of each cell, by fields of the items, and of several systems together."""
    rows: list[Row] = []
    completed: list[Record] = []
    start = 0
    check_fields(split_unanswered(records)[0], manifest.by)
    for cell in manifest.cells:
        own = records[start : start + cell.items]
        start += cell.items
        method, settings = methods[cell.method]
        labels = {"method": cell.method, "system": cell.system, "tests": cell.tests}
        rows += rows_of(method, settings, manifest.seed, own, labels, cell.skipped)
        for name in manifest.by:
            for value, some in split_by(split_unanswered(own)[0], name).items():
                rows += rows_of(
                    method, settings, manifest.seed, some, {**labels, "by": name, name: value}, {}
                )
        completed += method.complete(split_unanswered(own)[0], settings)
    run = Run(folder or Path("memory"), manifest, rows, given=completed)
    groups = group_runs([run], summary_only=True)
    compared = _compared(run, groups, methods)
    return Result(
        manifest.config,
        [*rows, *compared],
        completed,
        folder,
        split_unanswered(records)[1],
        comparisons=len(compared),
        groups=groups,
    )


def _compared(run: Run, groups: Sequence[Group], methods: Methods) -> list[Row]:
    """What the systems of a run are beside each other, test set by test set."""
    rows: list[Row] = []
    patterns = run.manifest.seed_groups
    for group in groups:
        method, settings = methods[group.columns[0].cell.label]
        own = method.across(group, settings, run.manifest.seed)
        if len(group.columns) > 1 and not any(row.name == "difference" for row in own):
            rows += paired(group, seed=run.manifest.seed)
        rows += [Row(row.name, row.estimate, {**group.labels, **row.labels}, row.counts) for row in own]
        rows += over_seeds(group, patterns) if patterns else ()
    return rows


def run_method(
    method: Method | str,
    systems: System | Sequence[System],
    tests: TestSet | Iterable[Item],
    *,
    seed: int = 0,
    chunk: int | None = None,
    by: Sequence[str] = (),
    seed_groups: Sequence[str] = (),
    **settings: Any,
) -> Result:
    """Judge systems on a test set, without files; settings are the method's own."""
    setup = set_up(method, settings)
    named = by_name(systems if isinstance(systems, Sequence) else [systems])
    tests = tests if isinstance(tests, TestSet) else TestSet("items", tuple(tests))
    cells = cells_of([setup], named, {tests.name: tests}, seed)
    chunk = chunk_for([setup], named.values(), [tests], chunk)
    config = config_of([setup], named.values(), {tests.name: tests}, seed=seed, chunk=chunk)
    manifest = manifest_of(
        setup.label,
        config,
        [setup],
        cells,
        {"systems": {name: name for name in named}, "tests": {tests.name: tests.name}},
        by=by,
        seed_groups=seed_groups,
    )
    return execute(cells, manifest, None)


def chunk_for(
    setups: Sequence[Setup], systems: Iterable[System], tests: Iterable[TestSet], said: int | None = None
) -> int:
    """How many items are asked at once: as the caller says, or all if a method or a system is asked as a whole."""
    longest = max(len(each) for each in tests)
    whole = [setup.label for setup in setups if setup.method.as_a_whole]
    if said and whole and said < longest:
        raise BabelscopeError(f"{whole[0]} asks a test set as a whole: leave chunk = {said} out")
    asked = [*systems, *(role for setup in setups for role in setup.roles.values())]
    if whole or any(properties(system).asked_as_a_whole for system in asked):
        return said or longest
    return said or DEFAULT_CHUNK
