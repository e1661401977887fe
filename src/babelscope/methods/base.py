"""What a method is, how it is found by name, and how it is run on systems and test sets."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from babelscope._version import __version__
from babelscope.core.answers import Capability, System, Unanswered, properties
from babelscope.core.registry import Registry, did_you_mean
from babelscope.core.results import Config, Estimate, Record, Result, Row, record_line, split_unanswered
from babelscope.systems.asking import relocate_errors
from babelscope.systems.opening import open_system, require
from babelscope.testsets.items import Item
from babelscope.testsets.sets import TestSet
from babelscope.util.errors import BabelscopeError
from babelscope.util.progress import progress

DEFAULT_CHUNK = 128
"""How many items are asked and stored at once: enough to fill batches, few enough to lose in a kill."""

_BUILT_IN = {
    "challenge": "babelscope.methods.challenge:METHOD",
    "conditioning": "babelscope.methods.condition:METHOD",
    "contrast": "babelscope.methods.contrast:METHOD",
    "hypothesis_space": "babelscope.methods.space:METHOD",
    "likelihood": "babelscope.methods.likelihood:METHOD",
}
# Fields of a record that are not the method's to fill.
_KEYS = frozenset({"method", "system", "tests", "item", "id", "extra", "unanswered"})


class Settings(BaseModel):
    """What can be chosen about a method; all of it is part of the signature."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


@dataclass(frozen=True, slots=True)
class Method:
    """How answers are judged. It asks systems and returns records and rows; it never touches a file."""

    name: str
    summary: str
    kind: type[Item]
    """The items it judges."""
    settings: type[Settings]
    judge: Callable[[Mapping[str, Any], Sequence[Any], Any, int], list[Record]]
    """(systems by role, items, settings, seed) -> a record an item, in order."""
    summarise: Callable[[Sequence[Record], Any, int], list[Row]]
    """(records of all items in order, settings, seed) -> rows."""
    needs: Mapping[str, tuple[Capability, ...]] = field(default_factory=lambda: {"system": ("translate",)})
    """Role -> what a system in it must be able to do. `system` is the one under test; the systems of other
    roles, such as an evaluator, are given among the settings."""
    needs_more: Callable[[Any], Mapping[str, tuple[Capability, ...]]] = lambda _settings: {}
    """Settings -> what these need beyond `needs`, role by role."""


METHODS: Registry[Method] = Registry(
    "method", "babelscope.methods.base:Method", "babelscope.methods", _BUILT_IN
)


def method_names() -> list[str]:
    """The methods that can be named in a study: ours, and those of installed packages."""
    return METHODS.names()


