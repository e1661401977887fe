"""Questions about hypothesis spaces: the exact k best, beam search's k best, samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from babelscope.core.answers import Budget, HasRegions, Regions, Scored, TopK, capabilities
from babelscope.core.results import Record, finite_or_none
from babelscope.methods.space.normalisation import ask_unnormalised, normalisation
from babelscope.methods.space.settings import SpaceSettings
from babelscope.systems.asking import ask_sample, ask_score, ask_top_k, ask_translate, relocate_errors
from babelscope.testsets.items import NO_SOURCE, ParallelSentence
from babelscope.util.errors import BabelscopeError

_UNKNOWN = frozenset({"<unk>", "<UNK>", "[UNK]"})
"""Tokens for unknown words, which tokenizers leave out of texts."""


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
        best = ask_translate(system, asked, beam=settings.beam)
        wide = ask_translate(system, asked, beam=settings.k, n_best=settings.k)
        plain, plain_wide = ask_unnormalised(system, asked, best, wide, beam=settings.beam, k=settings.k)
        tops = ask_top_k(system, asked, k=settings.k, budget=_budget(settings))
        drawn: list[list[Scored]] = [[] for _ in asked]
        if settings.samples:
            drawn = ask_sample(system, asked, n=settings.samples, seed=seed)
    with relocate_errors(lambda what, number: f"item {items[number - 1].id}: {what}"):
        references = ask_score(system, [(item.question, item.references[0]) for item in items])
    answers = {
        question: {
            "best": _hypothesis(best[number][0]),
            "beam": [_hypothesis(each) for each in wide[number]],
            "top": _top(tops[number]),
            "samples": _samples(drawn[number]),
            "missed_by": _missed_by(_proven(tops[number]), plain[number], plain_wide[number]),
            **normalisation(
                system,
                best[number][0],
                plain[number][0],
                _missed_by(_proven(tops[number]), best[number], ())["beam"],
            ),
        }
        for number, question in enumerate(asked)
    }
    return [
        {
            "source": item.source,
            "references": list(item.references),
            "reference_logprob": finite_or_none(reference.total),
            **answers[item.question],
        }
        for item, reference in zip(items, references, strict=True)
    ]


def _ask_lists(
    system: HasRegions, items: Sequence[ParallelSentence], settings: SpaceSettings
) -> list[Record]:
    """As `ask`, of stored lists: no samples, no scores of references, and regions that may be missing."""
    if settings.samples:
        raise BabelscopeError("lists made elsewhere have no samples; say samples = 0, or --samples 0")
    outside = [name for name in settings.metric if ":" in name]
    if outside and any(NO_SOURCE in item.extra for item in items):
        raise BabelscopeError(f"{outside[0]} may need the sources, and there are none; say --source FILE")
    found = system.regions([item.id for item in items], k=settings.k)
    return [
        {
            "source": item.source,
            "references": list(item.references),
            "reference_logprob": None,
            **_of_lists(regions, settings.k),
        }
        for item, regions in zip(items, found, strict=True)
    ]


def _of_lists(regions: Regions, k: int) -> Record:
    beam = regions.beam or ()
    best = beam[:1]
    wide = sorted(beam, key=lambda each: -each.total)[:k]
    proven = bool(regions.top) and regions.exact
    return {
        "best": _hypothesis(best[0]) if best else None,
        "beam": [_hypothesis(each) for each in wide],
        "top": {
            "found": [_hypothesis(each) for each in regions.top or ()],
            "exact": regions.exact,
            # A list that is not exact proves nothing: anything unseen may be more probable.
            "bound": None if regions.exact else 0.0,
            "mass": None,
            "expansions": None,
            "minimum": None,
        },
        "samples": _samples(()),
        "missed_by": _missed_by((regions.top or ()) if proven else (), best, wide),
    }


def _budget(settings: SpaceSettings) -> Budget | None:
    limits = (settings.budget_expansions, settings.budget_seconds, settings.budget_bytes)
    return Budget(*limits) if any(limits) else None


def _hypothesis(scored: Scored) -> Record:
    """A hypothesis as it is stored; `judge` adds its quality."""
    notes = {"notes": list(scored.notes)} if scored.notes else {}
    unknown = not scored.text.strip() and not _UNKNOWN.isdisjoint(scored.tokens)
    return {"text": scored.text, "logprob": scored.total, **notes, **({"unknown": True} if unknown else {})}


def _top(top: TopK) -> Record:
    return {
        "found": [_hypothesis(each) for each in top.found],
        "exact": top.exact,
        "bound": finite_or_none(top.bound),
        "mass": top.mass,
        "expansions": top.expansions,
        "minimum": top.minimum,
    }


def _samples(drawn: Sequence[Scored]) -> Record:
    """Samples as distinct hypotheses, and for each draw the number of its hypothesis."""
    distinct: dict[tuple[str, ...], Scored] = {}
    for each in drawn:
        distinct.setdefault(each.tokens, each)
    numbers = {tokens: number for number, tokens in enumerate(distinct)}
    return {
        "hypotheses": [_hypothesis(each) for each in distinct.values()],
        "drawn": [numbers[each.tokens] for each in drawn],
    }


def _proven(top: TopK) -> tuple[Scored, ...]:
    """What was found, if its first is proven to be the mode."""
    return top.found if top.found and (top.exact or top.found[0].total >= top.bound) else ()


def _missed_by(
    top: Sequence[Scored], best: Sequence[Scored], wide: Sequence[Scored]
) -> dict[str, float | None]:
    """Log-probability of the mode minus that of the 1-best, and of the best in beam search's list, in nats.

    None where the mode is not proven (`top` is empty), or no translation was finished.
    """

    def short_by(candidates: Sequence[Scored]) -> float | None:
        finished = [each for each in candidates if "unfinished" not in each.notes]
        if not (top and finished):
            return None
        if top[0].tokens in (each.tokens for each in finished):
            return 0.0
        # Never below 0: a hypothesis as probable as the mode is no search error.
        return max(0.0, top[0].total - max(each.total for each in finished))

    return {"beam": short_by(best), "beam-list": short_by(wide)}
