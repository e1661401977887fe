"""The figures of conditioning: score, weights, accuracies, confidence (its paper, sections 3.2 to 4.2)."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import expit
from scipy.stats import rankdata

from babelscope.core.results import Estimate, Record, Row
from babelscope.core.ties import Ties, credit
from babelscope.methods.condition.settings import Base, Equal
from babelscope.stats.intervals import clustered_proportion
from babelscope.testsets.mucow import NO_CATEGORY

CONFIDENCE_EDGES = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.5)
"""Bins of |score - 0.5|. Likelihoods a token differ little (table 1: .516 is clear), so bins are narrow near 0."""


def margin_of(correct: float, incorrect: float) -> float:
    """By how many nats the best correct source is ahead; NaN if the translation is impossible under all."""
    return correct - incorrect


def score_of(margin: float, base: Base = "e") -> float:
    """c / (c + i) of section 3.2 with c / i = base ** margin, as a sigmoid: nothing can underflow.

    The paper's likelihoods are exp of the mean log-probability. The released code takes fairseq's natural
    logs for binary ones and raises 2 to them: base "2".
    """
    return float(expit(margin * (math.log(2) if base == "2" else 1.0)))


def verdict_of(margin: float, ties: Ties) -> str:
    """Correct if score >= 0.5 (the released code; ties "wrong": > 0.5, as section 3.4 has it).

    Told by the margin, which no base and no rounding of the score can change.
    """
    if margin == 0:
        return "tie" if ties == "half" else ties
    return "correct" if margin > 0 else "wrong"


def weights_of(margins: Sequence[float], categories: Sequence[str], equal: Equal = "shared") -> list[float]:
    """n - rank within each category of n, rank 0 being the most confident (section 3.4): n, n - 1, ..., 1.

    |score - 0.5| grows with |margin| in every base, so margins are ranked. Items equally confident share
    their weights; with equal "order" the earlier one weighs more, as in the released code.
    """
    weights = [0.0] * len(margins)
    for members in _grouped(categories).values():
        doubts = [-abs(margins[i]) for i in members]
        ranks = rankdata(doubts, method="average" if equal == "shared" else "ordinal")
        for i, rank in zip(members, ranks, strict=True):
            weights[i] = len(members) + 1 - float(rank)
    return weights


Columns = tuple[Sequence[float], Sequence[str], Sequence[float]]
"""What verdicts are worth, the sources they are about, and their weights."""


def minimum(groups: Sequence[Columns]) -> Estimate:
    """The smallest accuracy of groups, none of them empty (section 4.2).

    The smallest of several is low by chance too: high ends are widened for their number (Bonferroni), so
    that the interval holds the truth in 95 % of cases however many groups are equally good.
    """
    if not groups:
        return Estimate.of_nothing()
    found = [clustered_proportion(*group) for group in groups]
    return Estimate(
        min(each.value for each in found),
        min(each.low for each in found),
        min(clustered_proportion(*group, outside=0.05 / len(groups)).high for group in groups),
        sum(each.n for each in found),
    )


@dataclass(frozen=True, slots=True)
class Judged:
    """The items of one system that have a verdict, in columns."""

    margins: list[float]
    scores: list[float]
    worth: list[float]
    categories: list[str]
    weights: list[float]
    sources: list[str]
    """Items of one source are not independent."""


def columns_of(records: Sequence[Record], equal: Equal = "shared") -> Judged:
    """What figures are made from; items that were skipped are left out."""
    kept = [record for record in records if not record["skipped"]]
    margins = [_margin(record) for record in kept]
    categories = [record["category"] for record in kept]
    return Judged(
        margins,
        [record["score"] for record in kept],
        # A verdict is a tie only where the policy was half; others were decided by it.
        [credit("half")[record["verdict"]] for record in kept],
        categories,
        weights_of(margins, categories, equal),
        [record["source"] for record in kept],
    )


def rows_of(records: Sequence[Record], equal: Equal = "shared") -> list[Row]:
    """Accuracy over all, unweighted and weighted; the same by category, and its minimum; confidence."""
    judged = columns_of(records, equal)
    everything = range(len(judged.worth))
    skipped = Counter(record["category"] for record in records if record["skipped"])
    evaluator = {"evaluator": records[0]["evaluator"]} if records else {}
    rows = []

    def row(
        name: str, estimate: Estimate, members: Sequence[int], left_out: int, weighting: str, **labels: str
    ) -> None:
        counts = {
            "correct": sum(judged.worth[i] == 1 for i in members),
            "ties": sum(judged.margins[i] == 0 for i in members),
            "skipped": left_out,
        }
        rows.append(Row(name, estimate, {**evaluator, **labels, "weighting": weighting}, counts))

    def parts(members: Sequence[int], weighting: str) -> Columns:
        weights = [judged.weights[i] if weighting == "category" else 1.0 for i in members]
        return [judged.worth[i] for i in members], [judged.sources[i] for i in members], weights

    for name, weighting in (("all", "none"), ("weighted", "category")):
        row(name, clustered_proportion(*parts(everything, weighting)), everything, skipped.total(), weighting)
    groups = _grouped(judged.categories)
    # In the order of their names, so that the order of items changes nothing; none may be lost by skipping.
    names = sorted({*groups, *skipped})
    told = [name for name in names if name in groups and name != NO_CATEGORY]
    for weighting, suffix in (("category", ""), ("none", " unweighted")):
        found = {name: clustered_proportion(*parts(groups.get(name, ()), weighting)) for name in names}
        for name in names:
            row(name + suffix, found[name], groups.get(name, ()), skipped[name], weighting, category=name)
        lowest = {"lowest": min(told, key=lambda name: found[name].value)} if told else {}
        members = [i for name in told for i in groups[name]]
        smallest = minimum([parts(groups[name], weighting) for name in told])
        row("minimum" + suffix, smallest, members, skipped.total(), weighting, **lowest)
    return [*rows, *_confidence(judged, evaluator)]


def _confidence(judged: Judged, labels: dict[str, str]) -> list[Row]:
    """A histogram of |score - 0.5|: the share of items in each bin, and how many of them are correct."""
    confidences = [abs(score - 0.5) for score in judged.scores]
    rows = []
    for number, (low, high) in enumerate(itertools.pairwise(CONFIDENCE_EDGES)):
        last = number == len(CONFIDENCE_EDGES) - 2
        inside = [low <= each < high or (last and each == high) for each in confidences]
        counts = {
            "items": sum(inside),
            "correct": sum(worth == 1 for worth, here in zip(judged.worth, inside, strict=True) if here),
        }
        share = clustered_proportion([float(here) for here in inside], judged.sources)
        rows.append(Row("confidence", share, {**labels, "bin": f"{low:g}-{high:g}"}, counts))
    return rows


def least_certain(records: Sequence[Record], n: int) -> list[Record]:
    """The n judged items whose score is closest to 0.5, the least certain first."""
    judged = [record for record in records if not record["skipped"]]
    return sorted(judged, key=lambda record: abs(_margin(record)))[:n]


def _margin(record: Record) -> float:
    return margin_of(log_of(record["correct_logprob"]), log_of(record["incorrect_logprob"]))


def _grouped(categories: Sequence[str]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for i, category in enumerate(categories):
        groups.setdefault(category, []).append(i)
    return groups


def log_of(stored: float | None) -> float:
    """A log-probability as read from a record: JSON has null for minus infinity."""
    return -math.inf if stored is None else stored
