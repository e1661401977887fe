"""From token log-probabilities of minimal pairs to verdicts, discrepancies, and errors detected in the 1-best."""

from __future__ import annotations

from collections.abc import Sequence

from babelscope.core.results import Record, minus_inf_if_none
from babelscope.language.detecting import analysis_version
from babelscope.methods.contrast.figures import Scores, score_record
from babelscope.methods.contrast.scoring import stored_score, variant_score
from babelscope.methods.contrast.settings import ContrastSettings
from babelscope.methods.errors.judge import detect_in_pair_records


def judge(records: Sequence[Record], settings: ContrastSettings) -> list[Record]:
    """The records with scores, verdict, discrepancy, and the errors that detectors find in the 1-best."""
    known = [record for record in records if "best" in record]
    looks = known and settings.detect_in_output != "no" and analysis_version()
    detected = iter(detect_in_pair_records(known, _texts) if looks else ())
    found = []
    for record in records:
        verdicts = score_record(_scores(record, settings), clipped=settings.discrepancy == "clipped")
        if looks:
            verdicts |= next(detected) if "best" in record else {}
        elif (
            settings.detect_in_output != "no" and "detected" in record
        ):  # by an analyser that is not installed here
            verdicts["detected"] = record["detected"]
        kept = {name: value for name, value in record.items() if name not in _JUDGED_FIELDS + _LAST_FIELDS}
        last = {name: record[name] for name in _LAST_FIELDS if name in record}
        found.append({**kept, **verdicts, **last})
    return found


def _texts(record: Record) -> tuple[str, list[str]]:
    return record["correct"]["text"], [each["text"] for each in record["contrastive"]]


_JUDGED_FIELDS = ("scores", "verdict", "discrepancy", "detected")
# What a run adds to judged records; it stays there, so that one that is judged again has the same bytes.
_LAST_FIELDS = ("spread", "extra")


def _scores(record: Record, settings: ContrastSettings) -> Scores:
    if "correct" not in record:  # a run of stored scores has no token log-probabilities
        stored = record["scores"]
        best = (
            minus_inf_if_none(stored["best"]) if "best" in stored and settings.discrepancy != "none" else None
        )
        return Scores(
            minus_inf_if_none(stored["correct"]), tuple(map(minus_inf_if_none, stored["contrastive"])), best
        )

    known = "best" in record and settings.discrepancy != "none"
    return Scores(
        stored_score(record["correct"], settings.score),
        tuple(variant_score(record, each, settings.score) for each in record["contrastive"]),
        stored_score(record["best"], settings.score) if known else None,
    )
