"""Rows of the hypothesis space: quality and ranking of its regions, and errors of beam search.

Three regions: `top`, the exact k best; `beam`, the k best of a beam search (of `beam`, or of k if that is more);
`samples`, in the order drawn.
Views: `tokens`, in which each segmentation is a hypothesis of its own; `text`, in which those that read the same are
one hypothesis with the sum of their probabilities, as far as the region has them; `without-empty`, in which the empty
hypothesis is taken out of every list; the lists that have an empty one, and those that have none, by themselves; and
`paired`, the sentences whose top and beam are both known, of which the difference is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from babelscope.core.comparison import Comparison
from babelscope.core.results import Estimate, Record, Row, minus_inf_if_none
from babelscope.core.system import CHATTER, count_flags
from babelscope.methods.measuring import sources
from babelscope.methods.space.measures import (
    confidence_rows,
    gap_rows,
    length_rows,
    normalization_rows,
    sweep_quality_rows,
    sweep_rows,
)
from babelscope.methods.space.regions import (
    BLEU_STATISTICS,
    Labels,
    Region,
    SpaceSettings,
    SystemRecords,
    View,
    best_quality,
    by_text,
    has_region,
    is_empty,
    is_proven,
    missed_by,
    nan_if_none,
    proven,
    ranking_gains,
    region_hypotheses,
    was_searched,
    with_single_metric,
)
from babelscope.metrics.base import find_metric
from babelscope.metrics.corpus import estimate_of_statistics, record_statistics, source_groups
from babelscope.metrics.ranking import kqrg, krg
from babelscope.stats.correlation import Statistic, correlation

# --- Bounds of figures where searches ended with their budget ------------------------------------------------------

TREATMENTS: tuple[Literal["leave-out", "keep"], ...] = ("leave-out", "keep")
_POINT = 0.01
"""Treatments that differ by more than this are warned of."""
BOUNDED = {
    "empty_mode": "empty modes",
    "krg": "kRG top",
    "kqrg": "kQRG top",
    "krg_beam_minus_exact": "kRG beam - top",
    "kqrg_beam_minus_exact": "kQRG beam - top",
    "search_error": "search errors",
    "mode_quality": "quality of the mode",
}
_ROUNDING = 1e-4
"""Nats by which two searches may round one hypothesis differently."""
_Range = tuple[float, float]


def budget_bound_rows(
    cell: SystemRecords, rows_of: Callable[[SystemRecords], Iterable[Row]]
) -> Iterator[Row]:
    """The rows `by_treatment`, where a search was left open: `rows_of` gives those of one treatment."""
    if not any(is_open(record) for record in cell.records):
        return
    found: dict[str, list[Row]] = {}
    for treatment in TREATMENTS:
        settings = cell.settings.model_copy(update={"unresolved": treatment})
        for row in rows_of(SystemRecords(cell.records, settings)):
            if name := _measure_of(row, cell.settings):
                labels = {"measure": name, "treatment": treatment}
                found.setdefault(name, []).append(Row("by_treatment", row.estimate, labels, row.counts))
    for name, rows in found.items():
        yield from rows
        yield from _bound_rows(cell, name)


def is_open(record: Record) -> bool:
    """Whether a search ended with its budget, or a list is not stated to be exact."""
    return has_region(record, "top") and not record["top"]["exact"]


def _measure_of(row: Row, settings: SpaceSettings) -> str:
    """The measure that a row has, if its treatments are shown."""
    labels = row.labels
    if row.name == "quality":
        return "mode_quality" if labels["decoding"] == "mode" else ""
    if row.name == "beam_minus_exact":
        return f"{labels['measure']}_beam_minus_exact"
    if row.name == "search_error":
        return "search_error" if labels["decoding"] == "beam" else ""
    if row.name not in BOUNDED or (labels["region"], labels["view"]) != ("top", "tokens"):
        return ""
    return row.name if labels.get("k", settings.k) == settings.k else ""


def _bound_rows(cell: SystemRecords, measure: str) -> Iterator[Row]:
    """The lowest and the highest value over all sentences; nothing where a scale has no ends."""
    own, missing = cell.with_region("top", *(("beam",) if "beam_minus" in measure else ()))
    ranges = [_range_of(record, measure, cell.settings) for record in own.records]
    ends = [end for each in ranges if each is not None for end in each]
    if any(math.isinf(end) for end in ends):
        return
    undecided = sum(each is not None and each[0] < each[1] for each in ranges)
    size = 1 if measure in ("empty_mode", "search_error", "mode_quality") else cell.settings.k
    counts = {"unresolved": own.unresolved(size), "undecided": undecided, **missing}
    for place, name in enumerate(("at-least", "at-most")):
        values = [math.nan if each is None else each[place] for each in ranges]
        labels = {"measure": measure, "treatment": name}
        share = measure in ("empty_mode", "search_error")
        yield own.mean("by_treatment", values, labels, counts, share=share)


def _range_of(record: Record, measure: str, settings: SpaceSettings) -> _Range | None:
    """The lowest and the highest value that a sentence can have; infinite without ends, None if undefined."""
    if measure == "empty_mode":
        return _empty_range(record)
    if measure == "search_error":
        return _search_error_range(record)
    if measure == "mode_quality":
        first = proven(record)[:1]
        return (first[0]["quality"],) * 2 if first else (_worst(record), best_quality(record))
    measure, _, minus = measure.partition("_")
    exact = _gain_range(record, measure, settings)
    if not minus or exact is None:
        return exact
    beam = ranking_gains(record, "beam", settings.k, "tokens", settings)
    value = math.nan if beam is None else getattr(beam, measure)
    return None if math.isnan(value) else (value - exact[1], value - exact[0])


def _empty_range(record: Record) -> _Range:
    """Whether the mode is empty, as a range from 0 to 1.

    The empty hypothesis is the end of sentence alone; other tokens without text are taken to be less probable.
    """
    if first := proven(record)[:1]:
        return (float(is_empty(first[0])),) * 2
    top = record["top"]
    known = [each["logprob"] for each in top["found"] if is_empty(each)]
    empty = max(known) if known else nan_if_none(top.get("empty"))
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
        value = math.nan if gains is None else getattr(gains, measure)
        return None if math.isnan(value) else (value, value)
    if measure == "krg":
        return min(krg(range(size), gains=settings.gains) for size in range(2, k + 1)), 1.0
    if settings.normalize != "bound" or math.isinf(_worst(record)):
        return -math.inf, math.inf
    qualities = [each["quality"] for each in proven(record)]
    best = best_quality(record)
    low, high = (
        kqrg([*qualities, *[end] * (k - len(qualities))], bound=best) for end in (_worst(record), best)
    )
    return low, high


def _worst(record: Record) -> float:
    """The lowest quality that the record's (first) metric can give, minus infinity if there is none."""
    first = next(iter(record["metrics"]))
    return minus_inf_if_none(record.get("lowest", {}).get(first))


