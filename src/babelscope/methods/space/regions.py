"""Settings of `space`, the regions of a stored hypothesis space, and the hypotheses in them that count."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from babelscope.core.results import Estimate, Record, Row, grouped, minus_inf_if_none
from babelscope.core.settings import ErrorSettings, Languages, Lowered, Metavar, Option, Rerun
from babelscope.core.system import Drawing
from babelscope.methods.measuring import (
    known_metrics,
    known_tokenizer,
    language_identity,
    metric_identity,
    named_identity,
)
from babelscope.metrics.base import find_metric
from babelscope.metrics.mbr import expected_utility
from babelscope.metrics.ranking import Gains, Normalize, Ties, kqrg, krg, quality_bound, random_krg
from babelscope.stats.intervals import cluster_sums, clustered_mean, clustered_proportion, ratio_of_sums

Region = Literal["top", "beam", "samples"]
View = Literal["tokens", "text", "without-empty", "lists-with-empty", "lists-without-empty"]
Labels = dict[str, str | int]


class SpaceSettings(ErrorSettings):
    """What is searched and sampled, and how it is judged."""

    chunk: ClassVar[int] = 16  # exact search, beams and samples of an item take seconds

    k: Option[Lowered[int]] = Field(default=10, ge=0)
    """Hypotheses in the top and beam regions; 1: modes only, 0: samples only."""
    samples: Option[Rerun[int]] = Field(default=200, ge=0)
    """Samples per sentence; 0: none."""
    temperature: Option[Rerun[float]] = Field(default=1.0, gt=0)
    """Sampling temperature; 1 samples from the model itself."""
    top_p: Rerun[float] = Field(default=1.0, gt=0, le=1)
    """Sample only from the most probable tokens of this total probability."""
    epsilon: Rerun[float] = Field(default=0.0, ge=0, lt=1)
    """Sample only tokens of at least this probability."""
    metric: Option[Annotated[tuple[str, ...], Metavar("METRIC")]] = Field(default=("chrf",), min_length=1)
    """Metric of quality: chrf, chrf++, bleu, ter, ribes, comet, cometkiwi, comet:MODEL (see `babelscope data get`),
    cmd:COMMAND or file:NUMBERS?source=SEGMENTS (BLEURT, MetricX...). Tables and charts show the first."""
    tokenize: Option[Annotated[str, Metavar("TOKENIZER")]] = ""
    """Tokenizer of the metric: 13a, intl, zh, ja-mecab, ko-mecab, char, whitespace or spm:FILE. [default: by target
    language]"""
    normalize: Normalize = "bound"
    """What kQRG = 1 means: k perfect translations (`bound`, eq. 19 of the paper), or the best order of the model's
    own hypotheses."""
    gains: Gains = "linear"
    """Gain of kRG for a hypothesis of relevance f: f (eq. 13), or 2^f - 1, also in the paper's code."""
    ties: Ties = "shared"
    """Relevance of hypotheses of equal quality in kRG: their mean, or (eq. 13 as printed) the mean over all random
    orders."""
    beam: Option[Rerun[int]] = Field(default=5, ge=1)
    """Beam size of the system's translation and of beam search's list (at least k)."""
    beams: Annotated[Rerun[tuple[Annotated[int, Field(ge=1)], ...]], Metavar("SIZES")] = ()
    """Other beam sizes, such as 1,5,10, to report quality, missed modes, log-probability and length."""
    mbr_samples: int = Field(default=100, ge=1)
    """Maximum number of samples for minimum Bayes risk (MBR) decoding (section 5.2.2)."""
    utility: Annotated[str, Metavar("METRIC")] = "chrf"
    """Metric that MBR decoding maximizes (the paper: BLEURT); it must use references."""
    unresolved: Literal["leave-out", "keep"] = "keep"
    """Searches that exhausted their budget: count the best hypothesis found, or only what is proven."""
    budget_expansions: Option[Rerun[int | None]] = Field(default=None, ge=1)
    """Maximum number of prefixes expanded per sentence."""
    budget_seconds: Rerun[float | None] = Field(default=None, gt=0)
    """Maximum time per sentence, in seconds; not reproducible."""
    budget_bytes: Rerun[int | None] = Field(default=None, ge=1)
    """Maximum memory of an exact search, in bytes."""
    curves: bool = False
    """Also report figures for smaller k and fewer samples."""
    confidence: Rerun[bool] = False
    """Also report entropy of samples, mass of the top k, and calibration of token probabilities."""
    cases: Option[Annotated[str, Metavar("N|ID")]] = ""
    """Table `cases` of sentences with their most probable translations: this many, worst first, or the item of this
    id (id=7 for a numeric id)."""

    @property
    def drawing(self) -> Drawing:
        """How samples are drawn."""
        return Drawing(temperature=self.temperature, top_p=self.top_p, epsilon=self.epsilon)

    @property
    def draws_from_model(self) -> bool:
        """Whether samples are drawn from the model's own distribution."""
        return self.drawing == Drawing()

    @property
    def sizes(self) -> dict[Region, int]:
        """How many hypotheses each region has."""
        return {"top": self.k, "beam": self.k, "samples": self.samples}

    @field_validator("beams", mode="before")
    @classmethod
    def _listed(cls, given: object) -> object:
        """Sizes as one text, 1,5,10, or apart."""
        parts = (given,) if isinstance(given, str) else given
        if not isinstance(parts, Iterable):
            return parts
        found = [each for part in parts for each in (part.split(",") if isinstance(part, str) else (part,))]
        if len(set(map(str, found))) < len(found):
            raise ValueError("each size of the beam may be given once")
        return tuple(found)

    @field_validator("metric", mode="before")
    @classmethod
    def _one(cls, given: object) -> object:
        return (given,) if isinstance(given, str) else given

    _known_tokenizer = field_validator("tokenize")(known_tokenizer)
    _known_metrics = field_validator("metric")(known_metrics)

    @field_validator("utility")
    @classmethod
    def _known_utility(cls, given: str) -> str:
        expected_utility(given)
        return given

    @model_validator(mode="after")
    def _fit(self) -> Self:
        if self.normalize == "bound":
            for name in self.metric:
                quality_bound(find_metric(name))
        if not self.k and not self.samples:
            raise ValueError("k and samples are both 0: there is nothing to look at")
        return self

    def identity(self) -> Mapping[str, Any]:
        """What metrics and the tokenizer are."""
        metrics = {**metric_identity("metric", self.metric), **metric_identity("utility", [self.utility])}
        return {**metrics, **named_identity(tokenize=self.tokenize)}

    def identity_on(self, languages: Languages) -> Mapping[str, Any]:
        """The tokenizers that the target languages choose; BLEU stands beside every metric."""
        chosen = language_identity(self.tokenize, ["bleu"], [target for _, target in languages])
        return {"tokenize": chosen} if chosen else {}


