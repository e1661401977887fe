"""Rows of the hypothesis space: quality and ranking of its regions, search errors, lengths, confidence.

Three regions: `top`, the exact k best; `beam`, the k best of a beam search (of `beam`, or of k if that is more);
`samples`, in the order drawn.
Views: `tokens`, in which each segmentation is a hypothesis of its own; `text`, in which those that read the same are
one hypothesis with the sum of their probabilities, as far as the region has them; `without-empty`, in which the empty
hypothesis is taken out of every list; the lists that have an empty one, and those that have none, by themselves; and
`paired`, the sentences whose top and beam are both known, of which the difference is.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, Literal

import numpy as np

from babelscope.core.comparison import Comparison
from babelscope.core.results import Estimate, Record, Row, minus_inf_if_none
from babelscope.core.system import CHATTER, count_flags
from babelscope.methods.measuring import sources
from babelscope.methods.space.confidence import confidence_rows
from babelscope.methods.space.regions import (
    BLEU_STATISTICS,
    RANKING_MEASURES,
    Labels,
    Region,
    SpaceSettings,
    SystemRecords,
    View,
    beam_gap,
    best_quality,
    by_text,
    counted_gap,
    has_region,
    is_empty,
    is_proven,
    is_unfinished,
    proven,
    quality_of,
    ranking_gains,
    ratio_of,
    region_hypotheses,
    was_searched,
    with_single_metric,
)
from babelscope.metrics.base import find_metric
from babelscope.metrics.corpus import estimate_of_statistics, record_statistics, source_groups
from babelscope.metrics.ranking import kqrg, krg
from babelscope.stats.correlation import Statistic, correlation

TOP: Labels = {"region": "top", "view": "tokens"}
SAMPLES: Labels = {"region": "samples", "view": "tokens"}
_Maker = Callable[[SystemRecords], Iterable[Row]]


def figures(records: Sequence[Record], settings: SpaceSettings, seed: int) -> list[Row]:
    """The rows of one system on one test set; with several metrics, rows have the label `metric`."""
    cell = SystemRecords(records, settings)
    rows = [*_corpus_score_rows(cell)]
    names = list(records[0].get("metrics", ())) if records else []
    for name in names if len(names) > 1 else [""]:
        own = replace(cell, records=[with_single_metric(each, name) for each in records]) if name else cell
        judged = _made(own, _quality_rows, _region_rows, _lucky_bias_rows, _sweep_quality_rows)
        bounds = _budget_bound_rows(own, _quality_rows, _top_gain_rows, _lucky_bias_rows)
        label: Labels = {"metric": name} if name else {}
        rows += [replace(row, labels={**row.labels, **label}) for row in (*judged, *bounds)]
    searched = _made(cell, _empty_mode_rows, _search_rows, _sweep_rows, _normalization_rows)
    bounds = _budget_bound_rows(cell, _empty_mode_rows, _search_rows)
    searched = [_with_open_searches(cell, row) for row in searched]
    return [*rows, *searched, *bounds, *length_rows(cell), *confidence_rows(cell, seed)]


def _made(cell: SystemRecords, *makers: _Maker) -> list[Row]:
    return [row for make in makers for row in make(cell)]


# --- Quality of decodings and samples ------------------------------------------------------------------------------


def _translations_by_decoding(cell: SystemRecords) -> dict[str, list[Record | None]]:
    """Decoding -> its translation of each sentence; None where no mode counts."""
    records, settings = cell.records, cell.settings
    found = {
        "beam": [record["best"] for record in records],
        "mode": [mode[0] if mode else None for mode in cell.hypotheses("top", 1)],
        "mbr": [record["mbr"] for record in records] if settings.samples else [None],
    }
    # Lists made elsewhere may be of one region only, and a system may be sampled alone.
    return {
        name: own for name, own in found.items() if (name == "mode" and settings.k) or any(own) or not own
    }


def _decoding_counts(cell: SystemRecords, decoding: str, answers: Sequence[Record | None]) -> dict[str, int]:
    """Searches that proved no mode, lists that are not there, and translations that hit the length limit."""
    is_mode = decoding == "mode"
    missing = sum(
        not has_region(record, "top") if is_mode else answer is None
        for record, answer in zip(cell.records, answers, strict=True)
    )
    notes = Counter(note for each in answers if each for note in each.get("notes", ()))
    return {
        "unresolved": cell.unresolved(1) if is_mode else 0,
        "unfinished": notes["unfinished"],
        **count_flags(notes),
        **({"missing": missing} if missing else {}),
    }


def _corpus_score_rows(cell: SystemRecords) -> Iterator[Row]:
    """Corpus BLEU and chrF of each decoding, where there are references."""
    if not all(record["references"] for record in cell.records):
        return
    for decoding, answers in _translations_by_decoding(cell).items():
        kept = [(answer, record) for answer, record in zip(answers, cell.records, strict=True) if answer]
        counts = _decoding_counts(cell, decoding, answers)
        for metric in ("bleu", "chrf"):
            estimate = _corpus_estimate(metric, kept, cell.settings.tokenize) if kept else Estimate.empty()
            yield Row(metric, estimate, {"decoding": decoding}, counts)


def _corpus_estimate(metric: str, kept: Sequence[tuple[Record, Record]], tokenize: str) -> Estimate:
    """The corpus score of (hypothesis, record); statistics that the records have are used as they are."""
    answers, records = [answer for answer, _ in kept], [record for _, record in kept]
    if metric == "bleu" and all(BLEU_STATISTICS in answer for answer in answers):
        statistics = np.array([answer[BLEU_STATISTICS] for answer in answers])
    else:
        texts = [answer["text"] for answer in answers]
        statistics = record_statistics(find_metric(metric), texts, records, tokenize)
    return estimate_of_statistics(find_metric(metric), statistics, source_groups(sources(records)))


def _quality_rows(cell: SystemRecords) -> Iterator[Row]:
    """Mean sentence quality of each decoding, and of the samples."""
    for decoding, answers in _translations_by_decoding(cell).items():
        pairs = zip(cell.records, answers, strict=True)
        qualities = [quality_of(record, answer) if answer else None for record, answer in pairs]
        counts = _decoding_counts(cell, decoding, answers)
        yield cell.mean("quality", qualities, {"decoding": decoding}, counts)
    if samples := cell.settings.samples:
        lists = cell.hypotheses("samples", samples)
        drawn = [(record, own or []) for record, own in zip(cell.records, lists, strict=True)]
        means = [fmean(quality_of(record, each) for each in own) for record, own in drawn]
        every = [each for _, own in drawn for each in own]
        counts = {"unfinished": sum(map(is_unfinished, every))}
        if noisy := sum(not CHATTER.keys().isdisjoint(each.get("notes", ())) for each in every):
            counts["chatter"] = noisy
        yield cell.mean("quality", means, {"decoding": "samples"}, counts)


# --- Regions: empty modes, ranking gains, search errors ------------------------------------------------------------

_VIEWS: tuple[View, ...] = ("tokens", "text")
_EMPTY_APART: tuple[View, ...] = ("without-empty", "lists-with-empty", "lists-without-empty")
_SAMPLE_COUNTS = (2, 5, 10, 20, 50, 100, 200, 500, 1000)


def _empty_mode_rows(cell: SystemRecords) -> Iterator[Row]:
    """How often the most probable hypothesis is the empty one (section 2.3)."""
    for view in _VIEWS:
        # In the text view, summed segmentations further down can make another text the mode.
        size = 1 if view == "tokens" else cell.settings.k
        for region in cell.regions:
            own, missing = cell.with_region(region)
            lists = own.hypotheses(region, size)
            modes = [next(iter(by_text(found).values())) if found else None for found in lists]
            empty = [is_empty(mode) if mode else None for mode in modes]
            wordless = sum(
                _is_wordless(mode["text"], record.get("references") or ())
                for record, mode in zip(own.records, modes, strict=True)
                if mode
            )
            counts = {"wordless": wordless} if wordless else {}
            if region == "top":
                counts["unresolved"] = own.unresolved(size)
            labels: Labels = {"region": region, "view": view}
            yield own.share("empty_mode", empty, labels, "empty", **counts, **missing)


def _is_wordless(text: str, references: Sequence[str]) -> bool:
    """Whether a text has marks only, such as a full stop, where a reference has words."""
    if not text.strip() or any(character.isalnum() for character in text):
        return False
    return any(character.isalnum() for reference in references for character in reference)


def _region_rows(cell: SystemRecords) -> Iterator[Row]:
    """kRG and kQRG of every region in both views, and over smaller k if curves are asked for."""
    k, samples = cell.settings.k, cell.settings.samples
    regions: list[Region] = [*(cell.regions if k > 1 else ()), *(("samples",) if samples else ())]
    for name in regions:
        for view in (*_VIEWS, *(_EMPTY_APART if name != "samples" else ())):
            yield from _gain_rows(cell, name, cell.settings.sizes[name], view)
    if cell.settings.curves:
        for size in range(2, k) if "top" in regions else ():
            yield from _gain_rows(cell, "top", size, "tokens")
        for size in (each for each in _SAMPLE_COUNTS if each < samples):
            yield from _gain_rows(cell, "samples", size, "tokens")


def _top_gain_rows(cell: SystemRecords) -> Iterator[Row]:
    yield from _gain_rows(cell, "top", cell.settings.k, "tokens") if cell.settings.k > 1 else ()


def _gain_rows(cell: SystemRecords, name: Region, size: int, view: View) -> Iterator[Row]:
    cell, missing = cell.with_region(name)
    found = cell.gains(name, size, view)
    counts = {**missing, **({"unresolved": cell.unresolved(size)} if name == "top" else {})}
    if view.startswith("lists-"):  # lists of the other kind are not undefined
        cell = cell.only(each is not None for each in found)
        found = [each for each in found if each is not None]
    for flag in ("short", "tied", "twins"):
        counts[flag] = sum(bool(each[flag]) for each in found if each is not None)
    # Exact search returns complete hypotheses only.
    lists = [record["beam"] for record in cell.records] if name == "beam" else []
    if name == "samples":
        lists = [own or [] for own in cell.hypotheses(name, size)]
    counts["unfinished"] = sum(is_unfinished(each) for own in lists for each in own)
    samples = [record["samples"]["hypotheses"] for record in cell.records] if name == "samples" else []
    if incomplete := sum(any(each["logprob"] is None for each in own) for own in samples):
        counts["without_logprob"] = incomplete
    for measure in RANKING_MEASURES:
        values = [None if each is None else each[measure] for each in found]
        yield cell.mean(measure, values, {"region": name, "k": size, "view": view}, counts)


def _lucky_bias_rows(cell: SystemRecords) -> Iterator[Row]:
    """kRG and kQRG of beam search's list minus those of the exact list (section 5.2.1, table 2), and both of these.

    All three are of the same sentences, so that the difference is that of the two.
    """
    k = cell.settings.k
    if len(cell.regions) < 2 or k < 2:
        return
    cell, missing = cell.with_region("top", "beam")
    counts = {"unresolved": cell.unresolved(k), **missing}
    both = list(zip(cell.gains("beam", k, "tokens"), cell.gains("top", k, "tokens"), strict=True))
    for measure in ("krg", "kqrg"):
        pairs = [[None if each is None else each[measure] for each in own] for own in both]
        differences = [None if b is None or t is None else b - t for b, t in pairs]
        yield cell.mean("beam_minus_exact", differences, {"measure": measure, "k": k}, counts)
        for place, region in ((1, "top"), (0, "beam")):
            values = [
                apart if apart is None or math.isnan(apart) else own[place]
                for own, apart in zip(pairs, differences, strict=True)
            ]
            yield cell.mean(measure, values, {"region": region, "k": k, "view": "paired"}, counts)


def _search_rows(cell: SystemRecords) -> Iterator[Row]:
    """How often and by how many nats beam search without length penalty missed the mode; expansions and mass of exact
    search."""
    if "top" not in cell.regions:
        return
    whole = len(cell.records)
    cell, missing = cell.with_region("top")
    for decoding, field in (("beam", "best"), ("beam-list", "beam")):
        own = cell.only(bool(record[field]) for record in cell.records)
        if own.records or not cell.records:
            gaps = [beam_gap(record, decoding, cell.settings.unresolved) for record in own.records]
            counts = {"unresolved": sum(record["missed_by"][decoding] is None for record in own.records)}
            if lacking := whole - len(own.records):
                counts["missing"] = lacking
            labels = {"decoding": decoding, **own.beam_label(decoding)}
            yield from _gap_rows(own, ("search_error", "search_gap"), gaps, labels, counts)
    searches = [record["top"] for record in cell.records]
    if all(was_searched(record) for record in cell.records):
        counts = {"minimum": sum(each["minimum"] for each in searches)}
        yield cell.mean("expansions", [float(each["expansions"]) for each in searches], counts=counts)
    yield cell.mass("mass", {"region": "top", "k": cell.settings.k}, missing)


def _gap_rows(
    cell: SystemRecords,
    names: tuple[str, str],
    gaps: Sequence[float | None],
    labels: Labels,
    counts: Mapping[str, int],
) -> Iterator[Row]:
    """How often a translation is not the mode, and by how many nats; `names` are those of the two rows."""
    yield cell.share(names[0], [None if gap is None else gap > 0 for gap in gaps], labels, "missed", **counts)
    yield cell.only(map(bool, gaps)).mean(names[1], [gap for gap in gaps if gap], labels)


# --- Bounds of figures where searches ended with their budget ------------------------------------------------------

TREATMENTS: tuple[Literal["leave-out", "keep"], ...] = ("leave-out", "keep")
_POINT = 0.01
"""Treatments that differ by more than this are warned of."""
BOUNDED: Mapping[str, tuple[str, str, Labels]] = {
    "mode_quality": ("quality of the mode", "quality", {"decoding": "mode"}),
    "krg": ("kRG top", "krg", TOP),
    "kqrg": ("kQRG top", "kqrg", TOP),
    "krg_beam_minus_exact": ("kRG beam - top", "beam_minus_exact", {"measure": "krg"}),
    "kqrg_beam_minus_exact": ("kQRG beam - top", "beam_minus_exact", {"measure": "kqrg"}),
    "empty_mode": ("empty modes", "empty_mode", TOP),
    "search_error": ("search errors", "search_error", {"decoding": "beam"}),
}
"""Measure -> what it is called, and the row whose bounds are given."""
_ROUNDING = 1e-4
"""Nats by which two searches may round one hypothesis differently."""
_Range = tuple[float, float]


def _budget_bound_rows(cell: SystemRecords, *makers: _Maker) -> Iterator[Row]:
    """Where a search was left open, rows `by_treatment`: with such searches left out and kept, and their bounds."""
    if not any(has_region(record, "top") and not record["top"]["exact"] for record in cell.records):
        return
    treated = {
        each: _made(replace(cell, settings=cell.settings.model_copy(update={"unresolved": each})), *makers)
        for each in TREATMENTS
    }
    for measure, (_, name, labels) in BOUNDED.items():
        found = {treatment: largest(rows, name, **labels) for treatment, rows in treated.items()}
        for treatment, row in found.items():
            if row:
                named = {"measure": measure, "treatment": treatment}
                yield Row("by_treatment", row.estimate, named, row.counts)
        if any(found.values()):
            yield from _bound_rows(cell, measure)


def _with_open_searches(cell: SystemRecords, row: Row) -> Row:
    """A share of modes with an interval from at least to at most, whatever open searches could have found."""
    if cell.settings.unresolved == "leave-out" or not row.estimate.n:
        return row
    if (
        row.name not in ("empty_mode", "search_error")
        or not BOUNDED[row.name][2].items() <= row.labels.items()
    ):
        return row
    least, most = _bound_rows(cell, row.name)
    if not (undecided := least.counts["undecided"]):
        return row
    ends = least.estimate.low, most.estimate.high
    estimate = Estimate.around(row.estimate.value, *ends, row.estimate.n)
    return replace(row, estimate=estimate, counts={**row.counts, "undecided": undecided})


def _bound_rows(cell: SystemRecords, measure: str) -> Iterator[Row]:
    """The lowest and the highest value over all sentences; nothing where a scale has no ends."""
    own, missing = cell.with_region("top", *(("beam",) if "beam_minus" in measure else ()))
    ranges = [_range_of(record, measure, cell.settings) for record in own.records]
    if any(math.isinf(end) for each in ranges if each is not None for end in each):
        return
    undecided = sum(each is not None and each[0] < each[1] for each in ranges)
    size = 1 if measure in ("empty_mode", "search_error", "mode_quality") else cell.settings.k
    counts = {"unresolved": own.unresolved(size), "undecided": undecided, **missing}
    for place, name in enumerate(("at-least", "at-most")):
        values = [math.nan if each is None else each[place] for each in ranges]
        labels: Labels = {"measure": measure, "treatment": name}
        share = measure in ("empty_mode", "search_error")
        yield own.mean("by_treatment", values, labels, counts, share=share)


def is_open(record: Record, measure: Literal["empty_mode", "search_error"]) -> bool:
    """Whether a search left open if the mode is empty, or if beam search missed it."""
    low, high = (_empty_range(record) if measure == "empty_mode" else _search_error_range(record)) or (
        0.0,
        0.0,
    )
    return low < high


def _range_of(record: Record, measure: str, settings: SpaceSettings) -> _Range | None:
    """The lowest and the highest value that a sentence can have; infinite without ends, None if undefined."""
    if measure == "empty_mode":
        return _empty_range(record)
    if measure == "search_error":
        return _search_error_range(record)
    if measure == "mode_quality":
        first = proven(record)[:1]
        return (quality_of(record, first[0]),) * 2 if first else (_worst(record), best_quality(record))
    measure, _, minus = measure.partition("_")
    exact = _gain_range(record, measure, settings)
    if not minus or exact is None:
        return exact
    beam = ranking_gains(record, "beam", settings.k, "tokens", settings)
    value = math.nan if beam is None else beam[measure]
    return None if math.isnan(value) else (value - exact[1], value - exact[0])


def _empty_range(record: Record) -> _Range:
    """Whether the mode is empty, as a range from 0 to 1.

    The empty hypothesis is the end of sentence alone; other tokens without text are taken to be less probable.
    """
    if first := proven(record)[:1]:
        return (float(is_empty(first[0])),) * 2
    top = record["top"]
    known = [each["logprob"] for each in top["found"] if is_empty(each)]
    stored = top.get("empty")
    empty = max(known, default=math.nan if stored is None else stored)
    others = [each["logprob"] for each in top["found"] if not is_empty(each)]
    # Not the mode if anything else is more probable; its own log-probability is needed to say so.
    return (0.0, 0.0) if others and empty < max(others) else (0.0, 1.0)


def _search_error_range(record: Record) -> _Range | None:
    """Whether beam search missed the mode, as a range from 0 to 1; None if its translation was not finished."""
    gap = record["missed_by"]["beam"]
    if gap is not None:
        return (float(gap > 0),) * 2
    below = record.get("below_known", {}).get("beam")
    if below is None:
        return None
    if below > _ROUNDING:
        return (1.0, 1.0)
    found = record["best"]["logprob"] >= minus_inf_if_none(record["top"]["bound"])
    return (0.0, 0.0 if found else 1.0)


def _gain_range(record: Record, measure: str, settings: SpaceSettings) -> _Range | None:
    """kRG or kQRG of the top region: what is proven counts as it is, the rest has any quality."""
    k = settings.k
    if is_proven(record, k):
        gains = ranking_gains(record, "top", k, "tokens", settings)
        value = math.nan if gains is None else gains[measure]
        return None if math.isnan(value) else (value, value)
    if measure == "krg":
        return min(krg(range(size), gains=settings.gains) for size in range(2, k + 1)), 1.0
    worst, best = _worst(record), best_quality(record)
    if settings.normalize != "bound" or math.isinf(worst):
        return -math.inf, math.inf
    qualities = [quality_of(record, each) for each in proven(record)]
    low, high = (kqrg([*qualities, *[end] * (k - len(qualities))], bound=best) for end in (worst, best))
    return low, high


def _worst(record: Record) -> float:
    """The lowest quality that the record's (first) metric can give, minus infinity if there is none."""
    first = next(iter(record["metrics"]))
    return minus_inf_if_none(record.get("lowest", {}).get(first))


