"""What a model believes beyond its 1-best: its most probable translations, its samples, and how well it ranks them.

Paper: hypothesis-space. Systems are asked for the exact k best, for beam search's k best and for samples; each
hypothesis is given a quality against the references; kRG and kQRG say how well probability orders quality.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from babelscope.core.comparison import Comparison
from babelscope.core.results import PairedField, Record, Row, finite_or_none
from babelscope.core.system import (
    METER,
    Budget,
    Capability,
    HasRegions,
    Question,
    Regions,
    Scored,
    System,
    TopK,
    capabilities,
)
from babelscope.methods.base import Items, Method, Needs
from babelscope.methods.measuring import stated_languages
from babelscope.methods.queue import Entry, entry
from babelscope.methods.space.figures import figures, mbr_correlations
from babelscope.methods.space.measures import (
    ask_unnormalized,
    confidence_fields,
    normalization,
    with_reference,
)
from babelscope.methods.space.regions import (
    BEAM_SIZES,
    BLEU_STATISTICS,
    Region,
    SpaceSettings,
    check_references,
    hypotheses_of,
    quality_by,
    ranking_gains,
    region_hypotheses,
    with_single_metric,
)
from babelscope.metrics.base import (
    Metric,
    Segment,
    find_metric,
    is_allowed,
    sentence_qualities,
    warn_stored_quality,
)
from babelscope.metrics.corpus import record_statistics, score_by_tokenizer
from babelscope.metrics.mbr import mbr_decode
from babelscope.metrics.ranking import quality_bound
from babelscope.systems.contract import ask_sample, ask_score, ask_top_k, ask_translate, relocate_errors
from babelscope.systems.registry import require
from babelscope.testsets.items import NO_SOURCE, ParallelSentence, SourceSentence
from babelscope.util.errors import BabelscopeError

# --- From hypotheses to their qualities against references, the choice of MBR decoding, kRG and kQRG ---------------


def judge(records: Sequence[Record], settings: SpaceSettings) -> list[Record]:
    """The records with the quality of every hypothesis, the choice of MBR decoding, kRG and kQRG."""
    judged = [{**copy.deepcopy(record), "mbr": None} for record in records]
    qualities = {name: _qualities(judged, name, settings.tokenize) for name in settings.metric}
    bounds = {name: _bound(judged, name, settings) for name in settings.metric}
    lowest = {name: _lowest(judged, name) for name in settings.metric}
    first, *others = settings.metric
    for number, record in enumerate(judged):
        record["metrics"], record["lowest"] = bounds, lowest
        for place, hypothesis in enumerate(hypotheses_of(record)):
            hypothesis["quality"] = qualities[first][number][place]
            hypothesis.pop("qualities", None)
            if others:
                hypothesis["qualities"] = {name: qualities[name][number][place] for name in others}
    for record in judged:
        drawn = record["samples"]["drawn"][: settings.mbr_samples]
        if drawn:  # the highest mean chrF against all of these
            texts = [record["samples"]["hypotheses"][each]["text"] for each in drawn]
            record["mbr"] = dict(record["samples"]["hypotheses"][drawn[mbr_decode(texts).number]])
        record |= _gains(record, settings)
        record.pop("gains", None)
        if others:
            record["gains"] = {name: _gains(with_single_metric(record, name), settings) for name in others}
        _keep_bleu(record, settings.tokenize)
    return judged


def _keep_bleu(record: Record, tokenize: str) -> None:
    """Keep BLEU's statistics of each decoding if a model splits words: it is not opened to merge shards."""
    found = [each for each in (record["best"], *record["top"]["found"][:1], record["mbr"]) if each]
    for hypothesis in found:
        hypothesis.pop(BLEU_STATISTICS, None)
        if ":" in tokenize and record["references"]:
            (row,) = record_statistics(find_metric("bleu"), [hypothesis["text"]], [record], tokenize)
            hypothesis[BLEU_STATISTICS] = row.tolist()


