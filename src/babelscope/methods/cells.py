"""Cells (one method on one system and one test set): made, checked, asked and judged chunk by chunk."""

from __future__ import annotations

import json
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from babelscope.core.results import Estimate, Record, Row, record_line, split_unanswered
from babelscope.core.system import HeldAgainst, System, Unanswered, capabilities, properties
from babelscope.methods.base import Method, Setup
from babelscope.systems.contract import relocate_errors
from babelscope.systems.registry import ByTests, part_for, require
from babelscope.systems.translation_files import hold
from babelscope.testsets.items import Item, TestSet, choice_of
from babelscope.util.errors import BabelscopeError
from babelscope.util.version import __version__

# Fields of a record that the cell fills, not the method.
_RESERVED_FIELDS = frozenset({"method", "system", "tests", "item", "id", "extra", "unanswered"})


@dataclass(frozen=True, slots=True)
class Cell:
    """One method on one system and one test set."""

    setup: Setup
    system_name: str
    system: System
    tests_name: str
    tests: TestSet
    seed: int
    systems: Mapping[str, Any]
    """Whom the method asks, by role: the system's part for this test set, and stored answers held against it."""
    sampled: frozenset[int] = frozenset()
    """Places of the items that the method asks more about."""

    @property
    def labels(self) -> dict[str, str]:
        return {"method": self.setup.label, "system": self.system_name, "tests": self.tests_name}

    def judge(self, start: int, stop: int) -> list[Record]:
        """The records of items `start` to `stop`, after a round trip through JSON, as if read from a file."""
        items = self.tests.items[start:stop]
        among = f"{self.tests_name}, items {items[0].id} to {items[-1].id}"
        method, settings = self.setup.method, self.setup.settings

        def judge(some: Sequence[Any]) -> list[Record]:
            with relocate_errors(lambda what, number: f"{among}: {what} {number}"):
                judged = judge_records(method, method.ask(self.systems, some, settings, self.seed), settings)
            if len(judged) != len(some):
                raise BabelscopeError(f"{self.setup.label} made {len(judged)} records of {len(some)} items")
            for record in judged:
                if (clash := _RESERVED_FIELDS & record.keys()) and record.keys() != {"unanswered"}:
                    raise BabelscopeError(
                        f"{self.setup.label} fills the field {min(clash)!r} of a record itself"
                    )
            return judged

        answers = dict(enumerate(_judge_all_answered(judge, items), start))
        sampled = sorted(self.sampled & answers.keys())
        some = {number: answers[number] for number in sampled if "unanswered" not in answers[number]}
        more = method.ask_more(self.systems, self.tests.items, some, settings, self.seed) if some else {}
        records = []
        for number, item in enumerate(items, start):
            keys = {**self.labels, "item": number, "id": item.id}
            extra = {"extra": carried} if (carried := item.carried) else {}
            record = {**keys, **answers[number], **more.get(number, {}), **extra}
            records.append(json.loads(record_line(record)))
        return records


def judge_records(method: Method, records: Sequence[Record], settings: Any) -> list[Record]:
    """All records in their order, judged; records of unanswered items are returned unchanged."""
    answered, unanswered = split_unanswered(records)
    judged = method.judge(answered, settings)
    if not unanswered:
        return judged
    left = iter(judged)
    return [record if "unanswered" in record else next(left) for record in records]


def _judge_all_answered(
    judge: Callable[[Sequence[Any]], list[Record]], items: Sequence[Item]
) -> list[Record]:
    """One record per item; an item that a system did not answer gets the reason as `unanswered`.

    After such a failure the other items are judged again. Answers of servers are kept, so none is asked for twice.
    """
    reasons: dict[int, str] = {}
    while True:
        left = [number for number in range(len(items)) if number not in reasons]
        try:
            judged = iter(judge([items[number] for number in left]) if left else ())
        except Unanswered as error:
            texts = {number: set(_strings_in(items[number].as_json())) for number in left}
            found: dict[int, str] = {}
            for (question, target), reason in error.reasons.items():
                about = [number for number in left if question.source in texts[number]]
                # A target may be the system's own translation, which stands in no item.
                exactly = [number for number in about if target is None or target in texts[number]]
                found |= dict.fromkeys(exactly or about, reason)
            if not found:  # no item can be blamed
                raise
            reasons |= found
            continue
        return [
            {"unanswered": reasons[number]} if number in reasons else next(judged)
            for number in range(len(items))
        ]


