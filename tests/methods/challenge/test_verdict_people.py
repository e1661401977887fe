"""Verdicts held against people's answers."""

from __future__ import annotations

from typing import Any

from babelscope.methods.challenge.annotation import CHOICES, cases_of
from babelscope.methods.challenge.verdict_people import agreement_rows
from babelscope.stats.labels import Judgement

RIGHT, WRONG, NOT_REAL, _ = CHOICES


def record(number: int, verdict: str) -> dict[str, Any]:
    return {
        "system": "one",
        "id": str(number),
        "source": f"er lädt {number} ein",
        "references": ["he invites"],
        "translation": "he loads",
        "extra": {"dependencies": [{"phenomenon": "particle", "side": "source", "distance": 1}]},
        "verdicts": [{"verdict": verdict, "why": "", "reference": "", "output": ""}],
    }


def test_agreement_is_of_what_both_decided() -> None:
    said = [("kept", RIGHT), ("kept", RIGHT), ("kept", WRONG), ("lost", WRONG), ("lost", RIGHT)]
    said += [("undecided", RIGHT), ("undecided", WRONG), ("kept", NOT_REAL)]
    records = [record(number, verdict) for number, (verdict, _) in enumerate(said)]
    keys = [case.key for _, case in cases_of(records)]
    own = {key: Judgement(key, label) for key, (_, label) in zip(keys, said, strict=True)}
    whole, particle = agreement_rows(records, {"anna": own})
    assert (whole.labels["phenomenon"], particle.labels["phenomenon"]) == ("all", "particle")
    for row in (whole, particle):
        assert (row.estimate.value, row.estimate.n) == (3 / 5, 5)
        assert row.counts == {"kept_but_wrong": 1, "lost_but_right": 1, "undecided": 2}


def test_runs_without_verdicts_have_nothing_to_hold_against() -> None:
    bare = {name: value for name, value in record(0, "kept").items() if name != "verdicts"}
    (case,) = [case for _, case in cases_of([bare])]
    assert agreement_rows([bare], {"anna": {case.key: Judgement(case.key, RIGHT)}}) == []
