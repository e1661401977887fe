"""What a method is, and how it is found by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Any, ClassVar, overload

from pydantic import TypeAdapter, ValidationError

from babelscope.core.charts import Chart
from babelscope.core.comparison import Comparison
from babelscope.core.results import PairedField, Record, Row
from babelscope.core.settings import Languages, explain
from babelscope.core.settings import MethodSettings as MethodSettings
from babelscope.core.settings import Rerun as Rerun
from babelscope.core.system import Capability, System, capabilities
from babelscope.core.tables import Table
from babelscope.methods.registry import find_method
from babelscope.methods.reporting import ItemView, every_figure, show_fields
from babelscope.systems.registry import open_system, require
from babelscope.testsets.items import Item
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import shorten

ANSWER_FILES = "answer_files"
"""Key of an `identity` for digests of files about one system's answers, such as alignments of its translations:
runs that differ in these alone can be compared."""

Needs = Mapping[str, tuple[Capability, ...]]
"""Role -> capabilities that a system in this role needs."""


class Items(Sequence[Any]):
    """Items that are asked together, with their places among all items of the test set."""

    def __init__(self, whole: Sequence[Any], places: Sequence[int] | None = None) -> None:
        self.whole = whole
        self.places = range(len(whole)) if places is None else places

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, number: int) -> Any: ...

    @overload
    def __getitem__(self, number: slice) -> Items: ...

    def __getitem__(self, number: int | slice) -> Any:
        if isinstance(number, slice):
            return Items(self.whole, self.places[number])
        return self.whole[self.places[number]]

    def __iter__(self) -> Iterator[Any]:
        return (self.whole[place] for place in self.places)


def add_to_sampled(
    records: Sequence[Record],
    items: Items,
    sampled: Set[int],
    ask_more: Callable[[Mapping[int, Record]], Mapping[int, Record]],
) -> list[Record]:
    """The records of a chunk; those of answered items at the sampled places with the fields that `ask_more` finds."""
    some = {
        place: record
        for place, record in zip(items.places, records, strict=True)
        if place in sampled and "unanswered" not in record
    }
    more = ask_more(some) if some else {}
    return [{**each, **more.get(place, {})} for place, each in zip(items.places, records, strict=True)]


class Method:
    """How answers are judged, under some settings. `ask` alone calls systems; no method touches a file or a terminal.

    The docstring of a method is what people read about it: a title, a question, then how to read its figures.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    """Raised when its numbers change. Runs of different versions are not comparable."""
    items: ClassVar[tuple[type[Item], ...]]
    """The kinds of items it judges."""
    requires: ClassVar[Needs] = {"system": ("translate",)}
    """Role -> capabilities that a system in this role needs. `system` is the system under test; systems of other
    roles, such as an evaluator, are named beside the settings; those that require nothing may be left out."""
    Settings: ClassVar[type[MethodSettings]] = MethodSettings

    settings: Any
    asked: Any

    def __init__(
        self,
        settings: MethodSettings | None = None,
        *,
        asked: MethodSettings | None = None,
        label: str = "",
        roles: Mapping[str, System] | None = None,
        tests: Sequence[str] = (),
        only: Sequence[str] = (),
    ) -> None:
        """`asked`: the settings under which systems were asked, if others; `label`: what a study calls it; `roles`:
        its systems beside the one under test; `tests`: names of the test sets it is for, empty for all that fit;
        `only`: names of the systems it is for, empty for all."""
        self.settings = self.Settings() if settings is None else settings
        self.asked = self.settings if asked is None else asked
        self.label = label or self.name
        self.roles = roles or {}
        self.tests = tuple(tests)
        self.only = tuple(only)

    def check(self, items: Sequence[Any], systems: Mapping[str, Any] | None = None) -> None:  # noqa: ARG002
        """Refuse what cannot be judged, before any work: first with the items of a test set alone, then also with the
        systems by role."""
        if systems is not None:
            require_roles(self, systems)

    def ask(self, systems: Mapping[str, Any], items: Items, seed: int) -> list[Record]:
        """One record per item, in order: what the systems answered, and all of the item that `judge` needs."""
        raise NotImplementedError

    def judge(self, records: Sequence[Record]) -> list[Record]:
        """The records with scores and verdicts. Pure. It accepts its own output, so that a stored run can be judged
        again under other settings without asking any system."""
        return list(records)

    def complete(self, records: Sequence[Record]) -> Sequence[Record]:
        """All judged records of a job with the fields that depend on the whole job."""
        return records

    def summarize(self, records: Sequence[Record], seed: int) -> list[Row]:
        """The figures, from the judged records of all items in order."""
        raise NotImplementedError

    def paired(self) -> Sequence[PairedField]:
        """The fields of its records that are paired between systems, item by item."""
        return ()

    def compare(self, comparison: Comparison, seed: int) -> list[Row]:  # noqa: ARG002
        """Rows about several systems together. Without a row `difference`, `paired` fields are compared."""
        return []

    def tables(self, comparison: Comparison) -> list[Table]:
        """What is printed and shown of systems on one test set: the first has what matters most, and all warnings."""
        return [every_figure(comparison)]

    def charts(self, comparison: Comparison) -> list[Chart]:  # noqa: ARG002
        """The same as charts."""
        return []

    def show(self, record: Record) -> ItemView:
        """One item on the page, and what an annotator is asked about it."""
        return show_fields(record)


