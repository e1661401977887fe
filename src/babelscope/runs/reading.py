"""Reads finished run folders: manifest, rows, records, and the cells that they form."""

from __future__ import annotations

import hashlib
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from babelscope.core.comparison import Factors, without_labels
from babelscope.core.registry import did_you_mean
from babelscope.core.results import Comparable, Estimate, Record, Row, split_unanswered
from babelscope.methods.base import Method, find_method, method_names, restore_settings
from babelscope.methods.queue import Drawn, draw_queue, find_queue
from babelscope.runs.folder import read_object, records_changed
from babelscope.runs.manifest import Manifest, read_manifest
from babelscope.util.errors import BabelscopeError, explain_damage
from babelscope.util.files import open_regular
from babelscope.util.text import json_lines

_CELL_LABELS = ("method", "system", "tests")


@dataclass(frozen=True)
class Run:
    """A run with its manifest and rows; its records are in its folder, or in memory."""

    path: Path
    manifest: Manifest
    rows: Sequence[Row] = field(repr=False)
    """Rows of its cells."""
    comparisons: Sequence[Row] = field(default=(), repr=False)
    """Rows about several cells together."""
    sections: Sequence[Mapping[str, Any]] = field(default=(), repr=False)
    """The report's section of each method and test set, as JSON."""
    in_memory: Sequence[Record] | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        return self.path.name or str(self.path)

    @cached_property
    def records(self) -> Sequence[Record]:
        """The records of all answered items of all cells; read when first used."""
        return split_unanswered(read_records(self.path) if self.in_memory is None else self.in_memory)[0]


def read_records(folder: Path) -> list[Record]:
    """All records of a run folder, answered or not."""
    found: list[Record] = []
    with io.BufferedReader(open_regular(folder / "records.jsonl")) as file:
        for place, record in json_lines(file, file.name):
            if not record.keys() >= set(_CELL_LABELS):
                raise BabelscopeError(f"{place} is no record of a run: the file was changed or damaged")
            found.append(dict(record))
    return found


@dataclass(frozen=True)
class StoredCell:
    """One method on one system and one test set of a run."""

    run: Run
    method: str
    """What the study calls the method."""
    kind: str
    """The method's own name."""
    version: int
    settings: Mapping[str, Any]
    """As in the signature: programs and analyzers by digest or version."""
    roles: Mapping[str, Any]
    """Fingerprints of its other systems."""
    system: str
    fingerprint: Mapping[str, Any]
    tests: str
    digest: str
    comparable: tuple[Comparable, ...] = ()

    @cached_property
    def rows(self) -> list[Row]:
        """Its rows over all items, without the labels of the cell."""
        return [row for row in self._all_rows if not row.is_part]

    @property
    def parts(self) -> list[Row]:
        """Its rows by fields of the items, if the study asked for these."""
        return [row for row in self._all_rows if row.is_part]

    @cached_property
    def _all_rows(self) -> list[Row]:
        own = [
            row for row in self.run.rows if tuple(row.labels[name] for name in _CELL_LABELS) == self._names
        ]
        return without_labels(own, {**self.factors, **dict(zip(_CELL_LABELS, self._names, strict=True))})

    @property
    def factors(self) -> Factors:
        """What the study says of the system."""
        return self.run.manifest.systems[self.system].factors

    @property
    def asked(self) -> tuple[Any, ...]:
        """All that its rows depend on."""
        return self.kind, self.settings, self.roles, self.fingerprint, self.digest

    @property
    def evaluator(self) -> str:
        """The name of the evaluator, for methods that have one; else empty."""
        return next((str(row.labels["evaluator"]) for row in self.rows if "evaluator" in row.labels), "")

    @cached_property
    def records(self) -> list[Record]:
        """The records of its answered items, in order, with the fields that depend on all of them."""
        own = [
            record
            for record in self.run.records
            if tuple(record[name] for name in _CELL_LABELS) == self._names
        ]
        if self.run.in_memory is not None or self.kind not in method_names():
            return own
        method = find_method(self.kind)
        with explain_damage(str(self.run.path)):
            settings = restore_settings(method, self.run.manifest.methods[self.method].settings)
            return list(method.complete(own, settings))

    @property
    def _names(self) -> tuple[str, str, str]:
        return self.method, self.system, self.tests


