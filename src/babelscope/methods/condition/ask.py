"""Questions of contrastive conditioning: the system translates, the evaluator scores (section 3.2)."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from babelscope.core.answers import Note, Scored, capabilities, properties, score_tokens
from babelscope.core.question import Question
from babelscope.core.results import Record, finite_or_none
from babelscope.methods.condition.settings import Conditioned, ConditionSettings
from babelscope.systems.asking import (
    ask_answered,
    ask_score,
    ask_translate,
    leave_refused_targets,
    relocate_errors,
)
from babelscope.systems.files import ItemTranslations
from babelscope.testsets.items import AmbiguousSource, choice_of
from babelscope.util.errors import BabelscopeError

# Rounding can lift the log-probability of a certain token this far above 0.
_ROUNDING = 1e-3
_TEXT_NAMES = {"source": "source with a cue", "target": "translation"}


def ask(
    systems: Mapping[str, Any], items: Sequence[AmbiguousSource], settings: ConditionSettings, _seed: int
) -> list[Record]:
    """A record an item: its translation, and how the evaluator scores it under every source with a cue."""
    system, evaluator = systems["system"], systems["evaluator"]
    if "item_scores" in capabilities(evaluator):
        return _records_of_stored_scores(system, evaluator, items, settings)
    translated = translations_or_reasons(system, items, settings)
    # A system that evaluates itself scores the tokens that it generated, not its text tokenised again.
    itself = system.fingerprint == evaluator.fingerprint
    pairs: list[tuple[Question, str | Scored]] = []
    owners: list[AmbiguousSource] = []
    for item, translation in zip(items, translated, strict=True):
        if isinstance(translation, str):
            continue
        target = translation if itself and translation.tokens else translation.text
        for source in _cued_sources(item):
            pairs.append((dataclasses.replace(item.question, source=source), target))
            owners.append(item)
    # One call for the whole chunk, so that the evaluator can fill its batches.
    made = {
        translation.text
        for item, translation in zip(items, translated, strict=True)
        if not (isinstance(translation, str) or _is_given(system, item, settings))
    }
    score = leave_refused_targets(functools.partial(ask_score, evaluator), made, "the translation")
    answers = iter(_ask_about_items(score, pairs, owners, _TEXT_NAMES))
    records: list[Record] = []
    for item, translation in zip(items, translated, strict=True):
        if isinstance(translation, str):
            records.append({"unanswered": translation})
            continue
        found = {source: next(answers) for source in _cued_sources(item)}
        if reasons := [each for each in found.values() if isinstance(each, str)]:
            records.append({"unanswered": reasons[0]})
            continue
        notes: set[Note] = {*translation.notes, *(note for each in found.values() for note in each.notes)}
        records.append(
            {
                **_record_without_scores(
                    item, translation.text, evaluator.name, given=_is_given(system, item, settings)
                ),
                "notes": sorted(notes),
                "under_correct": [_score_under(source, found) for source in item.correct_sources if found],
                "under_incorrect": [
                    _score_under(source, found) for source in item.incorrect_sources if found
                ],
            }
        )
    return records


def check_system(system: Any, items: Sequence[AmbiguousSource], settings: Conditioned) -> None:
    """Refuse a system that would not be asked, because items have a translation, unless the settings say which."""
    if "translations" in settings.model_fields_set or properties(system).stored:
        return
    if given := sum(item.translation is not None for item in items):
        raise BabelscopeError(
            f"{given} of {len(items)} items have a translation, and {system.name} is named to translate them: say "
            'which are judged, those of the system (--ask-all, translations = "system") or, where an item has one, '
            'that of the item (--ask-missing, translations = "given")'
        )


def _records_of_stored_scores(
    system: Any, evaluator: Any, items: Sequence[AmbiguousSource], settings: ConditionSettings
) -> list[Record]:
    """Records from stored scores: the best of each side, as an evaluator gave them elsewhere."""
    if not properties(system).stored:
        raise BabelscopeError(
            f"{evaluator.name} has scores of given translations: condition takes no system beside it that "
            f"translates now, as {system.name} does"
        )
    scores = evaluator.item_scores([choice_of(item) for item in items], best=False)
    translated: Sequence[Scored | str | None] = [
        None if item.translation is None else Scored(item.translation) for item in items
    ]
    if system.fingerprint != ItemTranslations.fingerprint:
        translated = translations_or_reasons(system, items, settings)
    records: list[Record] = []
    for item, own, translation in zip(items, scores, translated, strict=True):
        if isinstance(translation, str):
            records.append({"unanswered": translation})
            continue
        for number in (own.correct, *own.others):
            if number > _ROUNDING:
                raise BabelscopeError(
                    f"{own.place}: {number:g} is no log-probability, which is at most 0 (natural log, higher is "
                    "better)"
                )
        text = None if translation is None else translation.text
        records.append(
            {
                **_record_without_scores(item, text, evaluator.name, given=text is not None),
                "correct_logprob": finite_or_none(own.correct),
                "incorrect_logprob": finite_or_none(own.others[0]),
            }
        )
    return records


def _is_given(system: Any, item: AmbiguousSource, settings: ConditionSettings) -> bool:
    """Whether the translation was made elsewhere: the item has one, or the system reads it from a file."""
    own = settings.translations == "given" and item.translation is not None
    return own or properties(system).stored


def _record_without_scores(
    item: AmbiguousSource, translation: str | None, evaluator: str, *, given: bool
) -> Record:
    """The fields of a record that do not depend on the evaluator's scores."""
    return {
        "source": item.source,
        "category": item.category,
        "gold": item.gold,
        "translation": translation,
        "given": given,
        "evaluator": evaluator,
        "notes": [],
        # `babelscope agreement` joins MuCoW's annotations by these fields.
        **{name: item.extra[name] for name in ("word", "corpus") if name in item.extra},
    }


