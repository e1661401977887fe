"""What can be chosen about quality by metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, field_validator

from babelscope.core.settings import Settings
from babelscope.methods.base import Languages
from babelscope.methods.languages import warn_of_pooled_languages
from babelscope.methods.tokenising import (
    check_reference_words,
    known_metrics,
    known_tokeniser,
    language_identity,
    metric_identity,
    named_identity,
    require_references,
)
from babelscope.testsets.items import ParallelSentence, SourceSentence


class QualitySettings(Settings):
    """By which metrics translations are measured, and how they are made."""

    metric: Annotated[tuple[str, ...], Field(min_length=1)] = ("chrf", "bleu")
    """bleu, chrf, chrf++, ter, ribes, one of a plug-in, `cmd:COMMAND` or `file:NUMBERS?source=SEGMENTS`."""
    tokenize: str = ""
    """How words are split: 13a, intl, zh, ja-mecab, ko-mecab, char, whitespace or spm:FILE; if not given, as the
    item's target language needs it."""
    beam: int = Field(default=5, ge=1)
    """Beam size of the systems' translations."""

    _known_tokeniser = field_validator("tokenize")(known_tokeniser)

    _known_metrics = field_validator("metric")(known_metrics)


def identity(settings: QualitySettings) -> Mapping[str, Any]:
    """What metrics and the tokeniser are."""
    return {**metric_identity("metric", settings.metric), **named_identity(tokenize=settings.tokenize)}


def identity_on(settings: QualitySettings, languages: Languages) -> Mapping[str, Any]:
    """The tokenisers that the target languages choose."""
    chosen = language_identity(settings.tokenize, settings.metric, [target for _, target in languages])
    return {"tokenize": chosen} if chosen else {}


def check_items(items: Sequence[ParallelSentence | SourceSentence], settings: QualitySettings) -> None:
    """Refuse items without references that a metric reads or can split, and warn of several target languages."""
    require_references(items, settings.metric)
    check_reference_words(items, settings.metric, settings.tokenize)
    warn_of_pooled_languages(items)