def read_run(path: str | Path) -> Run:
    """Read a complete run folder; refuses shards and unfinished runs."""
    path = Path(path)
    manifest = read_manifest(path)
    if manifest.shard is not None:
        raise BabelscopeError(
            f"{path} is one shard of a study; put all of them together with babelscope merge"
        )
    # A run killed between its last two files has a summary, but no digest of its records yet.
    if manifest.status != "finished" or not (path / "summary.json").is_file():
        raise _unfinished(path)
    check_records(path, manifest)
    summary = read_object(path / "summary.json")
    try:
        rows = [_parse_row(row, _CELL_LABELS) for row in summary["rows"]]
        comparisons = [_parse_row(row, ("method", "tests")) for row in summary.get("comparisons", ())]
        sections = [dict(section) for section in summary.get("sections", ())]
    except (KeyError, TypeError, ValueError) as error:
        raise BabelscopeError(f"{path / 'summary.json'} is damaged: {error!r}") from None
    return Run(path, manifest, rows, comparisons, sections)


def _unfinished(path: Path) -> BabelscopeError:
    return BabelscopeError(f"the run in {path} is not finished; run the same command again to go on")


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


def cells_of_run(run: Run) -> list[StoredCell]:
    """The cells of a run."""
    manifest = run.manifest
    return [
        StoredCell(
            run,
            cell.method,
            method.name,
            method.version,
            {**method.settings, **method.identity},
            method.roles,
            cell.system,
            manifest.systems[cell.system].fingerprint,
            cell.tests,
            manifest.tests[cell.tests].digest,
            tuple(method.comparable),
        )
        for cell in manifest.cells
        for method in [manifest.methods[cell.method]]
    ]


def _parse_row(stored: Mapping[str, Any], needed: Sequence[str]) -> Row:
    """A row from JSON; `Row.as_json` writes labels before the value and counts after n."""
    names = list(stored)
    before, after = names.index("value"), names.index("n") + 1
    labels = {name: stored[name] for name in names[:before] if name != "name"}
    texts = (stored["name"], *labels.values())
    if not labels.keys() >= set(needed) or not all(isinstance(each, str | int | float) for each in texts):
        raise ValueError("a row without its name and labels")
    estimate = Estimate.of_nothing()
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
    seed: int = 0,
) -> Drawn:
    """A queue from the records of a run: of the method and test set named, if there are several, and of all systems.

    The same arguments give the same queue.
    """
    found, records, settings = records_of_run(folder, method=method, tests=tests, systems=systems)
    with explain_damage(str(folder)):
        return draw_queue(found, records, settings, n=n, seed=seed)


def records_of_run(
    folder: str | Path, *, method: str = "", tests: str = "", systems: Sequence[str] = ()
) -> tuple[Method, list[Record], Any]:
    """The method that people judge of a run, its records of one test set and of some systems, and its settings."""
    run = read_run(folder)
    cells = cells_of_run(run)
    if not method:
        # A method that has nothing to be judged leaves no choice.
        known = method_names()
        cells = [each for each in cells if each.kind in known and find_method(each.kind).queue] or cells
    for what, chosen in (("method", method), ("tests", tests)):
        name = _one(folder, [str(getattr(cell, what)) for cell in cells], what, chosen)
        cells = [cell for cell in cells if getattr(cell, what) == name]
    for name in systems:
        _known(folder, name, [cell.system for cell in cells], "system")
    cells = [cell for cell in cells if not systems or cell.system in systems]
    found = find_method(cells[0].kind)
    find_queue(found)
    with explain_damage(str(folder)):
        settings = restore_settings(found, run.manifest.methods[cells[0].method].settings)
        return found, [record for cell in cells for record in cell.records], settings


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
