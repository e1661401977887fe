"""Forced choice between a correct translation and variants with an error (paper: minimal-pairs)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, cast

from pydantic import Field, field_serializer, field_validator

from babelscope.core.answers import Capability, Scored, System, capabilities
from babelscope.core.results import Record, Result, Row
from babelscope.core.ties import Ties
from babelscope.language.german import missing
from babelscope.making.pairs.detecting import analysis_version
from babelscope.methods.base import Method, Settings, run_method, set_up
from babelscope.methods.contrast.compare import comparisons, over_seeds
from babelscope.methods.contrast.figures import Scores, figures, judged
from babelscope.methods.contrast.free import detections, free_errors
from babelscope.methods.contrast.tokens import parting
from babelscope.systems.asking import ask_score, ask_translate, relocate_errors, scored_as_json
from babelscope.testsets.items import MinimalPair
from babelscope.testsets.sets import TestSet

CONTROLS = ("hypercorrect_genitive", "placeholder_ding")
"""Errors that no system is believed to make (section 3): what is reported of them is a false positive."""


class ContrastSettings(Settings):
    score: Literal["mean", "total"] = "mean"
    """Log-probability a token (eq. 2), or of the whole sentence (eq. 1); EOS counts in both."""
    ties: Ties = "half"
    """What a tie is worth: `correct` in DistilLingEval's code, `wrong` in LingEval97's and MuCoW's."""
    discrepancy: Literal["auto", "paper", "clipped", "none"] = "auto"
    """Section 3.2, or the released code's variant, which takes an item's at 0 where it is below.
    `auto`: as in the paper if the system can translate, else none."""
    beam: int = Field(default=5, ge=1)
    """The beam of the 1-best translation (section 3.4)."""
    free: Literal["auto", "yes", "no"] = "auto"
    """Whether the German error types' detectors look for the same errors in the 1-bests.
    `auto`: if there are 1-bests, and German analysis is installed."""
    controls: tuple[str, ...] = CONTROLS
    """The implausible phenomena."""
    resamples: int = Field(default=2000, ge=100, le=1_000_000)
    """Bootstrap resamples for the intervals."""

    @field_validator("free")
    @classmethod
    def _installed(cls, free: str) -> str:
        if free == "yes" and not analysis_version():
            raise missing("HanTa and german-nouns")
        return free

    @field_serializer("free")
    def _with_version(self, free: str) -> str:
        # What the detectors say depends on the analysis, so its version is part of the signature.
        analysis = analysis_version() if free != "no" else ""
        return f"{free}, {analysis}" if analysis else free

    @property
    def needs(self) -> Mapping[str, tuple[Capability, ...]]:
        """What only some settings need."""
        translates = self.free == "yes" or self.discrepancy in ("paper", "clipped")
        return {"system": ("translate",)} if translates else {}


def judge(
    systems: Mapping[str, Any], items: Sequence[MinimalPair], settings: ContrastSettings, _seed: int
) -> list[Record]:
    """A record an item: how each variant and the 1-best are scored, the verdict, and where variants part."""
    system = systems["system"]
    asked = [(item.source, text) for item in items for text in (item.correct, *item.contrastive)]
    # Each text once: it is cheaper, and rounding cannot make a difference between a text and itself.
    once = list(dict.fromkeys(asked))
    with relocate_errors(lambda what, number: f"{_asker(items, *once[number - 1])}: {what}"):
        found = dict(zip(once, ask_score(system, once), strict=True))
    best = _translations(system, items, settings.beam) if _wants_best(system, settings) else {}
    looks = best and settings.free != "no" and analysis_version()
    detected = detections(items, {source: each.text for source, each in best.items()}) if looks else None
    return [
        {
            **_record(
                item,
                found[item.source, item.correct],
                [found[item.source, text] for text in item.contrastive],
                best.get(item.source),
                settings,
            ),
            **(detected[number] if detected else {}),
        }
        for number, item in enumerate(items)
    ]


def _wants_best(system: System, settings: ContrastSettings) -> bool:
    """Whether the 1-best is asked for."""
    may = settings.discrepancy == "auto" and "translate" in capabilities(system)
    return may or bool(settings.needs)


