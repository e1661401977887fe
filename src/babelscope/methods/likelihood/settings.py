"""What can be chosen about likelihoods."""

from __future__ import annotations

from typing import Literal

from babelscope.core.settings import Settings


class LikelihoodSettings(Settings):
    """Which references are scored."""

    references: Literal["all", "first"] = "all"
    """Score every reference of an item, or its first only."""
