"""How ties between a right and a wrong answer count: one policy for all methods, part of the signature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Ties = Literal["half", "correct", "wrong"]
"""half: counts 0.5. correct: counts 1, as in the released code of contrastive conditioning. wrong: counts 0."""


def credit(ties: Ties) -> Mapping[str, float]:
    """The credit of each verdict (correct, tie, wrong), from 0 to 1."""
    return {"correct": 1.0, "tie": {"half": 0.5, "correct": 1.0, "wrong": 0.0}[ties], "wrong": 0.0}
