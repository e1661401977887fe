"""What is made of the scores of minimal pairs: verdicts, discrepancies, and errors seen in the 1-best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from babelscope.core.results import Record
from babelscope.language.detecting import analysis_version
from babelscope.methods.contrast.figures import Scores, judged
from babelscope.methods.contrast.free import detections
from babelscope.methods.contrast.settings import ContrastSettings
from babelscope.testsets.items import MinimalPair


def judge(records: Sequence[Record], settings: ContrastSettings) -> list[Record]:
    """The records with scores, verdict, discrepancy and what detectors say of the 1-best."""
    known = [record for record in records if "best" in record]
    looks = known and settings.detect_in_output != "no" and analysis_version()
    detected = iter(_detected(known) if looks else ())
    found = []
    for record in records:
        verdicts = judged(_scores(record, settings), clipped=settings.discrepancy == "clipped")
        kept = {name: value for name, value in record.items() if name not in _MADE}
        if looks:
            verdicts |= next(detected) if "best" in record else {}
        elif (
            settings.detect_in_output != "no" and "detected" in record
        ):  # by an analysis that is not installed here
            verdicts["detected"] = record["detected"]
        found.append({**kept, **verdicts})
    return found


def _detected(records: Sequence[Record]) -> list[Record]:
    pairs = [
        MinimalPair(
            id="pair",
            source=record["source"],
            correct=record["correct"]["text"],
            contrastive=tuple(each["text"] for each in record["contrastive"]),
            phenomenon=record["phenomenon"],
            reference=record["reference"],
        )
        for record in records
    ]
    return detections(pairs, {record["source"]: record["best"]["text"] for record in records})


_MADE = ("scores", "verdict", "discrepancy", "detected")


def _scores(record: Record, settings: ContrastSettings) -> Scores:
    if "correct" not in record:  # a run of stored scores: there is nothing else to make scores of
        stored = record["scores"]
        best = _number(stored["best"]) if "best" in stored and settings.discrepancy != "none" else None
        return Scores(_number(stored["correct"]), tuple(map(_number, stored["contrastive"])), best)

    def score(answer: Mapping[str, Any]) -> float:
        total, length = total_of(answer), len(answer["logprobs"]) + answer.get("at", 0)
        return total / length if settings.score == "mean" else total

    known = "best" in record and settings.discrepancy != "none"
    return Scores(
        score(record["correct"]),
        tuple(score(each) for each in record["contrastive"]),
        score(record["best"]) if known else None,
    )


def total_of(answer: Mapping[str, Any]) -> float:
    """Log-probability of a stored target in nats, EOS included; minus infinity is stored as null."""
    if "total" in answer:
        return _number(answer["total"])
    return math.fsum(map(_number, answer["logprobs"]))


def _number(stored: float | None) -> float:
    return -math.inf if stored is None else stored