def _translations(system: Any, items: Sequence[MinimalPair], beam: int) -> dict[str, Scored]:
    """The 1-best of each source, scored by the tokens it was generated with."""
    sources = list(dict.fromkeys(item.source for item in items))
    with relocate_errors(lambda what, number: f"{_asker(items, sources[number - 1])}: {what}"):
        found = [answer[0] for answer in ask_translate(system, sources, beam=beam)]
    # Systems rescore what they generate; those that give bare text are asked to score it.
    bare = [number for number, scored in enumerate(found) if not scored.has_scores]
    rescored = ask_score(system, [(sources[number], found[number].text) for number in bare]) if bare else []
    for number, scored in zip(bare, rescored, strict=True):
        notes = tuple(dict.fromkeys((*found[number].notes, *scored.notes)))
        found[number] = Scored(scored.text, scored.tokens, scored.logprobs, notes)
    return dict(zip(sources, found, strict=True))


def _asker(items: Sequence[MinimalPair], source: str, target: str | None = None) -> str:
    """The first item that a question is asked for, to tell where a text that is refused stands."""
    found = (
        item for item in items if item.source == source and target in (None, item.correct, *item.contrastive)
    )
    return f"item {next(found).id}"


def _record(
    item: MinimalPair,
    correct: Scored,
    contrastive: Sequence[Scored],
    best: Scored | None,
    settings: ContrastSettings,
) -> Record:
    def score(scored: Scored) -> float:
        return scored.mean if settings.score == "mean" else scored.total

    known = best is not None and settings.discrepancy != "none"
    scores = Scores(
        score(correct), tuple(score(each) for each in contrastive), score(best) if best and known else None
    )
    return {
        "source": item.source,
        "phenomenon": item.phenomenon,
        "reference": item.reference,
        **judged(scores, clipped=settings.discrepancy == "clipped"),
        "correct": scored_as_json(correct),
        "contrastive": [parting(correct, each) for each in contrastive],
        **({} if best is None else {"best": scored_as_json(best)}),
    }


def summarise(records: Sequence[Record], settings: ContrastSettings, seed: int) -> list[Row]:
    """Accuracy and discrepancy over all and by phenomenon and reference, the false-positive meter, free errors."""
    chosen: dict[str, Any] = {
        "ties": settings.ties, "controls": settings.controls, "seed": seed, "resamples": settings.resamples
    }  # fmt: skip
    return [*figures(records, **chosen), *free_errors(records, **chosen)]


METHOD = Method(
    name="contrast",
    summary="forced choice between correct and contrastive translations, and how far they are from the 1-best",
    kind=MinimalPair,
    settings=ContrastSettings,
    judge=judge,
    summarise=summarise,
    needs={"system": ("score",)},
    needs_more=lambda settings: settings.needs,
)


def contrast(
    systems: System | Sequence[System],
    pairs: TestSet | Iterable[MinimalPair],
    *,
    seed: int = 0,
    seed_groups: Sequence[str] = (),
    **settings: Any,
) -> Result:
    """Contrastive evaluation of systems on minimal pairs, compared with each other and over reference kinds.

    Each of `seed_groups` is a pattern of names (`lab:teacher-*`) of systems that differ by their seed only.
    """
    several = list(systems) if isinstance(systems, Sequence) else [systems]
    own = {name: value for name, value in settings.items() if name != "chunk"}
    checked = cast(ContrastSettings, set_up(METHOD, own).settings)
    result = run_method(METHOD, several, pairs, seed=seed, **settings)
    return with_comparisons(result, checked, seed=seed, seed_groups=seed_groups)


def with_comparisons(
    result: Result, settings: ContrastSettings, *, seed: int = 0, seed_groups: Sequence[str] = ()
) -> Result:
    """The same result, with rows that compare systems, reference kinds and seeds where there are several."""
    compared = comparisons(result.records, ties=settings.ties, seed=seed, resamples=settings.resamples)
    rows = [*result.rows, *over_seeds(result.rows, seed_groups), *compared]
    return dataclasses.replace(result, rows=rows)