def _strings_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _strings_in(each)


def cell_rows(
    method: Method,
    settings: Any,
    seed: int,
    records: Iterable[Record],
    labels: Mapping[str, str | int],
    unread: Mapping[str, int],
) -> list[Row]:
    """The rows of a cell over its answered items; rows over all of them count the others as `skipped`."""
    answered, unanswered = split_unanswered(records)
    nothing = unanswered and not answered
    rows = [Row("all", Estimate.of_nothing())] if nothing else method.summarize(answered, settings, seed)
    left_out = len(unanswered) + sum(unread.values())
    return [
        Row(
            row.name,
            row.estimate,
            {**labels, **row.labels},
            {**row.counts, "skipped": row.counts.get("skipped", 0) + (0 if is_part else left_out)},
        )
        for row in rows
        for is_part in [any(row.labels.get(label, "all") != "all" for label in method.part_labels)]
    ]


def make_cells(
    setups: Sequence[Setup], systems: Mapping[str, System], tests: Mapping[str, TestSet], seed: int
) -> list[Cell]:
    """All cells in which the kind of items fits; refuses the study if one of them cannot be run."""
    check_kinds(setups, tests)
    cells = [
        Cell(setup, system_name, system, tests_name, each, seed, {"system": part, **setup.roles})
        for system_name, system in systems.items()
        for tests_name, each in tests.items()
        for setup in setups
        if setup.judges(tests_name, each) and (part := part_for(system, tests_name)) is not None
    ]
    for name in systems:
        if not any(cell.system_name == name for cell in cells):
            raise BabelscopeError(f"{name} is for no test set that a method judges")
    for cell in cells:
        _require_capabilities(cell)
        cell.setup.method.check_system(
            part_for(cell.system, cell.tests_name), cell.tests.items, cell.setup.settings
        )
    _refuse_shared(cells)
    _warn_of_dropped_context(cells)
    return [
        replace(
            cell,
            systems=_held(cell),
            sampled=cell.setup.method.sample(cell.tests.items, cell.setup.settings, seed),
        )
        for cell in cells
    ]


def drops_context(system: object) -> bool:
    """Whether a system is asked without the context of items; nobody knows how stored answers were made."""
    said = properties(system)
    return not (said.reads_context or said.stored)


def has_context(fields: Mapping[str, Any]) -> bool:
    """Whether an item, as JSON, has sentences before its source."""
    return bool(fields.get("context_source") or fields.get("context_target"))


def _warn_of_dropped_context(cells: Sequence[Cell]) -> None:
    """Warn once per system that does not read the context that items have."""
    with_context = {
        cell.tests_name: sum(has_context(item.carried) for item in cell.tests.items) for cell in cells
    }
    dropped: dict[str, dict[str, int]] = {}
    for cell in cells:
        for role, system in cell.systems.items():
            if with_context[cell.tests_name] and drops_context(system):
                name = cell.system_name if role == "system" else str(getattr(system, "name", role))
                dropped.setdefault(name, {})[cell.tests_name] = with_context[cell.tests_name]
    for name, counts in dropped.items():
        told = ", ".join(f"{count} items of {tests}" for tests, count in counts.items())
        warnings.warn(f"{name} does not read context: {told} are asked without theirs", stacklevel=3)


def _held(cell: Cell) -> dict[str, Any]:
    """The cell's systems; those with stored answers must have them for the whole test set."""
    if not any(isinstance(system, HeldAgainst) for system in cell.systems.values()):
        return dict(cell.systems)
    items = [choice_of(item) for item in cell.tests.items]
    what = f"the test set {cell.tests_name}"
    return {role: hold(system, what, items) for role, system in cell.systems.items()}


