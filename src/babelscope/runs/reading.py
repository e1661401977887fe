"""Finished run folders, read to be compared or shown: what was run, its figures, its records."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from babelscope.core.results import Estimate, Record, Row, split_unanswered
from babelscope.runs.folder import read_own
from babelscope.util.errors import BabelscopeError
from babelscope.util.json_lines import json_lines, parse_json
from babelscope.util.regular import open_regular
from babelscope.util.text import text_fault

_NAMES = ("method", "system", "tests")


@dataclass(frozen=True)
class Run:
    """A run folder with its manifest and figures."""

    path: Path
    manifest: Mapping[str, Any]
    rows: Sequence[Row] = field(repr=False)

    @property
    def name(self) -> str:
        return self.path.name or str(self.path)

    @cached_property
    def records(self) -> list[Record]:
        """A record for each item that was answered, of all cells; read when first needed."""
        found: list[Record] = []
        with io.BufferedReader(open_regular(self.path / "records.jsonl")) as file:
            for place, record in json_lines(file, file.name):
                if not record.keys() >= set(_NAMES):
                    raise BabelscopeError(f"{place} is no record of a run: the file was changed or damaged")
                found.append(dict(record))
        return split_unanswered(found)[0]


@dataclass(frozen=True)
class Cell:
    """One method on one system and one test set of a run."""

    run: Run
    method: str
    """What the study calls the method."""
    kind: str
    """What it is."""
    settings: Mapping[str, Any]
    roles: Mapping[str, Any]
    """Fingerprints of its other systems."""
    system: str
    fingerprint: Mapping[str, Any]
    tests: str
    digest: str

    @cached_property
    def rows(self) -> list[Row]:
        """Its figures, with the labels that tell them apart within it."""
        return [
            Row(row.name, row.estimate, _without(row.labels, _NAMES), row.counts)
            for row in self.run.rows
            if tuple(row.labels[name] for name in _NAMES) == (self.method, self.system, self.tests)
        ]

    @property
    def asked(self) -> tuple[Any, ...]:
        """All that its figures depend on."""
        return self.kind, self.settings, self.roles, self.fingerprint, self.digest

    @property
    def evaluator(self) -> str:
        """Who judged, for methods that ask another system to; else nothing."""
        return next((str(row.labels["evaluator"]) for row in self.rows if "evaluator" in row.labels), "")

    @cached_property
    def records(self) -> list[Record]:
        """A record an item, in their order."""
        return [
            record
            for record in self.run.records
            if tuple(record[name] for name in _NAMES) == (self.method, self.system, self.tests)
        ]


def read_run(path: str | Path) -> Run:
    """A run folder that is complete, or one sentence why it is none."""
    path = Path(path)
    manifest = read_manifest(path)
    if manifest.get("shard") is not None:
        raise BabelscopeError(
            f"{path} is one shard of a study; put all of them together with babelscope merge"
        )
    if not (path / "summary.json").is_file():
        raise BabelscopeError(f"the run in {path} is not finished; run the same command again to go on")
    summary = _object(path / "summary.json")
    try:
        return Run(path, manifest, [_row(row) for row in summary["rows"]])
    except (KeyError, TypeError, ValueError) as error:
        raise BabelscopeError(f"{path / 'summary.json'} is damaged: {error!r}") from None


def read_manifest(folder: Path) -> dict[str, Any]:
    """What a run folder, finished or not, says that it is of."""
    if not (folder / "manifest.json").is_file():
        raise BabelscopeError(f"{folder} is no run folder: it has no manifest.json")
    return _object(folder / "manifest.json")


def cells_of_run(run: Run) -> list[Cell]:
    """What was run, cell by cell."""
    from babelscope.methods.base import find_method

    try:
        config, cells = run.manifest["config"], run.manifest["cells"]
        systems = dict(zip(run.manifest["systems"], config["systems"], strict=True))
        tests = dict(zip(run.manifest["tests"], config["tests"], strict=True))
        labels: dict[str, list[str]] = {}
        for cell in cells:
            own = labels.setdefault(cell["tests"], [])
            if cell["method"] not in own:
                own.append(cell["method"])
        # The methods of a test set are those that judge its kind of items and are for it, in the study's order.
        methods = {
            (name, label): method
            for name, own in labels.items()
            for label, method in zip(
                own,
                (
                    method
                    for method in config["methods"]
                    if find_method(method["name"]).kind.__name__ == tests[name]["kind"]
                    and list(tests).index(name) in method.get("tests", range(len(tests)))
                ),
                strict=True,
            )
        }
        return [
            Cell(
                run,
                cell["method"],
                method["name"],
                method["settings"],
                method["roles"],
                cell["system"],
                systems[cell["system"]],
                cell["tests"],
                tests[cell["tests"]]["digest"],
            )
            for cell in cells
            for method in [methods[cell["tests"], cell["method"]]]
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise BabelscopeError(f"{run.path / 'manifest.json'} is damaged: {error!r}") from None


def _object(path: Path) -> dict[str, Any]:
    found = parse_json(read_own(path), path)
    if not isinstance(found, dict):
        raise BabelscopeError(f"{path} is damaged: it is not a JSON object")
    if fault := text_fault(json.dumps(found, ensure_ascii=False)):
        raise BabelscopeError(f"{path} is damaged: it {fault}")
    return found


def _row(stored: Mapping[str, Any]) -> Row:
    """A row as `Row.as_json` wrote it: labels stand before the value, counts after n."""
    names = list(stored)
    before, after = names.index("value"), names.index("n") + 1
    labels = {name: stored[name] for name in names[:before] if name != "name"}
    told = (stored["name"], *labels.values())
    if not labels.keys() >= set(_NAMES) or not all(isinstance(each, str | int) for each in told):
        raise ValueError("a row without its name and labels")
    estimate = Estimate.of_nothing()
    if stored["n"]:
        # JSON has null for what is not finite: an unbounded end of an interval, a perplexity.
        value, low, high = (stored[name] for name in ("value", "low", "high"))
        estimate = Estimate(
            math.inf if value is None else value,
            -math.inf if low is None else low,
            math.inf if high is None else high,
            stored["n"],
        )
    return Row(stored["name"], estimate, labels, {name: stored[name] for name in names[after:]})


def _without(labels: Mapping[str, str | int], names: Sequence[str]) -> dict[str, str | int]:
    return {name: value for name, value in labels.items() if name not in names}
