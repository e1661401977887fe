"""The gate: is a new system worse than an old one in any check, by more than a margin?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from babelscope.core.results import Config, Record, grouped, signature
from babelscope.core.system import System, properties
from babelscope.decide.outcomes import (
    UNANSWERED,
    Check,
    Key,
    add_outcomes,
    completed,
    count_checks,
    weight_of,
)
from babelscope.methods.base import Method
from babelscope.methods.jobs import Job, config_of, judge_all, make_jobs
from babelscope.stats.gates import BettingTest, PairedRates, items_to_clear, items_to_see, paired_rates
from babelscope.stats.paired import holm
from babelscope.testsets.items import TestSet
from babelscope.util.errors import BabelscopeError
from babelscope.util.seeds import stream
from babelscope.util.text import shorten

Verdict = Literal["worse", "better", "not worse", "too few items"]
_PASSES = 0.025
"""One side of a 95 % interval."""
EXIT_CODES: Mapping[str, int] = {"not worse": 0, "worse": 3, "too few items": 4}


class GateSettings(BaseModel):
    """When a new system passes."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)

    margin: float = Field(default=0.01, gt=0, lt=1)
    """The difference in error rates that is tolerated: 0.01, or 1%."""
    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    """The probability of calling a system worse that is not, over all checks (Holm). A system that is worse by the
    margin passes with a probability of 0.025 at most, whatever this is."""
    sequential: bool = False
    """Ask in batches, and stop as soon as the answer is known."""
    batch: int = Field(default=50, ge=1)
    """Items per batch."""

    @field_validator("margin", mode="before")
    @classmethod
    def _share(cls, margin: object) -> object:
        return as_share(margin, "margin") if isinstance(margin, str) else margin


def as_share(text: str, what: str, *, zero: bool = False) -> float:
    """A share as people write it, 0.01 or 1%; an error if it is not between 0 and 1."""
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        share = math.nan
    if not (0 < share < 1 or (zero and share == 0)):
        raise BabelscopeError(f"{what} must be a share such as 0.01 or 1%, not {shorten(text)}")
    return share