def _qualities(records: Sequence[Record], name: str, tokenize: str) -> list[list[float]]:
    """The qualities of each record's hypotheses; stored ones are used again rather than start a program."""
    if not is_allowed(name) and all(name in record.get("metrics", ()) for record in records):
        warn_stored_quality(name)
        return [[quality_by(record, each, name) for each in hypotheses_of(record)] for record in records]

    def by_tokenizer(metric: Metric, numbers: list[int]) -> list[list[float]]:
        segments = [segments_of(records[number]) for number in numbers]
        found = iter(sentence_qualities(metric, [each for own in segments for each in own]))
        return [[next(found) for _ in own] for own in segments]

    return score_by_tokenizer(find_metric(name), records, tokenize, by_tokenizer)


def _bound(records: Sequence[Record], name: str, settings: SpaceSettings) -> float | None:
    """The highest quality, by which kQRG is normalized; None if it is normalized by the ideal order."""
    if settings.normalize != "bound":
        return None
    if not is_allowed(name) and records and (known := records[0].get("metrics", {}).get(name)):
        return float(known)
    return quality_bound(find_metric(name))


def _lowest(records: Sequence[Record], name: str) -> float | None:
    """The lowest quality that the metric can give; None where its scale has no such end, or nobody says so."""
    if not is_allowed(name):
        known = records[0].get("lowest", {}).get(name) if records else None
        return None if known is None else float(known)
    scale = find_metric(name).scale
    worst = scale.low if scale.better == "higher" else scale.high
    return None if worst is None else scale.quality(worst)


def _gains(record: Record, settings: SpaceSettings) -> Record:
    regions: dict[Region, int] = {"top": settings.k, "beam": settings.k, "samples": settings.samples}
    # One hypothesis has no rank.
    regions = {name: size if size > 1 else 0 for name, size in regions.items()}
    found: Record = {}
    for name, size in regions.items():
        own = ranking_gains(record, name, size, "tokens", settings) if size else None
        for measure in ("krg", "kqrg"):
            found[f"{name}_{measure}"] = None if own is None else finite_or_none(getattr(own, measure))
    return found


def segments_of(record: Record) -> list[Segment]:
    """A segment for each hypothesis of a record, in the order of `hypotheses_of`."""
    references = tuple(record["references"])
    return [Segment(record["source"], each["text"], references) for each in hypotheses_of(record)]


def segment_lines(records: Sequence[Record]) -> Iterator[str]:
    """Every segment of the records once, as a JSON line, for a metric to judge elsewhere."""
    yield from dict.fromkeys(segment.as_line() for record in records for segment in segments_of(record))


# --- Questions about hypothesis spaces: the exact k best, beam search's k best, samples ----------------------------

_UNKNOWN = frozenset({"<unk>", "<UNK>", "[UNK]"})
"""Tokens for unknown words, which tokenizers leave out of texts."""
_NOT_SEARCHED = TopK((), exact=False, bound=0.0, mass=0.0, expansions=0, minimum=0)


def ask(
    systems: Mapping[str, Any], items: Sequence[ParallelSentence], settings: SpaceSettings, seed: int
) -> list[Record]:
    """One record per item: the regions of its hypothesis space, each hypothesis with its log-probability."""
    system = systems["system"]
    if "regions" in capabilities(system):
        return _ask_lists(system, items, settings)
    asked = list(dict.fromkeys(item.question for item in items))
    first = {item.question: item.id for item in reversed(items)}
    with relocate_errors(lambda what, number: f"item {first[asked[number - 1]]}: {what}"):
        answers = _answers(system, asked, settings, seed)
    # Metrics that read no reference judge items without any.
    told = [item for item in items if item.references] if settings.k or settings.confidence else []
    with relocate_errors(lambda what, number: f"item {told[number - 1].id}: {what}"):
        scored = ask_score(system, [(item.question, item.references[0]) for item in told]) if told else []
    references = {item.id: each for item, each in zip(told, scored, strict=True)}
    logprobs = {name: finite_or_none(each.total) for name, each in references.items()} if settings.k else {}
    return [
        {
            "source": item.source,
            "references": list(item.references),
            **stated_languages(item),
            "reference_logprob": logprobs.get(item.id),
            **with_reference(answers[item.question], references.get(item.id)),
        }
        for item in items
    ]