# --- The regions of a stored hypothesis space, and the hypotheses in them that count -------------------------------


def is_empty(hypothesis: Mapping[str, Any]) -> bool:
    """Whether a stored hypothesis is the empty one; one of unknown words alone is not, though it has no text."""
    return not hypothesis["text"].strip() and not hypothesis.get("unknown")


def is_unfinished(hypothesis: Mapping[str, Any]) -> bool:
    """Whether a stored hypothesis hit the length limit."""
    return "unfinished" in hypothesis.get("notes", ())


def hypotheses_of(record: Record) -> list[Record]:
    """All stored hypotheses of a record; MBR decoding's choice is one of the samples."""
    best = [record["best"]] if record["best"] else []
    sweep = record.get("beams", [])
    return [*best, *record["beam"], *record["top"]["found"], *record["samples"]["hypotheses"], *sweep]


def quality_by(hypothesis: Mapping[str, Any], metric: str) -> float:
    """The stored quality of a hypothesis by one of the metrics; further ones than the first are in `qualities`."""
    others: Mapping[str, float] = hypothesis.get("qualities", {})
    return others[metric] if metric in others else float(hypothesis["quality"])


def with_single_metric(record: Record, metric: str) -> Record:
    """The record as if it had been judged by that metric alone."""
    return {**record, "metrics": {metric: record["metrics"][metric]}}


def quality_of(record: Record, hypothesis: Mapping[str, Any]) -> float:
    """The quality of a hypothesis by the record's (first) metric."""
    return quality_by(hypothesis, next(iter(record.get("metrics", ())), ""))


def best_quality(record: Record) -> float:
    """The highest possible quality of the record's (first) metric; 1 where it has none."""
    return next(iter(record["metrics"].values())) or 1.0


def region_hypotheses(
    record: Record, name: Region, size: int, settings: SpaceSettings
) -> list[Record] | None:
    """The first `size` stored hypotheses of a region, samples as often as drawn; None where they are not known.

    If an exact search ran out of budget, only hypotheses that it proved to be the best count (nothing unseen is
    more probable), unless `unresolved` is `keep`. A list is shorter than `size` if the whole space, or the beam,
    has no more.
    """
    if not has_region(record, name):
        return None
    if name == "top" and settings.unresolved == "leave-out" and not is_proven(record, size):
        return None
    if name == "beam":
        return sorted(record["beam"], key=nats, reverse=True)[:size]
    if name == "top":
        found: list[Record] = record["top"]["found"]
        return found[:size]
    return [record["samples"]["hypotheses"][number] for number in record["samples"]["drawn"][:size]]


