"""What can be chosen about challenge sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field, field_validator

from babelscope.core.settings import Settings
from babelscope.methods.base import Languages
from babelscope.methods.tokenising import known_tokeniser, language_identity, named_identity
from babelscope.metrics.base import find_metric


class ChallengeSettings(Settings):
    old_names: ClassVar[Mapping[str, str]] = {"draws": "matched_corpora", "apart": "length_tolerance"}
    signed_where_used = frozenset({"tokenize", "source_tokenize"})

    metrics: Annotated[tuple[str, ...], Field(min_length=1)] = ("bleu", "chrf", "ribes")
    """sacreBLEU's BLEU and chrF2 (0 to 100), RIBES (0 to 1), all cased; or any other metric."""
    tokenize: str = ""
    """How words of references and translations are split: 13a, intl, zh, ja-mecab, ko-mecab, char, whitespace or
    spm:FILE; if not given, as the item's target language needs it."""
    source_tokenize: str = ""
    """How words of sources are split, for their lengths; if not given, as the item's source language needs it."""
    distances: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)] = tuple(range(7))
    """The minimum numbers of words between the two words of a dependency that make a set each."""
    exact: bool = False
    """Sets of exactly so many words between, too."""
    beam: int = Field(default=5, ge=1)
    """Beam size of the systems' translations."""
    resamples: int = Field(default=1000, ge=100, le=1_000_000)
    """Understood for one version, and without effect: intervals need no resamples."""
    matched_corpora: int = Field(default=100, ge=2, le=1_000_000)
    """Random corpora of equally long sentences that each set is compared with."""
    length_tolerance: int = Field(default=1, ge=0)
    """Tokens by which a sentence of such a corpus may be longer or shorter than the one it stands for."""
    length_corpora: int = Field(default=1000, ge=4, le=1_000_000)
    """Random corpora of the length check, for each size."""
    length_sizes: tuple[Annotated[int, Field(ge=1)], ...] = (1000, 100, 10)
    """Sentences in each of them."""

    _known_tokeniser = field_validator("tokenize", "source_tokenize")(known_tokeniser)

    @field_validator("metrics")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            find_metric(name)  # told before any system is asked
        return names

    @field_validator("metrics", "distances", "length_sizes")
    @classmethod
    def _once(cls, values: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(set(values)) < len(values):
            raise ValueError("each may be given once")
        return values


def identity(settings: ChallengeSettings) -> Mapping[str, Any]:
    """In a signature, a metric counts by what it is, not by where its program lies."""
    names = [find_metric(name).identity for name in settings.metrics]
    named = {} if names == list(settings.metrics) else {"metrics": names}
    splits = named_identity(tokenize=settings.tokenize, source_tokenize=settings.source_tokenize)
    return {**named, **splits}


def identity_on(settings: ChallengeSettings, languages: Languages) -> Mapping[str, Any]:
    """The tokenisers that languages choose; lengths are in words, whatever the metric."""
    chosen = {
        "tokenize": language_identity(settings.tokenize, ["bleu"], [target for _, target in languages]),
        "source_tokenize": language_identity(
            settings.source_tokenize, ["bleu"], [source for source, _ in languages]
        ),
    }
    return {name: value for name, value in chosen.items() if value}