def find_method(name: str) -> Method:
    """A method by name; only its own module is imported."""
    return METHODS.find(name)


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
        """Its part of the signature; systems count by what they are, not by what they were called."""
        return {
            "name": self.method.name,
            "settings": self.settings.model_dump(mode="json"),
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
    try:
        settings = method.settings.model_validate({k: v for k, v in given.items() if k not in others})
    except ValidationError as error:
        raise BabelscopeError(explain(error, method.settings, method.name)) from None
    roles = {role: opener(given[role]) if isinstance(given[role], str) else given[role] for role in others}
    for role, system in roles.items():
        if not hasattr(system, "fingerprint"):
            raise BabelscopeError(
                f"{method.name}: {role} must be a system or the name of one, not {system!r}"
            )
    return Setup(method, label or method.name, settings, roles, tuple(tests))


@dataclass(frozen=True, slots=True)
class Cell:
    """One method on one system and one test set."""

    setup: Setup
    system_name: str
    system: System
    tests_name: str
    tests: TestSet
    seed: int

    @property
    def labels(self) -> dict[str, str]:
        return {"method": self.setup.label, "system": self.system_name, "tests": self.tests_name}

    def judge(self, start: int, stop: int) -> list[Record]:
        """The records of some of its items, exactly as they would be read from a file."""
        items = self.tests.items[start:stop]
        systems = {"system": self.system, **self.setup.roles}
        among = f"{self.tests_name}, items {items[0].id} to {items[-1].id}"

        def judge(some: Sequence[Any]) -> list[Record]:
            with relocate_errors(lambda what, number: f"{among}: {what} {number}"):
                judged = self.setup.method.judge(systems, some, self.setup.settings, self.seed)
            if len(judged) != len(some):
                raise BabelscopeError(f"{self.setup.label} made {len(judged)} records of {len(some)} items")
            for record in judged:
                if clash := _KEYS & record.keys():
                    raise BabelscopeError(
                        f"{self.setup.label} fills the field {min(clash)!r} of a record itself"
                    )
            return judged

        records = []
        for number, (item, record) in enumerate(
            zip(items, _judge_answered(judge, items), strict=True), start
        ):
            keys = {**self.labels, "item": number, "id": item.id}
            extra = {"extra": carried} if (carried := item.carried) else {}
            records.append(json.loads(record_line({**keys, **record, **extra})))
        return records

    def summarise(self, records: Sequence[Record]) -> list[Row]:
        """The rows of its records, labelled with its names."""
        return rows_of(
            self.setup.method, self.setup.settings, self.seed, records, self.labels, self.tests.skipped
        )


def _judge_answered(judge: Callable[[Sequence[Any]], list[Record]], items: Sequence[Item]) -> list[Record]:
    """A record an item; of an item about which a system did not answer, the reason as `unanswered`.

    The others are judged again without it: a server's answers are kept, and are not asked for a second time.
    """
    reasons: dict[int, str] = {}
    while True:
        left = [number for number in range(len(items)) if number not in reasons]
        try:
            judged = iter(judge([items[number] for number in left]) if left else ())
        except Unanswered as error:
            texts = {number: set(_texts(items[number].as_json())) for number in left}
            found: dict[int, str] = {}
            for (question, target), reason in error.reasons.items():
                about = [number for number in left if question.source in texts[number]]
                # A target may be the system's own translation, which no item has.
                exactly = [number for number in about if target is None or target in texts[number]]
                found |= dict.fromkeys(exactly or about, reason)
            if not found:  # which items it is about cannot be told
                raise
            reasons |= found
            continue
        return [
            {"unanswered": reasons[number]} if number in reasons else next(judged)
            for number in range(len(items))
        ]


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each)


def rows_of(
    method: Method,
    settings: Any,
    seed: int,
    records: Iterable[Record],
    labels: Mapping[str, str],
    unread: Mapping[str, int],
) -> list[Row]:
    """The figures of a cell over the items that were answered; the others are counted in each as `skipped`."""
    answered, unanswered = split_unanswered(records)
    if unanswered and not answered:
        rows = [Row("all", Estimate.of_nothing())]
    else:
        rows = method.summarise(answered, settings, seed)
    return labelled(rows, labels, len(unanswered) + sum(unread.values()))


def labelled(rows: Iterable[Row], labels: Mapping[str, str], unread: int) -> list[Row]:
    """A method's rows with the names of their cell, and how many items could not be judged."""
    return [
        Row(
            row.name,
            row.estimate,
            {**labels, **row.labels},
            {**row.counts, "skipped": unread + row.counts.get("skipped", 0)},
        )
        for row in rows
    ]


def cells_of(
    setups: Sequence[Setup], systems: Mapping[str, System], tests: Mapping[str, TestSet], seed: int
) -> list[Cell]:
    """All cells in which item kinds fit, after checking that every one of them can be run."""
    for setup in setups:
        if unknown := [name for name in setup.tests if name not in tests]:
            raise BabelscopeError(
                f"{setup.label} is for a test set {unknown[0]!r}, but there are {', '.join(tests)}"
            )
        if not any(setup.judges(name, each) for name, each in tests.items()):
            have = ", ".join(f"{name} has {each.kind.__name__}" for name, each in tests.items())
            raise BabelscopeError(
                f"{setup.label} judges {setup.method.kind.__name__} items, but no test set has them ({have})"
            )
    for name, each in tests.items():
        if not any(setup.judges(name, each) for setup in setups):
            raise BabelscopeError(f"no method judges the {each.kind.__name__} items of the test set {name}")
    for setup in setups:
        more = setup.method.needs_more(setup.settings)
        for role, needed in setup.method.needs.items():
            for system in systems.values() if role == "system" else (setup.roles[role],):
                require(system, *needed, what_for=setup.label)
                require(system, *more.get(role, ()), what_for=f"{setup.label} with these settings")
    return [
        Cell(setup, system_name, system, tests_name, each, seed)
        for system_name, system in systems.items()
        for tests_name, each in tests.items()
        for setup in setups
        if setup.judges(tests_name, each)
    ]


