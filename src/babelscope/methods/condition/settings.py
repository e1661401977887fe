"""What can be chosen about contrastive conditioning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from babelscope.core.answers import Scoring
from babelscope.core.settings import Settings
from babelscope.core.ties import Ties

Base = Literal["e", "2"]
TiedWeights = Literal["shared", "order"]
Protocol = Literal["checked", "strict", "paper", "released"]


class Conditioned(Settings):
    """Whose translations are judged, and how the evaluator is tested."""

    translations: Literal["given", "system"] = "given"
    """Judge the translation an item has, asking the system where it has none; or always ask the system."""
    beam: int = Field(default=5, ge=1)
    """Beam size of the system (section 4.2)."""
    preflight: int = Field(default=100, ge=0)
    """Test the evaluator on at most so many items before its verdicts are believed: on their references, and on
    translations of their sources with a cue. 0: no test, and `passed` is unknown."""


class ConditionSettings(Conditioned):
    """Whose translations are judged, and how the evaluator's scores become verdicts and weights."""

    presets: ClassVar[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {
        "protocol": {
            "paper": {"ties": "wrong", "preflight": 0},
            "released": {"ties": "correct", "tied_weights": "order", "score_base": "2", "preflight": 0},
        }
    }

    likelihood: Scoring = "mean"
    """Judge by the evaluator's log-probability per token (the paper's, footnote 2), of the whole translation, or by
    the arithmetic mean of the tokens' probabilities (`probability`: footnote 2, read literally)."""
    score_base: Base = "e"
    """Turn log-probabilities into scores as powers of e, which is right for natural logs, or of 2, as the released
    code does. Scores change, verdicts do not."""
    ties: Ties = "correct"
    """What a tie (score 0.5) counts as: correct (the released code), wrong (section 3.4), or half."""
    tied_weights: TiedWeights = "shared"
    """Weights of items of which the evaluator is equally sure: shared among them, or by their order in the file, as
    in the released code."""
    protocol: Protocol = "checked"
    """Test the evaluator, decide every item, and correct the accuracy for its error rates (checked); test it and
    leave verdicts within its noise undecided (strict); or decide every item without a test, as the paper's text says
    (paper: score > 0.5), or as its released code does (released: score >= 0.5, equal weights by order, powers of 2).
    Settings that are given beside it stay as they are given."""
