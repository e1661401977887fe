"""What a tie between a right and a wrong answer counts as: one policy for every method, in the signature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Ties = Literal["half", "correct", "wrong"]
"""half: half right. correct: as in the released code of contrastive conditioning. wrong: only better is right."""


def credit(ties: Ties) -> Mapping[str, float]:
    """What each verdict (correct, tie, wrong) is worth."""
    return {"correct": 1.0, "tie": {"half": 0.5, "correct": 1.0, "wrong": 0.0}[ties], "wrong": 0.0}
