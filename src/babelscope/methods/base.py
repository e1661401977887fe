"""What a method is, and how it is found by name."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_origin

from pydantic import TypeAdapter, ValidationError

from babelscope.core.answers import Capability, System
from babelscope.core.columns import Group
from babelscope.core.comparable import Comparable
from babelscope.core.registry import Registry
from babelscope.core.results import Config, Record, Row
from babelscope.core.settings import Settings as Settings
from babelscope.core.settings import explain
from babelscope.methods import BUILT_IN
from babelscope.systems.opening import open_system
from babelscope.testsets.items import Item
from babelscope.testsets.sets import TestSet
from babelscope.util.errors import BabelscopeError

_BUILT_IN = {
    **{name: f"babelscope.methods.{name}.method:METHOD" for name in BUILT_IN},
    "patterns_mucow": "babelscope.methods.patterns.mucow.method:METHOD",
    "patterns_winomt": "babelscope.methods.patterns.winomt.method:METHOD",
}
OLD_NAMES = {"conditioning": "condition", "hypothesis_space": "space"}
"""What methods were called before; still understood."""
ANSWER_FILES = "answer_files"
"""Key of an `identity` for digests of files about one system's answers, such as alignments of its translations:
runs that differ in these alone can be compared."""


@dataclass(frozen=True, slots=True)
class Method:
    """How answers are judged. `ask` alone touches systems; nothing here touches a file or a terminal."""

    name: str
    summary: str
    kind: type[Item]
    """The items it judges."""
    settings: type[Settings]
    ask: Callable[[Mapping[str, Any], Sequence[Any], Any, int], list[Record]]
    """(systems by role, items, settings, seed) -> a record an item, in order: what the systems answered, and all
    of the item that `judge` needs."""
    summarise: Callable[[Sequence[Record], Any, int], list[Row]]
    """(judged records of all items in order, settings, seed) -> rows."""
    needs: Mapping[str, tuple[Capability, ...]] = field(default_factory=lambda: {"system": ("translate",)})
    """Role -> what a system in it must be able to do. `system` is the one under test; the systems of other
    roles, such as an evaluator, are given among the settings."""
    judge: Callable[[Sequence[Record], Any], list[Record]] = lambda records, _settings: list(records)
    """(records, settings) -> the records with what is made of the answers. Pure; given its own records, it judges
    them again, so that a run can be judged under other settings without asking."""
    version: int = 1
    """Raised when its numbers change: figures of different versions are not compared without a word."""
    as_a_whole: bool = False
    """Asked in one chunk, since `ask` needs all answers together: to align them, or to read files parallel to them.
    It may say of an item that it is `unanswered`, instead of leaving that to who calls it."""
    asks: frozenset[str] = frozenset()
    """Settings that the answers depend on: under other ones, a run must be asked again."""
    instead: Mapping[Capability, Capability] = field(default_factory=dict)
    """What a system may have in the place of what is needed: stored scores of items, where nothing can be asked."""
    needs_more: Callable[[Any], Mapping[str, tuple[Capability, ...]]] = lambda _settings: {}
    """Settings -> what these need beyond `needs`, role by role."""
    identity: Callable[[Any], Mapping[str, Any]] = lambda _settings: {}
    """Settings -> what some of them resolved to, by name (versions of analysers, digests of programs): this, not
    what was written, goes into the signature."""
    comparable: Callable[[Any], Sequence[Comparable]] = lambda _settings: ()
    """Settings -> the fields of its records that `runs/comparing` pairs between systems."""
    across: Callable[[Group, Any, int], list[Row]] = lambda _group, _settings, _seed: []
    """(all systems on one test set, settings, seed) -> rows that are about several of them, or made of all."""
    complete: Callable[[Sequence[Record], Any], Sequence[Record]] = lambda records, _settings: records
    """(all judged records of a cell, settings) -> the same with fields that depend on all of them."""
    view: str = ""
    """`module:attribute` of how it is shown; imported when a report is made."""


METHODS: Registry[Method] = Registry(
    "method", "babelscope.methods.base:Method", "babelscope.methods", _BUILT_IN
)


def method_names() -> list[str]:
    """The methods that can be named in a study: ours, and those of installed packages."""
    return METHODS.names()


def find_method(name: str) -> Method:
    """A method by name; only its own package is imported."""
    return METHODS.find(OLD_NAMES.get(name, name))


@dataclass(frozen=True, slots=True)
class Setup:
    """A method made ready: settings checked, the systems of its other roles opened."""

    method: Method
    label: str
    settings: Settings
    roles: Mapping[str, System]
    tests: tuple[str, ...] = ()
    """Names of the test sets that it is for; none for all that fit."""

    def judges(self, name: str, tests: TestSet) -> bool:
        """True if the test set has its kind of items and it is meant for it."""
        return tests.kind is self.method.kind and (not self.tests or name in self.tests)

    @property
    def config(self) -> Config:
        """Its part of the signature; systems and programs count by what they are, not by what they were called."""
        resolved = {**self.settings.model_dump(mode="json"), **self.method.identity(self.settings)}
        return {
            "name": self.method.name,
            "version": self.method.version,
            "settings": self.method.settings.signed(resolved),
            "roles": {role: system.fingerprint.as_json() for role, system in self.roles.items()},
        }


def set_up(
    method: Method | str,
    given: Mapping[str, Any],
    *,
    label: str = "",
    tests: Sequence[str] = (),
    opener: Callable[[str], System] = open_system,
) -> Setup:
    """Check the settings given to a method, then open the systems named among them."""
    method = find_method(method) if isinstance(method, str) else method
    others = [role for role in method.needs if role != "system"]
    for role in others:
        if role not in given:
            raise BabelscopeError(f"{method.name} needs {role}, the name of a system")
    settings = checked(method, {name: value for name, value in given.items() if name not in others})
    roles = {role: opener(given[role]) if isinstance(given[role], str) else given[role] for role in others}
    for role, system in roles.items():
        if not hasattr(system, "fingerprint"):
            raise BabelscopeError(
                f"{method.name}: {role} must be a system or the name of one, not {system!r}"
            )
    return Setup(method, label or method.name, settings, roles, tuple(tests))


def checked(method: Method, given: Mapping[str, Any]) -> Settings:
    """Settings of a method, or one sentence on what is wrong with them."""
    for name in method.settings.old_names.keys() & given:
        warnings.warn(f"{method.name}: {name} is now {method.settings.old_names[name]}", stacklevel=2)
    try:
        return method.settings.model_validate(dict(given))
    except ValidationError as error:
        raise BabelscopeError(explain(error, method.settings, method.name)) from None


def restored(method: Method, stored: Mapping[str, Any]) -> Settings:
    """Settings as a run has them; the files that they name were there then, and need not be here."""
    values = {}
    fields = method.settings.model_fields
    for name, value in method.settings.with_new_names(stored).items():
        if name in fields:
            # A list that was one value before it could be several.
            single = get_origin(fields[name].annotation) is tuple and isinstance(value, str)
            kind: Any = fields[name].rebuild_annotation()
            values[name] = TypeAdapter(kind).validate_python((value,) if single else value)
    return method.settings.model_construct(**values)
