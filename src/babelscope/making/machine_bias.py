"""How machine references change a test set: which pairs are lost, how the others differ (minimal-pairs, 3.3)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from babelscope.core.results import Row
from babelscope.language.registry import error_type, error_types, language
from babelscope.making.machine_references import Outcome
from babelscope.stats.intervals import Array, cluster_sums, clustered_mean, figure_of_totals, proportion


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
    tokenise = language(error_type(outcome.human.phenomenon).language).tokenise
    return [text[start:end] for start, end in tokenise(text)]


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
