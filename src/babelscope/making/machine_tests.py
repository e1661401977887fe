"""A test set with machine references beside its human ones, and what became of each pair."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from babelscope.core.results import Record, Row
from babelscope.language.registry import error_type, error_types, language
from babelscope.making.machine_references import Outcome, machine_references, misspelled
from babelscope.stats.intervals import Array, cluster_sums, clustered_mean, figure_of_totals, proportion
from babelscope.testsets.items import NO_SOURCE, MinimalPair, TestSet
from babelscope.util.errors import BabelscopeError

# --- How machine references change a test set: which pairs are lost, how the others differ -------------------------


@dataclass(frozen=True, slots=True)
class _Measured:
    """One measure of a pair's human reference, and of its machine reference."""

    source: str
    human: float
    machine: float
    """NaN if it has none."""


def bias_rows(
    outcomes: Sequence[Outcome],
    discrepancies: Mapping[str, float] | None = None,
) -> list[Row]:
    """Rows over all pairs (`all`) and for each phenomenon.

    `kept`, `queued` and `dropped` are shares of the pairs, with their number as `pairs`; each reason has a row.
    Then `characters`, `tokens`,
    `log_frequency` (the mean natural log of a word's share in all references and translations together) and,
    if known by the pairs' ids, the `discrepancy`, each as a mean (label `of`: human, machine) and as two shifts
    (label `by`): `selection`, from all human references to those of kept pairs, and `translation`, from these to
    the machine references of the same pairs.
    """
    words = Counter(
        word
        for outcome in outcomes
        for text in (outcome.human.correct, outcome.translation)
        for word in _words(outcome, text)
    )
    total = sum(words.values())

    def log_frequency(outcome: Outcome, text: str) -> float:
        here = _words(outcome, text)
        return math.fsum(math.log(words[word] / total) for word in here) / len(here) if here else math.nan

    measures: dict[str, Callable[[Outcome, str], float]] = {
        "characters": lambda _outcome, text: float(len(text)),
        "tokens": lambda outcome, text: float(len(_tokens(outcome, text))),
        "log_frequency": log_frequency,
    }
    groups: dict[str, list[Outcome]] = {"all": list(outcomes)}
    for phenomenon in sorted({outcome.human.phenomenon for outcome in outcomes}):
        groups[phenomenon] = [each for each in outcomes if each.human.phenomenon == phenomenon]
    rows: list[Row] = []
    for name, members in groups.items():
        labels: dict[str, str | int] = {"phenomenon": name}
        rows += _counted(members, labels)
        for measure, of in measures.items():
            values = [
                _Measured(
                    each.human.source,
                    of(each, each.human.correct),
                    of(each, each.pair.correct) if each.pair else math.nan,
                )
                for each in members
            ]
            rows += _shifts(measure, values, labels)
        if discrepancies is not None:
            values = [
                _Measured(
                    each.human.source,
                    discrepancies.get(each.human.id, math.nan),
                    discrepancies.get(each.pair.id, math.nan) if each.pair else math.nan,
                )
                for each in members
            ]
            rows += _shifts("discrepancy", values, labels)
    return rows


def _tokens(outcome: Outcome, text: str) -> list[str]:
    """Words and punctuation marks of a text, split as in the language of the outcome's error type."""
    if outcome.human.phenomenon not in error_types():
        return text.split()
    tokenize = language(error_type(outcome.human.phenomenon).language).tokenize
    return [text[start:end] for start, end in tokenize(text)]


def _words(outcome: Outcome, text: str) -> list[str]:
    """The words of a text in lower case, without punctuation and numbers."""
    return [word.lower() for word in _tokens(outcome, text) if word[0].isalpha()]


def _counted(outcomes: Sequence[Outcome], labels: dict[str, str | int]) -> list[Row]:
    verdicts = Counter(each.verdict for each in outcomes)
    reasons = Counter((each.verdict, each.reason) for each in outcomes)
    rows = [
        Row(name, proportion(verdicts[name], len(outcomes)), labels, {"pairs": verdicts[name]})
        for name in ("kept", "queued", "dropped")
    ]
    return rows + [
        Row(verdict, proportion(count, len(outcomes)), {**labels, "reason": reason}, {"pairs": count})
        for (verdict, reason), count in sorted(reasons.items())
    ]


def _shifts(measure: str, values: Sequence[_Measured], labels: dict[str, str | int]) -> list[Row]:
    """Means over human and machine references, and the shifts by selection and by translation."""
    known = [each for each in values if not math.isnan(each.human)]
    kept = [each for each in known if not math.isnan(each.machine)]
    if not kept:
        return []
    sources = [each.source for each in known]
    own = [each.source for each in kept]

    def mean(some: Sequence[float], clusters: Sequence[str]) -> Row:
        return Row(measure, clustered_mean(some, clusters))

    inside = [float(not math.isnan(each.machine)) for each in known]
    human = [each.human for each in known]
    columns = [inside, [a * b for a, b in zip(inside, human, strict=True)], [1.0] * len(known), human]
    selection = figure_of_totals(
        cluster_sums(columns, sources), _selected, len(kept), what="source sentences"
    )
    made = [
        (mean(human, sources), {"of": "human"}),
        (mean([each.machine for each in kept], own), {"of": "machine"}),
        (Row(measure, selection), {"by": "selection"}),
        (mean([each.machine - each.human for each in kept], own), {"by": "translation"}),
    ]
    return [Row(measure, row.estimate, {**labels, **more}) for row, more in made]


