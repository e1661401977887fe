"""From an evaluator's scores to the best of each side, score and verdict (section 3.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from babelscope.core.results import Record, finite_or_none, minus_inf_if_none
from babelscope.methods.condition.figures import judged_items, margin_of, score_of, verdict_of
from babelscope.methods.condition.settings import ConditionSettings

NO_CUE = "no cue"
IMPOSSIBLE = "impossible"


def judge(records: Sequence[Record], settings: ConditionSettings) -> list[Record]:
    """The records with the best log-probability of each side, score and verdict, or the reason for none."""
    judged = []
    for record in records:
        if "under_correct" in record:
            (correct, right), (incorrect, wrong) = (
                _best_of_side(record[side], settings) for side in ("under_correct", "under_incorrect")
            )
            sources = {"correct_source": right, "incorrect_source": wrong}
        else:  # stored scores have the best of each side only
            correct, incorrect = (
                minus_inf_if_none(record[f"{side}_logprob"]) for side in ("correct", "incorrect")
            )
            sources = {}
        judged.append({**record, **sources, **_verdict(correct, incorrect, settings)})
    return judged


def _best_of_side(
    scored: Sequence[Mapping[str, Any]], settings: ConditionSettings
) -> tuple[float | None, str | None]:
    """The best evaluator score over the sources of one side, in nats, and the source that has it."""
    if not scored:
        return None, None
    scores: dict[str, float] = {}
    for each in scored:
        total = minus_inf_if_none(each["total"])
        scores[each["source"]] = total / each["tokens"] if settings.likelihood == "mean" else total
    best = max(scores, key=lambda source: scores[source])
    return scores[best], best


def _verdict(correct: float | None, incorrect: float | None, settings: ConditionSettings) -> Record:
    """The fields of a verdict: log-probabilities of both sides, score, verdict, or the reason for none."""
    if correct is None or incorrect is None:
        fields = ("correct_logprob", "incorrect_logprob", "score", "verdict", "correct")
        return {**dict.fromkeys(fields), "skipped": NO_CUE}
    margin = margin_of(correct, incorrect)
    verdict = None if math.isnan(margin) else verdict_of(margin, settings.ties)
    return {
        "correct_logprob": finite_or_none(correct),
        "incorrect_logprob": finite_or_none(incorrect),
        "score": None if verdict is None else score_of(margin, settings.score_base),
        "verdict": verdict,
        "correct": None if verdict in (None, "tie") else verdict == "correct",
        "skipped": IMPOSSIBLE if verdict is None else None,
    }


def add_weights(records: Sequence[Record], settings: ConditionSettings) -> list[Record]:
    """All records of a cell with their weights, which depend on all of them (section 3.4)."""
    weights = iter(judged_items(records, settings.tied_weights).weights)
    return [{**record, "weight": None if record["skipped"] else next(weights)} for record in records]
