"""Jobs (one method on one system and one test set): made, checked, asked and judged chunk by chunk."""

from __future__ import annotations

import json
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from babelscope.core.results import Config, Estimate, Record, Row, record_line, split_unanswered
from babelscope.core.system import StoredAnswers, System, Unanswered, properties
from babelscope.methods.base import Items, Method, languages_of
from babelscope.systems.registry import ByTests, names_of, part_for, split_name
from babelscope.systems.stored.alignment import align_to_test_set
from babelscope.testsets.items import TestSet, choice_of
from babelscope.util.errors import BabelscopeError, RefusedText
from babelscope.util.version import __version__

# Fields of a record that the job fills, not the method.
_RESERVED_FIELDS = frozenset({"method", "system", "tests", "item", "id", "extra", "unanswered"})


@dataclass(frozen=True, slots=True)
class Job:
    """One method on one system and one test set."""

    method: Method
    system_name: str
    system: System
    tests_name: str
    tests: TestSet
    seed: int
    systems: Mapping[str, Any]
    """Systems by role: the system's part for this test set, and stored answers aligned with it."""

    @property
    def labels(self) -> dict[str, str]:
        return {"method": self.method.label, "system": self.system_name, "tests": self.tests_name}

    def judge(self, places: Sequence[int]) -> list[Record]:
        """The records of the items at these places, after a round trip through JSON, as if read from a file."""
        items = Items(self.tests.items, places)

        def judge(some: Items) -> list[Record]:
            try:
                judged = judge_records(self.method, self.method.ask(self.systems, some, self.seed))
            except RefusedText as error:
                among = f"items {items[0].id} to {items[-1].id}: {error.side} {error.number}"
                where = f"item {error.item}: {error.side}" if error.item else among
                raise BabelscopeError(f"{self.tests_name}, {where} {error.reason}") from error
            label = self.method.label
            if len(judged) != len(some):
                raise BabelscopeError(f"{label} made {len(judged)} records for {len(some)} items")
            for record in judged:
                if (clash := _RESERVED_FIELDS & record.keys()) and record.keys() != {"unanswered"}:
                    raise BabelscopeError(f"{label} fills the field {min(clash)!r} of a record itself")
            return judged

        records = []
        for place, answer in zip(items.places, _judge_all_answered(judge, items), strict=True):
            item = self.tests.items[place]
            keys = {**self.labels, "item": place, "id": item.id}
            extra = {"extra": carried} if (carried := item.carried) else {}
            records.append(json.loads(record_line({**keys, **answer, **extra})))
        return records


def judge_records(method: Method, records: Sequence[Record]) -> list[Record]:
    """All records in their order, judged; records of unanswered items are returned unchanged."""
    answered, unanswered = split_unanswered(records)
    judged = method.judge(answered)
    if not unanswered:
        return judged
    left = iter(judged)
    return [record if "unanswered" in record else next(left) for record in records]


def _judge_all_answered(judge: Callable[[Items], list[Record]], items: Items) -> list[Record]:
    """One record per item; an item that a system did not answer gets the reason as `unanswered`.

    After such a failure the other items are judged again. Answers of servers are kept, so none is asked for twice.
    """
    reasons: dict[str, str] = {}
    while True:
        left = [place for place in items.places if items.whole[place].id not in reasons]
        try:
            judged = iter(judge(Items(items.whole, left)) if left else ())
        except Unanswered as error:
            if error.items.keys() <= reasons.keys():  # a question about none of these items
                raise
            reasons |= error.items
            continue
        return [{"unanswered": reasons[item.id]} if item.id in reasons else next(judged) for item in items]


def job_rows(
    method: Method,
    seed: int,
    records: Iterable[Record],
    labels: Mapping[str, str | int],
    unread: Mapping[str, int],
) -> list[Row]:
    """The rows of a job over its answered items; rows over all of them count the others as `skipped`."""
    answered, unanswered = split_unanswered(records)
    nothing = unanswered and not answered
    rows = [Row("all", Estimate.empty())] if nothing else method.summarize(answered, seed)
    left_out = len(unanswered) + sum(unread.values())
    found = []
    for row in rows:
        skipped = row.counts.get("skipped", 0) + (0 if row.part else left_out)
        counts = {**row.counts, "skipped": skipped}
        found.append(replace(row, labels={**labels, **row.labels}, counts=counts))
    return found


