"""kRG and kQRG of one sentence in a region of its hypothesis space (section 3.1)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from babelscope.core.results import Record
from babelscope.methods.space.regions import Region, by_text, region_hypotheses
from babelscope.methods.space.sentences import FigureSettings
from babelscope.metrics.ranking import kqrg, krg, random_krg

View = Literal["tokens", "text", "without-empty", "lists-with-empty", "lists-without-empty"]


@dataclass(frozen=True, slots=True)
class RankingGains:
    """kRG and kQRG of one sentence in a region; NaN where it has too few hypotheses."""

    krg: float
    krg_random: float
    """The expectation of kRG for a random order of the same hypotheses, in closed form."""
    krg_above_random: float
    """kRG minus that."""
    kqrg: float
    short: bool
    """Fewer hypotheses than asked for."""
    tied: bool
    """Two hypotheses have equal quality."""
    twins: bool
    """Two segmentations have the same text."""


def hypotheses_of(record: Record) -> list[Record]:
    """All stored hypotheses of a record; MBR decoding's choice is one of the samples."""
    best = [record["best"]] if record["best"] else []
    sweep = record.get("beams", [])
    return [*best, *record["beam"], *record["top"]["found"], *record["samples"]["hypotheses"], *sweep]


def quality_by(record: Record, hypothesis: Mapping[str, Any], metric: str) -> float:
    """The stored quality of a hypothesis by one of the record's metrics."""
    first = next(iter(record["metrics"]))
    return float(hypothesis["quality"] if metric == first else hypothesis["qualities"][metric])


def with_single_metric(record: Record, metric: str) -> Record:
    """The record as if it had been judged by that metric alone."""

    def only(hypothesis: Mapping[str, Any]) -> Record:
        return {**hypothesis, "quality": quality_by(record, hypothesis, metric)}

    return {
        **record,
        "metrics": {metric: record["metrics"][metric]},
        "best": record["best"] and only(record["best"]),
        "beam": [only(each) for each in record["beam"]],
        "top": {**record["top"], "found": [only(each) for each in record["top"]["found"]]},
        "samples": {
            **record["samples"],
            "hypotheses": [only(each) for each in record["samples"]["hypotheses"]],
        },
        "mbr": record["mbr"] and only(record["mbr"]),
        "beams": [only(each) for each in record.get("beams", [])],
    }


def best_quality(record: Record) -> float:
    """The highest possible quality of the metric; 1 where it has none."""
    return next(iter(record["metrics"].values())) or 1.0


def ranking_gains(
    record: Record, name: Region, size: int, view: View, settings: FigureSettings
) -> RankingGains | None:
    """kRG and kQRG of a sentence (section 3.1); None where the region is not known, or the view has no such list."""
    found = region_hypotheses(record, name, size, settings)
    if found is None:
        return None
    full = [each for each in found if not each.empty]
    if view.startswith("lists-") and (len(full) < len(found)) != (view == "lists-with-empty"):
        return None
    if view == "without-empty":
        found, size = full, size - (len(found) - len(full))
    if any(math.isnan(each.logprob) for each in found):  # nobody knows their order
        tied = len({each.quality for each in found}) < len(found)
        none = math.nan
        return RankingGains(none, none, none, none, short=len(found) < size, tied=tied, twins=False)
    texts = by_text(found)
    twins = len(texts) < len({each.number for each in found})
    if view == "text":  # the number of samples stays as drawn
        found = [texts[each.text] for each in found] if name == "samples" else list(texts.values())
    qualities, logprobs = [each.quality for each in found], [each.logprob for each in found]
    ranked = krg(qualities, logprobs, gains=settings.gains, ties=settings.ties)
    chance = random_krg(qualities, gains=settings.gains, ties=settings.ties)
    return RankingGains(
        krg=ranked,
        krg_random=chance,
        krg_above_random=ranked - chance,
        kqrg=kqrg(qualities, logprobs, normalise=settings.normalise, bound=best_quality(record)),
        short=len(found) < size,
        tied=len(set(qualities)) < len(qualities),
        twins=twins,
    )
