"""Rows of contrastive evaluation: verdicts, accuracy, discrepancy, false positives; and how they are read."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from babelscope.core.comparison import Comparison
from babelscope.core.results import Estimate, Record, Row, Ties, credit, finite_or_none
from babelscope.core.system import ItemScores, count_flags
from babelscope.core.tables import Verdict
from babelscope.methods.measuring import by_phenomenon, group_records, sources
from babelscope.methods.reporting import FEWEST, complement, find_row
from babelscope.stats.intervals import Array, clustered_mean, clustered_proportion, difference

SECOND, SAMPLE = "second", "sample"
"""What `spread` is the distance of: the second-best translation, and a sample."""
_MATTERS = 0.05
"""Controls rule an error out if its excess is surely below this."""
_TWO_SIDED, _POWER = 1.959964, 0.841621
"""Normal quantiles of a two-sided test at 5 % and of a power of 80 %."""
_NOTES = ("truncated", "changed", "unfinished")
_SOURCES_PER_BIN = 25
_MOST_BINS = 10


# --- What the figures of an error type say together ----------------------------------------------------------------


Reading = Literal[
    "control",
    "too few pairs",
    "confirmed",
    "never preferred",
    "false alarm",
    "not in its output",
    "forced choice only",
    "beyond controls",
    "too few controls",
    "like controls",
]


def _known(row: Row | None) -> Estimate | None:
    """The estimate of a row that has one with an interval."""
    return row.estimate if row and row.estimate.n and not row.estimate.no_interval else None


@dataclass(frozen=True, slots=True)
class TypeFigures:
    """The figures of one error type and kind of reference."""

    name: str
    reference: str
    is_control: bool
    forced: Row
    """Share of pairs in which the error is preferred."""
    free: Row | None
    """Share of sources whose own translation has the error (`generated_errors`)."""
    excess: Row | None
    """Share of pairs beyond the false positives that controls predict (`excess_errors`)."""

    @property
    def reading(self) -> Reading:
        """What the figures say together, as the docstring of `Contrast` explains it."""
        if self.is_control:
            return "control"
        errors, free, excess = self.forced.estimate, _known(self.free), _known(self.excess)
        if errors.n < FEWEST:
            return "too few pairs"
        if free and free.low > 0:
            return "confirmed"
        if not errors.value:
            return "never preferred"
        if free and free.high < errors.low:
            return "false alarm"
        if not excess:
            return "not in its output" if free else "forced choice only"
        if excess.low > 0:
            return "beyond controls"
        return "too few controls" if excess.high >= _MATTERS else "like controls"

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on an error rate that forced choice alone calls an error.

        Controls alone clear no error type: what they say of it is our estimate, and its output was not looked at.
        """
        if self.reading in ("confirmed", "beyond controls"):
            return "error"
        cleared = self.reading == "false alarm" or (self.reading == "like controls" and _known(self.free))
        return "not significant" if cleared else "unknown"

    @property
    def detectable(self) -> float | None:
        """The excess over controls, as a share of pairs, that would be found significant in 80 % of test sets."""
        excess = _known(self.excess)
        return None if excess is None else (excess.high - excess.low) / 2 * (_TWO_SIDED + _POWER) / _TWO_SIDED

    @property
    def own(self) -> int:
        """Pairs whose machine reference the system wrote itself."""
        return self.forced.counts.get("own", 0)

    @property
    def is_own(self) -> bool:
        """Whether the system wrote most of these references itself."""
        return 2 * self.own > self.forced.estimate.n


def figures_by_type(rows: Sequence[Row]) -> list[TypeFigures]:
    """All error types of a system, each kind of reference by itself."""
    found = []
    for row in rows:
        if row.name == row.labels.get("phenomenon") and row.estimate.n:
            kind = str(row.labels["reference"])
            free, excess = (
                find_row(rows, figure, phenomenon=row.name, reference=kind)
                for figure in ("generated_errors", "excess_errors")
            )
            forced = replace(row, estimate=complement(row.estimate))
            found.append(TypeFigures(row.name, kind, "control" in row.labels, forced, free, excess))
    return found


# --- Single items --------------------------------------------------------------------------------------------------


def is_own(record: Record) -> bool:
    """Whether the system wrote the machine reference: by its name, or because it is its own translation."""
    if record["reference"] != "machine":
        return False
    author = record.get("extra", {}).get("system")
    if isinstance(author, str) and author == record.get("system"):
        return True
    best, correct = record.get("best"), record.get("correct")  # stored scores have neither
    return bool(best and correct and best["text"].strip() == correct["text"].strip())


def margin(record: Record) -> float | None:
    """Score of the right translation minus that of the best wrong one; None if one is infinite."""
    scores = record["scores"]
    known = [each for each in scores["contrastive"] if each is not None]
    if scores["correct"] is None or not known:
        return None
    return float(scores["correct"] - max(known))


