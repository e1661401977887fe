"""What a model believes beyond its 1-best: its most probable translations, its samples, and how well it ranks them.

Paper: hypothesis-space. Systems are asked for the exact k best, for beam search's k best and for samples; each
hypothesis is given a quality against the references; kRG and kQRG say how well probability orders quality.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field, field_serializer, field_validator

from babelscope.core.answers import Budget, Scored, System, TopK
from babelscope.core.results import Record, Result, Row, finite_or_none
from babelscope.methods.base import Method, Settings, run_method
from babelscope.methods.space.compare import mbr_correlations
from babelscope.methods.space.figures import Region, figures, gains
from babelscope.metrics.mbr import mbr_decode
from babelscope.metrics.quality import METRICS, Segment, outside, sentence_qualities
from babelscope.metrics.ranking import Normalise
from babelscope.systems.asking import ask_sample, ask_score, ask_top_k, ask_translate, relocate_errors
from babelscope.testsets.items import ParallelSentence
from babelscope.testsets.sets import TestSet


class SpaceSettings(Settings):
    k: int = Field(default=10, ge=2)
    """Hypotheses of the top region, and of the beam it is compared with."""
    samples: int = Field(default=200, ge=0)
    """Samples a sentence; 0 for none."""
    quality: str = "chrf"
    """What hypotheses are judged by: chrf, chrf++, bleu, ter, ribes, or from outside, see metrics/quality.py."""
    normalise: Normalise = "bound"
    """What kQRG is divided by: eq. 19's bound, as in the paper, or the ideal order of the same hypotheses."""
    beam: int = Field(default=5, ge=1)
    """Of the translation that is scored as the system's own."""
    mbr: int = Field(default=100, ge=1)
    """MBR decoding chooses among so many of the samples (section 5.2.2), or all if there are fewer."""
    unresolved: Literal["leave-out", "keep"] = "leave-out"
    """Searches that ended with their budget: count only what they proved, or all they found."""
    budget_expansions: int | None = Field(default=None, ge=1)
    budget_seconds: float | None = Field(default=None, gt=0)
    budget_bytes: int | None = Field(default=None, ge=1)
    """What an exact search may spend on a sentence; no limit if none is given."""
    curves: bool = False
    """Figures for smaller k and fewer samples too."""
    resamples: int = Field(default=1000, ge=100, le=1_000_000)
    """Bootstrap resamples for the intervals."""

    @field_validator("quality")
    @classmethod
    def _is_known(cls, value: str) -> str:
        if value not in METRICS:
            outside(value)  # told before any system is asked
        return value

    @field_serializer("quality")
    def _by_content(self, value: str) -> str:
        """In a signature, what judges from outside counts by what it is, not by where it lies."""
        return value if value in METRICS else f"{value.partition(':')[0]} {outside(value).fingerprint.digest}"


def judge(
    systems: Mapping[str, Any], items: Sequence[ParallelSentence], settings: SpaceSettings, seed: int
) -> list[Record]:
    """A record an item: the regions of its hypothesis space, each hypothesis with log-probability and quality."""
    system = systems["system"]
    sources = list(dict.fromkeys(item.source for item in items))
    first = {item.source: item.id for item in reversed(items)}
    with relocate_errors(lambda what, number: f"item {first[sources[number - 1]]}: {what}"):
        best = [answer[0] for answer in ask_translate(system, sources, beam=settings.beam)]
        wide = ask_translate(system, sources, beam=settings.k, n_best=settings.k)
        tops = ask_top_k(system, sources, k=settings.k, budget=_budget(settings))
        drawn: list[list[Scored]] = [[] for _ in sources]
        if settings.samples:
            drawn = ask_sample(system, sources, n=settings.samples, seed=seed)
    with relocate_errors(lambda what, number: f"item {items[number - 1].id}: {what}"):
        references = ask_score(system, [(item.source, item.references[0]) for item in items])
    answers = {
        source: {
            "best": _hypothesis(best[number]),
            "beam": [_hypothesis(each) for each in wide[number]],
            "top": _top(tops[number]),
            "samples": _samples(drawn[number]),
            "mbr": _mbr(drawn[number][: settings.mbr]),
            "missed_by": _missed_by(tops[number], best[number], wide[number]),
        }
        for number, source in enumerate(sources)
    }
    records = [
        {
            "source": item.source,
            "references": list(item.references),
            "reference_logprob": finite_or_none(reference.total),
            **answers[item.source],
        }
        for item, reference in zip(items, references, strict=True)
    ]
    return with_quality(records, settings)


