"""A study: systems x test sets x methods, from a TOML file or Python; run into a folder, resumed there."""

from __future__ import annotations

import contextlib
import platform
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, StrictBool, ValidationError, model_validator

from babelscope.digests import digest_json
from babelscope.errors import BabelscopeError, SystemFailure
from babelscope.methods.base import DEFAULT_CHUNK, Cell, cells_of, config_of, explain, set_up
from babelscope.progress import progress
from babelscope.results import Record, Result, signature
from babelscope.runfolder import RunFolder
from babelscope.systems.base import System
from babelscope.systems.cached import cached
from babelscope.systems.opening import open_system
from babelscope.testsets import load
from babelscope.text import read_bytes

_Text = Annotated[str, Field(min_length=1)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StudyTable(_Table):
    """`[study]`: what it is called, and its seed."""

    name: str = "study"
    seed: int = 0


class Entry(_Table):
    """One of `[[systems]]` or `[[tests]]`: what it is, and what it is called in the results."""

    spec: _Text
    name: str = ""

    @property
    def label(self) -> str:
        return self.name or self.spec


class MethodEntry(_Table):
    """One of `[[methods]]`: its name and its settings; a label tells two of one name apart."""

    model_config = ConfigDict(extra="allow")

    name: _Text
    label: str = ""
    tests: list[str] = []
    """Names of the test sets that it is for; all that fit if none is given."""


class RunTable(_Table):
    """`[run]`: where and how it is run. Only `chunk` can change a number, and only in its last bits."""

    out: Path | None = None
    cache: StrictBool | Path = False
    """Remember answers: in the user's cache folder, or in a file."""
    chunk: int = Field(default=DEFAULT_CHUNK, ge=1)
    """How many items are asked, and stored, at once."""
    data_dir: Path | None = None


class Study(_Table):
    """Every method on every system and every test set whose items it judges."""

    study: StudyTable = StudyTable()
    systems: Annotated[list[Entry], Field(min_length=1)]
    tests: Annotated[list[Entry], Field(min_length=1)]
    methods: Annotated[list[MethodEntry], Field(min_length=1)]
    run: RunTable = RunTable()

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        labels = {
            "systems": [entry.label for entry in self.systems],
            "tests": [entry.label for entry in self.tests],
            "methods": [entry.label or entry.name for entry in self.methods],
        }
        for table, names in labels.items():
            for name in names:
                if names.count(name) > 1:
                    key = "label" if table == "methods" else "name"
                    raise ValueError(f"two {table} are called {name!r}; give one another {key}")
        return self


def read_study(path: str | Path) -> Study:
    """The study a TOML file describes; errors name the file and the key."""
    try:
        values = tomllib.loads(read_bytes(path).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BabelscopeError(f"{path}: not UTF-8 ({error.reason} at byte {error.start})") from None
    except tomllib.TOMLDecodeError as error:
        raise BabelscopeError(f"{path}: not TOML: {error}") from None
    if isinstance(head := values.get("study", {}), dict):
        values["study"] = {"name": Path(path).stem, **head}
    try:
        return Study.model_validate(values)
    except ValidationError as error:
        raise BabelscopeError(explain(error, Study, str(path))) from None


def run_study(
    study: Study | str | Path,
    *,
    out: str | Path | None = None,
    seed: int | None = None,
    cache: bool | Path | None = None,
    data_dir: str | Path | None = None,
) -> Result:
    """Run a study into its run folder, or go on where it was stopped; what is given here overrides it.

    Relative paths in a study are relative to its file; to that end its folder is the working
    folder while it runs. The run folder is `out`, or `runs/NAME` beside the study.
    """
    where = str(study) if isinstance(study, str | Path) else "the study"
    base = Path(study).absolute().parent if isinstance(study, str | Path) else Path.cwd()
    study = study if isinstance(study, Study) else read_study(study)
    seed = study.study.seed if seed is None else seed
    cache = cache.absolute() if isinstance(cache, Path) else study.run.cache if cache is None else cache
    data_dir = Path(data_dir).absolute() if data_dir is not None else study.run.data_dir
    folder = Path(out).absolute() if out is not None else base / (study.run.out or _default_out(study, where))

    def opened(spec: str) -> Any:
        system = open_system(spec)
        return cached(system, cache if isinstance(cache, Path) else None) if cache else system

    with contextlib.chdir(base):
        # Cheapest first, so that a mistake is told before models are loaded.
        tests = {}
        for number, entry in enumerate(study.tests):
            with _told_at(f"{where}: tests[{number}]"):
                tests[entry.label] = load(entry.spec, data_dir=data_dir)
        setups = []
        for number, method in enumerate(study.methods):
            with _told_at(f"{where}: methods[{number}]"):
                given = method.model_extra or {}
                setups.append(
                    set_up(method.name, given, label=method.label, tests=method.tests, opener=opened)
                )
        systems: dict[str, System] = {}
        for number, entry in enumerate(study.systems):
            with _told_at(f"{where}: systems[{number}]"):
                systems[entry.label] = opened(entry.spec)
        with _told_at(where):
            cells = cells_of(setups, systems, tests, seed)
        config = config_of(setups, systems.values(), tests, seed=seed, chunk=study.run.chunk)
        return _run(cells, folder, _manifest(study, config, cells))


def _run(cells: list[Cell], folder: Path, manifest: Mapping[str, Any]) -> Result:
    with RunFolder(folder, manifest) as run:
        with progress(manifest["study"], run.total) as advance:
            advance(len(run.records))
            for chunk in run.missing():
                run.store(cells[chunk.cell].judge(chunk.start, chunk.stop))
                advance(chunk.stop - chunk.start)
        rows = []
        stored: Iterator[Record] = iter(run.records)
        for cell in cells:
            rows += cell.summarise([next(stored) for _ in cell.tests.items])
        result = Result(manifest["config"], rows, run.records, folder)
        run.finish(result)
        return result


def _manifest(study: Study, config: dict[str, Any], cells: list[Cell]) -> dict[str, Any]:
    """What is written about a run: what it depends on, its cells, and how they came to be."""
    return {
        "study": study.study.name,
        "signature": signature(config),
        "sha256": digest_json(config),
        "config": config,
        "cells": [
            {**cell.labels, "items": len(cell.tests), "skipped": dict(cell.tests.skipped)} for cell in cells
        ],
        "systems": {entry.label: entry.spec for entry in study.systems},
        "tests": {entry.label: entry.spec for entry in study.tests},
        "made_with": {"python": platform.python_version(), "platform": platform.platform()},
    }


def _default_out(study: Study, where: str) -> Path:
    name = study.study.name
    if name in ("", ".", "..") or not set("/\0").isdisjoint(name):
        raise BabelscopeError(f"{where}: study.name {name!r} cannot name a folder; say --out")
    return Path("runs") / name


@contextlib.contextmanager
def _told_at(place: str) -> Iterator[None]:
    """Errors in the block are told with their place in the study."""
    try:
        yield
    except SystemFailure as error:
        raise SystemFailure(f"{place}: {error}") from error
    except BabelscopeError as error:
        raise BabelscopeError(f"{place}: {error}") from error
