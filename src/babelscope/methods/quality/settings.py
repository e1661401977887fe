"""What can be chosen about quality by metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, field_validator

from babelscope.core.settings import Settings
from babelscope.metrics.base import find_metric


class QualitySettings(Settings):
    """By which metrics translations are measured, and how they are made."""

    metric: Annotated[tuple[str, ...], Field(min_length=1)] = ("chrf", "bleu")
    """bleu, chrf, chrf++, ter, ribes, one of a plug-in, `cmd:COMMAND` or `file:NUMBERS?source=SEGMENTS`."""
    beam: int = Field(default=5, ge=1)
    """Beam size of the systems' translations."""

    @field_validator("metric")
    @classmethod
    def _known_once(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            find_metric(name)  # told before any system is asked
        if len(set(names)) < len(names):
            raise ValueError("each may be given once")
        return names


def identity(settings: QualitySettings) -> Mapping[str, Any]:
    """In a signature, a metric counts by what it is, not by where its program lies."""
    names = [find_metric(name).identity for name in settings.metric]
    return {} if names == list(settings.metric) else {"metric": names}