def false_alarms(
    comparison: Comparison, has_error: Callable[[Record], bool | None]
) -> list[tuple[str, Record]]:
    """(system, record) of pairs with the error preferred, and not in the system's own translation; clearest first.

    Controls, which no system is known to get wrong, are before all others; then the largest margin is first.
    """
    found = [
        (result.name, record, record["phenomenon"] not in result.settings.get("controls", ()))
        for result in comparison.results
        for record in result.records
        if record["verdict"] == "wrong" and "best" in record and has_error(record) is False
    ]
    ranked = sorted(found, key=lambda each: (each[2], margin(each[1]) or 0.0))
    return [(system, record) for system, record, _ in ranked]


def scores_as_json(scores: ItemScores) -> Record:
    """The scores of an item as a record has them."""
    best = {} if scores.best is None else {"best": finite_or_none(scores.best)}
    others = [finite_or_none(each) for each in scores.others]
    return {"correct": finite_or_none(scores.correct), "contrastive": others, **best}


def score_record(scores: ItemScores, *, clipped: bool = False) -> Record:
    """The judged fields of a record: scores, verdict, and the discrepancy where the 1-best is known."""
    record: Record = {"scores": scores_as_json(scores), "verdict": verdict(scores)}
    if scores.best is not None:
        record["discrepancy"] = finite_or_none(discrepancy(scores, clipped=clipped))
    return record


def verdict(scores: ItemScores) -> Literal["correct", "tie", "wrong"]:
    """Correct if strictly better than all variants, a tie if as good as the best of them (section 2.1)."""
    rival = max(scores.others, default=None)
    if rival is None:  # judged only where the settings count it as correct
        return "correct"
    return "tie" if scores.correct == rival else "correct" if scores.correct > rival else "wrong"


def discrepancy(scores: ItemScores, *, clipped: bool = False) -> float:
    """score(1-best) - score(preferred variant) of one item (section 3.2); clipped at 0 in the released code."""
    if scores.best is None or math.isinf(scores.best) or not scores.others:
        return math.nan
    distance = scores.best - max(scores.correct, *scores.others)
    return max(0.0, distance) if clipped else distance


# --- Accuracy and discrepancy --------------------------------------------------------------------------------------


def figures(records: Sequence[Record], *, ties: Ties, controls: Sequence[str]) -> list[Row]:
    """Rows of one system on one test set: `all`, each phenomenon and reference kind, and MuCoW's groups.

    `plausible` and `controls` are over all phenomena of one reference kind: an error on a control is a false alarm.
    A row named after its group is an accuracy; a row `discrepancy` follows where 1-bests are known.
    """
    rows: list[Row] = []
    groups = group_records((key, record) for record in records for key in _groups_of(record, controls))
    for (_, name, labeled), members in groups.items():
        labels = dict(labeled)
        accuracy = clustered_proportion(tie_credits(members, ties), sources(members))
        rows.append(Row(name, accuracy, labels, _counts(members, ties)))
        if name == "all" or "phenomenon" in labels:
            rows += _discrepancy_rows(members, labels)
    kinds = group_records((each["reference"], each) for each in records)
    for kind, members in kinds.items() if len(kinds) > 1 else ():
        rows += _discrepancy_rows(members, {"reference": kind})
    return [*rows, *false_positive_rows(records, ties=ties, controls=controls)]


def _groups_of(
    record: Record, controls: Sequence[str]
) -> Iterator[tuple[int, str, tuple[tuple[str, str], ...]]]:
    """(rank, name, labels) of every accuracy that a record counts in."""
    phenomenon, reference = record["phenomenon"], ("reference", record["reference"])
    control = (("control", "yes"),) if phenomenon in controls else ()
    yield 0, "all", ()
    yield 1, "controls" if control else "plausible", (reference, *control)
    yield 2, phenomenon, (("phenomenon", phenomenon), reference, *control)
    # As in MuCoW's accuracy files: by the corpus that a sentence comes from, then by word and sense.
    extra = record.get("extra", {})
    origin, word, sense = (extra.get(name) for name in ("origin", "ambig word", "sense"))
    if origin is not None:
        yield 3, str(origin), (("origin", str(origin)),)
    if word is not None and sense is not None:
        yield 4, f"{word}:{sense}", (("word", str(word)), ("sense", str(sense)))


def _with_discrepancy(records: Iterable[Record]) -> list[Record]:
    return [record for record in records if record.get("discrepancy") is not None]