def judges(method: Method, name: str, tests: TestSet) -> bool:
    """Whether a method runs on a test set: the kind of items fits, and its `tests` do not exclude it."""
    return tests.kind in method.items and (not method.tests or name in method.tests)


def make_jobs(
    methods: Sequence[Method], systems: Mapping[str, System], tests: Mapping[str, TestSet], seed: int
) -> list[Job]:
    """All jobs in which the kind of items fits; refuses the study if one of them cannot be run."""
    check_kinds(methods, tests)
    jobs = [
        Job(method, system_name, system, tests_name, each, seed, {"system": part, **method.roles})
        for system_name, system in systems.items()
        for tests_name, each in tests.items()
        for method in methods
        if judges(method, tests_name, each)
        and (not method.only or system_name in method.only)
        and (part := part_for(system, tests_name)) is not None
    ]
    for name in systems:
        if not any(job.system_name == name for job in jobs):
            raise BabelscopeError(f"no method judges {name} on a test set")
    for job in jobs:
        job.method.check(job.tests.items, job.systems)
    _refuse_shared(jobs)
    _warn_of_dropped_context(jobs)
    return [replace(job, systems=_held(job)) for job in jobs]


def drops_context(system: object) -> bool:
    """Whether a system is asked without the context of items; nobody knows how stored answers were made."""
    said = properties(system)
    return not (said.reads_context or said.stored)


def has_context(fields: Mapping[str, Any]) -> bool:
    """Whether an item, as JSON, has sentences before its source."""
    return bool(fields.get("context_source") or fields.get("context_target"))


def _warn_of_dropped_context(jobs: Sequence[Job]) -> None:
    """Warn once per system that does not read the context that items have."""
    with_context = {
        job.tests_name: sum(has_context(item.carried) for item in job.tests.items) for job in jobs
    }
    dropped: dict[str, dict[str, int]] = {}
    for job in jobs:
        for role, system in job.systems.items():
            if with_context[job.tests_name] and drops_context(system):
                name = job.system_name if role == "system" else str(getattr(system, "name", role))
                dropped.setdefault(name, {})[job.tests_name] = with_context[job.tests_name]
    for name, counts in dropped.items():
        told = ", ".join(f"{count} items of {tests}" for tests, count in counts.items())
        warnings.warn(f"{name} does not read context: {told} are asked without theirs", stacklevel=3)


def _held(job: Job) -> dict[str, Any]:
    """The job's systems; those with stored answers must have them for the whole test set."""
    if not any(isinstance(system, StoredAnswers) for system in job.systems.values()):
        return dict(job.systems)
    items = [choice_of(item) for item in job.tests.items]
    what = f"the test set {job.tests_name}"
    return {role: align_to_test_set(system, what, items) for role, system in job.systems.items()}


def _refuse_shared(jobs: Sequence[Job]) -> None:
    """Refuse answers that are found by their line alone for two test sets: they can be those of one."""
    first: dict[int, Job] = {}
    for job in jobs:
        for role, system in job.systems.items():
            if not isinstance(system, StoredAnswers) or not system.by_line:
                continue
            if role == "system" and isinstance(job.system, ByTests):  # the study says which file is whose
                continue
            other = first.setdefault(id(system), job)
            if other.tests.digest != job.tests.digest:
                known = f"{other.tests_name} and {job.tests_name}"
                todo = (
                    "name a file for each, in a study as spec = {NAME = ..., NAME = ...}, or give it its sources"
                    if role == "system"
                    else f"name a method with a label and its tests = [...] for each {role}"
                )
                raise BabelscopeError(
                    f"{getattr(system, 'name', role)} has one line per item and no sources, so that it cannot be for "
                    f"both {known}; {todo}"
                )