def _answers(
    system: Any, asked: Sequence[Question], settings: SpaceSettings, seed: int
) -> dict[Question, Record]:
    """What the system answers to each question, as it is stored."""
    best: list[list[Scored]] = [[] for _ in asked]
    wide, drawn = list(best), list(best)
    tops = [_NOT_SEARCHED] * len(asked)
    if "translate" in capabilities(system):
        best = ask_translate(system, asked, beam=settings.beam)
    width = max(settings.beam, settings.k)
    if settings.k > 1:
        with METER.timing(system.name, f"beam search of width {width}", len(asked)):
            wide = ask_translate(system, asked, beam=width, n_best=settings.k)
    if settings.samples:
        with METER.timing(system.name, f"{settings.samples} samples", len(asked)):
            drawn = ask_sample(system, asked, n=settings.samples, seed=seed, drawing=settings.drawing)
    sweep = {width: ask_translate(system, asked, beam=width) for width in settings.beams}
    if settings.k:
        with METER.timing(system.name, f"exact top-{settings.k}", len(asked)):
            tops = ask_top_k(system, asked, k=settings.k, budget=_budget(settings))
    plain, plain_wide = best, wide
    if settings.k and all(best):
        plain, plain_wide = ask_unnormalized(system, asked, best, wide, beam=settings.beam, k=settings.k)
    open_ones = [question for question, top in zip(asked, tops, strict=True) if settings.k and not top.exact]
    scored = ask_score(system, [(question, "") for question in open_ones]) if open_ones else []
    empty = dict(zip(open_ones, scored, strict=True))
    found: dict[Question, Record] = {}
    for number, question in enumerate(asked):
        wider = {width: answers[number][0] for width, answers in sweep.items()}
        beams = (best[number], wide[number], plain[number], plain_wide[number])
        seen = [*itertools.chain(*beams), *drawn[number], *wider.values()]
        top = tops[number]
        if question in empty:
            top = with_others_seen(top, [*seen, empty[question]], settings.k)
        swept = [{"beam": size, **_hypothesis(each), **_gaps(top, [each])} for size, each in wider.items()]
        found[question] = {
            "best": _hypothesis(best[number][0]) if best[number] else None,
            "beam": [_hypothesis(each) for each in wide[number]],
            "top": _top(top, empty.get(question)) if settings.k else _of_list((), exact=False),
            "samples": _samples(drawn[number]),
            **({BEAM_SIZES: {"beam": settings.beam, "beam-list": width}} if best[number] else {}),
            **_misses(top, top.exact, plain[number], plain_wide[number]),
            **_normalization(system, top, best[number], plain[number]),
            **({"beams": swept} if wider else {}),
            **(confidence_fields(best[number], drawn[number]) if settings.confidence else {}),
        }
    return found


def with_others_seen(top: TopK, others: Iterable[Scored], k: int) -> TopK:
    """A search that its budget ended, with what beam search and samples found and it had not: the k best of all."""
    finished = [each for each in others if each.has_scores and "unfinished" not in each.notes]
    known = {each.tokens: each for each in (*finished, *top.found) if math.isfinite(each.total)}
    ranked = sorted(known.values(), key=lambda each: (-each.total, len(each.tokens)))
    bound = max([top.bound, *(each.total for each in ranked[k : k + 1])])
    return dataclasses.replace(top, found=tuple(ranked[:k]), bound=bound)


def _ask_lists(
    system: HasRegions, items: Sequence[ParallelSentence], settings: SpaceSettings
) -> list[Record]:
    """As `ask`, of stored lists: no samples, no scores of references, and regions that may be missing."""
    if settings.samples:
        raise BabelscopeError("lists made elsewhere have no samples; say samples = 0, or --samples 0")
    if settings.confidence:
        raise BabelscopeError("lists made elsewhere have no probabilities of tokens; leave confidence out")
    if settings.beams:
        raise BabelscopeError("lists made elsewhere are of one beam; leave beams, or --beams, out")
    outside = [name for name in settings.metric if find_metric(name).reads_sources]
    if outside and any(NO_SOURCE in item.extra for item in items):
        raise BabelscopeError(f"{outside[0]} may need the sources, and there are none; say --source FILE")
    found = system.regions([item.id for item in items], k=settings.k)
    return [
        {
            "source": item.source,
            "references": list(item.references),
            **stated_languages(item),
            "reference_logprob": None,
            **_of_lists(regions, settings.k),
        }
        for item, regions in zip(items, found, strict=True)
    ]