def budget_bounds(rows: Iterable[Row]) -> dict[str, dict[str, Row]]:
    """Measure -> treatment -> row; by the first metric, where there are several."""
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row.name == "by_treatment":
            own = found.setdefault(str(row.labels["measure"]), {})
            own.setdefault(str(row.labels["treatment"]), row)
    return found


def budget_warnings(rows: Sequence[Row]) -> list[str]:
    """The measures whose treatments differ by more than a point, or of which one has no sentence."""
    found = []
    for measure, own in budget_bounds(rows).items():
        left_out, kept = (own[name].estimate if name in own else Estimate.empty() for name in TREATMENTS)
        if kept.n and not (left_out.n and abs(left_out.value - kept.value) <= _POINT):
            found.append(measure)
    return found


# --- Lengths -------------------------------------------------------------------------------------------------------


def length_rows(cell: SystemRecords) -> Iterator[Row]:
    """Mean length, and length as a ratio to the references', of each decoding and region, over the same sentences."""
    every = [_texts(record, cell.settings) for record in cell.records]
    searched = any(has_region(record, "top") for record in cell.records)
    always = (["mode", "top"] if cell.settings.k > 1 else ["mode"]) if searched else []
    names = [
        name for name in (every[0] if every else ()) if name in always or any(own[name] for own in every)
    ]
    known = [all(own[name] for name in names) for own in every]
    open_ones = [has_region(each, "top") and not is_proven(each, cell.settings.k) for each in cell.records]
    missing = sum(not there and not is_open for there, is_open in zip(known, open_ones, strict=True))
    counts = {"unresolved": sum(open_ones), **({"missing": missing} if missing else {})}
    cell, texts = cell.only(known), list(itertools.compress(every, known))
    if all(record["references"] for record in cell.records):
        lengths = [_reference_length(record) for record in cell.records]
        yield cell.mean("length", lengths, {"of": "reference"}, counts)
    for name in names:
        lengths = [fmean(map(_length, own[name])) for own in texts]
        yield cell.mean("length", lengths, {"of": name}, counts)
        yield _ratio_row(cell, "length_ratio", lengths, {"of": name}, counts)
    if cell.settings.curves and cell.settings.k > 1:
        for name in ("top", "beam-list"):
            yield from _by_rank(cell, name, [own[name] for own in texts])


