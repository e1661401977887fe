"""Rows of the hypothesis space: quality and ranking of its regions, and errors of beam search.

Three regions: `top`, the exact k best; `beam`, the k best of a beam search of width k; `samples`, in the order drawn.
Views: `tokens`, in which each segmentation is a hypothesis of its own; `text`, in which those that read the same are
one hypothesis with the sum of their probabilities, as far as the region has them; `without-empty`, in which the empty
hypothesis is taken out of every list; and the lists that have an empty one, and those that have none, by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from babelscope.core.results import Record, Row
from babelscope.methods.space.normalisation import normalisation_rows
from babelscope.methods.space.regions import Region, by_text, has_region, region_hypotheses, was_searched
from babelscope.metrics.corpus import corpus_estimate
from babelscope.metrics.ranking import Gains, Normalise, Ties, kqrg, krg, random_krg
from babelscope.stats.intervals import clustered_mean, clustered_proportion

View = Literal["tokens", "text", "without-empty", "lists-with-empty", "lists-without-empty"]
_VIEWS: tuple[View, ...] = ("tokens", "text")
_EMPTY_APART: tuple[View, ...] = ("without-empty", "lists-with-empty", "lists-without-empty")
_SAMPLE_COUNTS = (2, 5, 10, 20, 50, 100, 200, 500, 1000)
_Labels = dict[str, str | int]


class FigureSettings(Protocol):
    """The settings that rows depend on."""

    @property
    def k(self) -> int: ...
    @property
    def samples(self) -> int: ...
    @property
    def normalise(self) -> Normalise: ...
    @property
    def gains(self) -> Gains: ...
    @property
    def ties(self) -> Ties: ...
    @property
    def unresolved(self) -> Literal["leave-out", "keep"]: ...
    @property
    def curves(self) -> bool: ...


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
    """All stored hypotheses of a record: 1-best, beam, top, samples; MBR decoding's choice is one of the samples."""
    best = [record["best"]] if record["best"] else []
    return [*best, *record["beam"], *record["top"]["found"], *record["samples"]["hypotheses"]]


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
    }


def _quality_bound(record: Record) -> float:
    """The highest possible quality of the metric; earlier versions assumed 1 and did not store it."""
    return next(iter(record.get("metrics", {}).values()), None) or 1.0


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
        kqrg=kqrg(qualities, logprobs, normalise=settings.normalise, bound=_quality_bound(record)),
        short=len(found) < size,
        tied=len(set(qualities)) < len(qualities),
        twins=twins,
    )


def figures(records: Sequence[Record], settings: FigureSettings, _seed: int) -> list[Row]:
    """The rows of one system on one test set; with several metrics, rows have the label `metric`."""
    cell = _SystemRecords(records, settings)
    rows = [*_corpus_score_rows(cell)]
    names = list(records[0].get("metrics", ())) if records else []
    for name in names or [""]:
        several = len(names) > 1
        own = replace(cell, records=[with_single_metric(each, name) for each in records]) if several else cell
        label: _Labels = {"metric": name} if several else {}
        for row in (*_quality_rows(own), *_region_rows(own), *_lucky_bias_rows(own)):
            rows.append(Row(row.name, row.estimate, {**row.labels, **label}, row.counts))
    return [*rows, *_empty_mode_rows(cell), *_search_rows(cell), *normalisation_rows(cell)]


@dataclass(frozen=True, slots=True)
class _SystemRecords:
    """The records of one system on one test set, with settings and seed: makes rows of per-sentence values."""

    records: Sequence[Record]
    settings: FigureSettings

    def mean(
        self,
        name: str,
        values: Sequence[float | None],
        labels: _Labels | None = None,
        counts: Mapping[str, int] | None = None,
    ) -> Row:
        """A mean over sentences: None is unresolved, NaN undefined; both are left out and counted."""
        known, left_out = self._known(values)
        estimate = clustered_mean(*self._columns(known))
        return Row(name, estimate, labels or {}, {**left_out, **(counts or {})})

    def share(self, name: str, values: Sequence[bool | None], labels: _Labels, yes: str) -> Row:
        """The proportion of sentences of which something is true; `yes` names their count."""
        known, left_out = self._known(values)
        estimate = clustered_proportion(*self._columns(known))
        return Row(name, estimate, labels, {yes: sum(value is True for value in values), **left_out})

    def _known(self, values: Sequence[float | None]) -> tuple[list[tuple[Record, float]], dict[str, int]]:
        pairs = list(zip(self.records, values, strict=True))
        resolved = [(record, float(value)) for record, value in pairs if value is not None]
        known = [(record, value) for record, value in resolved if not math.isnan(value)]
        return known, {"unresolved": len(pairs) - len(resolved), "undefined": len(resolved) - len(known)}

    @staticmethod
    def _columns(known: Sequence[tuple[Record, float]]) -> tuple[list[float], list[str]]:
        return [value for _, value in known], [record["source"] for record, _ in known]


