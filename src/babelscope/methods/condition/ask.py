"""What is asked in contrastive conditioning: the system to translate, the evaluator to score (section 3.2)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from babelscope.core.answers import Note, Scored, capabilities
from babelscope.core.question import Question
from babelscope.core.results import Record, finite_or_none
from babelscope.methods.condition.settings import ConditionSettings
from babelscope.systems.asking import ask_score, ask_translate, relocate_errors
from babelscope.testsets.items import AmbiguousSource

_PLACES = {"source": "source with a cue", "target": "translation"}


def ask(
    systems: Mapping[str, Any], items: Sequence[AmbiguousSource], settings: ConditionSettings, _seed: int
) -> list[Record]:
    """A record an item: its translation, and how the evaluator scores it under every source with a cue."""
    evaluator = systems["evaluator"]
    if "item_scores" in capabilities(evaluator):
        return [_given(item, evaluator) for item in items]
    translated = _translations(systems["system"], items, settings)
    # A system that evaluates itself is asked about what it generated, not about its text tokenised again.
    itself = systems["system"].fingerprint == evaluator.fingerprint
    pairs: list[tuple[Question, str | Scored]] = []
    owners: list[AmbiguousSource] = []
    for item, translation in zip(items, translated, strict=True):
        target = translation if itself and translation.tokens else translation.text
        for source in _cued(item):
            pairs.append((dataclasses.replace(item.question, source=source), target))
            owners.append(item)
    # All of a chunk in one call, from which the evaluator makes its batches.
    with relocate_errors(lambda what, number: f"item {owners[number - 1].id}: the {_PLACES[what]}"):
        answers = iter(ask_score(evaluator, pairs) if pairs else [])
    records = []
    for item, translation in zip(items, translated, strict=True):
        given = settings.translations == "given" and item.translation is not None
        found = {source: next(answers) for source in _cued(item)}
        notes: set[Note] = {*translation.notes, *(note for each in found.values() for note in each.notes)}
        records.append(
            {
                **_begun(item, translation.text, evaluator.name, given=given),
                "notes": sorted(notes),
                "under_correct": [_scored(source, found) for source in item.correct_sources if found],
                "under_incorrect": [_scored(source, found) for source in item.incorrect_sources if found],
            }
        )
    return records


def _given(item: AmbiguousSource, evaluator: Any) -> Record:
    """The best score of each side, where an evaluator was asked elsewhere."""
    correct, incorrect = evaluator.of(item.id)
    return {
        **_begun(item, item.translation, evaluator.name, given=item.translation is not None),
        "correct_logprob": finite_or_none(correct),
        "incorrect_logprob": finite_or_none(incorrect),
    }


def _begun(item: AmbiguousSource, translation: str | None, evaluator: str, *, given: bool) -> Record:
    """What a record says before the evaluator is heard."""
    return {
        "source": item.source,
        "category": item.category,
        "gold": item.gold,
        "translation": translation,
        "given": given,
        "evaluator": evaluator,
        "notes": [],
        # What `babelscope agreement` joins MuCoW's annotators by.
        **{name: item.extra[name] for name in ("word", "corpus") if name in item.extra},
    }


def _scored(source: str, found: Mapping[str, Scored]) -> Record:
    """The log-probability of the translation under one source with a cue, in nats, and its tokens."""
    scored = found[source]
    return {"source": source, "total": finite_or_none(scored.total), "tokens": len(scored.logprobs)}


def _translations(system: Any, items: Sequence[AmbiguousSource], settings: ConditionSettings) -> list[Scored]:
    """The translation of each item: its own, or the system's."""
    own = [item.translation if settings.translations == "given" else None for item in items]
    asked = [item for item, text in zip(items, own, strict=True) if text is None]
    with relocate_errors(lambda what, number: f"item {asked[number - 1].id}: the {what}"):
        answers = (
            ask_translate(system, [item.question for item in asked], beam=settings.beam) if asked else []
        )
    found = iter(answers)
    return [Scored(text) if text is not None else next(found)[0] for text in own]


def _cued(item: AmbiguousSource) -> list[str]:
    """Its distinct sources with cues; none unless there are some on both sides, since one alone says nothing."""
    if not (item.correct_sources and item.incorrect_sources):
        return []
    return list(dict.fromkeys([*item.correct_sources, *item.incorrect_sources]))
