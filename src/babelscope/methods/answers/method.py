"""Forced choice by answer, between translations (as `contrast`) and between sources with cues (as `condition`).

For systems that give no log-probabilities of given texts. Each choice is asked in both orders; it counts only if both
name the same one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from babelscope.core.answers import Scored
from babelscope.core.comparable import Comparable
from babelscope.core.results import Record, Row
from babelscope.methods.answers.judge import (
    ask_known,
    figures,
    judge_pairs,
    judge_senses,
    preflight_of,
    worth_of,
)
from babelscope.methods.answers.questions import ask_both_orders, pair_sides
from babelscope.methods.answers.settings import ConditionAnswersSettings, ContrastAnswersSettings
from babelscope.methods.base import Method
from babelscope.methods.condition.ask import check_system, translations_or_reasons
from babelscope.methods.condition.known import sample
from babelscope.methods.condition.preflight import preflight_rows
from babelscope.testsets.items import NO_SOURCE, AmbiguousSource, MinimalPair
from babelscope.util.errors import BabelscopeError


def ask_pairs(
    systems: Mapping[str, Any], items: Sequence[MinimalPair], settings: ContrastAnswersSettings, _seed: int
) -> list[Record]:
    """A record an item: what the system answered about the right translation beside each variant, in both orders."""
    asked = [item for item in items if item.can_be_asked]
    choices = [({"source": each.source}, each.correct, other) for each in asked for other in each.contrastive]
    answers = iter(ask_both_orders(systems["system"], settings.prompt, choices))
    return [
        {
            "source": item.source,
            "phenomenon": item.phenomenon,
            "reference": item.reference,
            "asked": [
                {"right": item.correct, "wrong": other, "replies": next(answers)}
                for other in item.contrastive
            ],
        }
        if item.can_be_asked
        else {"unanswered": "it has an empty text or no variant: there is nothing to choose from"}
        for item in items
    ]


def check_pairs(system: Any, items: Sequence[MinimalPair], _settings: ContrastAnswersSettings) -> None:
    """Refuse pairs without sources: nothing says what they translate."""
    if without := [item.id for item in items if NO_SOURCE in item.extra]:
        raise BabelscopeError(
            f"item {without[0]} has no source, so that {system.name} cannot be asked which translation is better"
        )


def ask_senses(
    systems: Mapping[str, Any],
    items: Sequence[AmbiguousSource],
    settings: ConditionAnswersSettings,
    _seed: int,
) -> list[Record]:
    """A record an item: its translation, and which sources with a cue the evaluator says that it renders."""
    translated = translations_or_reasons(systems["system"], items, settings)
    reasons = [_reason_for_none(item, each) for item, each in zip(items, translated, strict=True)]
    texts = ["" if isinstance(each, str) else each.text for each in translated]
    choices = [
        ({"translation": text}, right, wrong)
        for item, text, reason in zip(items, texts, reasons, strict=True)
        if not reason
        for right, wrong in _sides(item)
    ]
    answers = iter(ask_both_orders(systems["evaluator"], settings.prompt, choices))
    return [
        {"unanswered": reason}
        if reason
        else {
            "source": item.source,
            "category": item.category,
            "gold": item.gold,
            "translation": text,
            "evaluator": systems["evaluator"].name,
            "asked": [
                {"right": right, "wrong": wrong, "replies": next(answers)} for right, wrong in _sides(item)
            ],
        }
        for item, text, reason in zip(items, texts, reasons, strict=True)
    ]


def _reason_for_none(item: AmbiguousSource, translated: Scored | str) -> str:
    """Why an item cannot be asked about; "" if it can."""
    if isinstance(translated, str):
        return translated
    if not translated.text.strip():
        return "its translation is empty: there is nothing to ask about"
    if not (item.correct_sources and item.incorrect_sources):
        return "it has no source with a cue for one of the senses"
    return ""


def _sides(item: AmbiguousSource) -> list[tuple[str, str]]:
    return pair_sides(item.correct_sources, item.incorrect_sources)


def _of_senses(records: Sequence[Record], settings: ConditionAnswersSettings, _seed: int) -> list[Row]:
    evaluator = str(records[0].get("evaluator", "")) if records else ""
    tested = preflight_rows(preflight_of(records), evaluator)
    return [*figures(records, settings.undecided, ("category",)), *tested]


CONTRAST = Method(
    name="contrast_answers",
    summary="forced choice between correct and contrastive translations, asked in words, in both orders",
    kind=MinimalPair,
    settings=ContrastAnswersSettings,
    ask=ask_pairs,
    judge=judge_pairs,
    summarise=lambda records, settings, _seed: figures(
        records, settings.undecided, ("phenomenon", "reference")
    ),
    asks=frozenset({"prompt"}),
    check_system=check_pairs,
    needs={"system": ("reply",)},
    comparable=lambda settings: [
        Comparable(
            "verdict",
            of="answer_accuracy",
            by=("phenomenon", "reference"),
            worth=worth_of(settings.undecided),
        )
    ],
    part_labels=frozenset({"phenomenon", "reference"}),
    view="babelscope.methods.answers.view:PAIRS",
)

CONDITION = Method(
    name="condition_answers",
    summary="accuracy of disambiguation: an evaluator says in words which source with a cue a translation renders",
    kind=AmbiguousSource,
    settings=ConditionAnswersSettings,
    ask=ask_senses,
    judge=judge_senses,
    summarise=_of_senses,
    sample=sample,
    ask_more=ask_known,
    asks=frozenset({"prompt", "translations", "beam", "preflight"}),
    check_system=check_system,
    needs={"system": ("translate",), "evaluator": ("reply",)},
    comparable=lambda settings: [
        Comparable("verdict", of="answer_accuracy", worth=worth_of(settings.undecided)),
        Comparable("verdict", of="answer_accuracy", by=("category",), worth=worth_of(settings.undecided)),
    ],
    part_labels=frozenset({"category"}),
    view="babelscope.methods.answers.view:SENSES",
)
