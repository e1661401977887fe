"""From stored token log-probabilities to the score of a target, in nats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from babelscope.core.answers import Scoring, score_tokens
from babelscope.core.results import Record, minus_inf_if_none


def stored_score(answer: Mapping[str, Any], how: Scoring) -> float:
    """The score of a stored answer that has all its tokens."""
    return score_tokens([minus_inf_if_none(each) for each in answer["logprobs"]], how)


def variant_score(record: Record, variant: Mapping[str, Any], how: Scoring) -> float:
    """The score of a contrastive variant, stored without the prefix that it shares with the correct one."""
    at = variant.get("at", 0)
    if how == "probability" or "total" not in variant:
        return stored_score({"logprobs": [*record["correct"]["logprobs"][:at], *variant["logprobs"]]}, how)
    total = minus_inf_if_none(variant["total"])
    return total / (len(variant["logprobs"]) + at) if how == "mean" else total