def _texts(record: Record, settings: SpaceSettings) -> dict[str, list[str]]:
    """The translations of each decoding and region of a sentence; none where they are not known."""
    found = {
        "mode": region_hypotheses(record, "top", 1, settings) or [],
        "top": (region_hypotheses(record, "top", settings.k, settings) or []) if settings.k > 1 else [],
        "beam": [record["best"]],
        "beam-list": region_hypotheses(record, "beam", settings.k, settings) or [],
        "samples": region_hypotheses(record, "samples", settings.samples, settings) or [],
        "mbr": [record["mbr"]],
    }
    return {name: [each["text"] for each in own if each] for name, own in found.items()}


def _by_rank(cell: SystemRecords, name: str, lists: Sequence[Sequence[str]]) -> Iterator[Row]:
    """The length ratio at each rank of a list, over the sentences whose list is whole."""
    whole = [len(own) == cell.settings.k for own in lists]
    for rank, texts in enumerate(zip(*itertools.compress(lists, whole), strict=True), 1):
        labels: Labels = {"of": name, "rank": rank}
        lengths, counts = list(map(_length, texts)), {"short": whole.count(False)}
        yield _ratio_row(cell.only(whole), "length_ratio_by_rank", lengths, labels, counts)


def _length(text: str) -> float:
    """Characters of a text."""
    return float(len(text.strip()))


