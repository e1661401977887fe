"""From an evaluator's scores to the best of each side, score and verdict (section 3.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from babelscope.core.results import Record, finite_or_none, minus_inf_if_none
from babelscope.methods.condition.figures import (
    best_of_side,
    decided_items,
    is_decided,
    margin_of,
    margin_of_record,
    score_of,
    verdict_of,
)
from babelscope.methods.condition.preflight import preflight_of
from babelscope.methods.condition.settings import ConditionSettings

NO_CUE = "no cue"
IMPOSSIBLE = "impossible"
UNDECIDED = "undecided"
# What `complete` adds, and adds anew when a run is judged again.
_OF_ALL_RECORDS = ("noise", "weight")


def judge(records: Sequence[Record], settings: ConditionSettings) -> list[Record]:
    """The records with the best log-probability of each side, score and verdict, or the reason for none."""
    judged = []
    for record in records:
        if "under_correct" in record:
            (correct, right), (incorrect, wrong) = (
                best_of_side(record[side], settings.likelihood)
                for side in ("under_correct", "under_incorrect")
            )
            sources = {"correct_source": right, "incorrect_source": wrong}
        else:  # stored scores have the best of each side only
            correct, incorrect = (
                minus_inf_if_none(record[f"{side}_logprob"]) for side in ("correct", "incorrect")
            )
            sources = {}
        stored = {name: value for name, value in record.items() if name not in _OF_ALL_RECORDS}
        judged.append({**stored, **sources, **_verdict(correct, incorrect, settings)})
    return judged


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


def complete(records: Sequence[Record], settings: ConditionSettings) -> list[Record]:
    """All records of a cell with what depends on all of them: the evaluator's noise, and weights (section 3.4)."""
    return add_weights(leave_undecided(records, settings), settings)


def leave_undecided(records: Sequence[Record], settings: ConditionSettings) -> list[Record]:
    """The records with the evaluator's noise (nats); by the strict protocol a margin within it is undecided."""
    noise = preflight_of(records, settings).noise
    if noise is None or settings.protocol != "strict":
        return [{**record, "noise": noise} for record in records]
    undecided = {"verdict": UNDECIDED, "correct": None}
    return [
        {
            **record,
            **(undecided if not record["skipped"] and abs(margin_of_record(record)) <= noise else {}),
            "noise": noise,
        }
        for record in records
    ]


def add_weights(records: Sequence[Record], settings: ConditionSettings) -> list[Record]:
    """The records with the weights of those that are decided."""
    weights = iter(decided_items(records, settings.tied_weights).weights)
    return [{**record, "weight": next(weights) if is_decided(record) else None} for record in records]
