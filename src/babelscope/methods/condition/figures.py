"""Scores, verdicts, weights and rows of contrastive conditioning (its paper, sections 3.2 to 4.2)."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field
from scipy.special import expit

from babelscope.core.results import Estimate, Record, Row, Ties, credit, grouped, minus_inf_if_none
from babelscope.core.settings import ErrorSettings, Option, Rerun
from babelscope.core.system import Scoring
from babelscope.methods.measuring import sources
from babelscope.stats.intervals import clustered_proportion, members_of, odds
from babelscope.stats.weighted import OUTSIDE, weighted_share
from babelscope.testsets.mucow import NO_CATEGORY
from babelscope.testsets.winomt import CUED

Base = Literal["e", "2"]
TiedWeights = Literal["shared", "order"]
Protocol = Literal["checked", "strict", "paper", "released"]


class Conditioned(ErrorSettings):
    """Whose translations are judged, and how the evaluator is tested."""

    translations: Option[Rerun[Literal["given", "system"]]] = "given"
    """given: judge the item's own translation, or ask the system if there is none. system: always ask the system."""
    beam: Rerun[int] = Field(default=5, ge=1)
    """Beam size of the system (section 4.2)."""
    preflight: Rerun[int] = Field(default=100, ge=0)
    """Test the evaluator on at most this many items: on references and on translations of sources with a cue. 0: no
    test."""


class ConditionSettings(Conditioned):
    """Whose translations are judged, and how the evaluator's scores become verdicts and weights."""

    presets: ClassVar[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {
        "protocol": {
            "paper": {"ties": "wrong", "preflight": 0},
            "released": {"ties": "correct", "tied_weights": "order", "score_base": "2", "preflight": 0},
        }
    }

    likelihood: Option[Scoring] = "mean"
    """Judge by the evaluator's log-probability per token (as in the paper), of the whole translation, or by mean
    probability per token (footnote 2, read literally)."""
    score_base: Base = "e"
    """Base of the scores: e, which is right for natural logs, or 2, like the released code. It changes scores, not
    verdicts."""
    ties: Ties = "correct"
    """Credit for a tie (score 0.5): correct (released code), wrong (section 3.4), or half."""
    tied_weights: TiedWeights = "shared"
    """Weights of items of equal certainty: shared equally, or by their order in the file, like the released code."""
    protocol: Option[Protocol] = "checked"
    """checked: test the evaluator and correct accuracy for its errors. strict: also leave verdicts within its noise
    undecided. paper, released: no test; as the paper's text (score > 0.5) or code (score >= 0.5, equal weights by
    order, powers of 2). Explicit settings override the preset."""
    least_certain: int = Field(default=0, ge=0)
    """List this many least certain items per system."""


CONFIDENCE_EDGES = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.5)
"""Edges of bins of |score - 0.5|, narrow near 0: likelihoods per token differ little (in table 1, .516 is clear)."""


def best_of_side(scored: Sequence[Mapping[str, Any]], likelihood: Scoring) -> tuple[float | None, str | None]:
    """The best evaluator score over the sources of one side, in nats, and the source that has it."""
    scores: dict[str, float] = {}
    for each in scored:
        total = minus_inf_if_none(each["total"])
        scores[each["source"]] = total / each["tokens"] if likelihood == "mean" else total
        if likelihood == "probability":
            scores[each["source"]] = minus_inf_if_none(each["probability"])
    best = max(scores, key=lambda source: scores[source], default=None)
    return (None if best is None else scores[best]), best


def score_of(margin: float, base: Base = "e") -> float:
    """c / (c + i) of section 3.2 with c / i = base ** margin, as a sigmoid: nothing can underflow.

    The paper's likelihoods are exp of the mean log-probability. The released code takes fairseq's natural
    logs for binary ones and raises 2 to them: base "2".
    """
    return float(expit(margin * (math.log(2) if base == "2" else 1.0)))


def verdict_of(margin: float, ties: Ties) -> str:
    """Correct if score >= 0.5 (the released code; ties "wrong": > 0.5, as section 3.4 has it).

    Decided by the margin, because neither the base nor rounding of the score can change its sign.
    """
    if margin == 0:
        return "tie" if ties == "half" else ties
    return "correct" if margin > 0 else "wrong"


def margin_of_record(record: Record) -> float:
    """log p under the best correct source minus that under the best incorrect one, in nats; NaN if both are -inf."""
    return minus_inf_if_none(record["correct_logprob"]) - minus_inf_if_none(record["incorrect_logprob"])