def _reference_length(record: Record) -> float:
    """The mean length of a sentence's references; 0 if it has none."""
    return fmean(map(_length, record["references"])) if record["references"] else 0.0


def _ratio_row(
    cell: SystemRecords,
    name: str,
    lengths: Sequence[float],
    labels: Labels,
    counts: Mapping[str, int],
) -> Row:
    """Total length over that of the references; sentences without any, or with an empty one, are `undefined`."""
    sizes = map(_reference_length, cell.records)
    every = zip(lengths, sizes, sources(cell.records), strict=True)
    known = [(length, size, source) for length, size, source in every if size]
    estimate = ratio_of(*([each[place] for each in known] for place in range(3)))  # type: ignore[arg-type]
    return Row(name, estimate, labels, {**counts, "undefined": len(lengths) - len(known)})


# --- Sizes of the beam, and the length penalty ---------------------------------------------------------------------

_MISSES_MODE = ("misses_mode", "mode_gap")
"""Rows of translations with the system's own length penalty."""


def _by_size(cell: SystemRecords) -> tuple[SystemRecords, dict[int, list[Record]]]:
    """The records that have several sizes, and of each size its translations."""
    own = cell.only("beams" in record for record in cell.records)
    by_size = [{each["beam"]: each for each in record["beams"]} for record in own.records]
    sizes = [size for size in (by_size[0] if by_size else ()) if all(size in each for each in by_size)]
    return own, {size: [each[size] for each in by_size] for size in sizes}