def config_of(
    setups: Iterable[Setup], systems: Iterable[System], tests: Mapping[str, TestSet], *, seed: int, chunk: int
) -> dict[str, Any]:
    """Everything a result depends on; a method that is not for all test sets has their numbers."""
    numbers = {name: number for number, name in enumerate(tests)}
    return {
        "methods": [
            {**setup.config, **({"tests": [numbers[name] for name in setup.tests]} if setup.tests else {})}
            for setup in setups
        ],
        "systems": [system.fingerprint.as_json() for system in systems],
        "tests": [{"kind": each.kind.__name__, "digest": each.digest} for each in tests.values()],
        "seed": seed,
        # Batches are made within a chunk, and floats may differ in their last bits from batch to batch.
        "chunk": chunk,
        "version": __version__,
    }


def run_method(
    method: Method | str,
    systems: System | Sequence[System],
    tests: TestSet | Iterable[Item],
    *,
    seed: int = 0,
    chunk: int = DEFAULT_CHUNK,
    **settings: Any,
) -> Result:
    """Judge systems on a test set, without files; settings are the method's own."""
    setup = set_up(method, settings)
    named = by_name(systems if isinstance(systems, Sequence) else [systems])
    tests = tests if isinstance(tests, TestSet) else TestSet("items", tuple(tests))
    rows: list[Row] = []
    records: list[Record] = []
    cells = cells_of([setup], named, {tests.name: tests}, seed)
    starts = range(0, len(tests), chunk)
    asked = judge_all([(cell, start, min(start + chunk, len(tests))) for cell in cells for start in starts])
    with progress(setup.label, len(cells) * len(tests)) as advance:
        for cell in cells:
            judged: list[Record] = []
            for _ in starts:
                judged += (some := next(asked))
                advance(len(some))
            rows += cell.summarise(judged)
            records += judged
    config = config_of([setup], named.values(), {tests.name: tests}, seed=seed, chunk=chunk)
    answered, unanswered = split_unanswered(records)
    return Result(config, rows, answered, unanswered=unanswered)


def judge_all(jobs: Sequence[tuple[Cell, int, int]]) -> Iterator[list[Record]]:
    """The records of items `start` to `stop` of cells, job by job, in order.

    A system that takes several calls at once says how many (`at_once`); where all do, so many jobs are asked at
    once, and as many more may be judged while an earlier one is waited for.
    """
    systems = [system for cell, _, _ in jobs for system in (cell.system, *cell.setup.roles.values())]
    at_once = min((properties(system).at_once for system in systems), default=1)
    if at_once == 1:
        for cell, start, stop in jobs:
            yield cell.judge(start, stop)
        return
    threads = ThreadPoolExecutor(at_once)
    waiting: deque[Future[list[Record]]] = deque()
    try:
        for cell, start, stop in jobs:
            if len(waiting) == 2 * at_once:
                yield waiting.popleft().result()
            waiting.append(threads.submit(cell.judge, start, stop))
        while waiting:
            yield waiting.popleft().result()
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


def by_name(systems: Iterable[System]) -> dict[str, System]:
    """Systems by their names, which must differ: rows are told apart by them."""
    named: dict[str, System] = {}
    for system in systems:
        if system.name in named:
            raise BabelscopeError(f"two systems are called {system.name}")
        named[system.name] = system
    if not named:
        raise BabelscopeError("there is no system to run")
    return named


def explain(error: ValidationError, model: type[BaseModel], where: str) -> str:
    """What is wrong with settings, in a sentence: the place, the fault, and the name perhaps meant."""
    fault = error.errors()[0]
    *outer, last = fault["loc"] or ("",)
    place = ".".join(str(part) for part in fault["loc"])
    if fault["type"] != "extra_forbidden":
        # What our own validators say comes with a prefix of pydantic's.
        said = fault["msg"].removeprefix("Value error, ")
        return f"{where}: {place + ': ' if place else ''}{said[:1].lower()}{said[1:]}"
    known = list(_model_at(model, outer).model_fields)
    hint = did_you_mean(str(last), known, f"known: {', '.join(known) or 'none'}")
    return f"{where}: unknown key {place!r}; {hint}"


def _model_at(model: type[BaseModel], path: Sequence[int | str]) -> type[BaseModel]:
    """The model of a nested table, such as `systems`, 0."""
    for part in path:
        if isinstance(part, str):
            annotation: Any = model.model_fields[part].annotation
            model = next(
                (each for each in getattr(annotation, "__args__", ()) if isinstance(each, type)), annotation
            )
    return model