def _translations_by_decoding(cell: _SystemRecords) -> dict[str, list[Record | None]]:
    """Decoding -> its translation of each sentence; None where exact search proved no mode."""
    records, settings = cell.records, cell.settings
    known = [region_hypotheses(record, "top", 1, settings) for record in records]
    modes = [record["top"]["found"][0] if mode else None for record, mode in zip(records, known, strict=True)]
    mbr = {"mbr": [record["mbr"] for record in records]} if settings.samples else {}
    found = {"beam": [record["best"] for record in records], "mode": modes, **mbr}
    # Lists made elsewhere may be of one region only.
    return {name: own for name, own in found.items() if name == "mode" or any(own) or not own}


def _corpus_score_rows(cell: _SystemRecords) -> Iterator[Row]:
    """Corpus BLEU and chrF of each decoding."""
    for decoding, answers in _translations_by_decoding(cell).items():
        kept = [(a["text"], r["references"]) for a, r in zip(answers, cell.records, strict=True) if a]
        counts = {"unresolved": len(answers) - len(kept), "unfinished": _unfinished(answers)}
        for metric in ("bleu", "chrf"):
            texts, references = [text for text, _ in kept], [own for _, own in kept]
            estimate = corpus_estimate(metric, texts, references)
            yield Row(metric, estimate, {"decoding": decoding}, counts)


def _quality_rows(cell: _SystemRecords) -> Iterator[Row]:
    """Mean sentence quality of each decoding, and of the samples."""
    for decoding, answers in _translations_by_decoding(cell).items():
        qualities = [answer["quality"] if answer else None for answer in answers]
        yield cell.mean("quality", qualities, {"decoding": decoding}, {"unfinished": _unfinished(answers)})
    if samples := cell.settings.samples:
        lists = [
            region_hypotheses(record, "samples", samples, cell.settings) or [] for record in cell.records
        ]
        means = [math.fsum(each.quality for each in drawn) / len(drawn) for drawn in lists]
        counts = {"unfinished": _unfinished_in(cell.records, "samples", samples)}
        yield cell.mean("quality", means, {"decoding": "samples"}, counts)


def _empty_mode_rows(cell: _SystemRecords) -> Iterator[Row]:
    """How often the most probable hypothesis is the empty one (section 2.3)."""
    for view in _VIEWS:
        # In the text view, summed segmentations further down can make another text the mode.
        size = 1 if view == "tokens" else cell.settings.k
        for region in _regions_of(cell):
            own, missing = _with_region(cell, region)
            lists = [region_hypotheses(record, region, size, cell.settings) for record in own.records]
            empty = [next(iter(by_text(found).values())).empty if found else None for found in lists]
            row = own.share("empty_mode", empty, {"region": region, "view": view}, "empty")
            yield Row(row.name, row.estimate, row.labels, {**row.counts, **missing})


def _region_rows(cell: _SystemRecords) -> Iterator[Row]:
    """kRG and kQRG of every region in both views, and over smaller k if curves are asked for."""
    k, samples = cell.settings.k, cell.settings.samples
    sizes: dict[Region, int] = dict.fromkeys(_regions_of(cell), k)
    sizes |= {"samples": samples} if samples else {}
    for name, size in sizes.items():
        for view in (*_VIEWS, *(_EMPTY_APART if name != "samples" else ())):
            yield from _gain_rows(cell, name, size, view)
    if cell.settings.curves:
        for size in range(2, k) if "top" in sizes else ():
            yield from _gain_rows(cell, "top", size, "tokens")
        for size in (each for each in _SAMPLE_COUNTS if each < samples):
            yield from _gain_rows(cell, "samples", size, "tokens")


def _regions_of(cell: _SystemRecords) -> list[Region]:
    """Those of top and beam that any record has; both, where there are no records."""
    both: tuple[Region, ...] = ("top", "beam")
    return [name for name in both if not cell.records or any(has_region(each, name) for each in cell.records)]