def proven(record: Record) -> list[Record]:
    """The stored hypotheses that are proven to be the most probable ones, in their order."""
    top = record["top"]
    found: list[Record] = top["found"]
    bound = minus_inf_if_none(top["bound"])
    return found if top["exact"] else [each for each in found if each["logprob"] >= bound]


def is_proven(record: Record, size: int) -> bool:
    """Whether the first `size` hypotheses of the top region are proven to be the most probable ones."""
    return bool(record["top"]["exact"]) or len(proven(record)) >= size


def has_region(record: Record, name: Region) -> bool:
    """Whether a region was asked for and anything is known of it; lists made elsewhere may lack it."""
    if name == "samples":
        return bool(record["samples"]["drawn"])
    return bool(record["beam"] if name == "beam" else record["top"]["found"] or was_searched(record))


def was_searched(record: Record) -> bool:
    """Whether the top region comes from our own search, not from a list made elsewhere."""
    return record["top"]["expansions"] is not None


def counted_gap(missed_by: float | None, below_known: float | None, unresolved: str) -> float | None:
    """Nats below the mode; where searches that ended with their budget are kept, below the best hypothesis known."""
    return below_known if missed_by is None and unresolved == "keep" else missed_by


def beam_gap(record: Record, decoding: str, unresolved: str) -> float | None:
    """Nats by which beam search missed the mode; None if that is not known."""
    below = record.get("below_known", {}).get(decoding)
    return counted_gap(record["missed_by"][decoding], below, unresolved)


def nats(hypothesis: Mapping[str, Any]) -> float:
    """The log-probability of a stored hypothesis; NaN where a system gave none."""
    logprob: float | None = hypothesis["logprob"]
    return math.nan if logprob is None else logprob


def by_text(hypotheses: Sequence[Record]) -> dict[str, Record]:
    """One hypothesis per text, with the sum of its segmentations' probabilities, most probable first."""
    # By identity: the same sample drawn twice is not a second segmentation.
    distinct = {id(each): each for each in hypotheses}
    found = []
    for own in grouped((each["text"], each) for each in distinct.values()).values():
        first = max(own, key=nats)
        if len(own) > 1:
            ratios = math.fsum(math.exp(nats(each) - nats(first)) for each in own)
            first = {**first, "logprob": nats(first) + math.log(ratios)}
        found.append(first)
    return {each["text"]: each for each in sorted(found, key=nats, reverse=True)}


RANKING_MEASURES = ("krg", "krg_random", "krg_above_random", "kqrg")


def ranking_gains(
    record: Record, name: Region, size: int, view: View, settings: SpaceSettings
) -> dict[str, float] | None:
    """kRG and kQRG of a sentence (section 3.1); None where the region is not known, or the view has no such list.

    `krg_random` is the expectation of kRG for a random order of the same hypotheses. All are NaN if there are too few
    hypotheses. Also whether there are fewer hypotheses than asked for (`short`), two of equal quality (`tied`), and
    two segmentations of one text (`twins`).
    """
    found = region_hypotheses(record, name, size, settings)
    if found is None:
        return None
    full = [each for each in found if not is_empty(each)]
    if view.startswith("lists-") and (len(full) < len(found)) != (view == "lists-with-empty"):
        return None
    if view == "without-empty":
        found, size = full, size - (len(found) - len(full))
    ranked = chance = quality = math.nan
    is_known = all(each["logprob"] is not None for each in found)  # else their order is unknown
    texts = by_text(found) if is_known else {}
    twins = is_known and len(texts) < len(set(map(id, found)))
    if view == "text" and is_known:  # the number of samples stays as drawn
        found = [texts[each["text"]] for each in found] if name == "samples" else list(texts.values())
    metric = next(iter(record["metrics"]))
    qualities = [quality_by(each, metric) for each in found]
    if is_known:
        logprobs = [each["logprob"] for each in found]
        ranked = krg(qualities, logprobs, gains=settings.gains, ties=settings.ties)
        chance = random_krg(qualities, gains=settings.gains, ties=settings.ties)
        quality = kqrg(qualities, logprobs, normalize=settings.normalize, bound=best_quality(record))
    return {
        **dict(zip(RANKING_MEASURES, (ranked, chance, ranked - chance, quality), strict=True)),
        "short": len(found) < size,
        "tied": len(set(qualities)) < len(found),
        "twins": twins,
    }