@dataclass(frozen=True, slots=True)
class Example:
    """An item that only the new system gets wrong."""

    id: str
    source: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What is known about one check."""

    check: Check
    rates: PairedRates
    p: float
    """Two-sided p of no difference, corrected over all checks (Holm)."""
    verdict: Verdict
    needed: int | None = None
    """About how many more items would decide it, if the systems go on as they did."""
    examples: Sequence[Example] = ()

    @property
    def needed_of_kind(self) -> int:
        """About how many of these have something to get wrong."""
        return math.ceil((self.needed or 0) * self.check.applies / max(1, len(self.check.sources)))


@dataclass(frozen=True, slots=True)
class Gate:
    """The decision, and what it rests on."""

    old: str
    new: str
    settings: GateSettings
    checks: Sequence[CheckResult]
    family: int
    """Number of checks that p-values are corrected for."""
    items: int
    """Items in all test sets."""
    asked: int
    """Items that the decision took."""
    config: Config = field(default_factory=dict, repr=False)
    untested: Mapping[str, str] = field(default_factory=dict)
    """Checks that could find nothing -> why."""

    @property
    def tested(self) -> list[CheckResult]:
        """The checks that applied to at least one item."""
        return [each for each in self.checks if each.check.applies]

    @property
    def not_tested(self) -> dict[str, str]:
        """The other checks, and why."""
        tested = {each.check.name for each in self.tested}
        idle = {each.check.name: "they apply to no item" for each in self.checks}
        return {name: why for name, why in {**idle, **self.untested}.items() if name not in tested}

    @property
    def verdict(self) -> Literal["worse", "not worse", "too few items"]:
        """Worse if any check is; not worse if none is open, and every method has a check that tested something."""
        verdicts = {each.verdict for each in self.tested}
        if "worse" in verdicts:
            return "worse"
        return "too few items" if "too few items" in verdicts or self.silent else "not worse"

    @property
    def silent(self) -> list[str]:
        """Methods of which no check tested anything but whether there is an answer."""
        tested = {each.check.method for each in self.tested if each.check.name != UNANSWERED}
        return sorted({each.check.method for each in self.checks} - tested)

    @property
    def exit_code(self) -> int:
        """0 not worse, 3 worse, 4 too few items."""
        return EXIT_CODES[self.verdict]

    @property
    def signature(self) -> str:
        return signature(self.config)


def verdicts(
    ps: Sequence[float],
    cleared: Sequence[bool],
    differences: Sequence[float],
    settings: GateSettings,
    family: int,
) -> tuple[list[Verdict], list[float]]:
    """A verdict on each check, and its p corrected over `family` checks (Holm).

    A check is worse if the new system makes significantly more errors, and the difference is above the margin. It is
    not worse if it is cleared: shown to be below the margin. That needs no correction, because all checks must pass.
    """
    corrected = holm([*ps, *[1.0] * (family - len(ps))])[: len(ps)]
    found: list[Verdict] = []
    for p, passes, difference in zip(corrected, cleared, differences, strict=True):
        if p <= settings.alpha and difference > settings.margin:
            found.append("worse")
        elif passes:
            found.append("better" if p <= settings.alpha and difference < 0 else "not worse")
        else:
            found.append("too few items")
    return found, corrected


def decide(
    checks: Sequence[Check],
    settings: GateSettings,
    *,
    family: int,
    tests: Mapping[Key, Sequential] | None = None,
) -> list[CheckResult]:
    """What is known about each check; `tests` are given if the sample was looked at before its end."""
    known = [_rates(check) for check in checks]
    differences = [each.difference.value for each in known]
    if tests is None:
        ps = [each.p for each in known]
        cleared = [each.difference.n > 0 and each.difference.high < settings.margin for each in known]
        found, corrected = verdicts(ps, cleared, differences, settings, family)
    else:
        found, corrected = look(checks, settings, family, tests)
    return [
        CheckResult(
            check,
            rates,
            p,
            verdict,
            _more_items(rates, settings, family) if verdict == "too few items" else None,
        )
        for check, rates, p, verdict in zip(checks, known, corrected, found, strict=True)
    ]


def _rates(check: Check) -> PairedRates:
    sources = check.sources.values()
    old, new, weights = ([getattr(each, name) for each in sources] for name in ("old", "new", "weight"))
    return paired_rates(old, new, weights)


def look(
    checks: Sequence[Check], settings: GateSettings, family: int, tests: Mapping[Key, Sequential]
) -> tuple[list[Verdict], list[float]]:
    """The verdicts of tests that may be looked at after every batch."""
    own = [tests[each.key] for each in checks]
    ps = [min(1.0, 2 * each.worse.p) for each in own]
    cleared = [each.within.p <= _PASSES for each in own]
    return verdicts(ps, cleared, [each.difference for each in checks], settings, family)


def _more_items(rates: PairedRates, settings: GateSettings, family: int) -> int | None:
    """How many more items would decide a check, if errors stay as frequent as they were."""
    n = rates.difference.n
    if not n:
        return None
    discordant = (rates.only_old + rates.only_new) / n
    difference = rates.difference.value
    if difference > settings.margin:
        wanted = items_to_see(difference, discordant, alpha=settings.alpha / family)
    else:
        # A difference just below the margin would need millions of items: hope for half of the margin.
        hoped = min(difference, settings.margin / 2)
        wanted = items_to_clear(settings.margin, discordant, difference=hoped)
    return max(1, wanted - n)


# --- Asking ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Sequential:
    """The two questions about a check that are looked at after every batch."""

    margin: float
    heaviest: float = 1.0
    """The greatest weight of an item."""
    seen: int = 0
    worse: BettingTest = field(default_factory=lambda: BettingTest(0.0))
    """Against: the new system makes no more errors than the old one."""
    within: BettingTest = field(init=False)
    """Against: the new system is worse by the margin."""

    def __post_init__(self) -> None:
        self.within = BettingTest(self.margin)

    def update(self, check: Check) -> None:
        """Bet on the sources that were added since."""
        new = list(itertools.islice(check.sources.values(), self.seen, None))
        self.seen += len(new)
        sizes = [each.weight / self.heaviest for each in new]
        self.worse.update([-each.difference for each in new], sizes)
        self.within.update([each.difference for each in new], sizes)


def run_gate(
    old: System,
    new: System,
    tests: Mapping[str, TestSet],
    methods: Sequence[Method],
    settings: GateSettings,
    *,
    seed: int = 0,
    names: tuple[str, str] = ("old", "new"),
    advance: Callable[[int], object] = lambda _: None,
) -> Gate:
    """Ask both systems and decide. Sequentially, items are asked in a random order, those of a source together."""
    systems = dict(zip(names, (old, new), strict=True))
    pairs = _pairs(make_jobs(list(methods), systems, tests, seed), names)
    family = count_checks(methods, tests)
    looks: dict[Key, Sequential] = {}
    heaviest = max(weight_of(item.extra) for pair in pairs for item in pair.items)
    checks: dict[Key, Check] = {}
    for batch in _batches(pairs, settings, seed):
        for pair, places in batch:
            add_outcomes(checks, pair.method, pair.tests, *pair.ask(places))
            advance(len(places))
        if settings.sequential:
            for key, check in checks.items():
                looks.setdefault(key, Sequential(settings.margin, heaviest)).update(check)
            seen, _ = look(list(checks.values()), settings, family, looks)
            if "worse" in seen or "too few items" not in seen:
                break
    checks = {}
    for pair in pairs:
        add_outcomes(checks, pair.method, pair.tests, *pair.completed())
    judged = [pair.method.label for pair in pairs if "judge" in pair.method.roles]
    found = decide(
        list(checks.values()), settings, family=family, tests=looks if settings.sequential else None
    )
    return Gate(
        *names,
        settings,
        [replace(each, examples=_examples(each.check, pairs)) for each in found],
        family,
        sum(len(pair.items) for pair in pairs),
        sum(len(pair.seen) for pair in pairs),
        {
            **config_of(methods, systems, tests, seed=seed, chunk=settings.batch),
            "gate": settings.model_dump(),
        },
        {check.name: _UNTRUSTED for check in checks.values() if check.method in judged},
    )


_UNTRUSTED = "no item has them, or their judge is not known to tell planted errors from right texts"
Records = list[Record]


@dataclass(slots=True)
class _Pair:
    """One method on one test set: the jobs of both systems, and their records so far."""

    jobs: tuple[Job, Job]
    whole: tuple[Records, Records] | None = None
    """The completed records of all items, if they are asked as a whole."""
    seen: dict[int, tuple[Record, Record]] = field(default_factory=dict)
    """Place of an item -> its records."""

    @property
    def method(self) -> Method:
        return self.jobs[0].method

    @property
    def tests(self) -> str:
        return self.jobs[0].tests_name

    @property
    def items(self) -> Sequence[Any]:
        return self.jobs[0].tests.items

    @property
    def _at_once(self) -> bool:
        """Whether all items must be asked together: by a system, by the method, or because a judge is known by all
        of its answers."""
        systems = [system for job in self.jobs for system in job.systems.values()]
        return (
            any(properties(each).asked_as_a_whole for each in systems)
            or self.method.settings.is_whole
            or "judge" in self.method.roles
        )

    def ask(self, places: Sequence[int]) -> tuple[Records, Records]:
        """The completed records of both systems on some more items."""
        if self.whole is None and self._at_once:
            self.whole = self._judged(range(len(self.items)))
        if self.whole is None:
            found = self._judged(places)
        else:
            found = tuple([each[place] for place in places] for each in self.whole)  # type: ignore[assignment]
        self.seen |= dict(zip(places, zip(*found, strict=True), strict=True))
        return found

    def _judged(self, places: Sequence[int]) -> tuple[Records, Records]:
        old, new = (completed(self.method, each) for each in judge_all([(job, places) for job in self.jobs]))
        return old, new

    def completed(self) -> tuple[Records, Records]:
        """All records so far in the order of the items, with the fields that depend on all of them."""
        old, new = ([self.seen[place][side] for place in sorted(self.seen)] for side in (0, 1))
        return (old, new) if self.whole else (completed(self.method, old), completed(self.method, new))


def _pairs(jobs: Sequence[Job], names: tuple[str, str]) -> list[_Pair]:
    """The jobs of both systems, by method and test set."""
    mine, its = (
        {(job.method.label, job.tests_name): job for job in jobs if job.system_name == name} for name in names
    )
    return [_Pair((mine[key], its[key])) for key in mine if key in its]


def _batches(
    pairs: Sequence[_Pair], settings: GateSettings, seed: int
) -> Iterator[list[tuple[_Pair, Sequence[int]]]]:
    """Which items are asked together: all, or in a random order, of every test set the same share, those of a source
    together."""
    if not settings.sequential:
        yield [(pair, range(len(pair.items))) for pair in pairs]
        return
    orders = [_shuffled(pair.items, seed) for pair in pairs]
    rounds = -(-sum(len(pair.items) for pair in pairs) // settings.batch)
    done = [0] * len(pairs)
    for number in range(1, rounds + 1):
        batch: list[tuple[_Pair, Sequence[int]]] = []
        for which, (pair, groups) in enumerate(zip(pairs, orders, strict=True)):
            stop = len(groups) * number // rounds
            if places := [place for group in groups[done[which] : stop] for place in group]:
                batch.append((pair, places))
            done[which] = stop
        if batch:
            yield batch


def _shuffled(items: Sequence[Any], seed: int) -> list[list[int]]:
    """The places of the items of each source, in a random order of the sources."""
    sources = list(
        grouped((str(getattr(item, "source", item.id)), place) for place, item in enumerate(items)).values()
    )
    return [sources[place] for place in stream(seed, "gate").permutation(len(sources)).tolist()]


_MOST_EXAMPLES = 3


def _examples(check: Check, pairs: Sequence[_Pair]) -> list[Example]:
    """The first items that only the new system gets wrong."""
    worse = [each.id for each in check.sources.values() if each.difference > 0][:_MOST_EXAMPLES]
    (pair,) = (each for each in pairs if (each.method.label, each.tests) == (check.method, check.tests))
    return [
        Example(
            str(old["id"]),
            str(old.get("source", "")),
            answer_of(pair.method, old),
            answer_of(pair.method, new),
        )
        for old, new in pair.seen.values()
        if str(old["id"]) in worse
    ]


def answer_of(method: Method, record: Record) -> str:
    """What the system answered, as the page shows it."""
    if "unanswered" in record:
        return f"({record['unanswered']})"
    texts = [
        text if isinstance(text, str) else "".join(str(token[0]) for token in text)
        for _, text in method.show(record).answer()
    ]
    return texts[0] if texts else ""