def _sweep_quality_rows(cell: SystemRecords) -> Iterator[Row]:
    """The quality that each size of the beam gives, by the records' (first) metric."""
    cell, answers = _by_size(cell)
    for size, found in answers.items():
        qualities = [quality_of(record, each) for record, each in zip(cell.records, found, strict=True)]
        counts = {"unfinished": sum(map(is_unfinished, found))}
        yield cell.mean("beam_quality", qualities, {"beam": size}, counts)


def _sweep_rows(cell: SystemRecords) -> Iterator[Row]:
    """The other rows for each size of the beam, over the same sentences at every size."""
    cell, answers = _by_size(cell)
    by_sentence = list(zip(*answers.values(), strict=True))
    scored = [all(each["logprob"] is not None for each in some) for some in by_sentence]
    for size, found in answers.items():
        labels: Labels = {"beam": size}
        counts = {"unfinished": sum(map(is_unfinished, found))}
        logprobs = [each["logprob"] if known else math.nan for each, known in zip(found, scored, strict=True)]
        yield cell.mean("beam_logprob", logprobs, labels, counts)
        yield cell.mean("beam_empty", [float(is_empty(each)) for each in found], labels, counts, share=True)
        lengths = [_length(each["text"]) for each in found]
        yield _ratio_row(cell, "beam_length_ratio", lengths, labels, counts)
    if cell.settings.k and any(has_region(record, "top") for record in cell.records):
        gaps = [[_answer_gap(each, cell.settings) for each in some] for some in by_sentence]
        known = cell.only(None not in some for some in gaps)
        compared = [some for some in gaps if None not in some]
        counts = {"unresolved": sum(any(each["missed_by"] is None for each in some) for some in by_sentence)}
        for place, size in enumerate(answers):
            labels = {"beam": size, **_penalty_label(cell.records)}
            yield from _gap_rows(known, _MISSES_MODE, [some[place] for some in compared], labels, counts)


