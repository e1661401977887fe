"""What can be chosen about challenge sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, field_validator

from babelscope.core.settings import Settings
from babelscope.metrics.base import find_metric


class ChallengeSettings(Settings):
    metrics: Annotated[tuple[str, ...], Field(min_length=1)] = ("bleu", "chrf", "ribes")
    """sacreBLEU's BLEU and chrF2 (0 to 100), RIBES (0 to 1), all cased, on 13a tokens; or any other metric."""
    distances: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)] = tuple(range(7))
    """The minimum numbers of words between the two words of a dependency that make a set each."""
    exact: bool = False
    """Sets of exactly so many words between, too."""
    beam: int = Field(default=5, ge=1)
    """Beam size of the systems' translations."""
    resamples: int = Field(default=1000, ge=100, le=1_000_000)
    """Understood for one version, and without effect: intervals need no resamples."""
    draws: int = Field(default=100, ge=2, le=1_000_000)
    """Length-matched random corpora a set."""
    apart: int = Field(default=1, ge=0)
    """By how many tokens a sentence of a length-matched corpus may be longer or shorter."""
    length_corpora: int = Field(default=1000, ge=4, le=1_000_000)
    """Random corpora of the length check, for each size."""
    length_sizes: tuple[Annotated[int, Field(ge=1)], ...] = (1000, 100, 10)
    """Sentences in each of them."""

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
    return {} if names == list(settings.metrics) else {"metrics": names}
