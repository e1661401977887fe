"""Forced choice between a correct translation and variants with an error (paper: minimal-pairs)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, cast

from pydantic import Field

from babelscope.methods.base import Method, Settings, run_method, set_up
from babelscope.methods.contrast_compare import comparisons, over_seeds
from babelscope.methods.contrast_figures import Scores, figures, judged
from babelscope.methods.contrast_tokens import parting
from babelscope.results import Record, Result, Row
from babelscope.systems.asking import ask_score, ask_translate, places, scored_as_json
from babelscope.systems.base import Scored, System, capabilities
from babelscope.systems.opening import require
from babelscope.testsets.items import MinimalPair
from babelscope.testsets.sets import TestSet

CONTROLS = ("hypercorrect_genitive", "placeholder_ding")
"""Errors that no system is believed to make (section 3): what is reported of them is a false positive."""


class ContrastSettings(Settings):
    score: Literal["mean", "total"] = "mean"
    """Log-probability a token (eq. 2), or of the whole sentence (eq. 1); EOS counts in both."""
    ties: Literal["half", "correct", "wrong"] = "half"
    """What a tie is worth: `correct` in DistilLingEval's code, `wrong` in LingEval97's and MuCoW's."""
    discrepancy: Literal["auto", "paper", "clipped", "none"] = "auto"
    """Section 3.2, or the released code's variant, which takes an item's at 0 where it is below.
    `auto`: as in the paper if the system can translate, else none."""
    beam: int = Field(default=5, ge=1)
    """The beam of the 1-best translation (section 3.4)."""
    controls: tuple[str, ...] = CONTROLS
    """The implausible phenomena."""
    resamples: int = Field(default=2000, ge=100)
    """Bootstrap resamples for the intervals."""


def judge(
    systems: Mapping[str, Any], items: Sequence[MinimalPair], settings: ContrastSettings, _seed: int
) -> list[Record]:
    """A record an item: how each variant and the 1-best are scored, the verdict, and where variants part."""
    system = systems["system"]
    translates = wants_best(system, settings)
    asked = [(item.source, text) for item in items for text in (item.correct, *item.contrastive)]
    # Each text once: it is cheaper, and rounding cannot make a difference between a text and itself.
    once = list(dict.fromkeys(asked))
    with places(lambda what, number: f"{_asker(items, *once[number - 1])}: {what}"):
        found = dict(zip(once, ask_score(system, once), strict=True))
    best = _translations(system, items, settings.beam) if translates else {}
    return [
        _record(
            item,
            found[item.source, item.correct],
            [found[item.source, text] for text in item.contrastive],
            best.get(item.source),
            settings,
        )
        for item in items
    ]


def wants_best(system: System, settings: ContrastSettings) -> bool:
    """Whether the 1-best is asked for; a system that cannot give it is refused where it is needed."""
    if settings.discrepancy == "auto":
        return "translate" in capabilities(system)
    if settings.discrepancy != "none":
        require(system, "translate", what_for=f"contrast with discrepancy={settings.discrepancy}")
    return settings.discrepancy != "none"


def _translations(system: Any, items: Sequence[MinimalPair], beam: int) -> dict[str, Scored]:
    """The 1-best of each source, scored by the tokens it was generated with."""
    sources = list(dict.fromkeys(item.source for item in items))
    with places(lambda what, number: f"{_asker(items, sources[number - 1])}: {what}"):
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

    scores = Scores(
        score(correct), tuple(score(each) for each in contrastive), None if best is None else score(best)
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
    """Accuracy and discrepancy over all and by phenomenon and reference, and the false-positive meter."""
    return figures(
        records, ties=settings.ties, controls=settings.controls, seed=seed, resamples=settings.resamples
    )


METHOD = Method(
    name="contrast",
    summary="forced choice between correct and contrastive translations, and how far they are from the 1-best",
    kind=MinimalPair,
    settings=ContrastSettings,
    judge=judge,
    summarise=summarise,
    needs={"system": ("score",)},
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
    for system in several:
        wants_best(system, checked)  # refused here, before any of them is asked
    result = run_method(METHOD, several, pairs, seed=seed, **settings)
    return with_comparisons(result, checked, seed=seed, seed_groups=seed_groups)


def with_comparisons(
    result: Result, settings: ContrastSettings, *, seed: int = 0, seed_groups: Sequence[str] = ()
) -> Result:
    """The same result, with rows that compare systems, reference kinds and seeds where there are several."""
    compared = comparisons(result.records, ties=settings.ties, seed=seed, resamples=settings.resamples)
    rows = [*result.rows, *over_seeds(result.rows, seed_groups), *compared]
    return Result(result.config, rows, result.records, result.folder)