def budget_warnings(rows: Sequence[Row]) -> list[str]:
    """The measures whose treatments differ by more than a point, or of which one has no sentence."""
    found = []
    for measure, own in budget_bounds(rows).items():
        left_out, kept = (own.get(name) for name in TREATMENTS)
        if left_out is None or kept is None or not kept.estimate.n:
            continue
        apart = abs(left_out.estimate.value - kept.estimate.value)
        if not left_out.estimate.n or apart > _POINT:
            found.append(measure)
    return found


def budget_bounds(rows: Iterable[Row]) -> dict[str, dict[str, Row]]:
    """Measure -> treatment -> row; by the first metric, where there are several."""
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row.name == "by_treatment":
            own = found.setdefault(str(row.labels["measure"]), {})
            own.setdefault(str(row.labels["treatment"]), row)
    return found


# --- Rows of the hypothesis space: quality and ranking of its regions, and errors of beam search -------------------

_VIEWS: tuple[View, ...] = ("tokens", "text")
_EMPTY_APART: tuple[View, ...] = ("without-empty", "lists-with-empty", "lists-without-empty")
_SAMPLE_COUNTS = (2, 5, 10, 20, 50, 100, 200, 500, 1000)


def figures(records: Sequence[Record], settings: SpaceSettings, seed: int) -> list[Row]:
    """The rows of one system on one test set; with several metrics, rows have the label `metric`."""
    cell = SystemRecords(records, settings)
    rows = [*_corpus_score_rows(cell)]
    names = list(records[0].get("metrics", ())) if records else []
    for name in names or [""]:
        several = len(names) > 1
        own = replace(cell, records=[with_single_metric(each, name) for each in records]) if several else cell
        label: Labels = {"metric": name} if several else {}
        judged = [*_quality_rows(own), *_region_rows(own), *_lucky_bias_rows(own), *sweep_quality_rows(own)]
        for row in (*judged, *budget_bound_rows(own, _judged_by_treatment)):
            rows.append(Row(row.name, row.estimate, {**row.labels, **label}, row.counts))
    searched = [*_empty_mode_rows(cell), *_search_rows(cell), *sweep_rows(cell), *normalization_rows(cell)]
    rest = [*budget_bound_rows(cell, _found_by_treatment), *length_rows(cell), *confidence_rows(cell, seed)]
    return [*rows, *searched, *rest]


def _judged_by_treatment(cell: SystemRecords) -> Iterator[Row]:
    """The rows that depend on what counts of unresolved searches, and on the metric."""
    yield from _quality_rows(cell)
    yield from _gain_rows(cell, "top", cell.settings.k, "tokens") if cell.settings.k > 1 else ()
    yield from _lucky_bias_rows(cell)