def _of_lists(regions: Regions, k: int) -> Record:
    beam = regions.beam or ()
    best = beam[:1]
    wide = sorted(beam, key=lambda each: -each.total)[:k]
    # A list that is not exact proves nothing: anything unseen may be more probable.
    top = TopK(regions.top or (), regions.exact, 0.0, mass=0.0, expansions=0, minimum=0)
    return {
        "best": _hypothesis(best[0]) if best else None,
        "beam": [_hypothesis(each) for each in wide],
        "top": _of_list(top.found, exact=regions.exact),
        "samples": _samples(()),
        **_misses(top, regions.exact, best, wide),
    }


def _of_list(found: Sequence[Scored], *, exact: bool) -> Record:
    """A top region that no search of ours found, as it is stored."""
    unknown = dict.fromkeys(("mass", "expansions", "minimum"))
    bound = None if exact else 0.0
    return {"found": [_hypothesis(each) for each in found], "exact": exact, "bound": bound, **unknown}


def _budget(settings: SpaceSettings) -> Budget | None:
    limits = (settings.budget_expansions, settings.budget_seconds, settings.budget_bytes)
    return Budget(*limits) if any(limits) else None


def _hypothesis(scored: Scored) -> Record:
    """A hypothesis as it is stored; `judge` adds its quality."""
    notes = {"notes": list(scored.notes)} if scored.notes else {}
    unknown = not scored.text.strip() and not _UNKNOWN.isdisjoint(scored.tokens)
    logprob = scored.total if scored.has_total else None
    return {"text": scored.text, "logprob": logprob, **notes, **({"unknown": True} if unknown else {})}


def _top(top: TopK, empty: Scored | None) -> Record:
    return {
        "found": [_hypothesis(each) for each in top.found],
        "exact": top.exact,
        "bound": finite_or_none(top.bound),
        "mass": top.mass,
        "expansions": top.expansions,
        "minimum": top.minimum,
        **({"empty": finite_or_none(empty.total)} if empty is not None else {}),
    }


def _samples(drawn: Sequence[Scored]) -> Record:
    """Samples as distinct hypotheses, and for each draw the number of its hypothesis."""
    distinct: dict[tuple[str, ...], Scored] = {}
    for each in drawn:
        distinct.setdefault(each.tokens or (each.text,), each)
    numbers = {tokens: number for number, tokens in enumerate(distinct)}
    return {
        "hypotheses": [_hypothesis(each) for each in distinct.values()],
        "drawn": [numbers[each.tokens or (each.text,)] for each in drawn],
    }


def _proven(top: TopK) -> tuple[Scored, ...]:
    """What was found, if its first is proven to be the mode."""
    return top.found if top.proven() else ()


def _misses(top: TopK, exact: bool, best: Sequence[Scored], wide: Sequence[Scored]) -> Record:
    """How far beam search is from the mode; after an open search also how far from the best hypothesis known."""
    known = {} if exact else {"below_known": _missed_by(top.found, best, wide)}
    return {"missed_by": _missed_by(_proven(top), best, wide), **known}


def _normalization(system: Any, top: TopK, best: Sequence[Scored], plain: Sequence[Scored]) -> Record:
    """What the system's length penalty changes, where it was searched."""
    if not (best and plain and top.found):
        return {}
    return normalization(system, best[0], plain[0], _gaps(top, best))


def _gaps(top: TopK, found: Sequence[Scored]) -> dict[str, float | None]:
    """By how many nats beam search misses the mode, and the best hypothesis known."""
    return {"missed_by": _short_by(_proven(top), found), "below_known": _short_by(top.found, found)}


def _missed_by(
    top: Sequence[Scored], best: Sequence[Scored], wide: Sequence[Scored]
) -> dict[str, float | None]:
    """How far the 1-best, and the best in beam search's list, are from the first of `top`."""
    return {"beam": _short_by(top, best), "beam-list": _short_by(top, wide)}


def _short_by(top: Sequence[Scored], candidates: Sequence[Scored]) -> float | None:
    """Log-probability of the first of `top` minus that of the best candidate, in nats.

    None where there is none to compare with (a mode that is not proven), or no candidate was finished.
    """
    finished = [each for each in candidates if "unfinished" not in each.notes]
    if not (top and finished):
        return None
    if top[0].tokens in (each.tokens for each in finished):
        return 0.0
    # Never below 0: a hypothesis as probable as the mode is no search error.
    return max(0.0, top[0].total - max(each.total for each in finished))