def is_decided(record: Record) -> bool:
    """Whether a judged record has a verdict that counts: it was not skipped, nor is it within the noise."""
    return not record["skipped"] and record["verdict"] != "undecided"


def weights_of(
    margins: Sequence[float], categories: Sequence[str], equal: TiedWeights = "shared"
) -> list[float]:
    """n - rank within each category of n, rank 0 being the most confident (section 3.4): n, n - 1, ..., 1.

    |score - 0.5| grows with |margin| in every base, so margins are ranked. Items with equal confidence share
    their weights; with equal "order" the earlier one weighs more, as in the released code.
    """
    from scipy.stats import rankdata

    weights = [0.0] * len(margins)
    for members in members_of(categories).values():
        doubts = [-abs(margins[i]) for i in members]
        ranks = rankdata(doubts, method="average" if equal == "shared" else "ordinal")
        for i, rank in zip(members, ranks, strict=True):
            weights[i] = len(members) + 1 - float(rank)
    return weights


def with_weights(records: Sequence[Record], equal: TiedWeights = "shared") -> list[Record]:
    """The records with the field `weight`, None if skipped or undecided."""
    kept = [record for record in records if is_decided(record)]
    margins, categories = map(margin_of_record, kept), [record["category"] for record in kept]
    weights = iter(weights_of(list(margins), categories, equal))
    return [{**record, "weight": next(weights) if is_decided(record) else None} for record in records]


Weighting = Literal["category", "none"]


def credits_of(decided: Sequence[Record]) -> list[float]:
    """What each verdict counts; they already follow the tie policy: "tie" is stored only where a tie counts half."""
    return [credit("half")[record["verdict"]] for record in decided]


def accuracy_of(
    decided: Sequence[Record], weighting: Weighting = "none", outside: float = OUTSIDE
) -> Estimate:
    """The share of correct translations, weighted within categories or not at all."""
    worth, owners = credits_of(decided), sources(decided)
    if weighting == "none":
        return weighted_share(worth, owners, [1.0] * len(worth), outside=outside)
    weights, categories = ([record[name] for record in decided] for name in ("weight", "category"))
    return weighted_share(worth, owners, weights, categories, outside=outside)


def lowest_accuracy(groups: Sequence[Sequence[Record]], weighting: Weighting = "none") -> Estimate:
    """The lowest accuracy among non-empty groups (section 4.2).

    The minimum of several estimates is biased downwards, so the upper ends are widened for the number of groups
    (Bonferroni): the interval covers the true value in 95 % of cases even if all groups are equally good.
    """
    if not groups:
        return Estimate.empty()
    found = [accuracy_of(group, weighting) for group in groups]
    return Estimate(
        min(each.value for each in found),
        min(each.low for each in found),
        min(accuracy_of(group, weighting, OUTSIDE / len(groups)).high for group in groups),
        sum(each.n for each in found),
    )


def accuracy_rows(records: Sequence[Record], equal: TiedWeights = "shared") -> list[Row]:
    """Accuracy of decided items, weighted and then unweighted: the lowest, over all, by category; confidence."""
    weighed = with_weights(records, equal)
    judged = [record for record in weighed if is_decided(record)]
    left_out = Counter(
        (each["category"], "skipped" if each["skipped"] else each["verdict"]) for each in weighed
    )
    groups = grouped((record["category"], record) for record in judged)
    # Sorted, so that the order of items does not matter; categories without a decided item stay in.
    names = sorted({record["category"] for record in records})
    ranked = [name for name in names if name in groups and name != NO_CATEGORY]
    rows = []

    def row(
        name: str, estimate: Estimate, members: Sequence[Record], of: Sequence[str], **labels: str
    ) -> None:
        margins = [(abs(margin_of_record(each)), each.get("noise")) for each in members]
        counts = {
            "correct": sum(each["verdict"] == "correct" for each in members),
            "ties": sum(margin == 0 for margin, _ in margins),
            "within_noise": sum(noise is not None and margin <= noise for margin, noise in margins),
            "undecided": sum(left_out[category, "undecided"] for category in of),
            "skipped": sum(left_out[category, "skipped"] for category in of),
        }
        rows.append(Row(name, estimate, labels, counts))

    # The paper's measure leads: the worst category, weighted; then weighted accuracy, then unweighted (section 4.2).
    ways: list[tuple[Weighting, str, str]] = [("category", "", "weighted"), ("none", " unweighted", "all")]
    for weighting, suffix, whole in ways:
        found = {name: accuracy_of(groups.get(name, ()), weighting) for name in names}
        lowest = {"lowest": min(ranked, key=lambda name: found[name].value)} if ranked else {}
        smallest = lowest_accuracy([groups[name] for name in ranked], weighting)
        members = [each for name in ranked for each in groups[name]]
        row("minimum" + suffix, smallest, members, names, **lowest, weighting=weighting)
        row(whole, accuracy_of(judged, weighting), judged, names, weighting=weighting)
        for name in names:
            own = groups.get(name, ())
            row(name + suffix, found[name], own, [name], category=name, weighting=weighting)
    return [*rows, *_confidence_rows(records)]