def _refuse_shared(cells: Sequence[Cell]) -> None:
    """Refuse answers that are found by their line alone for two test sets: they can be those of one."""
    first: dict[int, Cell] = {}
    for cell in cells:
        for role, system in cell.systems.items():
            if not isinstance(system, HeldAgainst) or not system.by_line:
                continue
            if role == "system" and isinstance(cell.system, ByTests):  # the study says which file is whose
                continue
            other = first.setdefault(id(system), cell)
            if other.tests.digest != cell.tests.digest:
                known = f"{other.tests_name} and {cell.tests_name}"
                todo = (
                    "name a file for each, in a study as spec = {NAME = ..., NAME = ...}, or give it its sources"
                    if role == "system"
                    else f"name a method with a label and its tests = [...] for each {role}"
                )
                raise BabelscopeError(
                    f"{getattr(system, 'name', role)} has one line per item and no sources, so that it cannot be for "
                    f"both {known}; {todo}"
                )


def _require_capabilities(cell: Cell) -> None:
    """Refuse a system that cannot do what the method needs of its role."""
    setup, instead = cell.setup, cell.setup.method.instead
    for role, needed in setup.method.needs.items():
        system = cell.systems[role]
        has = capabilities(system)
        try:
            require(system, *(each for each in needed if instead.get(each) not in has), what_for=setup.label)
        except BabelscopeError as error:
            others = [said for other, said in setup.method.otherwise.items() if other in has]
            raise BabelscopeError("; ".join([str(error), *others])) from None


def check_kinds(setups: Sequence[Setup], tests: Mapping[str, TestSet]) -> None:
    """Refuse methods without a test set, items that a method cannot judge, and test sets that no method judges."""
    for setup in setups:
        if unknown := [name for name in setup.tests if name not in tests]:
            raise BabelscopeError(
                f"{setup.label} is for a test set {unknown[0]!r}, but there are {', '.join(tests)}"
            )
        if not any(setup.judges(name, each) for name, each in tests.items()):
            have = ", ".join(f"{name} has {each.kind.__name__}" for name, each in tests.items())
            kinds = " or ".join(kind.__name__ for kind in setup.method.kinds)
            raise BabelscopeError(f"{setup.label} judges {kinds} items, but no test set has them ({have})")
    for setup in setups:
        for name in (name for name, each in tests.items() if setup.judges(name, each)):
            try:
                setup.method.check_items(tests[name].items, setup.settings)
            except BabelscopeError as error:
                others = [
                    other for other, each in tests.items() if setup.judges(other, each) and other != name
                ]
                hint = f"; if it is not for {setup.label}, say tests = [...] in its table" if others else ""
                raise BabelscopeError(
                    f"{setup.label} cannot judge the test set {name}: {error}{hint}"
                ) from None
    for name, each in tests.items():
        if not any(setup.judges(name, each) for setup in setups):
            raise BabelscopeError(f"no method judges the {each.kind.__name__} items of the test set {name}")


def config_of(
    setups: Iterable[Setup], systems: Iterable[System], tests: Mapping[str, TestSet], *, seed: int, chunk: int
) -> dict[str, Any]:
    """Everything a result depends on; methods limited to some test sets name these by number."""
    numbers = {name: number for number, name in enumerate(tests)}
    return {
        "methods": [
            {
                **setup.config_on(tests),
                **({"tests": [numbers[name] for name in setup.tests]} if setup.tests else {}),
            }
            for setup in setups
        ],
        "systems": [system.fingerprint.as_json() for system in systems],
        "tests": [each.identity for each in tests.values()],
        "seed": seed,
        # Batches are made within a chunk, and batching can change the last bits of floats.
        "chunk": chunk,
        "version": __version__,
    }


def judge_all(jobs: Sequence[tuple[Cell, int, int]]) -> Iterator[list[Record]]:
    """Judge jobs (cell, start, stop) and yield the records of each, in order.

    If every system takes several calls at once (`at_once`), that many jobs run in threads, and as many more may
    finish while an earlier one is still waited for.
    """
    systems = [system for cell, _, _ in jobs for system in (cell.system, *cell.setup.roles.values())]
    live = [properties(system) for system in systems if not properties(system).stored]
    at_once = min((each.at_once for each in live), default=1)
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


def systems_by_name(systems: Iterable[System]) -> dict[str, System]:
    """Systems by name; names must differ, because rows are identified by them."""
    named: dict[str, System] = {}
    for system in systems:
        if system.name in named:
            raise BabelscopeError(f"two systems are called {system.name}")
        named[system.name] = system
    if not named:
        raise BabelscopeError("there is no system to run")
    return named
