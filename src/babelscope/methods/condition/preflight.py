"""Can this evaluator judge at all? Tests on translations whose truth is known, and the noise of its margins."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from babelscope.core.comparison import Comparison, SystemResult
from babelscope.core.results import Estimate, Record, Row, grouped, minus_inf_if_none
from babelscope.core.system import Scoring
from babelscope.core.tables import Note, Table
from babelscope.methods.condition.ask import FEW, counted_known, is_independent, reference_support
from babelscope.methods.condition.figures import (
    accuracy_of,
    best_of_side,
    credits_of,
    is_decided,
    margin_of_record,
)
from babelscope.methods.measuring import sources
from babelscope.methods.reporting import Shown, find_row, pivot
from babelscope.stats.detection import Counted, corrected_bounds
from babelscope.stats.intervals import clustered_proportion
from babelscope.stats.weighted import effective_size

Passed = Literal["yes", "no", "unknown"]

# Why these: docs/methods/conditioning.md, "Can the evaluator judge?".
LEAST_ACCURACY = 0.75
"""Of known translations, right and wrong ones weighing the same."""
LEAST_MATCHED = 0.9
"""Share of translations that must be likelier under their own source than under another sentence."""
LEAST_MOVED = 0.9
"""Share of items whose score the cue must move at all."""
MOVED = 1e-4
"""Nats: what batching and rounding move a score by in single precision is smaller."""
LEAST_SURVIVING = 0.5
"""Share of targets that must survive tokenization."""
LARGE = 20
"""A category of so many items must have been tested itself; smaller ones are tested with all others."""
NOISE_LEVEL = 0.975
"""Share of known translations that the evaluator does not misjudge by more than its noise: the usual half of 5 %."""


@dataclass(frozen=True, slots=True)
class Check:
    """One test of an evaluator."""

    name: str
    passed: Passed
    estimate: Estimate
    why: str = ""
    """In plain words, why it has not passed."""
    needed: bool = True
    """Whether the evaluator must pass it; some tests can only fail it."""
    labels: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Truth:
    """How the evaluator judged one known translation: a margin above 0 is right, below 0 wrong."""

    item: int
    category: str
    right: bool
    margin: float
    by: str
    independent: bool = True
    """Whether it does not rest on the evaluator alone."""

    @property
    def credit(self) -> float:
        return 0.5 if self.margin == 0 else float(self.margin > 0)


@dataclass(frozen=True, slots=True)
class Preflight:
    """What is known about an evaluator before it judges."""

    passed: Passed
    noise: float | None
    """Margins up to this size (nats) decide nothing; None where nothing is known about it."""
    checks: Sequence[Check]
    truths: Sequence[Truth] = ()
    """How it judged translations whose truth is known."""

    @property
    def reasons(self) -> list[str]:
        """Why it has not passed: what failed, else what is not known."""
        return [
            check.why
            for check in self.checks
            if check.passed == self.passed and check.why and (check.needed or self.passed == "no")
        ]


def preflight_of(records: Sequence[Record], likelihood: Scoring = "mean") -> Preflight:
    """All tests of the evaluator of a job, from its records."""
    tested = [record["preflight"] for record in records if record.get("preflight")]
    if not tested:
        why = "it was not tested: its scores are stored, or preflight is 0"
        return concluded([Check("accuracy", "unknown", Estimate.empty(), why)])
    truths = known_truths(records, likelihood)
    judged = [record for record in records if not record["skipped"]]
    checks = [
        *accuracy_checks(records, truths),
        *_share_checks(judged, tested),
        _language(records, tested),
    ]
    return replace(concluded(checks), noise=noise_of(truths), truths=truths)


def concluded(checks: Sequence[Check]) -> Preflight:
    """What checks come to: one that fails is enough, and all that are needed must pass."""
    failed = any(check.passed == "no" for check in checks)
    open_ = any(check.passed == "unknown" and check.needed for check in checks)
    return Preflight("no" if failed else "unknown" if open_ else "yes", None, checks)


def noise_of(truths: Sequence[Truth]) -> float | None:
    """The size that margins of the wrong sign exceed for at most 1 - `NOISE_LEVEL` of known translations.

    If the evaluator errs either way alike, a margin of this size says no more than a mistake would. What is judged
    may be of any kind, so the kind counts that it errs most on: right or wrong, as written or with words exchanged.
    """
    kinds = grouped(((each.right, each.by == "exchange"), each.margin) for each in truths)
    large = [margins for margins in kinds.values() if len(margins) >= FEW]
    return max(map(_noise, large or [[each.margin for each in truths]])) if truths else None


def _noise(margins: Sequence[float]) -> float:
    """The noise of one kind: the quantile seen, or if larger the normal upper tolerance bound (95 % sure) of it.

    Of twenty known translations the worst mistake says little of how bad mistakes are; where there is none, the noise
    is 0.
    """
    n = len(margins)
    wrong = sorted(max(0.0, -margin) for margin in margins)
    seen = wrong[min(n - 1, math.ceil(NOISE_LEVEL * n) - 1)]
    if n < FEW or min(margins) > 0 or not all(map(math.isfinite, margins)):
        return seen
    from scipy.stats import nct, norm

    factor = float(nct.ppf(0.95, n - 1, norm.ppf(NOISE_LEVEL) * math.sqrt(n))) / math.sqrt(n)
    return max(seen, factor * statistics.stdev(margins) - statistics.fmean(margins))


def known_truths(records: Sequence[Record], likelihood: Scoring = "mean") -> list[Truth]:
    """How the evaluator judged the translations of its records that count as known."""
    found = []
    for number, known in counted_known(records):
        right, wrong = (
            best_of_side(known[side], likelihood)[0] for side in ("under_correct", "under_incorrect")
        )
        if right is not None and wrong is not None:
            record, truth = records[number], bool(known["truth"])
            margin = right - wrong if truth else wrong - right
            if math.isnan(margin):
                margin = 0.0  # impossible either way: it cannot decide
            independent = is_independent(known, record)
            found.append(Truth(number, record["category"], truth, margin, str(known["by"]), independent))
    return found


# --- Tests on known translations -----------------------------------------------------------------------------------


def _balanced(truths: Sequence[Truth]) -> Estimate:
    """Accuracy with right and wrong translations weighing the same; several of one item and truth are one."""
    credits = grouped(((each.right, each.item), each.credit) for each in truths)
    sizes = {truth: sum(right == truth for right, _ in credits) for truth in (True, False)}
    worth = [sum(own) / len(own) for own in credits.values()]
    weights = [1 / sizes[right] for right, _ in credits]
    # An item's right and wrong translation are judged by the same cues: they are not independent.
    return clustered_proportion(worth, [str(item) for _, item in credits], weights)


def accuracy_checks(records: Sequence[Record], truths: Sequence[Truth]) -> list[Check]:
    """Over all categories, for each, and where it fails on translations that cannot give themselves away."""
    # Translations with words exchanged may not be grammatical: they measure noise, not ability.
    written = [each for each in truths if each.by != "exchange"]
    judged = grouped((record["category"], not record.get("skipped")) for record in records)
    support = reference_support(records)
    whole = _accuracy(written)
    why = whole.why
    if whole.passed == "unknown" and (left := support.counts["not_known"]):
        why += f" ({left} pairs of translations by the system do not count: no reference bears them out)"
    counts = {**whole.counts, **support.counts}
    checks = [replace(whole, why=why, labels={"known_by": support.chosen}, counts=counts)]
    for category, own in sorted(judged.items()):
        known = _accuracy([each for each in written if each.category == category], f" of category {category}")
        # A small category is tested with all others, in the check over all.
        needed = known.passed != "unknown" or sum(own) >= LARGE
        checks.append(replace(known, needed=needed, labels={"category": category}))
    return [*checks, *_independence(written), *_failures(truths)]


def _accuracy(truths: Sequence[Truth], of: str = "") -> Check:
    """Are known translations, right and wrong ones, judged correctly?"""
    right = sum(each.right for each in truths)
    wrong = len(truths) - right
    misjudged = sum(each.margin <= 0 for each in truths)
    counts = {"known_right": right, "known_wrong": wrong, "misjudged": misjudged}
    estimate = _balanced(truths)
    passed: Passed = "yes"
    why = ""
    if min(right, wrong) < FEW:
        passed = "unknown"
        why = (
            f"too few translations{of} are known to be right ({right}) or wrong ({wrong}) to test it; {FEW} of each "
            "are needed"
        )
    elif estimate.value < LEAST_ACCURACY or estimate.low <= 0.5:
        passed = "no" if estimate.value < LEAST_ACCURACY else "unknown"
        why = f"it judges {_percent(estimate.value)} of known translations{of} correctly; chance is 50 %"
        if passed == "unknown":
            why += ", which is within the interval of so few"
    return Check("accuracy", passed, estimate, why, counts=counts)


def _independence(truths: Sequence[Truth]) -> list[Check]:
    """Where it has not passed: the test on translations that do not rest on the evaluator alone."""
    others = [each for each in truths if each.independent]
    own = len(truths) - len(others)
    found = replace(_accuracy(others, " that it did not make itself" if own else ""), name="independence")
    if found.passed == "yes" or (found.passed == "no" and not own):
        return []
    if found.passed == "unknown":
        told = f"{own} of {len(truths)} known translations are its own, which any model finds likely; {found.why} "
        told += "(from references, or from a system that can be asked)"
        found = replace(found, why=told if own else "")  # else the test over all categories has the reason
    return [found]


def _failures(truths: Sequence[Truth]) -> Iterator[Check]:
    """The tests that it fails on what no translation of a cue gives away: references, and the sense exchanged."""
    references = [each for each in truths if each.by == "reference"]
    estimate = _balanced(references)
    if len(references) >= FEW and estimate.value < LEAST_ACCURACY:
        why = f"it judges only {_percent(estimate.value)} of the references correctly; chance is 50 %"
        yield Check("references", "no", estimate, why)
    right = [each for each in truths if each.right and each.by != "exchange" and each.independent]
    wrong = [each for each in truths if not each.right and each.by == "exchange" and each.independent]
    estimate = _balanced([*right, *wrong])
    if min(len(right), len(wrong)) >= FEW and estimate.value < LEAST_ACCURACY and estimate.low <= 0.5:
        why = (
            f"where the sense alone was exchanged, it judges {_percent(estimate.value)} of right and wrong "
            "translations correctly: it goes by the translation of the cue"
        )
        yield Check("sense", "no", estimate, why)


# --- Tests on the items themselves ---------------------------------------------------------------------------------


def _share_checks(judged: Sequence[Record], tested: Sequence[Mapping[str, Any]]) -> list[Check]:
    """Are translations likelier under their own source than under another sentence, does the cue move the score, and
    do targets survive tokenization?"""
    matches = [
        [minus_inf_if_none(side["total"]) for side in each["match"]] for each in tested if each["match"]
    ]
    likelier = [0.5 if own == other else float(own > other) for own, other in matches]
    moved = [float(abs(margin_of_record(record)) > MOVED) for record in judged]
    kept = [float("changed" not in record["notes"]) for record in judged]
    changed = kept.count(0.0)
    survival = f"{changed} of {len(kept)} translations do not survive its tokenization"
    return [
        _share_check("matching", likelier, LEAST_MATCHED, _UNMATCHED, FEW, _FEW_MATCHES),
        _share_check("sensitivity", moved, LEAST_MOVED, _UNMOVED, 1, "nothing could be judged"),
        replace(
            _share_check("survival", kept, LEAST_SURVIVING, survival, 1),
            needed=False,
            counts={"changed": changed},
        ),
    ]


_UNMATCHED = (
    "it finds only {} of translations likelier under their own source than under another sentence: it does not "
    "know these languages, or the translations are of something else"
)
_FEW_MATCHES = "too few translations to see if it reads sources at all"
_UNMOVED = "the cue moves its score in {} of items only: in the others it is not read"


def _share_check(
    name: str, values: Sequence[float], least: float, why: str, fewest: int, too_few: str = ""
) -> Check:
    """A test that a share of items, each with a value from 0 to 1, is at least `least`; `why` has its place as {}."""
    estimate = clustered_proportion(values, [str(number) for number in range(len(values))])
    if len(values) < fewest:
        return Check(name, "unknown", estimate, too_few)
    if estimate.value < least:
        return Check(name, "no", estimate, why.format(_percent(estimate.value)))
    return Check(name, "yes", estimate)


def _language(records: Sequence[Record], tested: Sequence[Mapping[str, Any]]) -> Check:
    """Are the translations in the language that the evaluator writes, else in that which the items state?"""
    from babelscope.language.fitness import identify_all

    targets = [record["translation"] for record in records if record["translation"]]
    own = [each["own"] for each in tested if each["own"]]
    stated = {record.get("extra", {}).get("target_language") for record in records}
    only = stated.pop() if len(stated) == 1 else None
    expected = identify_all(own, "").language if own else only if isinstance(only, str) else None
    unknown = Check("language", "unknown", Estimate.empty(), needed=False)
    if not expected or not targets:
        return unknown
    found = identify_all(targets, expected)
    if found.verdict != "no":
        return replace(unknown, passed=found.verdict)
    writes = "it writes" if own else "the test set says"
    why = f"the translations are in {found.language}, by py3langid, where {writes} {expected}"
    labels = {"found": f"{found.language} for {expected}"}
    return replace(unknown, passed="no", why=why, needed=True, labels=labels)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


# --- Rows and notes ------------------------------------------------------------------------------------------------


def preflight_rows(found: Preflight, evaluator: str = "") -> list[Row]:
    """The row `preflight` with what came out, and a row for each further test."""
    labels = {"evaluator": evaluator} if evaluator else {}
    noise = {} if found.noise is None else {"noise": f"{found.noise:.4g}"}
    first, *others = found.checks
    whole = {**labels, "passed": found.passed, **noise, **first.labels}
    rows = [Row("preflight", first.estimate, whole, first.counts)]
    for check in others:
        own = {**labels, "passed": check.passed, **check.labels}
        rows.append(Row(f"preflight {check.name}", check.estimate, own, check.counts))
    return rows


def passed_of(rows: Sequence[Row]) -> str:
    """Whether the evaluator of a job passed its test: yes, no, or unknown."""
    found = find_row(rows, "preflight")
    return str(found.labels["passed"]) if found else "unknown"


def evaluator_notes(result: SystemResult, reasons: Sequence[str]) -> list[Note]:
    """Why verdicts are unknown where the evaluator has not passed its test."""
    prefix = "no finding, the evaluator failed: "
    if passed_of(result.rows) != "no":
        prefix = "it is not known if the evaluator can judge: "
        if find_row(result.rows, "preflight independence"):
            prefix = f"no finding, {prefix}"
    return [Note(f"{prefix}{why}.", result.name) for why in reasons]


def evaluator_tables(comparison: Comparison) -> list[Table]:
    """The share of known translations that evaluators judged correctly, if they were tested."""
    tested = Shown(
        "known translations judged correctly",
        lambda row: row.name in ("preflight", "preflight accuracy"),
        "percent",
    )
    labels = ("evaluator", "category", "passed")
    return pivot(comparison, "Test of the evaluator", labels, [tested], name="evaluator")


# --- Accuracy corrected for the evaluator's errors -----------------------------------------------------------------


def corrected_row(records: Sequence[Record], truths: Sequence[Truth]) -> Row:
    """The share of correct translations behind the evaluator's verdicts, by its error rates on known translations.

    How often it takes right translations for wrong is known from those as they are written. Wrong ones are of two
    kinds: made under a wrong cue, which may be translated too and give them away, and with the sense alone exchanged.
    Which kind a system's errors are is not known, so the interval covers those by either rate, and the value is by
    the rate of both together. Where it leaves 0 to 1 it is cut, and the interval is as long as without correction.
    """
    right = [each for each in truths if each.right and each.by != "exchange"]
    wrong = [each for each in truths if not each.right]
    counts = {"known_right": len(right), "known_wrong": len(wrong)}
    return Row("corrected", _corrected_share(records, right, wrong), {}, counts)


def _corrected_share(records: Sequence[Record], right: Sequence[Truth], wrong: Sequence[Truth]) -> Estimate:
    decided = [record for record in records if is_decided(record)]
    (taken, tested), found = _judged_right(right), _judged_right(wrong)
    false = (tested - taken, tested)
    if not decided or not found[1] or not tested:
        return Estimate.empty()
    plain = accuracy_of(decided)
    if found[0] / found[1] <= false[0] / tested:
        return Estimate(plain.value, 0.0, 1.0, len(decided))
    size = effective_size(credits_of(decided), sources(decided), [1.0] * len(decided))
    alarms = ((1 - plain.value) * size, size)
    kinds = grouped((each.by == "exchange", each) for each in wrong).values()
    rates = [_judged_right(kind) for kind in kinds if len(kind) >= FEW] or [found]
    ends = [float(end) for rate in rates for end in corrected_bounds(alarms, rate, false)[1]]
    low, high = (0.0, 1.0) if any(map(math.isnan, ends)) else (1 - max(ends), 1 - min(ends))
    value = min(max(1 - float(corrected_bounds(alarms, found, false)[0]), 0.0), 1.0)
    if value in (0.0, 1.0):
        low, high = min(low, plain.low), max(high, plain.high)
    return Estimate(value, min(max(low, 0.0), value), max(min(high, 1.0), value), len(decided))


def _judged_right(truths: Sequence[Truth]) -> Counted:
    """Of how many items, how many are judged correctly; several known translations of one item count as one."""
    credits = grouped((each.item, each.credit) for each in truths)
    return math.fsum(sum(own) / len(own) for own in credits.values()), len(credits)