def check_kinds(methods: Sequence[Method], tests: Mapping[str, TestSet]) -> None:
    """Refuse methods without a test set, items that a method cannot judge, and test sets that no method judges."""
    for method in methods:
        if unknown := [name for name in method.tests if name not in tests]:
            raise BabelscopeError(
                f"{method.label} is for a test set {unknown[0]!r}, but there are {', '.join(tests)}"
            )
        if not any(judges(method, name, each) for name, each in tests.items()):
            have = ", ".join(f"{name} has {each.kind.__name__}" for name, each in tests.items())
            kinds = " or ".join(kind.__name__ for kind in method.items)
            raise BabelscopeError(f"{method.label} judges {kinds} items, but no test set has them ({have})")
    for method in methods:
        own = [name for name, each in tests.items() if judges(method, name, each)]
        for name in own:
            try:
                method.check(tests[name].items)
            except BabelscopeError as error:
                hint = f"; if it is not for {method.label}, say tests = [...] in its table"
                raise BabelscopeError(
                    f"{method.label} cannot judge the test set {name}: {error}{hint if len(own) > 1 else ''}"
                ) from None
    for name, each in tests.items():
        if not any(judges(method, name, each) for method in methods):
            raise BabelscopeError(f"no method judges the {each.kind.__name__} items of the test set {name}")


def identity_of(method: Method, tests: Mapping[str, TestSet]) -> dict[str, Any]:
    """What settings resolved to, also by the languages of the items that the method judges."""
    languages = languages_of(
        item for name, each in tests.items() if judges(method, name, each) for item in each
    )
    return {**method.settings.identity(), **method.settings.identity_on(languages)}


def config_of_method(method: Method, tests: Mapping[str, TestSet]) -> Config:
    """Its part of the signature; systems and programs are identified by fingerprint, not by name."""
    return {
        "name": method.name,
        "version": method.version,
        "settings": {**method.settings.model_dump(mode="json"), **identity_of(method, tests)},
        "roles": {role: system.fingerprint.as_json() for role, system in method.roles.items()},
    }


def config_of(
    methods: Iterable[Method],
    systems: Mapping[str, System],
    tests: Mapping[str, TestSet],
    *,
    seed: int,
    chunk: int,
) -> dict[str, Any]:
    """Everything a result depends on; methods limited to some systems or test sets name these by number."""
    places = {name: number for number, name in enumerate(tests)}
    numbers = {name: number for number, name in enumerate(systems)}
    return {
        "methods": [
            {
                **config_of_method(method, tests),
                **({"tests": [places[name] for name in method.tests]} if method.tests else {}),
                **({"systems": [numbers[name] for name in method.only]} if method.only else {}),
            }
            for method in methods
        ],
        "systems": [system.fingerprint.as_json() for system in systems.values()],
        "tests": [each.identity for each in tests.values()],
        "seed": seed,
        # Batches are made within a chunk, and batching can change the last bits of floats.
        "chunk": chunk,
        "version": __version__,
    }


def judge_all(jobs: Sequence[tuple[Job, Sequence[int]]]) -> Iterator[list[Record]]:
    """Judge the items of each job at these places and yield the records of each, in order.

    If every system takes several calls at once (`at_once`), that many jobs run in threads, and as many more may
    finish while an earlier one is still waited for.
    """
    systems = [system for job, _ in jobs for system in (job.system, *job.method.roles.values())]
    live = [properties(system) for system in systems if not properties(system).stored]
    at_once = min((each.at_once for each in live), default=1)
    if at_once == 1:
        for job, places in jobs:
            yield job.judge(places)
        return
    threads = ThreadPoolExecutor(at_once)
    waiting: deque[Future[list[Record]]] = deque()
    try:
        for job, places in jobs:
            if len(waiting) == 2 * at_once:
                yield waiting.popleft().result()
            waiting.append(threads.submit(job.judge, places))
        while waiting:
            yield waiting.popleft().result()
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


def systems_by_name(given: Iterable[str | System], opener: Callable[[Any], System]) -> dict[str, System]:
    """Open systems, by the names in `NAME=SPEC`, else by short ones; these must differ, because rows have them."""
    opened = [(split_name(each)[0] if isinstance(each, str) else "", opener(each)) for each in given]
    names = names_of(system.name for name, system in opened if not name)
    named: dict[str, System] = {}
    for name, system in opened:
        called = name or names[system.name]
        if called in named:
            raise BabelscopeError(f"two systems are called {called}; give one another name: NAME=SYSTEM")
        named[called] = system
    if not named:
        raise BabelscopeError("there is no system to run")
    return named