def _discrepancy_rows(members: Sequence[Record], labels: Mapping[str, str]) -> list[Row]:
    """Mean discrepancy of the items that have one; no row if there are none."""
    known = _with_discrepancy(members)
    if not known:
        return []
    mean = clustered_mean([record["discrepancy"] for record in known], sources(known))
    infinite = sum(bool(record["scores"]["contrastive"]) for record in members) - len(known)
    return [Row("discrepancy", mean, labels, {"infinite": infinite})]


def tie_credits(records: Iterable[Record], ties: Ties) -> list[float]:
    """How much each item counts as correct: 1, 0, or the credit of a tie under this policy."""
    worth = credit(ties)
    return [worth[record["verdict"]] for record in records]


def errors_of(records: Iterable[Record], ties: Ties) -> list[float]:
    """How much each item counts as an error."""
    return [1.0 - worth for worth in tie_credits(records, ties)]


def _counts(records: Sequence[Record], ties: Ties) -> dict[str, int]:
    """Counts of items; `correct` includes ties if the policy counts them as correct."""
    verdicts = Counter(record["verdict"] for record in records)
    notes: Counter[str] = Counter()
    infinite = bare = 0
    for record in records:
        answers = [record.get("correct"), *record.get("contrastive", ()), record.get("best")]
        notes.update({note for each in answers if each for note in each["notes"]})
        scores = record["scores"]
        known = (scores["correct"], *scores["contrastive"], scores.get("best", 0.0))
        bare += not scores["contrastive"]
        infinite += bool(scores["contrastive"]) and None in known
    machine = any(each["reference"] == "machine" for each in records)
    return {
        "correct": verdicts["correct"] + (verdicts["tie"] if ties == "correct" else 0),
        "ties": verdicts["tie"],
        **{note: notes[note] for note in _NOTES},
        **count_flags(notes),
        "infinite": infinite,
        **({"own": sum(map(is_own, records))} if machine else {}),
        **({"without_variants": bare} if bare else {}),
    }


# --- False positives -----------------------------------------------------------------------------------------------


def false_positive_rows(records: Sequence[Record], *, ties: Ties, controls: Sequence[str]) -> Iterator[Row]:
    """`expected_false_positives`, as the controls predict them, and `excess_errors`, the error rate beyond them.

    The model: every error on a control is a false positive, and a plausible pair is exposed to false
    positives as a control pair with the same discrepancy is. So the controls, all together, are cut into
    bins of equal size by their discrepancy, and each plausible pair is expected to be a false positive with
    the error rate of the controls in its bin. Without discrepancies there is one bin, of the controls with
    the same reference kind. Values are shares of pairs; the excess is what is left of the error rate, and its
    interval takes controls and plausible pairs for independent.
    """
    binned = any("discrepancy" in record for record in records)
    groups = by_phenomenon(_with_discrepancy(records) if binned else records)
    control = [each for (phenomenon, _), some in groups.items() if phenomenon in controls for each in some]
    for (phenomenon, reference), some in groups.items():
        own = [each for each in control if binned or each["reference"] == reference]
        # One sentence says nothing about others.
        if phenomenon in controls or min(len(set(sources(each))) for each in (own, some)) < 2:
            continue
        expected = _expected_rate(own, some, _bin_edges(own) if binned else np.array([]), ties)
        found = clustered_proportion(errors_of(some, ties), sources(some))
        labels = {"phenomenon": phenomenon, "reference": reference}
        counts = {
            "errors": sum(record["verdict"] == "wrong" for record in some),
            "expected": round(expected.value * len(some)),
            "controls": len(own),
        }
        yield Row("expected_false_positives", expected, labels, counts)
        yield Row("excess_errors", difference(found, expected, len(some)), labels, counts)


def _bin_edges(controls: Sequence[Record]) -> Array:
    """Discrepancies between bins of equally many controls; each bin has enough sources for an error rate."""
    bins = min(_MOST_BINS, max(1, len(set(sources(controls))) // _SOURCES_PER_BIN))
    values = [record["discrepancy"] for record in controls]
    # Unlike interpolated quantiles, these do not change if all pairs are repeated.
    return np.unique(np.quantile(values, np.arange(1, bins) / bins, method="inverted_cdf"))


def _expected_rate(
    controls: Sequence[Record], plausible: Sequence[Record], edges: Array, ties: Ties
) -> Estimate:
    """The error rate of controls, weighted so that their bins have the plausible pairs' shares."""
    ours, theirs = (
        np.searchsorted(edges, [record.get("discrepancy", 0.0) for record in some])
        for some in (controls, plausible)
    )
    here, there = (np.bincount(some, minlength=len(edges) + 1) for some in (ours, theirs))
    # In a bin without controls the rate over all bins stands in.
    weights = there[ours] / here[ours] + there[here == 0].sum() / len(controls)
    found = clustered_proportion(errors_of(controls, ties), sources(controls), weights.tolist())
    return replace(found, n=len(plausible))