def _with_region(cell: _SystemRecords, *names: Region) -> tuple[_SystemRecords, dict[str, int]]:
    """The records that have these regions, and how many have not."""
    own = [record for record in cell.records if all(has_region(record, name) for name in names)]
    missing = len(cell.records) - len(own)
    return replace(cell, records=own), {"missing": missing} if missing else {}


def _gain_rows(cell: _SystemRecords, name: Region, size: int, view: View) -> Iterator[Row]:
    cell, missing = _with_region(cell, name)
    found = [ranking_gains(record, name, size, view, cell.settings) for record in cell.records]
    unresolved = {}
    if view.startswith("lists-"):  # lists of the other kind are not unresolved
        lists = [region_hypotheses(record, name, size, cell.settings) for record in cell.records]
        unresolved = {"unresolved": sum(own is None for own in lists)}
        pairs = [(r, g) for r, g in zip(cell.records, found, strict=True) if g is not None]
        cell, found = replace(cell, records=[record for record, _ in pairs]), [gains for _, gains in pairs]
    known = [each for each in found if each is not None]
    counts = {
        **missing,
        **unresolved,
        "short": sum(each.short for each in known),
        "tied": sum(each.tied for each in known),
        "twins": sum(each.twins for each in known),
        "unfinished": _unfinished_in(cell.records, name, size),
    }
    for measure in ("krg", "krg_random", "krg_above_random", "kqrg"):
        values = [None if each is None else float(getattr(each, measure)) for each in found]
        yield cell.mean(measure, values, {"region": name, "k": size, "view": view}, counts)


def _lucky_bias_rows(cell: _SystemRecords) -> Iterator[Row]:
    """kRG and kQRG of beam search's list minus those of the exact list (section 5.2.1, table 2)."""
    if len(_regions_of(cell)) < 2:
        return
    k, settings = cell.settings.k, cell.settings
    cell, missing = _with_region(cell, "top", "beam")
    top, beam = (
        [ranking_gains(record, name, k, "tokens", settings) for record in cell.records]
        for name in ("top", "beam")
    )
    for measure in ("krg", "kqrg"):
        values = [
            getattr(b, measure) - getattr(t, measure) if b and t else None
            for b, t in zip(beam, top, strict=True)
        ]
        yield cell.mean("beam_minus_exact", values, {"measure": measure, "k": k}, missing)


def _search_rows(cell: _SystemRecords) -> Iterator[Row]:
    """How often and by how many nats beam search missed the mode; expansions and mass of exact search."""
    regions = _regions_of(cell)
    whole = cell
    cell, missing = _with_region(cell, *regions)
    for decoding in ("beam", "beam-list") if len(regions) > 1 else ():
        gaps = [record["missed_by"][decoding] for record in cell.records]
        labels: _Labels = {"decoding": decoding}
        row = cell.share("search_error", [None if gap is None else gap > 0 for gap in gaps], labels, "missed")
        yield Row(row.name, row.estimate, row.labels, {**row.counts, **missing})
        missed = [(record, gap) for record, gap in zip(cell.records, gaps, strict=True) if gap]
        those = replace(cell, records=[record for record, _ in missed])
        yield those.mean("search_gap", [gap for _, gap in missed], labels)
    if "top" not in regions:
        return
    cell, missing = _with_region(whole, "top")
    searches = [record["top"] for record in cell.records]
    if all(was_searched(record) for record in cell.records):
        counts = {"minimum": sum(each["minimum"] for each in searches)}
        yield cell.mean("expansions", [float(each["expansions"]) for each in searches], counts=counts)
    lists = [region_hypotheses(record, "top", cell.settings.k, cell.settings) for record in cell.records]
    mass = [None if found is None else math.fsum(math.exp(each.logprob) for each in found) for found in lists]
    yield cell.mean("mass", mass, {"region": "top", "k": cell.settings.k}, missing)


def _unfinished(answers: Sequence[Mapping[str, Any] | None]) -> int:
    return sum("unfinished" in answer.get("notes", ()) for answer in answers if answer)


def _unfinished_in(records: Sequence[Record], name: Region, size: int) -> int:
    """How many translations of a region hit the length limit; exact search returns complete ones only."""
    if name == "top":
        return 0
    if name == "beam":
        return sum(_unfinished(record["beam"]) for record in records)
    found = [(record["samples"]["hypotheses"], record["samples"]["drawn"][:size]) for record in records]
    return sum(_unfinished([hypotheses[number] for number in drawn]) for hypotheses, drawn in found)