def _answer_gap(answer: Mapping[str, Any], settings: SpaceSettings) -> float | None:
    """Nats below the mode of a translation with the system's own penalty; None if that is not known."""
    return counted_gap(answer.get("missed_by"), answer.get("below_known"), settings.unresolved)


def _penalty_label(records: Sequence[Record]) -> Labels:
    """The system's length penalty as a label, where it has one that can be set to 0."""
    known = (record["normalization"]["length_penalty"] for record in records if "normalization" in record)
    first = next(known, None)
    return {} if first is None else {"length_penalty": f"{first:g}"}


def _normalization_rows(cell: SystemRecords) -> Iterator[Row]:
    """How often the penalty changes the translation, by how many nats and tokens; how often it misses the mode."""
    labels = _penalty_label(cell.records)
    if not labels:
        return
    known: list[Mapping[str, Any]] = [record.get("normalization") or {} for record in cell.records]
    yield cell.share("normalization_changes", [each.get("changed") for each in known], labels, "changed")
    for name, field in (("normalization_costs", "costs"), ("normalization_lengthens", "length")):
        yield cell.mean(name, [each.get(field) for each in known], labels)
    size = cell.beam_label("beam")
    if size.get("beam") not in cell.settings.beams:  # else it is among those rows
        gaps = [_answer_gap(each, cell.settings) for each in known]
        unproven = sum(each.get("missed_by") is None for each in known)
        yield from _gap_rows(cell, _MISSES_MODE, gaps, {**size, **labels}, {"unresolved": unproven})


