"""What a method is, and how it is found by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter, ValidationError

from babelscope.core.comparison import Group
from babelscope.core.registry import Registry
from babelscope.core.results import Comparable, Config, Record, Row
from babelscope.core.settings import Settings as Settings
from babelscope.core.settings import explain
from babelscope.core.system import Capability, System
from babelscope.methods import BUILT_IN
from babelscope.systems.registry import open_system
from babelscope.testsets.items import Item, TestSet
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import shorten

_BUILT_IN = {
    **{name: f"babelscope.methods.{name}.method:METHOD" for name in BUILT_IN},
    "quality": "babelscope.methods.quality:METHOD",
    "likelihood": "babelscope.methods.likelihood:METHOD",
    "contrast_answers": "babelscope.methods.prompted_choice.method:CONTRAST",
    "condition_answers": "babelscope.methods.prompted_choice.method:CONDITION",
    "patterns_mucow": "babelscope.methods.patterns.mucow:METHOD",
    "patterns_winomt": "babelscope.methods.patterns.winomt:METHOD",
}
DEFAULT_CHUNK = 128
"""Items asked and stored together: enough to fill batches, few enough that a kill loses little."""
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
    """(systems by role, items, settings, seed) -> one record per item, in order: what the systems answered, and all
    of the item that `judge` needs."""
    summarize: Callable[[Sequence[Record], Any, int], list[Row]]
    """(judged records of all items in order, settings, seed) -> rows."""
    needs: Mapping[str, tuple[Capability, ...]] = field(default_factory=lambda: {"system": ("translate",)})
    """Role -> capabilities that a system in this role needs. `system` is the system under test; systems of other
    roles, such as an evaluator, are named in the settings."""
    judge: Callable[[Sequence[Record], Any], list[Record]] = lambda records, _settings: list(records)
    """(records, settings) -> the records with scores and verdicts. Pure. It accepts its own output, so that a stored
    run can be judged again under other settings without asking any system."""
    version: int = 1
    """Raised when its numbers change. Runs of different versions are not comparable."""
    sample: Callable[[Sequence[Any], Any, int], frozenset[int]] = lambda _items, _settings, _seed: frozenset()
    """(all items of a test set, settings, seed) -> places of the items that `ask_more` is about. It must not depend
    on chunks or shards."""
    ask_more: Callable[
        [Mapping[str, Any], Sequence[Any], Mapping[int, Record], Any, int], Mapping[int, Record]
    ] = lambda _systems, _items, _records, _settings, _seed: {}
    """(systems by role, all items, records of the sampled items of a chunk by place, settings, seed) -> fields that
    these records get in addition."""
    chunk: int = DEFAULT_CHUNK
    """Most items asked and stored together. A method whose items take seconds each names fewer, so that a kill loses
    about a minute of work."""
    whole_if: Callable[[Any], bool] = lambda _settings: False
    """Settings -> whether all items form one chunk, because `ask` or `judge` needs all of them together: to align
    translations, or to read files parallel to them. Such an `ask` may itself return `unanswered` records."""
    asks: frozenset[str] = frozenset()
    """Settings that the answers depend on. After a run they cannot be changed without asking again."""
    lowers: frozenset[str] = frozenset()
    """Those of `asks` that may be lowered after a run."""
    lower: Callable[[Sequence[Record], Any], list[Record]] = lambda records, _settings: list(records)
    """(records, settings of which some are lowered) -> the records without what a run under these settings would not
    have, or would have otherwise."""
    instead: Mapping[Capability, Capability] = field(default_factory=dict)
    """Needed capability -> capability that replaces it, such as stored scores of items in place of scoring."""
    otherwise: Mapping[Capability, str] = field(default_factory=dict)
    """Capability -> what to do with a system that has it, but lacks what is needed."""
    check_items: Callable[[Sequence[Any], Any], None] = lambda _items, _settings: None
    """(items of a test set, settings) -> nothing, or an error where it cannot judge one of them. Called before any
    system is asked."""
    identity: Callable[[Any], Mapping[str, Any]] = lambda _settings: {}
    """Settings -> what some of them resolved to, by name (versions of analyzers, digests of programs). The signature
    has these in place of the values that the user wrote."""
    identity_on: Callable[[Any, Languages], Mapping[str, Any]] = lambda _settings, _languages: {}
    """(settings, languages of the items judged) -> what settings resolved to by these, such as the tokenizers of the
    languages; the rest as in `identity`."""
    comparable: Callable[[Any], Sequence[Comparable]] = lambda _settings: ()
    """Settings -> the fields of its records that `runs/comparing` pairs between systems."""
    across: Callable[[Group, Any, int], list[Row]] = lambda _group, _settings, _seed: []
    """(all systems on one test set, settings, seed) -> rows about several systems together."""
    complete: Callable[[Sequence[Record], Any], Sequence[Record]] = lambda records, _settings: records
    """(all judged records of a cell, settings) -> the records with the fields that depend on the whole cell."""
    part_labels: frozenset[str] = frozenset()
    """Labels of rows that are over a part of the items, unless they say `all`. What was not read or not answered is
    counted on the other rows, since nobody knows which part it would be of."""
    check_system: Callable[[Any, Sequence[Any], Any], None] = lambda _system, _items, _settings: None
    """(system under test, all items of a test set, settings): refuses a system that would not be asked, though it is
    named."""
    measure_of: Callable[[Row], str] = lambda _row: ""
    """Row -> what it measures, where rows are named by the group of items they are over; else nothing."""
    cautions: Mapping[str, str] = field(default_factory=dict)
    """Figure -> what must be said where it stands beside the same figure of another system."""
    also: tuple[type[Item], ...] = ()
    """Other kinds of items that it judges, too."""
    view: str = ""
    """`module:attribute` of its `View`; imported when a report is made."""
    queue: Callable[[Sequence[Record], Any], list[Any]] | None = None
    """What people are asked about its records: a `Queue` of `methods/queue.py`."""

    @property
    def kinds(self) -> tuple[type[Item], ...]:
        """All kinds of items that it judges."""
        return (self.kind, *self.also)


Languages = frozenset[tuple[str, str]]
"""The (source, target) languages of items; empty text where none is known."""


def languages_of(items: Iterable[Any]) -> Languages:
    """The languages that items state; those without references need no tokenizer."""
    names = ("source_language", "target_language")
    return frozenset(
        (getattr(item, names[0], None) or "", getattr(item, names[1], None) or "")
        for item in items
        if getattr(item, "references", True)
    )


METHODS: Registry[Method] = Registry(
    "method", "babelscope.methods.base:Method", "babelscope.methods", _BUILT_IN
)


def method_names() -> list[str]:
    """The methods that can be named in a study: ours, and those of installed packages."""
    return METHODS.names()


def find_method(name: str) -> Method:
    """A method by name; only its own package is imported."""
    return METHODS.find(name)


@dataclass(frozen=True, slots=True)
class Setup:
    """A method ready to run: its settings checked, the systems of its other roles open."""

    method: Method
    label: str
    settings: Settings
    roles: Mapping[str, System]
    tests: tuple[str, ...] = ()
    """Names of the test sets to judge; empty for all that have its kind of items."""

    def judges(self, name: str, tests: TestSet) -> bool:
        """Whether this method runs on the test set: the kind of items fits, and `tests` does not exclude it."""
        return tests.kind in self.method.kinds and (not self.tests or name in self.tests)

    def identity(self, tests: Mapping[str, TestSet]) -> dict[str, Any]:
        """What settings resolved to, by themselves and by the languages of the items that it judges."""
        languages = languages_of(
            item for name in tests if self.judges(name, tests[name]) for item in tests[name]
        )
        by_language = self.method.identity_on(self.settings, languages)
        return {**self.method.identity(self.settings), **by_language}

    def config_on(self, tests: Mapping[str, TestSet]) -> Config:
        """Its part of the signature; systems and programs are identified by fingerprint, not by name."""
        return {
            "name": self.method.name,
            "version": self.method.version,
            "settings": {**self.settings.model_dump(mode="json"), **self.identity(tests)},
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
    settings = check_settings(method, {name: value for name, value in given.items() if name not in others})
    roles = {role: opener(given[role]) if isinstance(given[role], str) else given[role] for role in others}
    for role, system in roles.items():
        if not hasattr(system, "fingerprint"):
            raise BabelscopeError(
                f"{method.name}: {role} must be a system or the name of one, not {system!r}"
            )
    return Setup(method, label or method.name, settings, roles, tuple(tests))


def check_settings(method: Method, given: Mapping[str, Any]) -> Settings:
    """The validated settings of a method; an error says in one sentence what is wrong."""
    try:
        return method.settings.model_validate(dict(given))
    except ValidationError as error:
        raise BabelscopeError(explain(error, method.settings, method.name)) from None


def restore_settings(method: Method, stored: Mapping[str, Any]) -> Settings:
    """Settings as a run stores them, of the right types: files that they name need not exist here."""
    values = {}
    fields = method.settings.model_fields
    for name, value in stored.items():
        if name in fields:
            kind: Any = fields[name].rebuild_annotation()
            try:
                values[name] = TypeAdapter(kind).validate_python(value)
            except ValidationError:
                raise ValueError(f"the setting {name} = {shorten(str(value))} is not valid") from None
    return method.settings.model_construct(**values)
