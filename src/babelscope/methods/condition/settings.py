"""What can be chosen about contrastive conditioning."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from babelscope.core.settings import Settings
from babelscope.core.ties import Ties

Base = Literal["e", "2"]
Equal = Literal["shared", "order"]


class ConditionSettings(Settings):
    """Whose translations are judged, and how the evaluator's scores become verdicts and weights."""

    likelihood: Literal["mean", "total"] = "mean"
    """The evaluator's score: log-probability a token (the paper's, footnote 2), or of the whole translation."""
    base: Base = "e"
    """What is raised to the log-probability: e, or 2 as in the released code. It changes scores only."""
    ties: Ties = "correct"
    """What score = 0.5 counts as: correct (>=, the released code), wrong (>, section 3.4), or half."""
    equal: Equal = "shared"
    """Items equally confident share their weights, or weigh by their order, as in the released code."""
    translations: Literal["given", "system"] = "given"
    """Judge the translation an item has, asking the system where it has none; or always ask the system."""
    beam: int = Field(default=5, ge=1)
    """Beam size of the system (section 4.2)."""