# --- Several systems -----------------------------------------------------------------------------------------------

STATISTICS: tuple[Statistic, ...] = ("pearson", "spearman", "kendall")
_CORRELATED: Mapping[str, tuple[str, Labels]] = {
    "mbr": ("quality", {"decoding": "mbr"}),
    "beam": ("quality", {"decoding": "beam"}),
    "sampling": ("quality", {"decoding": "samples"}),
    "kqrg": ("kqrg", SAMPLES),
    "top_kqrg": ("kqrg", TOP),
}


def mbr_correlations(comparison: Comparison, settings: SpaceSettings) -> list[Row]:
    """Correlation over systems of MBR decoding's quality with other measures (section 5.2.2, table 3).

    `beam`: mean quality of beam search's 1-best; `sampling`: of the samples; `kqrg`: of the samples, and of the top
    region. Without a figure where the utility of MBR decoding is also what judges it: its quality is then what it
    was chosen by.
    """
    columns = {
        measure: {
            result.name: row.estimate.value
            for result in comparison.results
            if (row := largest((each for each in result.rows if each.estimate.n), name, **labels))
        }
        for measure, (name, labels) in _CORRELATED.items()
    }
    mbr = columns.pop("mbr")
    if len(mbr) < 3:  # two points always lie on a line
        return []
    found = []
    for measure, column in columns.items():
        both = [system for system in mbr if system in column]
        for statistic in STATISTICS:
            estimate = correlation([mbr[each] for each in both], [column[each] for each in both], statistic)
            if settings.utility == settings.metric[0]:
                estimate = Estimate.empty()
            labels: Labels = {"measure": measure, "statistic": statistic, "utility": settings.utility}
            found.append(Row("mbr_correlation", estimate, labels))
    return found


def largest(rows: Iterable[Row], name: str, **labels: str | float) -> Row | None:
    """The row of a name that has at least these labels; of several sizes of a region, that of the largest."""
    found = [row for row in rows if row.name == name and labels.items() <= row.labels.items()]
    return max(found, key=lambda row: int(row.labels.get("k", 0)), default=None)