def _found_by_treatment(cell: SystemRecords) -> Iterator[Row]:
    """The rows that depend on what counts of unresolved searches, whatever the metric."""
    yield from _empty_mode_rows(cell)
    yield from _search_rows(cell)


def _translations_by_decoding(cell: SystemRecords) -> dict[str, list[Record | None]]:
    """Decoding -> its translation of each sentence; None where no mode counts."""
    records, settings = cell.records, cell.settings
    known = [region_hypotheses(record, "top", 1, settings) for record in records]
    modes = [record["top"]["found"][0] if mode else None for record, mode in zip(records, known, strict=True)]
    mbr = {"mbr": [record["mbr"] for record in records]} if settings.samples else {}
    found = {"beam": [record["best"] for record in records], "mode": modes, **mbr}
    # Lists made elsewhere may be of one region only, and a system may be sampled alone.
    return {
        name: own for name, own in found.items() if (name == "mode" and settings.k) or any(own) or not own
    }


def _decoding_counts(cell: SystemRecords, decoding: str, answers: Sequence[Record | None]) -> dict[str, int]:
    """Searches that proved no mode, lists that are not there, and translations that hit the length limit."""
    missing = sum(answer is None for answer in answers)
    unresolved = 0
    if decoding == "mode":
        unresolved = cell.unresolved(1)
        missing = sum(not has_region(record, "top") for record in cell.records)
    notes = Counter(note for each in answers if each for note in each.get("notes", ()))
    counts = {"unresolved": unresolved, "unfinished": notes["unfinished"], **count_flags(notes)}
    return {**counts, "missing": missing} if missing else counts


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
        qualities = [answer["quality"] if answer else None for answer in answers]
        counts = _decoding_counts(cell, decoding, answers)
        yield cell.mean("quality", qualities, {"decoding": decoding}, counts)
    if samples := cell.settings.samples:
        lists = [own or [] for own in cell.hypotheses("samples", samples)]
        means = [math.fsum(each.quality for each in drawn) / len(drawn) for drawn in lists]
        counts = {"unfinished": _unfinished_in(cell.records, "samples", samples)}
        drawn = [each for own in _drawn(cell.records, samples) for each in own]
        if noisy := sum(not CHATTER.keys().isdisjoint(each.get("notes", ())) for each in drawn):
            counts["chatter"] = noisy
        yield cell.mean("quality", means, {"decoding": "samples"}, counts)


def _empty_mode_rows(cell: SystemRecords) -> Iterator[Row]:
    """How often the most probable hypothesis is the empty one (section 2.3)."""
    for view in _VIEWS:
        # In the text view, summed segmentations further down can make another text the mode.
        size = 1 if view == "tokens" else cell.settings.k
        for region in cell.regions:
            own, missing = cell.with_region(region)
            lists = own.hypotheses(region, size)
            modes = [next(iter(by_text(found).values())) if found else None for found in lists]
            empty = [mode.empty if mode else None for mode in modes]
            unresolved = {"unresolved": own.unresolved(size)} if region == "top" else {}
            pairs = zip(own.records, modes, strict=True)
            wordless = sum(
                _is_wordless(mode.text, record.get("references") or ()) for record, mode in pairs if mode
            )
            more = {**({"wordless": wordless} if wordless else {}), **unresolved, **missing}
            yield own.share("empty_mode", empty, {"region": region, "view": view}, "empty", **more)


def _is_wordless(text: str, references: Sequence[str]) -> bool:
    """Whether a text has marks only, such as a full stop, where a reference has words."""
    if not text.strip() or any(character.isalnum() for character in text):
        return False
    return any(character.isalnum() for reference in references for character in reference)


def _region_rows(cell: SystemRecords) -> Iterator[Row]:
    """kRG and kQRG of every region in both views, and over smaller k if curves are asked for."""
    k, samples = cell.settings.k, cell.settings.samples
    sizes: dict[Region, int] = dict.fromkeys(cell.regions, k) if k > 1 else {}
    sizes |= {"samples": samples} if samples else {}
    for name, size in sizes.items():
        for view in (*_VIEWS, *(_EMPTY_APART if name != "samples" else ())):
            yield from _gain_rows(cell, name, size, view)
    if cell.settings.curves:
        for size in range(2, k) if "top" in sizes else ():
            yield from _gain_rows(cell, "top", size, "tokens")
        for size in (each for each in _SAMPLE_COUNTS if each < samples):
            yield from _gain_rows(cell, "samples", size, "tokens")


