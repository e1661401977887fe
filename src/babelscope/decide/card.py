"""The report card: what a system can do, what was tested of it, and how often it gets each thing wrong."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from babelscope.core.results import Estimate, Record, Result, grouped
from babelscope.core.system import CAPABILITIES, Capability, System, Translates, capabilities, properties
from babelscope.core.tables import Verdict
from babelscope.decide.opening import errors_settings, why_untested, with_languages
from babelscope.decide.outcomes import Check, Key, add_outcomes
from babelscope.methods.base import Method, set_up
from babelscope.methods.jobs import Job, config_of, make_jobs
from babelscope.runs.execute import chunk_size, execute
from babelscope.runs.manifest import manifest_of
from babelscope.stats.intervals import clustered_proportion
from babelscope.stats.verdicts import error_verdicts
from babelscope.systems.contract import ask_translate
from babelscope.systems.registry import names_of
from babelscope.testsets import AmbiguousSource, MinimalPair, ParallelSentence, SourceSentence, TestSet
from babelscope.util.errors import BabelscopeError
from babelscope.util.seeds import stream

_TIMED = 8
"""Questions that are asked first, to see how long one takes."""
_SEARCHED = 20
"""Sentences whose most probable translation is searched for."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How much may be asked."""

    calls: int | None = None
    """Questions to the system."""
    minutes: float | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """One method of the card, on the test sets that it judges."""

    method: str
    needs: tuple[Capability, ...]
    settings: Mapping[str, Any]
    kinds: tuple[type[Any], ...]
    most: int | None = None
    """Items at most, where each takes long."""


PLANS = (
    Plan("errors", ("translate",), {}, (SourceSentence, ParallelSentence)),
    Plan("contrast", ("score",), {"spread": 0}, (MinimalPair,)),
    Plan("errors", ("translate",), {}, (MinimalPair,)),
    Plan("space", ("top_k", "sample"), {"budget_expansions": 2000}, (ParallelSentence,), _SEARCHED),
)


QUESTIONS: Mapping[str, str] = {
    "negation": "loses a negation",
    "number": "changes a number or date",
    "unit": "changes a unit",
    "name": "changes a name",
    "copy": "changes addresses or code",
    "untranslated": "leaves text untranslated",
    "language": "writes another language",
    "repetition": "repeats itself",
    "omission": "leaves text out",
    "addition": "adds text",
    "truncation": "stops in the middle",
    "empty": "writes nothing",
    "punctuation": "loses brackets or quotes",
    "glossary": "breaks the glossary",
    "unanswered": "gives no answer",
}
"""Check -> what a system does wrong by it."""
_ITEMS: Mapping[type[Any], str] = {
    MinimalPair: "minimal pairs",
    ParallelSentence: "references",
    SourceSentence: "sources",
    AmbiguousSource: "ambiguous sources",
}


@dataclass(frozen=True, slots=True)
class Grade:
    """How often a system gets one thing wrong."""

    check: Check
    error: Estimate
    verdict: Verdict
    worst: Sequence[tuple[str, str]] = ()
    """Sources and answers that are wrong."""


@dataclass(frozen=True, slots=True)
class Card:
    """What was found out about a system."""

    system: str
    can: Sequence[str]
    grades: Sequence[Grade]
    untested: Mapping[str, str]
    """What was not tested -> why."""
    notes: Sequence[str]
    result: Result


def make_card(
    system: System,
    tests: Mapping[str, TestSet],
    *,
    languages: tuple[str, str] = ("", ""),
    budget: Budget | None = None,
    threshold: float = 0.05,
    seed: int = 0,
    out: Path | None = None,
    name: str = "",
) -> Card:
    """Run every method that applies to the system, the languages and the test sets, within the budget."""
    able, called = capabilities(system), name or names_of([system.name])[system.name]
    tests = {name: with_languages(each, *languages) for name, each in tests.items()}
    notes: list[str] = []
    tests = _within(budget or Budget(), system, tests, seed, notes)
    methods, untested = _methods(able, tests)
    untested |= why_untested(tests)
    if not methods:
        raise BabelscopeError(
            f"{system.name} can be asked nothing about these test sets: {'; '.join(untested.values())}"
        )
    chosen = {name: each for name, each in tests.items() if any(name in method.tests for method in methods)}
    jobs, methods = _jobs(methods, {called: system}, chosen, seed, untested)
    chunk = chunk_size(methods, [system], list(chosen.values()))
    manifest = manifest_of(
        "check",
        config_of(methods, {called: system}, chosen, seed=seed, chunk=chunk),
        methods,
        jobs,
        {"systems": {called: system.name}, "tests": {name: name for name in chosen}},
        notes=[*untested_lines(untested), *notes],
    )
    result = execute(jobs, manifest, out)
    return Card(
        called,
        [CAPABILITIES[each] for each in CAPABILITIES if each in able],
        _grades(result, methods, threshold),
        untested,
        notes,
        result,
    )


def untested_lines(untested: Mapping[str, str]) -> list[str]:
    """What was not tested, one line per reason."""
    reasons = grouped((why, QUESTIONS.get(what, what)) for what, why in untested.items())
    return [f"Not tested, because {why}: {', '.join(names)}" for why, names in reasons.items()]


