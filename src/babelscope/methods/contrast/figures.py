"""Rows of contrastive evaluation: verdicts, accuracy, discrepancy, false positives; and how they are read."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from babelscope.core.comparison import Comparison
from babelscope.core.results import Estimate, Record, Row, Ties, credit, finite_or_none
from babelscope.core.system import ItemScores, told_counts
from babelscope.methods.measuring import by_phenomenon, group_records, sources
from babelscope.methods.reporting import FEWEST, complement, find_row
from babelscope.stats.intervals import Array, clustered_mean, clustered_proportion, difference

"""The warning where discrepancies of several systems stand side by side."""
SECOND, SAMPLE = "second", "sample"
"""What `spread` is the distance of: the second-best translation, and a sample."""
_MATTERS = 0.05
"""Controls rule an error out if its excess is surely below this."""

# --- What a run says about each error type: forced choice, own translations ----------------------------------------


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
    def reading(self) -> str:
        """What the figures say together, as the docstring of `Contrast` explains it."""
        if self.is_control:
            return "control"
        errors, free, excess = self.forced.estimate, _known(self.free), _known(self.excess)
        if errors.n < FEWEST:
            return "too few"
        if free and free.low > 0:
            return "real"
        if not errors.value:
            return "none"
        if free and free.high < errors.low:
            return "false"
        if excess:
            return (
                "beyond" if excess.low > 0 else "few controls" if excess.high >= _MATTERS else "as controls"
            )
        return "not seen" if free else "forced only"

    @property
    def own(self) -> int:
        """Pairs whose machine reference the system wrote itself."""
        return self.forced.counts.get("own", 0)

    @property
    def is_own(self) -> bool:
        """Whether the system wrote most of these references itself."""
        return 2 * self.own > self.forced.estimate.n


def _known(row: Row | None) -> Estimate | None:
    """The estimate of a row, if it has an interval."""
    return row.estimate if row is not None and row.estimate.n and not row.estimate.no_interval else None


def figures_by_type(rows: Sequence[Row]) -> list[TypeFigures]:
    """All error types of a system, each kind of reference by itself."""
    found = []
    for row in rows:
        if row.name != row.labels.get("phenomenon") or not row.estimate.n:
            continue
        name, kind = str(row.labels["phenomenon"]), str(row.labels["reference"])
        free, excess = (
            find_row(rows, figure, phenomenon=name, reference=kind)
            for figure in ("generated_errors", "excess_errors")
        )
        forced = replace(row, estimate=complement(row.estimate))
        found.append(TypeFigures(name, kind, "control" in row.labels, forced, free, excess))
    return found


def is_own(record: Record) -> bool:
    """Whether the system wrote the machine reference: by its name, or because it is its own translation."""
    if record["reference"] != "machine":
        return False
    author = record.get("extra", {}).get("system")
    if isinstance(author, str) and author == record.get("system"):
        return True
    best, correct = record.get("best"), record.get("correct")
    if not isinstance(best, Mapping) or not isinstance(correct, Mapping):  # of stored scores
        return False
    return bool(best["text"].strip() == correct["text"].strip())


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


# --- Rows of contrastive evaluation: verdicts, accuracy, discrepancy, expected false positives ---------------------

_NOTES = ("truncated", "changed", "unfinished")
_SOURCES_A_BIN = 25
_MOST_BINS = 10


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


def figures(records: Sequence[Record], *, ties: Ties, controls: Sequence[str]) -> list[Row]:
    """Rows of one system on one test set: `all`, each phenomenon and reference kind, and MuCoW's groups.

    `plausible` and `controls` are over all phenomena of one reference kind: an error on a control is a false alarm.
    A row named after its group is an accuracy; a row `discrepancy` follows where 1-bests are known.
    """
    rows: list[Row] = []
    for name, labels, members in _accuracy_groups(records, controls):
        accuracy = clustered_proportion(tie_credits(members, ties), sources(members))
        rows.append(Row(name, accuracy, labels, _counts(members, ties)))
        if _with_discrepancy(members) and (name == "all" or "phenomenon" in labels):
            rows.append(_discrepancy_row(members, labels))
    kinds = group_records((each["reference"], each) for each in records)
    if len(kinds) > 1:
        known = {kind: own for kind, own in kinds.items() if _with_discrepancy(own)}
        rows += [_discrepancy_row(own, {"reference": kind}) for kind, own in known.items()]
    return [*rows, *false_positive_rows(records, ties=ties, controls=controls)]


def _discrepancy_row(members: Sequence[Record], labels: Mapping[str, str | int]) -> Row:
    """Mean discrepancy of the items that have one."""
    known = _with_discrepancy(members)
    mean = clustered_mean([record["discrepancy"] for record in known], sources(known))
    infinite = sum(bool(record["scores"]["contrastive"]) for record in members) - len(known)
    return Row("discrepancy", mean, labels, {"infinite": infinite})


def tie_credits(records: Iterable[Record], ties: Ties) -> list[float]:
    """How much each item counts as correct: 1, 0, or the credit of a tie under this policy."""
    worth = credit(ties)
    return [worth[record["verdict"]] for record in records]


def _accuracy_groups(
    records: Sequence[Record], controls: Sequence[str]
) -> Iterator[tuple[str, dict[str, str | int], list[Record]]]:
    """(name, labels, members) of every accuracy; sorted, so that the order of items does not matter."""
    yield "all", {}, list(records)
    for name, some, label in (
        ("plausible", [each for each in records if each["phenomenon"] not in controls], {}),
        ("controls", [each for each in records if each["phenomenon"] in controls], {"control": "yes"}),
    ):
        for reference, members in group_records((each["reference"], each) for each in some).items():
            yield name, {"reference": reference, **label}, members
    for (phenomenon, reference), members in by_phenomenon(records).items():
        control: dict[str, str | int] = {"control": "yes"} if phenomenon in controls else {}
        yield phenomenon, {"phenomenon": phenomenon, "reference": reference, **control}, members
    extras = [(record.get("extra", {}), record) for record in records]
    # As in MuCoW's accuracy files: by the corpus that a sentence comes from, then by word and sense.
    for origin, members in group_records((extra.get("origin"), record) for extra, record in extras).items():
        yield str(origin), {"origin": str(origin)}, members
    senses = (((extra.get("ambig word"), extra.get("sense")), record) for extra, record in extras)
    for (word, sense), members in group_records(each for each in senses if None not in each[0]).items():
        yield f"{word}:{sense}", {"word": str(word), "sense": str(sense)}, members


def _with_discrepancy(records: Iterable[Record]) -> list[Record]:
    return [record for record in records if record.get("discrepancy") is not None]


def _counts(records: Sequence[Record], ties: Ties) -> dict[str, int]:
    """Counts of items; `correct` includes ties if the policy counts them as correct."""
    verdicts = Counter(record["verdict"] for record in records)
    answers = [[each.get("correct"), *each.get("contrastive", ()), each.get("best")] for each in records]
    counted = Counter(note for own in answers for note in {n for each in own if each for n in each["notes"]})
    bare = sum(not record["scores"]["contrastive"] for record in records)
    machine = any(each["reference"] == "machine" for each in records)
    return {
        "correct": verdicts["correct"] + (verdicts["tie"] if ties == "correct" else 0),
        "ties": verdicts["tie"],
        **{note: counted[note] for note in _NOTES},
        **told_counts(counted),
        "infinite": sum(_is_infinite(record["scores"]) for record in records),
        **({"own": sum(map(is_own, records))} if machine else {}),
        **({"without_variants": bare} if bare else {}),
    }


def _is_infinite(scores: Mapping[str, Any]) -> bool:
    known = (scores["correct"], *scores["contrastive"], scores.get("best", 0.0))
    return bool(scores["contrastive"]) and None in known


def false_positive_rows(records: Sequence[Record], *, ties: Ties, controls: Sequence[str]) -> Iterator[Row]:
    """`expected_false_positives`, as the controls predict them, and `excess_errors`, the error rate beyond them.

    The model: every error on a control is a false positive, and a plausible pair is exposed to false
    positives as a control pair with the same discrepancy is. So the controls, all together, are cut into
    bins of equal size by their discrepancy, and each plausible pair is expected to be a false positive with
    the error rate of the controls in its bin. Without discrepancies there is one bin, of the controls with
    the same reference kind. Values are shares of pairs; the excess is what is left of the error rate, and its
    interval takes controls and plausible pairs for independent.
    """
    groups = by_phenomenon(records)
    plausible = {key: some for key, some in groups.items() if key[0] not in controls}
    control = [record for key, some in groups.items() if key[0] in controls for record in some]
    if any("discrepancy" in record for record in records):
        known = {key: with_it for key, some in plausible.items() if (with_it := _with_discrepancy(some))}
        families = [(_with_discrepancy(control), known, True)]
    else:
        families = []
        for kind in sorted({reference for _, reference in plausible}):
            own = [record for record in control if record["reference"] == kind]
            families.append((own, {key: some for key, some in plausible.items() if key[1] == kind}, False))
    for controlled, groups, binned in families:
        # One sentence says nothing about others.
        exposed = {key: some for key, some in groups.items() if len(set(sources(some))) > 1}
        if not exposed or len(set(sources(controlled))) < 2:
            continue
        edges = _bin_edges(controlled) if binned else np.array([])
        for (phenomenon, reference), some in exposed.items():
            expected, errors = _expected_rate(controlled, some, edges, ties), _errors(some, ties)
            excess = difference(clustered_proportion(errors, sources(some)), expected, len(some))
            labels = {"phenomenon": phenomenon, "reference": reference}
            counts = {
                "errors": sum(record["verdict"] == "wrong" for record in some),
                "expected": round(expected.value * len(some)),
                "controls": len(controlled),
            }
            yield Row("expected_false_positives", expected, labels, counts)
            yield Row("excess_errors", excess, labels, counts)


def _bin_edges(controls: Sequence[Record]) -> Array:
    """Discrepancies between bins of equally many controls; each bin has enough sources for an error rate."""
    bins = min(_MOST_BINS, max(1, len(set(sources(controls))) // _SOURCES_A_BIN))
    values = [record["discrepancy"] for record in controls]
    # Unlike interpolated quantiles, these do not change if all pairs are repeated.
    return np.unique(np.quantile(values, np.arange(1, bins) / bins, method="inverted_cdf"))


def _expected_rate(
    controls: Sequence[Record], plausible: Sequence[Record], edges: Array, ties: Ties
) -> Estimate:
    """The error rate of controls, weighted so that their bins have the plausible pairs' shares."""
    ours, theirs = (_bins(some, edges) for some in (controls, plausible))
    here, there = (np.bincount(some, minlength=len(edges) + 1) for some in (ours, theirs))
    # In a bin without controls the rate over all bins stands in.
    weights = there[ours] / here[ours] + there[here == 0].sum() / len(controls)
    found = clustered_proportion(_errors(controls, ties), sources(controls), weights.tolist())
    return replace(found, n=len(plausible))


def _errors(records: Sequence[Record], ties: Ties) -> list[float]:
    return [1.0 - worth for worth in tie_credits(records, ties)]


def _bins(records: Sequence[Record], edges: Array) -> Array:
    values = [record["discrepancy"] for record in records] if len(edges) else [0.0] * len(records)
    found: Array = np.searchsorted(edges, values)
    return found
