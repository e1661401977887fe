"""What is drawn of a queue: shares of groups, whole units, the same for the same seed; and methods without one."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from babelscope.annotate.queue import Task, make_tasks
from babelscope.core.results import Record
from babelscope.methods.base import check_settings
from babelscope.methods.likelihood import Likelihood
from babelscope.methods.queue import Drawn, Entry, all_entries, draw_queue, entry
from babelscope.methods.registry import find_method
from babelscope.methods.reporting import ItemView
from babelscope.util.errors import BabelscopeError

SIZES = {"many": 70, "some": 25, "few": 5}
RECORDS = [
    {"id": f"{group}-{number}", "system": system, "tests": "t", "source": "s", "group": group}
    for system in ("one", "two")
    for group, size in SIZES.items()
    for number in range(size)
]


class Judged(Likelihood):
    def show(self, record: Record) -> ItemView:
        """People are asked about all but what stands in the group `none`."""
        asked = entry(record, "assessment", group=(record["group"],), translation=record["system"])
        return ItemView(record["source"], questions=[asked] if record["group"] != "none" else [])


def drawn(n: int, seed: int = 0, records: Any = RECORDS) -> Drawn:
    return draw_queue(Judged(), records, n=n, seed=seed)


@pytest.mark.parametrize(
    ("n", "shares"),
    [
        (20, {"many": 14, "some": 5, "few": 1}),
        # 0.7 x 6 = 4.2, 0.25 x 6 = 1.5, 0.05 x 6 = 0.3: the largest remainder has the one that is left.
        (6, {"many": 4, "some": 2}),
        (1, {"many": 1}),
        (99, {"many": 69, "some": 25, "few": 5}),
        (100, SIZES),
        (1000, SIZES),
    ],
)
def test_each_group_has_its_share(n: int, shares: dict[str, int]) -> None:
    lines = drawn(n).lines
    assert Counter(line["id"].split("-")[0] for line in lines if line["system"] == "one") == shares
    assert len(lines) == 2 * min(n, 100)


def test_every_system_is_asked_about_for_what_is_drawn() -> None:
    lines = drawn(12).lines
    ids = {system: sorted(x["id"] for x in lines if x["system"] == system) for system in ("one", "two")}
    assert ids["one"] == ids["two"]
    assert len(set(ids["one"])) == 12


def test_it_is_the_same_for_the_same_seed_only_and_in_random_order() -> None:
    assert drawn(30) == drawn(30)
    assert sorted(x["id"] for x in drawn(30).lines) != sorted(x["id"] for x in drawn(30, seed=1).lines)
    systems = [line["system"] for line in drawn(30).lines]
    assert systems not in (sorted(systems), sorted(systems, reverse=True))


def test_what_has_nothing_to_be_judged_is_counted() -> None:
    more = [*RECORDS, *({**record, "id": f"x{n}", "group": "none"} for n, record in enumerate(RECORDS[:3]))]
    assert str(drawn(20, 0, more)) == "40 of 200 are drawn to be judged; 3 items have nothing to be judged"
    assert str(drawn(20)) == "40 of 200 are drawn to be judged"
    with pytest.raises(BabelscopeError, match="none of these 3 records of likelihood has anything"):
        drawn(20, 0, more[-3:])


KEYS = {"id": "1", "system": "one", "tests": "t", "source": "A pen at the bank."}


def queue(name: str, *records: Record, **settings: Any) -> list[Entry]:
    """What people are asked about these records of a method."""
    method = find_method(name)
    return all_entries(method(check_settings(method, settings)), records)


def tasks(entries: list[Entry]) -> list[Task]:
    return make_tasks([("q", each.line) for each in entries])


def shown(task: Task) -> dict[str, str]:
    return {block.title: "".join(text for text, _ in block.pieces) for block in task.blocks}


def pair(number: int, *variants: str, correct: str = "Ein Stift.", system: str = "one") -> dict[str, Any]:
    scored = {"logprobs": [-1.0], "tokens": ["x"], "notes": []}
    return {
        **KEYS,
        "id": str(number),
        "system": system,
        "phenomenon": "p",
        "reference": "human",
        "correct": {"text": correct, **scored},
        "contrastive": [{"text": text, **scored} for text in variants],
        "verdict": "correct",
        "scores": {"correct": -1.0, "contrastive": [-2.0 for _ in variants]},
    }


def test_pairs_are_asked_once_and_their_order_tells_nothing() -> None:
    records = [pair(n, f"Ein Gehege {n}.", system=s) for s in ("one", "two") for n in range(400)]
    found = queue("contrast", *records)
    assert found[:400] == found[400:], "the same for all systems, so that it is drawn once"
    found = found[:400]
    assert not any("system" in each.line for each in found)
    places = Counter(each.line["gold"] for each in found)
    assert abs(places["A"] - 200) < 40, "four standard deviations"
    for each in found:
        texts = each.line["translations"]
        assert texts["AB".index(each.line["gold"])] == "Ein Stift."
    assert found[0].group == ("p", "human")
    # What an annotator gets: the source and the two translations.
    assert shown(tasks(found)[0]).keys() == {"Source", "Translation A", "Translation B"}


STORED = {
    **KEYS,
    "phenomenon": "p",
    "reference": "machine",
    "scores": {"correct": -1.0, "contrastive": [-2.0]},
    "verdict": "correct",
}


@pytest.mark.parametrize(
    "record",
    [
        pair(1, " "),
        pair(1, "Ein Stift."),
        pair(1, "b", "b"),
        pair(1, *(str(n) for n in range(26))),
        {**pair(1, "b"), "source": ""},
        {**STORED, "texts": {"correct": "", "contrastive": []}},
    ],
)
def test_pairs_that_leave_no_choice_are_left_out(record: dict[str, Any]) -> None:
    assert queue("contrast", record) == []


def test_stored_scores_have_their_texts() -> None:
    texts = {"correct": "Ein Stift.", "contrastive": ["Ein Gehege."]}
    (found,) = queue("contrast", {**STORED, "texts": texts})
    assert sorted(found.line["translations"]) == ["Ein Gehege.", "Ein Stift."]


def judged(**fields: Any) -> dict[str, Any]:
    """A record of conditioning."""
    return {
        **KEYS,
        "category": "frequent",
        "gold": "bank/frequent",
        "translation": "Ein Stift.",
        "verdict": "wrong",
        "score": 0.1,
        "skipped": None if fields.get("verdict", "wrong") else "impossible",
        "correct_logprob": -2.0,
        "incorrect_logprob": -1.0,
        "under_correct": [
            {"source": f"A {n} pen at the bank.", "total": -1.0, "tokens": 3} for n in range(9)
        ],
        "under_incorrect": [{"source": "A sheep pen at the bank.", "total": -1.0, "tokens": 3}],
        **fields,
    }


def asked(record: dict[str, Any]) -> list[Task]:
    return tasks(queue("condition", record))


def test_conditioning_asks_for_the_gender_of_an_occupation() -> None:
    record = judged(gold="female", extra={"occupation": "bank", "reference": "SECRET"})
    (task,) = asked(record)
    assert (task.kind, task.get("gold")) == ("winomt", "female")
    assert shown(task) == {"Source": KEYS["source"], "Translation": "Ein Stift."}


def test_or_for_the_sense_that_words_tell() -> None:
    extra = {"word": "pen", "lemmas": ["stift", "füller"], "wrong_lemmas": ["gehege"]}
    (task,) = asked(judged(extra=extra))
    assert task.kind == "mucow"
    assert shown(task) == {
        "Source": KEYS["source"],
        "Translation": "Ein Stift.",
        "Correct sense of “pen”": "stift, füller",
        "Wrong sense of “pen”": "gehege",
    }


@pytest.mark.parametrize(
    "extra", [{}, {"lemmas": "stift", "wrong_lemmas": ["x"]}, {"word": 3, "occupation": []}]
)
def test_or_for_the_sense_that_sources_with_cues_tell(extra: dict[str, Any]) -> None:
    (task,) = asked(judged(extra=extra))
    assert task.kind == "mucow"
    assert shown(task)["Correct sense"].count("\n") == 4, "five of nine"
    assert shown(task)["Wrong sense"] == "A sheep pen at the bank."
    assert not any(mark for block in task.blocks for _, mark in block.pieces)
    (with_word,) = asked(judged(extra={**extra, "word": "pen"}))
    assert "Correct sense of “pen”" in shown(with_word)


@pytest.mark.parametrize(
    "fields",
    [
        {"translation": None},
        {"verdict": None},
        {"under_correct": [], "under_incorrect": []},
        {"gold": "neutral", "extra": {"occupation": "bank"}, "under_correct": []},
    ],
)
def test_conditioning_asks_nothing_that_it_could_not_tell(fields: dict[str, Any]) -> None:
    assert queue("condition", judged(**fields)) == []
    without = judged(**fields)
    del without["under_correct"], without["under_incorrect"]  # stored scores have no sources
    assert queue("condition", without) == []


def test_patterns_ask_for_what_they_tell() -> None:
    sense = {
        **KEYS,
        "word": "pen",
        "category": "frequent",
        "right_words": ["stift"],
        "wrong_words": ["gehege"],
        "translation": "",
        "lemmas": "SECRET",
        "correct": None,
    }
    (task,) = tasks(queue("patterns_mucow", sense))
    assert shown(task)["Correct sense of “pen”"] == "stift"
    assert queue("patterns_mucow", {**sense, "wrong_words": []}) == []
    (untold,) = tasks(queue("patterns_mucow", {**sense, "word": None}))
    assert "Correct sense" in shown(untold)
    # Records as they are: `lemmas` are the translation's.
    (as_it_is,) = make_tasks([("r", sense)], "mucow")
    assert shown(as_it_is) == shown(task)
    gender = {
        **KEYS,
        "occupation": "bank",
        "gold": "male",
        "translation": "Ein.",
        "predicted": "female",
        "correct": False,
    }
    neutral = {**gender, "id": "2", "gold": "neutral"}
    (task,) = tasks(queue("patterns_winomt", gender, neutral, target="de"))
    assert (task.kind, task.get("gold"), task.get("predicted")) == ("winomt", "male", None)
