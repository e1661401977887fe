"""Correct and contrastive translation token by token: where they differ, and what each token adds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from babelscope.core.answers import Scored, Scoring, score_tokens
from babelscope.core.results import Record, finite_or_none, minus_inf_if_none
from babelscope.systems.asking import scored_as_json


@dataclass(frozen=True, slots=True)
class Step:
    """A token of one translation or of both, and what it adds to total(correct) - total(contrastive)."""

    correct: str | None
    contrastive: str | None
    difference: float


def variant_as_json(correct: Scored, contrastive: Scored) -> Record:
    """A contrastive variant as it is stored, without the prefix that it shares with the correct translation.

    `at` is the index of the first token that differs. Equal prefixes have equal log-probabilities, so `tokens`
    and `logprobs` are stored from there on; `total` is the sum over all tokens, in nats.
    """
    at = _shared_prefix_length(correct.tokens, contrastive.tokens)
    whole = scored_as_json(contrastive)
    new = {"tokens": whole["tokens"][at:], "logprobs": whole["logprobs"][at:]}
    return {**whole, "at": at, **new, "total": finite_or_none(contrastive.total)}


def token_view(record: Record, variant: int = 0) -> list[Step]:
    """The tokens of a stored pair side by side: shared prefix, what differs, shared suffix.

    In the suffix a difference shows how the error changes the probability of what follows.
    """
    correct, contrastive = record["correct"], record["contrastive"][variant]
    at = contrastive["at"]
    ours, theirs = correct["tokens"][at:], contrastive["tokens"]
    here = [minus_inf_if_none(each) for each in correct["logprobs"][at:]]
    there = [minus_inf_if_none(each) for each in contrastive["logprobs"]]
    end = _shared_prefix_length(ours[::-1], theirs[::-1])
    before = [Step(token, token, 0.0) for token in correct["tokens"][:at]]
    left = [Step(token, None, log) for token, log in zip(ours[: len(ours) - end], here, strict=False)]
    right = [Step(None, token, -log) for token, log in zip(theirs[: len(theirs) - end], there, strict=False)]
    shared = zip(ours[len(ours) - end :], here[len(here) - end :], there[len(there) - end :], strict=True)
    # Two impossible tokens do not differ.
    after = [Step(token, token, 0.0 if one == other else one - other) for token, one, other in shared]
    return [*before, *left, *right, *after]


def _shared_prefix_length(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest common prefix."""
    for number, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return number
    return min(len(one), len(other))


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
