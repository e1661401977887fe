"""What can be chosen about hypothesis spaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, field_validator

from babelscope.core.settings import Settings
from babelscope.metrics.base import find_metric
from babelscope.metrics.ranking import Normalise


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
        find_metric(value)  # told before any system is asked
        return value


def identity(settings: SpaceSettings) -> Mapping[str, Any]:
    """In a signature, what judges from outside counts by what it is, not by where it lies."""
    found = find_metric(settings.quality).identity
    return {} if found == settings.quality else {"quality": found}
