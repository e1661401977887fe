"""What a gate is made of, from the command line and a settings file."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from babelscope.core.settings import explain
from babelscope.core.system import System, capabilities
from babelscope.decide.gate import Gate, GateSettings, run_gate
from babelscope.methods.base import Method, set_up
from babelscope.runs.study import Entry, MethodEntry, errors_located
from babelscope.systems.cache import forget_unfinished, with_store
from babelscope.systems.registry import open_system, split_name
from babelscope.testsets import AmbiguousSource, MinimalPair, ParallelSentence, SourceSentence, TestSet, load
from babelscope.util.errors import BabelscopeError
from babelscope.util.progress import progress
from babelscope.util.text import LARGEST_TOML, parse_toml, read_bytes

_METHODS: Mapping[type[Any], str] = {
    SourceSentence: "errors",
    ParallelSentence: "errors",
    MinimalPair: "contrast",
    AmbiguousSource: "condition",
}
"""The method that judges items of a kind unless the settings name others."""


class GateFile(BaseModel):
    """A file of settings, for CI: the tables of a study without systems, and [gate]."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    gate: GateSettings = GateSettings()
    seed: int | None = None
    tests: list[Entry] = []
    methods: list[MethodEntry] = []

    @classmethod
    def read(cls, path: Path) -> Self:
        """The settings in a TOML file; errors name the file and the key."""
        try:
            return cls.model_validate(parse_toml(read_bytes(path, most=LARGEST_TOML), path))
        except ValidationError as error:
            raise BabelscopeError(explain(error, cls, str(path))) from None

    def with_settings(self, given: Mapping[str, Any]) -> Self:
        """The same with settings of the command line."""
        try:
            merged = GateSettings.model_validate({**self.gate.model_dump(), **given})
        except ValidationError as error:
            raise BabelscopeError(explain(error, GateSettings, "gate")) from None
        return self.model_copy(update={"gate": merged})


def open_and_decide(
    old: str,
    new: str,
    tests: Sequence[str],
    file: GateFile,
    *,
    languages: tuple[str, str] = ("", ""),
    seed: int = 0,
    cache: bool | Path | None = None,
) -> Gate:
    """Open what is named, cheapest first, and decide. A system is a spec, or `NAME=SPEC`."""
    loaded = _load(tests, file.tests, languages)
    methods = _methods(file.methods, loaded)
    systems = [with_store(open_system(each), cache) for each in (old, new)]
    names = _names(old, new)
    if not file.methods:
        methods = [_without_scores(method, systems) for method in methods]
    calls = sum(len(each.items) for each in loaded.values())
    with progress("gate", calls) as advance:
        found = run_gate(
            systems[0], systems[1], loaded, methods, file.gate, seed=seed, names=names, advance=advance
        )
    forget_unfinished()
    return found


def _load(specs: Sequence[str], entries: Sequence[Entry], languages: tuple[str, str]) -> dict[str, TestSet]:
    """The test sets by name, their items with the languages that they do not state themselves."""
    loaded: dict[str, TestSet] = {}
    for spec, name in [*((each, "") for each in specs), *((each.spec, each.name) for each in entries)]:
        found = load(spec)
        loaded[name or found.name] = with_languages(found, *languages)
    return loaded


def with_languages(tests: TestSet, source: str, target: str) -> TestSet:
    """A test set whose items state these languages, unless they state others; empty: as they are."""
    known = {"source_language": source, "target_language": target}

    def stated(item: Any) -> Any:
        more = {name: code for name, code in known.items() if code and not getattr(item, name)}
        return dataclasses.replace(item, **more) if more else item

    return dataclasses.replace(tests, items=tuple(map(stated, tests.items))) if source or target else tests


def _methods(entries: Sequence[MethodEntry], tests: Mapping[str, TestSet]) -> list[Method]:
    """The methods that the settings name, or one for each kind of items."""
    found = []
    for number, entry in enumerate(entries):
        with errors_located(f"methods[{number}]"):
            given = entry.model_extra or {}
            found.append(set_up(entry.name, given, label=entry.label, tests=entry.tests))
    if not entries:
        names = dict.fromkeys(_METHODS[each.kind] for each in tests.values() if each.kind in _METHODS)
        found = [set_up(name, {}) for name in names]
    if not found:
        raise BabelscopeError("no method judges these test sets: name one in --config ([[methods]])")
    return found


def _without_scores(method: Method, systems: Sequence[System]) -> Method:
    """Minimal pairs need scores; where a system has none, its own translations are searched for the same errors."""
    if method.name == "contrast" and not all("score" in capabilities(each) for each in systems):
        return set_up("errors", {})
    return method


def _names(old: str, new: str) -> tuple[str, str]:
    """What the systems are called: as the user says, else old and new."""
    names = split_name(old)[0] or "old", split_name(new)[0] or "new"
    if names[0] == names[1]:
        raise BabelscopeError(f"both systems are called {names[0]}: give one another name (NAME=SYSTEM)")
    return names