def title_of(method: type[Method]) -> str:
    """The first line of its docstring."""
    return (method.__doc__ or "").partition("\n")[0]


def question_of(method: type[Method]) -> str:
    """The question that it answers: the second paragraph of its docstring."""
    title, *more = (inspect.getdoc(method) or "").split("\n\n")
    return " ".join((more[0] if more else title).split())


def require_roles(
    method: Method,
    systems: Mapping[str, Any],
    *,
    instead: Mapping[Capability, Capability] = MappingProxyType({}),
    otherwise: Mapping[Capability, str] = MappingProxyType({}),
) -> None:
    """Refuse systems that lack what their role requires.

    `instead`: required capability -> capability that replaces it, such as stored scores of items. `otherwise`:
    capability -> what to do with a system that has it, but lacks what is required.
    """
    for role, needed in method.requires.items():
        has = capabilities(systems[role])
        try:
            missing = (each for each in needed if instead.get(each) not in has)
            require(systems[role], *missing, what_for=method.label)
        except BabelscopeError as error:
            advice = [text for other, text in otherwise.items() if other in has]
            raise BabelscopeError("; ".join([str(error), *advice])) from None


def languages_of(items: Iterable[Any]) -> Languages:
    """The languages that items state; those without references need no tokenizer."""
    names = ("source_language", "target_language")
    return frozenset(
        (getattr(item, names[0], None) or "", getattr(item, names[1], None) or "")
        for item in items
        if getattr(item, "references", True)
    )


def set_up(
    method: type[Method] | str,
    given: Mapping[str, Any],
    *,
    label: str = "",
    tests: Sequence[str] = (),
    only: Sequence[str] = (),
    opener: Callable[[str], System] = open_system,
) -> Method:
    """A method ready to run: check the settings given to it, then open the systems named among them."""
    method = find_method(method) if isinstance(method, str) else method
    others = [role for role in method.requires if role != "system"]
    for role in others:
        if role not in given and method.requires[role]:
            raise BabelscopeError(f"{method.name} needs {role}, the name of a system")
    settings = check_settings(method, {name: value for name, value in given.items() if name not in others})
    named = {role: given[role] for role in others if role in given}
    roles = {role: opener(each) if isinstance(each, str) else each for role, each in named.items()}
    for role, system in roles.items():
        if not hasattr(system, "fingerprint"):
            raise BabelscopeError(
                f"{method.name}: {role} must be a system or the name of one, not {system!r}"
            )
    return method(settings, label=label, roles=roles, tests=tests, only=only)


def check_settings(method: type[Method], given: Mapping[str, Any]) -> MethodSettings:
    """The validated settings of a method; an error says in one sentence what is wrong."""
    try:
        return method.Settings.model_validate(dict(given))
    except ValidationError as error:
        raise BabelscopeError(explain(error, method.Settings, method.name)) from None


def restore_settings(method: type[Method], stored: Mapping[str, Any]) -> MethodSettings:
    """Settings as a run stores them, of the right types: files that they name need not exist here."""
    values = {}
    fields = method.Settings.model_fields
    for name, value in stored.items():
        if name in fields:
            kind: Any = fields[name].rebuild_annotation()
            try:
                values[name] = TypeAdapter(kind).validate_python(value)
            except ValidationError:
                raise ValueError(f"the setting {name} = {shorten(str(value))} is not valid") from None
    return method.Settings.model_construct(**values)