def _within(
    budget: Budget, system: System, tests: Mapping[str, TestSet], seed: int, notes: list[str]
) -> dict[str, TestSet]:
    """The test sets with as many items as the budget allows, drawn at random and in their order."""
    total = sum(len(each.items) for each in tests.values())
    most = total if budget.calls is None else min(total, budget.calls)
    if budget.minutes is not None and not properties(system).stored:
        questions = [
            item.question for each in tests.values() for item in each.items if hasattr(item, "question")
        ]
        began = time.monotonic()
        if isinstance(system, Translates):
            ask_translate(system, questions[:_TIMED])
        each_takes = max(time.monotonic() - began, 1e-3) / max(1, len(questions[:_TIMED]))
        most = min(most, max(_TIMED, int(60 * budget.minutes / each_takes)))
    if most >= total:
        return dict(tests)
    if properties(system).asked_as_a_whole:
        raise BabelscopeError(
            f"{system.name} answers a test set as a whole: leave the budget out, or shorten its text"
        )
    notes.append(f"{most:,} of {total:,} items asked, within the budget")
    return {name: _some(each, max(1, most * len(each.items) // total), seed) for name, each in tests.items()}


def _some(tests: TestSet, n: int, seed: int) -> TestSet:
    places = stream(seed, f"check {tests.name}").permutation(len(tests.items))[:n].tolist()
    return dataclasses.replace(tests, items=tuple(tests.items[place] for place in sorted(places)))


def _methods(
    able: frozenset[Capability], tests: Mapping[str, TestSet]
) -> tuple[list[Method], dict[str, str]]:
    """The methods that the system can be asked for, and what cannot be tested."""
    methods: list[Method] = []
    untested: dict[str, str] = {}
    covered: set[str] = set()
    for plan in PLANS:
        own = [name for name, each in tests.items() if each.kind in plan.kinds]
        if plan.method == "errors":
            own = [name for name in own if name not in covered]
        title = {"space": "most probable translation", "contrast": "forced choice"}.get(
            plan.method, plan.method
        )
        if not own:
            if plan.method != "errors":
                kinds = " or ".join(_ITEMS[kind] for kind in plan.kinds)
                untested.setdefault(title, f"there are no {kinds}")
            continue
        if missing := [each for each in plan.needs if each not in able]:
            untested[title] = f"it needs a system that {' and '.join(CAPABILITIES[each] for each in missing)}"
            continue
        covered |= set(own)
        label = (
            plan.method if all(each.label != plan.method for each in methods) else f"{plan.method} of pairs"
        )
        settings = errors_settings(tests) if plan.method == "errors" else plan.settings
        methods.append(set_up(plan.method, settings, label=label, tests=own))
    for name, each in tests.items():
        if each.kind is AmbiguousSource:
            untested[f"word sense and gender ({name})"] = (
                "needs an evaluator: `babelscope condition --evaluator`"
            )
    return methods, untested


def _jobs(
    methods: Sequence[Method],
    systems: Mapping[str, System],
    tests: Mapping[str, TestSet],
    seed: int,
    untested: dict[str, str],
) -> tuple[list[Job], list[Method]]:
    """The jobs of all methods that accept the test sets; why others do not is noted."""
    usable = []
    for method in methods:
        try:
            make_jobs([method], systems, {name: tests[name] for name in method.tests}, seed)
        except BabelscopeError as error:
            untested[method.label] = str(error)
            continue
        usable.append(method)
    if not usable:
        raise BabelscopeError("; ".join(untested.values()))
    own = {name: each for name, each in tests.items() if any(name in method.tests for method in usable)}
    return make_jobs(usable, systems, own, seed), usable


def _checks(result: Result, methods: Sequence[Method]) -> tuple[dict[Key, Check], dict[Key, list[Record]]]:
    checks: dict[Key, Check] = {}
    records: dict[Key, list[Record]] = {}
    by_label = {method.label: method for method in methods}
    for record in [*result.records, *result.unanswered]:
        key = (str(record["method"]), str(record["tests"]), "")
        records.setdefault(key, []).append(record)
    for (label, tests, _), own in records.items():
        add_outcomes(checks, by_label[label], tests, own, own)
    return checks, records


def _grades(result: Result, methods: Sequence[Method], threshold: float) -> list[Grade]:
    """The error rate of every check among the items that it applies to, the worst first."""
    checks, records = _checks(result, methods)
    tested = [each for each in checks.values() if each.applies]
    rates = [_rate(each) for each in tested]
    verdicts = error_verdicts(rates, threshold=threshold)
    by_label = {method.label: method for method in methods}
    grades = [
        Grade(
            check,
            rate,
            verdict,
            _worst(check, by_label[check.method], records[check.method, check.tests, ""]),
        )
        for check, rate, verdict in zip(tested, rates, verdicts, strict=True)
    ]
    return sorted(grades, key=lambda each: (each.verdict != "error", -each.error.value))


def _rate(check: Check) -> Estimate:
    """Errors among the sources that the check applies to."""
    own = {name: each for name, each in check.sources.items() if each.applied}
    return clustered_proportion(
        [each.new for each in own.values()], list(own), [each.weight for each in own.values()]
    )


_MOST_EXAMPLES = 3


def _worst(check: Check, method: Method, records: Sequence[Record]) -> list[tuple[str, str]]:
    """The first items that are wrong, with what the system answered."""
    from babelscope.decide.gate import answer_of

    wrong = [each.id for each in check.sources.values() if each.new > 0][:_MOST_EXAMPLES]
    return [
        (str(record.get("source", "")), answer_of(method, record))
        for record in records
        if str(record["id"]) in wrong
    ]