def undecided_rows(records: Sequence[Record]) -> list[Row]:
    """The share of decided items; accuracy over all items if all undecided ones are wrong, and if all are right."""
    judged = [record for record in records if not record["skipped"]]
    owners, decided = sources(judged), [is_decided(record) for record in judged]
    counts = {"undecided": decided.count(False)}
    rows = [Row("decided", clustered_proportion([float(each) for each in decided], owners), {}, counts)]
    for name, if_open in (("worst case", 0.0), ("best case", 1.0)):
        worth = {**credit("half"), "undecided": if_open}
        estimate = clustered_proportion([worth[record["verdict"]] for record in judged], owners)
        if not any(decided):
            estimate = Estimate.without_interval(math.nan, 0, "no item is decided")
        rows.append(Row(name, estimate, {}, counts))
    return rows


def _confidence_rows(records: Sequence[Record]) -> Iterator[Row]:
    """A histogram of |score - 0.5|: the share of items in each bin, and what verdicts these have."""
    judged = [record for record in records if not record["skipped"]]
    confidences = [abs(record["score"] - 0.5) for record in judged]
    for low, high in itertools.pairwise(CONFIDENCE_EDGES):
        inside = [low <= each < high or each == high == CONFIDENCE_EDGES[-1] for each in confidences]
        verdicts = Counter(record["verdict"] for record, here in zip(judged, inside, strict=True) if here)
        counts = {
            "items": sum(inside),
            "correct": verdicts["correct"],
            "ties": verdicts["tie"],
            "undecided": verdicts["undecided"],
        }
        share = clustered_proportion([float(here) for here in inside], sources(judged))
        yield Row("confidence", share, {"bin": f"{low:g}-{high:g}"}, counts)


_OTHER = {"male": "female", "female": "male"}


def class_of_translation(record: Record) -> str | None:
    """The class whose cue makes the translation likeliest; None if undecided, a tie, or its classes are unknown."""
    if not is_decided(record) or margin_of_record(record) == 0:
        return None
    right = margin_of_record(record) > 0
    cued = (record.get("extra") or {}).get(CUED)
    if isinstance(cued, Mapping):
        best = record.get("correct_source" if right else "incorrect_source")
        return next((str(name) for name, source in cued.items() if source == best), None)
    gold = record["gold"]
    return (gold if right else _OTHER[gold]) if gold in _OTHER else None


def class_rows(records: Sequence[Record]) -> list[Row]:
    """M:F, male for each female translation (Saunders and Byrne 2020); of three classes, what became of each."""
    known = [
        (record["gold"], name, record["source"])
        for record in records
        if (name := class_of_translation(record))
    ]
    golds, found = Counter(gold for gold, _, _ in known), Counter(name for _, name, _ in known)
    if golds.keys().isdisjoint(_OTHER):
        return []
    gendered = [(float(name == "male"), source) for _, name, source in known if name in _OTHER]
    male = clustered_proportion([each for each, _ in gendered], [source for _, source in gendered])
    counts = {name: found[name] for name in ("male", "female", "neutral") if name in _OTHER or found[name]}
    meant = {f"meant_{name}": golds[name] for name in ("male", "female", "neutral") if golds[name]}
    rows = [Row("male_to_female", odds(male), {}, {**counts, **meant})]
    names = sorted(found.keys() | golds.keys())
    # Of the items of each class, the share translated as each.
    for gold in sorted(golds) if len(names) > 2 else ():
        own = [(name, source) for meant_, name, source in known if meant_ == gold]
        for name in names:
            held = [float(each == name) for each, _ in own]
            share = clustered_proportion(held, [source for _, source in own])
            rows.append(
                Row("translated as", share, {"category": gold, "as": name}, {"count": int(sum(held))})
            )
    return rows