BLEU_STATISTICS = "bleu_statistics"
"""Field of a decoding's hypothesis where words are split by a model."""
BEAM_SIZES = "beam_sizes"
"""Field of a record: sizes of the beams that gave its translation (`beam`) and its list (`beam-list`)."""
# Ends of the scales of means, which no interval leaves; qualities end at 0 and 1 where all of them lie between.
_SCALES = {
    **dict.fromkeys(("krg", "mass", "top_mass"), (0.0, 1.0)),
    **dict.fromkeys(("expansions", "length", "search_gap", "mode_gap"), (0.0, math.inf)),
    "beam_logprob": (-math.inf, 0.0),
}
_JUDGED = ("kqrg", "quality", "beam_quality")


def ratio_of(
    values: Sequence[float],
    sizes: Sequence[float],
    clusters: Sequence[str],
    within: tuple[float, float] = (-math.inf, math.inf),
) -> Estimate:
    """Sum of values over sum of sizes, with an interval over source sentences; `n` counts values."""
    if not values:
        return Estimate.empty()
    sums, totals = cluster_sums([values, sizes], clusters).T
    return ratio_of_sums(
        sums.tolist(), totals.tolist(), what="source sentences", n=len(values), within=within
    )


@dataclass(frozen=True, slots=True)
class SystemRecords:
    """The records of one system on one test set, with the settings: makes rows of per-sentence values."""

    records: Sequence[Record]
    settings: SpaceSettings

    def mean(
        self,
        name: str,
        values: Sequence[float | None],
        labels: Labels | None = None,
        counts: Mapping[str, int] | None = None,
        *,
        share: bool = False,
    ) -> Row:
        """A mean over sentences, or a share; None is unresolved, NaN undefined: both are left out and counted."""
        pairs = list(zip(self.records, values, strict=True))
        resolved = [(record, float(value)) for record, value in pairs if value is not None]
        known = [(record, value) for record, value in resolved if not math.isnan(value)]
        left_out = {"unresolved": len(pairs) - len(resolved), "undefined": len(resolved) - len(known)}
        columns = [value for _, value in known], [record["source"] for record, _ in known]
        scale = _SCALES.get(name, (-math.inf, math.inf))
        # A metric may leave its bound (COMET).
        if name in _JUDGED and all(0 <= value <= 1 for _, value in known):
            scale = (0.0, 1.0)
        estimate = clustered_proportion(*columns) if share else clustered_mean(*columns, within=scale)
        return Row(name, estimate, labels or {}, {**left_out, **(counts or {})})

    def share(self, name: str, values: Sequence[bool | None], labels: Labels, yes: str, **counts: int) -> Row:
        """The proportion of sentences of which something is true; `yes` names their count."""
        count = {yes: sum(value is True for value in values), **counts}
        return self.mean(name, values, labels, count, share=True)

    def mass(self, name: str, labels: Labels, missing: Mapping[str, int]) -> Row:
        """The probability of the most probable translations together, as many as the label k says."""
        k = int(labels["k"])
        mass = [
            None if found is None else math.fsum(math.exp(nats(each)) for each in found)
            for found in self.hypotheses("top", k)
        ]
        return self.mean(name, mass, labels, {"unresolved": self.unresolved(k), **missing})

    @property
    def regions(self) -> list[Region]:
        """Those of top and beam that any record has; both, where there are no records."""
        both: tuple[Region, ...] = ("top", "beam")
        return [
            name for name in both if not self.records or any(has_region(each, name) for each in self.records)
        ]

    def only(self, kept: Iterable[bool]) -> SystemRecords:
        """Some of the records."""
        return replace(self, records=list(itertools.compress(self.records, kept)))

    def with_region(self, *names: Region) -> tuple[SystemRecords, dict[str, int]]:
        """The records that have these regions, and how many have not."""
        own = self.only(all(has_region(record, name) for name in names) for record in self.records)
        missing = len(self.records) - len(own.records)
        return own, {"missing": missing} if missing else {}

    def unresolved(self, size: int) -> int:
        """In how many sentences the first `size` of the top region are not proven, whether they count or not."""
        return sum(not is_proven(record, size) for record in self.records if has_region(record, "top"))

    def hypotheses(self, name: Region, size: int) -> list[list[Record] | None]:
        """The first `size` hypotheses of a region of each record; None where they are not known."""
        return [region_hypotheses(record, name, size, self.settings) for record in self.records]

    def gains(self, name: Region, size: int, view: View) -> list[dict[str, float] | None]:
        """kRG and kQRG of each record."""
        return [ranking_gains(record, name, size, view, self.settings) for record in self.records]

    def beam_label(self, decoding: str) -> Labels:
        """The size of the beam as a label; nothing where it is not known, as of lists made elsewhere."""
        sizes = {record[BEAM_SIZES][decoding] for record in self.records if BEAM_SIZES in record}
        return {"beam": sizes.pop()} if len(sizes) == 1 else {}
