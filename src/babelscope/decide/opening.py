"""What a gate is made of, from the command line and a settings file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, PrivateAttr, ValidationError

from babelscope.core.settings import explain
from babelscope.core.system import System, capabilities
from babelscope.decide.gate import Gate, GateSettings, run_gate
from babelscope.language.checks.negation import knows
from babelscope.language.checks.registry import CHECKS, Setting, base_code
from babelscope.language.registry import detectors, languages_with_detectors
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
    _folder: Path = PrivateAttr(default=Path())

    @property
    def folder(self) -> Path:
        """Where the file is: paths in it are relative to it."""
        return self._folder

    @classmethod
    def read(cls, path: Path) -> Self:
        """The settings in a TOML file; errors name the file and the key."""
        try:
            found = cls.model_validate(parse_toml(read_bytes(path, most=LARGEST_TOML), path))
        except ValidationError as error:
            raise BabelscopeError(explain(error, cls, str(path))) from None
        found._folder = path.parent
        return found

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
    loaded = _load(tests, file, languages)

    def opened(spec: str) -> System:
        found: System = with_store(open_system(spec), cache)
        return found

    methods = _named_methods(file, opened)
    names = _names(old, new)
    systems = [opened(each) for each in (old, new)]
    methods = methods or _usual_methods(loaded, systems)
    calls = sum(len(each.items) for each in loaded.values())
    with progress("gate", calls) as advance:
        found = run_gate(
            systems[0], systems[1], loaded, methods, file.gate, seed=seed, names=names, advance=advance
        )
    forget_unfinished()
    checked = any(method.name == "errors" for method in methods)
    return replace(found, untested={**(why_untested(loaded) if checked else {}), **found.untested})


def _load(specs: Sequence[str], file: GateFile, languages: tuple[str, str]) -> dict[str, TestSet]:
    """The test sets by name, their items with the languages that they do not state themselves."""
    found = [load(spec) for spec in specs]
    with chdir(file.folder):
        found += [
            replace(tests, name=each.name or tests.name) for each in file.tests for tests in [load(each.spec)]
        ]
    return by_name([with_languages(each, *languages) for each in found])


def by_name(tests: Sequence[TestSet]) -> dict[str, TestSet]:
    """Test sets by their names, which must differ."""
    names = [each.name for each in tests]
    if twice := [name for name in names if names.count(name) > 1]:
        raise BabelscopeError(
            f"two test sets are called {twice[0]}: rename a file, or give names in --config"
        )
    return dict(zip(names, tests, strict=True))


def with_languages(tests: TestSet, source: str, target: str) -> TestSet:
    """A test set whose items state these languages, unless they state others; empty: as they are."""
    known = {"source_language": source, "target_language": target}

    def stated(item: Any) -> Any:
        more = {name: code for name, code in known.items() if code and not getattr(item, name, code)}
        return replace(item, **more) if more else item

    return replace(tests, items=tuple(map(stated, tests.items))) if source or target else tests


def _named_methods(file: GateFile, opener: Callable[[str], System]) -> list[Method]:
    """The methods that the settings name; files that these name lie beside the settings, too."""
    found = []
    started = Path.cwd()

    def opened(spec: str) -> System:
        with chdir(started):  # a program is started where the command was
            return opener(spec)

    for number, entry in enumerate(file.methods):
        with errors_located(f"methods[{number}]"), chdir(file.folder):
            given = entry.model_extra or {}
            method = set_up(entry.name, given, label=entry.label, tests=entry.tests, opener=opened)
        paths = {name: value for name, value in method.settings if isinstance(value, Path)}
        beside = {name: Path(os.path.relpath(file.folder / value)) for name, value in paths.items()}
        method.settings = method.settings.model_copy(update=beside)
        found.append(method)
    return found


def _usual_methods(tests: Mapping[str, TestSet], systems: Sequence[System]) -> list[Method]:
    """One method for each kind of items. Minimal pairs need scores; where a system has none, its own translations are
    searched for the same errors."""
    scores = all("score" in capabilities(each) for each in systems)
    own: dict[str, list[str]] = {}
    for name, each in tests.items():
        if method := _METHODS.get(each.kind):
            own.setdefault(method if scores or method != "contrast" else "errors", []).append(name)
    if not own:
        raise BabelscopeError("no method judges these test sets: name one in --config ([[methods]])")
    return [
        set_up(name, errors_settings(tests) if name == "errors" else {}, tests=names if len(own) > 1 else ())
        for name, names in own.items()
    ]


def errors_settings(tests: Mapping[str, TestSet]) -> dict[str, Any]:
    """All checks are run, beside the detectors of the language of the translations, if it is one; without languages,
    detectors alone."""
    sources, codes = (
        {getattr(how, name) for _, how in _sources(tests)} for name in ("source_language", "target_language")
    )
    if "" in sources | codes:
        return {}
    return {"check": ("all",), **({"target_language": codes.pop()} if len(codes) == 1 else {})}


def _sources(tests: Mapping[str, TestSet]) -> list[tuple[str, Setting]]:
    """All sources that checks can look at, with their languages."""
    return [
        (item.source, Setting(base_code(item.source_language), base_code(item.target_language)))
        for each in tests.values()
        for item in each.items
        if isinstance(item, SourceSentence | ParallelSentence | MinimalPair)
    ]


def why_untested(tests: Mapping[str, TestSet]) -> dict[str, str]:
    """Checks, and detectors of errors in the language of the translations, that can find nothing here -> why."""
    items = _sources(tests)
    codes = {how.target_language for _, how in items}
    if not errors_settings(tests):
        return dict.fromkeys(CHECKS, "the languages are not given (--source-language, --target-language)")
    found = {}
    for name, check in CHECKS.items():
        if any(check.applies(source, setting) for source, setting in items):
            continue
        found[name] = "no sentence has it"
        if name == "glossary":
            found[name] = "no glossary is given (`errors --set glossary=FILE`)"
        elif name == "negation" and not any(
            knows(how.source_language, how.target_language) for _, how in items
        ):
            found[name] = "negative words are not known in both languages"
    references = any(each.kind in (ParallelSentence, MinimalPair) for each in tests.values())
    for each in languages_with_detectors():
        if each.code in codes and (not references or not each.analysis_version()):
            why = str(each.missing()) if references else "they need references"
            found |= dict.fromkeys(detectors(each.code), why)
    return found


def _names(old: str, new: str) -> tuple[str, str]:
    """What the systems are called: as the user says, else old and new."""
    names = split_name(old)[0] or "old", split_name(new)[0] or "new"
    if names[0] == names[1]:
        raise BabelscopeError(f"both systems are called {names[0]}: give one another name (NAME=SYSTEM)")
    return names
