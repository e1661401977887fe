"""The gate: is a new system worse than an old one in any check, by more than a margin?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from babelscope.core.results import Config, Record, signature
from babelscope.core.system import System
from babelscope.decide.outcomes import Check, Key, add_outcomes, completed, count_checks, weight_of
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
    """Items that the systems were asked about."""
    config: Config = field(default_factory=dict, repr=False)

    @property
    def tested(self) -> list[CheckResult]:
        """The checks that applied to at least one item."""
        return [each for each in self.checks if each.check.applies]

    @property
    def verdict(self) -> Literal["worse", "not worse", "too few items"]:
        """Worse if any check is; not worse if no check is open."""
        verdicts = {each.verdict for each in self.tested}
        if "worse" in verdicts:
            return "worse"
        return "too few items" if "too few items" in verdicts or not verdicts else "not worse"

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
    known = [paired_rates(each.old, each.new, each.clusters, each.weights) for each in checks]
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


def look(
    checks: Sequence[Check], settings: GateSettings, family: int, tests: Mapping[Key, Sequential]
) -> tuple[list[Verdict], list[float]]:
    """The verdicts of tests that may be looked at after every batch."""
    own = [tests[_key(each)] for each in checks]
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
    """The greatest weight of an item: values are divided by it, so that they stay between -1 and 1."""
    seen: int = 0
    worse: BettingTest = field(default_factory=lambda: BettingTest(0.0))
    """Against: the new system makes no more errors than the old one."""
    within: BettingTest = field(init=False)
    """Against: the new system is worse by the margin."""

    def __post_init__(self) -> None:
        self.within = BettingTest(self.margin / self.heaviest)

    def update(self, check: Check) -> None:
        """Bet on the items that were added since: the mean over each source, which are independent of each other."""
        new = slice(self.seen, len(check.old))
        self.seen = len(check.old)
        weighted = (
            weight * each / self.heaviest
            for weight, each in zip(check.weights[new], check.differences[new], strict=True)
        )
        pairs = zip(check.clusters[new], weighted, strict=True)
        means = []
        for _, own in itertools.groupby(pairs, key=lambda pair: pair[0]):
            values = [value for _, value in own]
            means.append(sum(values) / len(values))
        self.worse.update(-each for each in means)
        self.within.update(means)


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
    if settings.sequential:
        tests = {name: _shuffled(each, seed) for name, each in tests.items()}
    systems = dict(zip(names, (old, new), strict=True))
    jobs = make_jobs(list(methods), systems, tests, seed)
    pairs = _pairs(jobs, names)
    family = count_checks(methods, tests)
    checks: dict[Key, Check] = {}
    sequential: dict[Key, Sequential] = {}
    heaviest = max(weight_of(item.extra) for mine, _ in pairs for item in mine.tests.items)
    records: dict[Key, list[tuple[Record, Record]]] = {}
    total = sum(len(mine.tests.items) for mine, _ in pairs)
    asked = 0
    for batch in _batches(pairs, settings, total):
        for (mine, its), start, stop in batch:
            judged = judge_all([(mine, start, stop), (its, start, stop)])
            both = [completed(mine.method, each) for each in judged]
            add_outcomes(checks, mine.method, mine.tests_name, *both)
            key = (mine.method.label, mine.tests_name, "")
            records.setdefault(key, []).extend(zip(*both, strict=True))
            asked += stop - start
            advance(stop - start)
        if settings.sequential:
            for key, check in checks.items():
                sequential.setdefault(key, Sequential(settings.margin, heaviest)).update(check)
            seen, _ = look(list(checks.values()), settings, family, sequential)
            if "worse" in seen or "too few items" not in seen:
                break
    found = decide(
        list(checks.values()), settings, family=family, tests=sequential if settings.sequential else None
    )
    by_label = {method.label: method for method in methods}
    found = [
        replace(each, examples=_examples(each.check, by_label[each.check.method], records)) for each in found
    ]
    config = {
        **config_of(methods, systems, tests, seed=seed, chunk=settings.batch),
        "gate": settings.model_dump(),
    }
    return Gate(*names, settings, found, family, total, asked, config)


def _key(check: Check) -> Key:
    return check.method, check.tests, check.name


def _shuffled(tests: TestSet, seed: int) -> TestSet:
    """The items in a random order of their sources."""
    sources: dict[str, list[Any]] = {}
    for item in tests.items:
        sources.setdefault(str(getattr(item, "source", item.id)), []).append(item)
    order = list(sources)
    stream(seed, "gate").shuffle(order)
    return replace(tests, items=tuple(item for source in order for item in sources[source]))


def _pairs(jobs: Sequence[Job], names: tuple[str, str]) -> list[tuple[Job, Job]]:
    """The jobs of both systems, by method and test set."""
    mine, its = (
        {(job.method.label, job.tests_name): job for job in jobs if job.system_name == name} for name in names
    )
    return [(mine[key], its[key]) for key in mine if key in its]


_Part = tuple[tuple[Job, Job], int, int]


def _batches(pairs: Sequence[tuple[Job, Job]], settings: GateSettings, total: int) -> Iterator[list[_Part]]:
    """Which items of which jobs are asked together: of every test set the same share, sources undivided."""
    rounds = -(-total // settings.batch) if settings.sequential and total else 1
    places = {id(mine): 0 for mine, _ in pairs}
    for number in range(1, rounds + 1):
        batch: list[_Part] = []
        for mine, its in pairs:
            items = mine.tests.items
            stop = len(items) * number // rounds
            while 0 < stop < len(items) and _source(items[stop]) == _source(items[stop - 1]):
                stop += 1
            if stop > (start := places[id(mine)]):
                batch.append(((mine, its), start, stop))
                places[id(mine)] = stop
        yield batch


def _source(item: Any) -> str:
    return str(getattr(item, "source", item.id))


_MOST_EXAMPLES = 3


def _examples(
    check: Check, method: Method, records: Mapping[Key, Sequence[tuple[Record, Record]]]
) -> list[Example]:
    """The first items that only the new system gets wrong."""
    worse = [place for place, apart in zip(check.ids, check.differences, strict=True) if apart > 0]
    wanted = set(worse[:_MOST_EXAMPLES])
    found = []
    for old, new in records[check.method, check.tests, ""]:
        if str(old["id"]) in wanted:
            found.append(
                Example(
                    str(old["id"]), str(old.get("source", "")), answer_of(method, old), answer_of(method, new)
                )
            )
    return found


def answer_of(method: Method, record: Record) -> str:
    """What the system answered, as the page shows it."""
    if "unanswered" in record:
        return f"({record['unanswered']})"
    texts = [
        text if isinstance(text, str) else "".join(str(token[0]) for token in text)
        for _, text in method.show(record).answer()
    ]
    return texts[0] if texts else ""