def _gain_rows(cell: SystemRecords, name: Region, size: int, view: View) -> Iterator[Row]:
    cell, missing = cell.with_region(name)
    found = cell.gains(name, size, view)
    unresolved = {"unresolved": cell.unresolved(size)} if name == "top" else {}
    if view.startswith("lists-"):  # lists of the other kind are not undefined
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
        **_without_logprob(cell.records, name),
    }
    for measure in ("krg", "krg_random", "krg_above_random", "kqrg"):
        values = [None if each is None else float(getattr(each, measure)) for each in found]
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
        pairs = [[None if each is None else float(getattr(each, measure)) for each in own] for own in both]
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
        own = replace(cell, records=[record for record in cell.records if record[field]])
        if own.records or not cell.records:
            yield from _search_error_rows(own, decoding, whole - len(own.records))
    searches = [record["top"] for record in cell.records]
    if all(was_searched(record) for record in cell.records):
        counts = {"minimum": sum(each["minimum"] for each in searches)}
        yield cell.mean("expansions", [float(each["expansions"]) for each in searches], counts=counts)
    lists = cell.hypotheses("top", cell.settings.k)
    mass = [None if found is None else math.fsum(math.exp(each.logprob) for each in found) for found in lists]
    unresolved = {"unresolved": cell.unresolved(cell.settings.k)}
    yield cell.mean("mass", mass, {"region": "top", "k": cell.settings.k}, {**unresolved, **missing})


def _search_error_rows(cell: SystemRecords, decoding: str, lacking: int) -> Iterator[Row]:
    missing = {"missing": lacking} if lacking else {}
    gaps = [missed_by(record, decoding, cell.settings.unresolved) for record in cell.records]
    labels: Labels = {"decoding": decoding, **cell.beam_label(decoding)}
    unproven = sum(record["missed_by"][decoding] is None for record in cell.records)
    counts = {"unresolved": unproven, **missing}
    yield from gap_rows(cell, ("search_error", "search_gap"), gaps, labels, counts)


def _unfinished_in(records: Sequence[Record], name: Region, size: int) -> int:
    """How many translations of a region hit the length limit; exact search returns complete ones only."""
    if name == "top":
        return 0
    found = [record["beam"] for record in records] if name == "beam" else _drawn(records, size)
    return sum("unfinished" in each.get("notes", ()) for own in found for each in own)


def _drawn(records: Sequence[Record], size: int) -> list[list[Record]]:
    """The first `size` samples of each sentence, in the order drawn."""
    found = [(record["samples"]["hypotheses"], record["samples"]["drawn"][:size]) for record in records]
    return [[hypotheses[number] for number in drawn] for hypotheses, drawn in found]


def _without_logprob(records: Sequence[Record], name: Region) -> dict[str, int]:
    """In how many sentences a server did not report the whole log-probability of a sample, where there are some."""
    lists = [record["samples"]["hypotheses"] for record in records] if name == "samples" else []
    count = sum(any(each["logprob"] is None for each in own) for own in lists)
    return {"without_logprob": count} if count else {}


_STATISTICS: tuple[Statistic, ...] = ("pearson", "spearman", "kendall")


def mbr_correlations(group: Comparison) -> list[Row]:
    """Correlation over systems of MBR decoding's quality with other measures (section 5.2.2, table 3).

    `beam`: mean quality of beam search's 1-best; `sampling`: of the samples; `kqrg`: of the samples, and of the top
    region. Qualities are means of the sentence quality that was chosen, whatever MBR decoding's utility.
    """
    named: dict[str, tuple[str, Labels]] = {
        "mbr": ("quality", {"decoding": "mbr"}),
        "beam": ("quality", {"decoding": "beam"}),
        "sampling": ("quality", {"decoding": "samples"}),
        "kqrg": ("kqrg", {"region": "samples", "view": "tokens"}),
        "top_kqrg": ("kqrg", {"region": "top", "view": "tokens"}),
    }
    columns = {
        measure: {
            result.name: row.estimate.value
            for result in group.results
            if (row := largest((each for each in result.rows if each.estimate.n), name, **labels))
        }
        for measure, (name, labels) in named.items()
    }
    mbr = columns.pop("mbr")
    if len(mbr) < 3:  # two points always lie on a line
        return []
    found = []
    for measure, column in columns.items():
        both = [system for system in mbr if system in column]
        for statistic in _STATISTICS:
            estimate = correlation([mbr[each] for each in both], [column[each] for each in both], statistic)
            found.append(Row("mbr_correlation", estimate, {"measure": measure, "statistic": statistic}))
    return found


def largest(rows: Iterable[Row], name: str, **labels: str | float) -> Row | None:
    """The row of a name that has at least these labels; of several sizes of a region, that of the largest."""
    found = [row for row in rows if row.name == name and labels.items() <= row.labels.items()]
    return max(found, key=lambda row: int(row.labels.get("k", 0)), default=None)
