"""Questions about hypothesis spaces: the exact k best, beam search's k best, samples."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from babelscope.core.answers import Budget, HasRegions, Regions, Scored, TopK, capabilities
from babelscope.core.cost import METER
from babelscope.core.question import Question
from babelscope.core.results import Record, finite_or_none
from babelscope.methods.space.confidence import confidence_fields, with_reference
from babelscope.methods.space.regions import BEAM_SIZES
from babelscope.methods.space.settings import SpaceSettings
from babelscope.methods.space.sweep import ask_unnormalised, normalisation
from babelscope.methods.tokenising import stated_languages
from babelscope.metrics.base import find_metric
from babelscope.systems.asking import ask_sample, ask_score, ask_top_k, ask_translate, relocate_errors
from babelscope.testsets.items import NO_SOURCE, ParallelSentence
from babelscope.util.errors import BabelscopeError

_UNKNOWN = frozenset({"<unk>", "<UNK>", "[UNK]"})
"""Tokens for unknown words, which tokenizers leave out of texts."""
_NOT_SEARCHED = TopK((), exact=False, bound=0.0, mass=0.0, expansions=0, minimum=0)


def ask(
    systems: Mapping[str, Any], items: Sequence[ParallelSentence], settings: SpaceSettings, seed: int
) -> list[Record]:
    """A record an item: the regions of its hypothesis space, each hypothesis with its log-probability."""
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
        plain, plain_wide = ask_unnormalised(system, asked, best, wide, beam=settings.beam, k=settings.k)
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
        found[question] = {
            "best": _hypothesis(best[number][0]) if best[number] else None,
            "beam": [_hypothesis(each) for each in wide[number]],
            "top": _top(top, empty.get(question)) if settings.k else _of_list((), exact=False),
            "samples": _samples(drawn[number]),
            **({BEAM_SIZES: {"beam": settings.beam, "beam-list": width}} if best[number] else {}),
            **_misses(top, top.exact, plain[number], plain_wide[number]),
            **_normalisation(system, top, best[number], plain[number]),
            **({"beams": _sweep(top, wider)} if wider else {}),
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
    return {
        "found": [_hypothesis(each) for each in found],
        "exact": exact,
        "bound": None if exact else 0.0,
        "mass": None,
        "expansions": None,
        "minimum": None,
    }


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


def _normalisation(system: Any, top: TopK, best: Sequence[Scored], plain: Sequence[Scored]) -> Record:
    """What the system's length penalty changes, where it was searched."""
    if not (best and plain and top.found):
        return {}
    gaps = {"missed_by": _short_by(_proven(top), best), "below_known": _short_by(top.found, best)}
    return normalisation(system, best[0], plain[0], gaps)


def _sweep(top: TopK, by_width: Mapping[int, Scored]) -> list[Record]:
    """Beam search's translation by the width of its beam, and by how many nats it misses mode and best known."""
    return [
        {
            "beam": width,
            **_hypothesis(each),
            "missed_by": _short_by(_proven(top), [each]),
            "below_known": _short_by(top.found, [each]),
        }
        for width, each in by_width.items()
    ]


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