def score_as_json(scored: Scored) -> Record:
    """What is stored of a score: total and log of the mean token probability in nats, EOS included; tokens."""
    return {
        "total": finite_or_none(scored.total),
        "tokens": len(scored.logprobs),
        "probability": finite_or_none(score_tokens(scored.logprobs, "probability")),
    }


def _score_under(source: str, found: Mapping[str, Scored]) -> Record:
    """The log-probability (nats, EOS included) of the translation under one cued source, and its token count."""
    return {"source": source, **score_as_json(found[source])}


def translations_or_reasons(
    system: Any, items: Sequence[AmbiguousSource], settings: Conditioned
) -> list[Scored | str]:
    """The translation of each item, given or by the system; or the reason why the system gave none."""
    own = [item.translation if settings.translations == "given" else None for item in items]
    asked = [item for item, text in zip(items, own, strict=True) if text is None]
    translate = functools.partial(ask_translate, system, beam=settings.beam)
    places = {"source": "source", "target": "target"}
    found = iter(_ask_about_items(translate, [item.question for item in asked], asked, places))
    first = (answers if isinstance(answers, str) else answers[0] for answers in found)
    return [Scored(text) if text is not None else next(first) for text in own]


def _ask_about_items(
    ask: Callable[[Sequence[Any]], list[Any]],
    asked: Sequence[Any],
    owners: Sequence[AmbiguousSource],
    places: Mapping[str, str],
) -> list[Any]:
    """The answer, or the reason for none, to each question; errors about a refused text name its item."""
    first = {each: item.id for each, item in zip(reversed(asked), reversed(owners), strict=True)}

    def ask_some(some: Sequence[Any]) -> list[Any]:
        with relocate_errors(lambda what, number: f"item {first[some[number - 1]]}: the {places[what]}"):
            return ask(some)

    return ask_answered(ask_some, asked)


def _cued_sources(item: AmbiguousSource) -> list[str]:
    """Its distinct cued sources; none unless both sides have some, because one side alone decides nothing."""
    if not (item.correct_sources and item.incorrect_sources):
        return []
    return list(dict.fromkeys([*item.correct_sources, *item.incorrect_sources]))