def _selected(totals: Array) -> Array:
    """Mean over kept pairs minus mean over all, from totals [..., 4]: n kept, sum kept, n all, sum all."""
    kept, of_kept, every, of_all = (totals[..., column] for column in range(4))
    # Without the one sentence that has kept pairs there is no mean, and so no interval.
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Array = of_kept / kept - of_all / every
    return found


# --- A test set with machine references beside its human ones, and what became of each pair ------------------------

FIELD = "machine_reference"
"""Field of a human pair that says what became of its machine reference."""
_Verdict = Literal["kept", "queued", "dropped"]


def with_machine_references(
    tests: TestSet, systems: Sequence[Any], *, seed: int, advance: Callable[[int], None] = lambda _n: None
) -> TestSet:
    """The human pairs of a test set, and the pairs made from the systems' translations of the same sources.

    Pairs without a source are those of a language model: they get controls, which no error type of theirs gives.
    """
    pairs = tests.items_of(MinimalPair, what_for="making machine references")
    if any(pair.reference == "machine" for pair in pairs):
        raise BabelscopeError(
            f"{tests.name} has machine references already: leave --machine-references out, or give its human pairs"
        )
    outcomes = []
    for outcome in machine_references(pairs, systems, seed=seed):
        outcomes.append(outcome)
        advance(1)
    made = [outcome.pair for outcome in outcomes if outcome.pair is not None]
    controls = misspelled([*pairs, *made], seed) if any(NO_SOURCE in pair.extra for pair in pairs) else []
    return TestSet(tests.name, (*map(marked, outcomes), *made, *controls), tests.skipped, tests.version)


def marked(outcome: Outcome) -> MinimalPair:
    """The human pair of an outcome, with what became of its machine reference in the field `machine_reference`."""
    told = {
        "verdict": outcome.verdict,
        "reason": outcome.reason,
        "system": outcome.system,
        "translation": outcome.translation,
    }
    return dataclasses.replace(outcome.human, extra={**outcome.human.extra, FIELD: told})


def rows_of_making(records: Sequence[Record]) -> list[Row]:
    """How many pairs got a machine reference, and the bias of these, from judged records of such a test set.

    `kept`, `queued` and `dropped` as in `making/machine_tests.py`; its shifts are named `bias_characters`...
    """
    outcomes = _outcomes(records)
    if not outcomes:
        return []
    distances = {
        record["id"]: record["discrepancy"] for record in records if record.get("discrepancy") is not None
    }
    found = bias_rows(outcomes, distances or None)
    # Of each error type what is left; reasons and shifts of all types together.
    shown = [row for row in found if row.labels["phenomenon"] == "all" or len(row.labels) == 1]
    return [row if row.name in get_args(_Verdict) else _renamed(row) for row in shown]


def _renamed(row: Row) -> Row:
    """A shift under a name of its own; in the rows of a run, `by` names a field of the items."""
    labels = {"shift" if name == "by" else name: value for name, value in row.labels.items()}
    return Row(f"bias_{row.name}", row.estimate, labels, row.counts)


def _outcomes(records: Iterable[Record]) -> list[Outcome]:
    """What became of the human pairs among the records, as their test set says."""
    records = list(records)
    machine = {
        str(record.get("extra", {}).get("human")): record
        for record in records
        if record["reference"] == "machine"
    }
    found = []
    for record in records:
        told = record.get("extra", {}).get(FIELD)
        if record["reference"] != "human" or not _is_outcome(told):
            continue
        other = machine.get(str(record["id"])) if told["verdict"] == "kept" else None
        pair = None if other is None else _pair(other)
        found.append(
            Outcome(_pair(record), told["system"], told["translation"], told["verdict"], told["reason"], pair)
        )
    return found


def question_of(record: Record) -> Record | None:
    """What a person is asked about the machine reference of a human pair; None if there is nothing to be asked."""
    found = next(iter(_outcomes([record])), None)
    can_be_asked = found and found.translation.strip() and found.human.contrastive
    return found.question() if found and can_be_asked else None


def _is_outcome(told: object) -> bool:
    """Whether a field is what `marked` wrote: a test set may be a stranger's."""
    fields = ("verdict", "reason", "system", "translation")
    return (
        isinstance(told, Mapping)
        and all(isinstance(told.get(name), str) for name in fields)
        and told["verdict"] in get_args(_Verdict)
    )


def _pair(record: Record) -> MinimalPair:
    texts = record.get("texts") or {
        "correct": record["correct"]["text"],
        "contrastive": [each["text"] for each in record["contrastive"]],
    }
    return MinimalPair(
        str(record["id"]),
        record["source"],
        texts["correct"],
        tuple(texts["contrastive"]),
        record["phenomenon"],
        record["reference"],
        for_scores=True,
    )
