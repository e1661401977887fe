"""From answers in both orders to verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from babelscope.core.results import Record
from babelscope.methods.answers.questions import letter_of

Choice = Literal["right", "wrong", "first", "second", "none"]
"""Both orders name the right one, or the wrong one; the first or the second, whatever it is; or one names neither."""


def choice_of(replies: Sequence[Mapping[str, str]]) -> Choice:
    """What two answers choose together: the right one stood first when the first was given."""
    letters = tuple(letter_of(each) for each in replies)
    chosen: dict[Any, Choice] = {
        ("A", "B"): "right",
        ("B", "A"): "wrong",
        ("A", "A"): "first",
        ("B", "B"): "second",
    }
    return chosen.get(letters, "none")


def judge_pairs(records: Sequence[Record], _settings: object) -> list[Record]:
    """The records with choices and verdict: correct if the right one is chosen beside every variant."""
    judged = []
    for record in records:
        choices = [choice_of(each["replies"]) for each in record["asked"]]
        decided = all(each == "right" for each in choices)
        verdict = "wrong" if "wrong" in choices else "correct" if decided else "undecided"
        judged.append(_with_verdict(record, choices, verdict))
    return judged


def judge_senses(records: Sequence[Record], _settings: object) -> list[Record]:
    """The records with choices and verdict: that of the majority of the pairs of sources that are decided."""
    judged = []
    for record in records:
        choices = [choice_of(each["replies"]) for each in record["asked"]]
        ahead = choices.count("right") - choices.count("wrong")
        verdict = "correct" if ahead > 0 else "wrong" if ahead < 0 else "undecided"
        judged.append(_with_verdict(record, choices, verdict))
    return judged


def _with_verdict(record: Record, choices: Sequence[Choice], verdict: str) -> Record:
    # What a run adds stays last, so that a record that is judged again has the same bytes.
    last: Record = {name: record[name] for name in ("preflight", "extra") if name in record}
    kept = {name: value for name, value in record.items() if name not in ("choices", "verdict", *last)}
    return {**kept, "choices": list(choices), "verdict": verdict, **last}