# --- What a model believes beyond its 1-best: its most probable translations, its samples --------------------------


def comparable(settings: SpaceSettings) -> list[PairedField]:
    """Gains of ranking in each region, where a sentence has them; by each further metric, too."""
    names = {
        f"{region}_{measure}": f"{measure},region={region},view=tokens"
        for region in ("top", "beam", "samples")
        for measure in ("krg", "kqrg")
    }
    return [
        *(PairedField(name, "ranking gain", name, of) for name, of in names.items()),
        *(
            PairedField(
                ("gains", metric, name), "ranking gain", f"{name} by {metric}", f"{of},metric={metric}"
            )
            for metric in settings.metric[1:]
            for name, of in names.items()
        ),
    ]


def check_system(system: System, _items: object, settings: SpaceSettings) -> None:
    """Refuse a system that cannot do what is asked; one that cannot be searched may still be sampled."""
    has = capabilities(system)
    if "regions" in has:  # lists made elsewhere, in the place of all this
        return
    searched: tuple[Capability, ...] = ("translate", "score", "top_k") if settings.k else ()
    swept: tuple[Capability, ...] = ("translate",) if settings.beams and not settings.k else ()
    drawn: tuple[Capability, ...] = ("sample",) if settings.samples else ()
    sure: tuple[Capability, ...] = ("translate", "score") if settings.confidence else ()
    try:
        require(system, *dict.fromkeys((*searched, *swept, *drawn, *sure)), what_for="space")
    except BabelscopeError as error:
        if "sample" in has and settings.samples:
            less = "leave confidence out, and" if settings.confidence else ""
            alone = "its samples can be judged alone: k = 0, or --k 0"
            raise BabelscopeError(f"{error}; {less}{' ' if less else ''}{alone}") from None
        raise


_LONGEST = 26


def queue(records: Sequence[Record], settings: SpaceSettings) -> list[Entry]:
    """The top region of each sentence in the model's order, where it has a kQRG to be compared with people's."""
    if settings.k > _LONGEST:
        raise BabelscopeError(
            f"lists of {settings.k} translations are too long to judge; {_LONGEST} are the most, so ask again with a "
            "smaller --k"
        )
    return [
        entry(record, "ranking", translations=[each.text for each in top])
        for record in records
        if record["top_kqrg"] is not None
        and (top := region_hypotheses(record, "top", settings.k, settings)) is not None
        and len(top) > 1
    ]


def lower(records: Sequence[Record], settings: SpaceSettings) -> list[Record]:
    """The exact k best are the first of those that are stored; what another k would have changed is left out.

    A beam of width k would have found another list, and a search for k hypotheses would have taken fewer expansions.
    """
    return [
        {
            **record,
            "beam": [],
            "top": {
                **record["top"],
                "found": record["top"]["found"][: settings.k],
                "expansions": None,
                "minimum": None,
            },
            "missed_by": {**record["missed_by"], "beam-list": None},
        }
        for record in records
    ]


class Space(Method):
    """the k most probable translations and samples: empty modes, kRG and kQRG, beam search's errors"""

    name = "space"
    items = (ParallelSentence, SourceSentence)
    requires: ClassVar[Needs] = {"system": ()}
    Settings = SpaceSettings

    def check(self, items: Sequence[Any], systems: Mapping[str, Any] | None = None) -> None:
        if systems is None:
            check_references(items, self.settings)
        else:
            check_system(systems["system"], items, self.settings)

    def ask(self, systems: Mapping[str, Any], items: Items, seed: int) -> list[Record]:
        return ask(systems, items, self.settings, seed)

    def judge(self, records: Sequence[Record]) -> list[Record]:
        if self.settings.k < self.asked.k:
            records = lower(records, self.settings)
        return judge(records, self.settings)

    def summarize(self, records: Sequence[Record], seed: int) -> list[Row]:
        return figures(records, self.settings, seed)

    def paired(self) -> list[PairedField]:
        return comparable(self.settings)

    def compare(self, comparison: Comparison, seed: int) -> list[Row]:
        return mbr_correlations(comparison, self.settings, seed)
