"""What can be chosen about likelihoods."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from babelscope.core.settings import Settings


class LikelihoodSettings(Settings):
    """Which references are scored."""

    references: Literal["all", "first"] = "all"
    """Score every reference of an item, or its first only."""
    resamples: int = Field(default=2000, ge=100, le=1_000_000)
    """Understood for one version, and without effect: intervals need no resamples."""
