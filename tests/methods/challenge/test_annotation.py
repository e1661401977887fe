"""The blind queue of section 4.3, and the figures of its answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from babelscope.annotate.queue import make_tasks
from babelscope.methods.challenge.annotation import (
    CHOICES,
    agreement_rows,
    answer_rows,
    answers,
    cases_of,
)
from babelscope.methods.challenge.method import Challenge
from babelscope.methods.challenge.sets import ChallengeSettings
from babelscope.methods.queue import draw_queue
from babelscope.stats.agreement import Judgment
from babelscope.stats.intervals import proportion
from babelscope.util.errors import BabelscopeError

RIGHT, WRONG, NOT_REAL, CANNOT_TELL = CHOICES


def record(number: int, system: str, translation: str, *dependencies: tuple[str, int]) -> dict[str, Any]:
    return {
        "system": system,
        "id": str(number),
        "source": f"er lädt den Gast {number} ein",
        "references": [f"he invites guest {number}"],
        "translation": translation,
        "scores": {"chrf": 50.0},
        "extra": {
            "dependencies": [
                {
                    "phenomenon": phenomenon,
                    "side": "source",
                    "head": 2,
                    "dependent": 6,
                    "distance": distance,
                    "head_form": "lädt",
                    "dependent_form": "ein",
                }
                for phenomenon, distance in dependencies
            ]
        },
    }


RECORDS = [
    record(number, system, f"he {verb} guest {number}", ("particle", number % 4), ("reordering", 9))
    for system, verb in (("one", "invites"), ("two", "loads"))
    for number in range(40)
]


def queue(
    records: list[dict[str, Any]], *, per_group: int, distances: tuple[int, ...] = (), seed: int = 0
) -> list[Any]:
    method = Challenge(ChallengeSettings(queue_distances=distances))
    return list(draw_queue(method, records, n=1, per_group=per_group, seed=seed).lines)


def test_the_queue_is_blind_shuffled_and_the_same_for_all_systems() -> None:
    entries = queue(RECORDS, per_group=10, seed=1)
    assert len(entries) == 20, (
        "ten instances, as two systems translated them; reordering is not judged by words"
    )
    assert not {"system", "distance"} & {name for entry in entries for name in entry}
    assert all(entry["answer"] is None for entry in entries)
    assert len({entry["id"] for entry in entries}) == 20
    verbs = [entry["translation"].split()[1] for entry in entries]
    assert verbs.count("loads") == 10
    assert verbs != sorted(verbs)
    assert entries == queue(RECORDS, per_group=10, seed=1)
    assert entries != queue(RECORDS, per_group=10, seed=2)
    assert queue(RECORDS, per_group=10) == queue(RECORDS, per_group=10, seed=0)
    # Answers that were stored name their entries so.
    assert {len(entry["id"]) for entry in entries} == {16}


def test_what_systems_translate_alike_is_asked_once() -> None:
    alike = [record(n, system, "he invites", ("particle", 1)) for system in ("one", "two") for n in range(3)]
    entries = queue(alike, per_group=30)
    assert len(entries) == 3
    rows = answer_rows(alike, {"me": answers(("x", {**entry, "answer": RIGHT}) for entry in entries)})
    systems = {row.labels["system"] for row in rows if row.name == "right"}
    assert systems == {"one", "two"}


def test_the_page_for_annotators_takes_the_queue() -> None:
    tasks = make_tasks([("x", entry) for entry in queue(RECORDS, per_group=3)])
    assert [label.value for label in tasks[0].labels] == list(CHOICES)
    marked = [text for block in tasks[0].blocks for text, mark in block.pieces if mark]
    assert marked == ["lädt", "ein"]


def test_accuracies_come_with_wilson_intervals_by_system_phenomenon_and_distance() -> None:
    entries = queue(RECORDS, per_group=40)
    said = {}
    for entry in entries:
        number = int(entry["source"].split()[4])
        good = "invites" in entry["translation"]
        said[entry["id"]] = NOT_REAL if number == 0 else RIGHT if good or number % 4 == 1 else WRONG
    found = answers((str(n), {**entry, "answer": said[entry["id"]]}) for n, entry in enumerate(entries))
    rows = {
        (row.name, row.labels["system"], row.labels["phenomenon"], row.labels.get("distance")): row
        for row in answer_rows(RECORDS, {"me": found})
    }
    real = rows["real", "one", "particle", None]
    assert real.estimate == proportion(39, 40)
    assert rows["right", "one", "all", None].estimate == proportion(39, 39)
    assert rows["right", "two", "particle", None].estimate == proportion(10, 39)
    assert rows["right", "two", "particle", 1].estimate == proportion(10, 10)
    assert rows["right", "two", "particle", 2].estimate == proportion(0, 10)
    assert rows["right", "two", "particle", 2].counts == {"yes": 0, "answered": 10, "cannot_tell": 0}


def test_answers_are_read_from_a_queue_or_from_what_the_page_writes() -> None:
    lines = [
        {"id": "1", "answer": None},
        {"id": "2", "answer": RIGHT},
        {"id": "3", "answer": {"label": WRONG}, "annotator": "me"},
        {"id": "3", "answer": {"label": CANNOT_TELL}, "annotator": "me"},
    ]
    found = answers((str(n), line) for n, line in enumerate(json.loads(json.dumps(lines))))
    assert {key: each.label for key, each in found.items()} == {"2": RIGHT, "3": CANNOT_TELL}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"answer": RIGHT}, "f:1: field 'id' must be text"),
        ({"id": "1", "answer": "yes"}, "f:1: 'yes' is no answer; they are: Translated right"),
        ({"id": "1", "answer": True}, "f:1: 'True' is no answer"),
    ],
)
def test_bad_answers_are_refused(line: dict[str, Any], said: str) -> None:
    with pytest.raises(BabelscopeError, match=said):
        answers([("f:1", line)])


def test_answers_to_something_else_are_refused() -> None:
    entry = queue(RECORDS[:1], per_group=1)[0]
    with pytest.raises(BabelscopeError, match=r"me answers 1 entries, .* no translations of these systems"):
        answer_rows(RECORDS[5:], {"me": answers([("f:1", {**entry, "answer": RIGHT})])})


@pytest.mark.parametrize(("wanted", "of_each"), [(3, 3), (1, 1), (40, 10)])
def test_each_distance_is_a_group(wanted: int, of_each: int) -> None:
    entries = queue(RECORDS[:40], per_group=wanted, distances=(1, 3), seed=0)
    distances = [int(entry["source"].split()[4]) % 4 for entry in entries]
    assert sorted(distances) == [1] * of_each + [3] * of_each


def test_half_a_distance_is_written_out() -> None:
    half = [record(1, "one", "x", ("particle", 1)), record(2, "one", "y", ("particle", 1))]
    half[1]["extra"]["dependencies"][0]["distance"] = 1.5
    said = answers(("x", {**entry, "answer": RIGHT}) for entry in queue(half, per_group=2))
    labels = [each.labels for each in answer_rows(half, {"me": said}) if each.name == "right"]
    assert [each.get("distance") for each in labels] == [None, None, 1, "1.5"]
    assert [each.get("side") for each in labels] == [None, "source", "source", "source"]


def test_without_any_dependency_there_is_nothing_to_ask() -> None:
    with pytest.raises(BabelscopeError, match="none of these 1 records of challenge has anything"):
        queue([record(1, "one", "x")], per_group=1)


def judged_record(number: int, verdict: str) -> dict[str, Any]:
    verdicts = [{"verdict": verdict, "why": "", "reference": "", "output": ""}]
    return {**record(number, "one", "he loads", ("particle", 1)), "verdicts": verdicts}


def test_agreement_is_of_what_both_decided() -> None:
    said = [("kept", RIGHT), ("kept", RIGHT), ("kept", WRONG), ("lost", WRONG), ("lost", RIGHT)]
    said += [("undecided", RIGHT), ("undecided", WRONG), ("kept", NOT_REAL)]
    records = [judged_record(number, verdict) for number, (verdict, _) in enumerate(said)]
    keys = [case.entry["id"] for case in cases_of(records)]
    own = {key: Judgment(key, label) for key, (_, label) in zip(keys, said, strict=True)}
    whole, particle = agreement_rows(records, {"anna": own})
    assert (whole.labels["phenomenon"], particle.labels["phenomenon"]) == ("all", "particle")
    for row in (whole, particle):
        assert (row.estimate.value, row.estimate.n) == (3 / 5, 5)
        assert row.counts == {"kept_but_wrong": 1, "lost_but_right": 1, "undecided": 2}


def test_runs_without_verdicts_have_nothing_to_hold_against() -> None:
    bare = {name: value for name, value in judged_record(0, "kept").items() if name != "verdicts"}
    (key,) = [case.entry["id"] for case in cases_of([bare])]
    assert agreement_rows([bare], {"anna": {key: Judgment(key, RIGHT)}}) == []