def _budget(settings: SpaceSettings) -> Budget | None:
    limits = (settings.budget_expansions, settings.budget_seconds, settings.budget_bytes)
    return Budget(*limits) if any(limits) else None


def _hypothesis(scored: Scored) -> Record:
    """A hypothesis as it is stored; its quality comes later."""
    notes = {"notes": list(scored.notes)} if scored.notes else {}
    return {"text": scored.text, "logprob": scored.total, **notes}


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
    """Samples without repeating what was drawn several times: hypotheses, and their numbers as drawn."""
    distinct: dict[tuple[str, ...], Scored] = {}
    for each in drawn:
        distinct.setdefault(each.tokens, each)
    numbers = {tokens: number for number, tokens in enumerate(distinct)}
    return {
        "hypotheses": [_hypothesis(each) for each in distinct.values()],
        "drawn": [numbers[each.tokens] for each in drawn],
    }


def _mbr(drawn: Sequence[Scored]) -> Record | None:
    """The sample that is most like the others; the utility is chrF, each sample compared with each."""
    if not drawn:
        return None
    return _hypothesis(drawn[mbr_decode([each.text for each in drawn]).number])


def _missed_by(top: TopK, best: Scored, wide: Sequence[Scored]) -> dict[str, float | None]:
    """By how many nats the 1-best, and the best of beam search's list, fall short of the mode; 0 if they are it.

    None where the mode is not proven, or no translation was finished.
    """
    proven = bool(top.found) and (top.exact or top.found[0].total >= top.bound)

    def short_by(candidates: Sequence[Scored]) -> float | None:
        finished = [each for each in candidates if "unfinished" not in each.notes]
        if not (proven and finished):
            return None
        mode = top.found[0]
        if mode.tokens in (each.tokens for each in finished):
            return 0.0
        # Never below 0: a hypothesis as probable as the mode is no search error.
        return max(0.0, mode.total - max(each.total for each in finished))

    return {"beam": short_by([best]), "beam-list": short_by(wide)}


def with_quality(records: Sequence[Record], settings: SpaceSettings) -> list[Record]:
    """The same records with the quality of every hypothesis, and each sentence's figures."""
    segments = [segment for record in records for segment in segments_of(record)]
    qualities = iter(sentence_qualities(settings.quality, segments))
    for record in records:
        for hypothesis in hypotheses_of(record):
            hypothesis["quality"] = next(qualities)
    return with_gains(records, settings)


def with_gains(records: Sequence[Record], settings: SpaceSettings) -> list[Record]:
    """The same records with each sentence's figures, from the qualities that stand there."""
    for record in records:
        regions: dict[Region, int] = {"top": settings.k, "beam": settings.k, "samples": settings.samples}
        for name, size in regions.items():
            found = gains(record, name, size, "tokens", settings)
            for measure in ("krg", "kqrg"):
                value = None if found is None else finite_or_none(getattr(found, measure))
                record[f"{name}_{measure}"] = value
    return list(records)


def segments_of(record: Record) -> list[Segment]:
    """What has to be judged about a record, in the order in which it stands there."""
    references = tuple(record["references"])
    return [Segment(record["source"], each["text"], references) for each in hypotheses_of(record)]


def hypotheses_of(record: Record) -> list[Record]:
    """The hypotheses of a record, in the order in which they stand there."""
    mbr = [record["mbr"]] if record["mbr"] else []
    return [
        record["best"], *record["beam"], *record["top"]["found"], *record["samples"]["hypotheses"], *mbr
    ]  # fmt: skip


def summarise(records: Sequence[Record], settings: SpaceSettings, seed: int) -> list[Row]:
    """The figures of one system on one test set."""
    return figures(records, settings, seed)


METHOD = Method(
    name="hypothesis_space",
    summary="the k most probable translations and samples: empty modes, kRG and kQRG, beam search's errors",
    kind=ParallelSentence,
    settings=SpaceSettings,
    judge=judge,
    summarise=summarise,
    needs={"system": ("translate", "score", "sample", "top_k")},
)


def space(
    systems: System | Sequence[System], tests: TestSet | Iterable[ParallelSentence], **settings: Any
) -> Result:
    """Evaluate hypothesis spaces; with three systems or more, also the correlation with MBR decoding."""
    return with_correlations(run_method(METHOD, systems, tests, **settings))


def with_correlations(result: Result) -> Result:
    """The same result, with rows that compare its systems."""
    rows = [*result.rows, *mbr_correlations(result.rows)]
    return dataclasses.replace(result, rows=rows)
