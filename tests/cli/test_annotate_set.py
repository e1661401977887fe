"""`babelscope annotate` of a challenge set: are extracted items real? Queue, page data, precision with intervals."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from babelscope.annotate import server
from babelscope.annotate.queue import Task, read_tasks
from babelscope.stats.intervals import proportion
from tests.annotate.annotating import answer_all
from tests.support.toy_fixtures import Babelscope


def dependency(phenomenon: str, distance: float, **more: Any) -> dict[str, Any]:
    words = {"head": 2, "dependent": 5, "head_form": "gab", "dependent_form": "auf"}
    return {"phenomenon": phenomenon, "side": "source", "distance": distance, **words, **more}


def item(number: int) -> dict[str, Any]:
    """Of every three sentences one has a particle, one a reflexive, one nothing; distances go round 0 to 5."""
    name = ("particle", "reflexive", None)[number % 3]
    found = [dependency(name, number // 3 % 6)] if name else []
    if number % 10 == 0:  # of a reordering no two words of one text are to be judged
        found.append(dependency("reordering", 7))
    text = {"source": f"Er gab das Buch {number} auf.", "reference": f"He gave book {number} up."}
    return {"id": str(number), **text, "dependencies": found}


DISTANCES = ("--set", "distance=1", "--set", "distance=2", "--set", "distance=5")


@pytest.fixture(autouse=True)
def challenge_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "serve", lambda _app, _listener: None)
    (tmp_path / "set.jsonl").write_text("".join(json.dumps(item(n)) + "\n" for n in range(360)))


def drawn(babelscope: Babelscope, *options: str) -> list[Task]:
    done = babelscope("annotate set.jsonl --no-open", *options)
    assert done.code == 0, done.err
    return read_tasks("set.queue.jsonl")


def rows_of(babelscope: Babelscope, *command: str) -> list[dict[str, Any]]:
    return babelscope(*command, "--json").rows


def test_equally_many_of_each_phenomenon_and_distance_are_drawn(babelscope: Babelscope) -> None:
    tasks = drawn(babelscope, "--queue-size", "60", *DISTANCES)
    found = Counter((task.get("phenomenon"), task.get("distance")) for task in tasks)
    assert found == {(name, d): 10 for name in ("particle", "reflexive") for d in (1, 2, 5)}
    again = Path("set.queue.jsonl").read_bytes()
    drawn(babelscope, "--queue-size", "60", *DISTANCES)
    assert Path("set.queue.jsonl").read_bytes() == again


def test_the_page_shows_neither_distance_nor_item_and_asks_about_the_construction(
    babelscope: Babelscope,
) -> None:
    (task, *_) = drawn(babelscope, "--queue-size", "6")
    desk = server.Desk(Path("set.queue.jsonl"), [task], ["anna"], seed=0)
    try:
        session = desk.session("anna")
    finally:
        desk.close()
    (shown,) = session["items"]
    assert [label["value"] for label in shown["labels"]] == ["Real", "Not real", "Cannot tell"]
    assert shown["question"].startswith("Do the marked words form this construction: a ")
    assert [block["title"] for block in shown["blocks"]] == [
        "Phenomenon",
        "Words",
        "Source",
        "Human reference",
    ]
    assert session["kinds"]["extraction"]["title"] == "Is the construction there?"
    assert "distance" not in json.dumps(shown)


def test_precision_is_told_by_phenomenon_and_distance_for_one_annotator(babelscope: Babelscope) -> None:
    tasks = drawn(babelscope, "--queue-size", "120", *DISTANCES)

    def said(task: Task) -> str:
        number = int(task.get("item"))
        return "Cannot tell" if number % 7 == 0 else "Not real" if number % 5 == 0 else "Real"

    answer_all("set.queue.jsonl", "anna", said)
    rows = rows_of(babelscope, "agreement", "set.queue.jsonl")
    assert {row["name"] for row in rows} == {"precision"}
    assert len(rows) == 1 + 2 + 6
    for row in rows:
        own = [
            task
            for task in tasks
            if row["phenomenon"] in ("all", task.get("phenomenon"))
            if row.get("distance", task.get("distance")) == task.get("distance")
        ]
        labels = Counter(map(said, own))
        expected = proportion(labels["Real"], labels["Real"] + labels["Not real"])
        assert (row["value"], row["low"], row["high"], row["n"]) == pytest.approx(
            (expected.value, expected.low, expected.high, expected.n)
        )
        assert (row["real"], row["answered"], row["cannot_tell"]) == (
            labels["Real"],
            len(own),
            labels["Cannot tell"],
        )
    assert {row["unit"] for row in rows if "distance" in row} == {"words between"}


def test_two_annotators_agree_and_are_counted_by_item(babelscope: Babelscope) -> None:
    tasks = drawn(babelscope, "--queue-size", "80")
    answer_all(
        "set.queue.jsonl", "anna", lambda task: "Not real" if int(task.get("item")) % 8 == 0 else "Real"
    )
    answer_all(
        "set.queue.jsonl", "bert", lambda task: "Not real" if int(task.get("item")) % 8 in (0, 1) else "Real"
    )
    rows = rows_of(babelscope, "agreement", "set.queue.jsonl")
    kappa = next(row for row in rows if row["name"] == "kappa" and row["labels"] == "binary")
    assert 0.3 < kappa["value"] < 1
    assert kappa["n"] == 80
    whole = next(
        row for row in rows if row["name"] == "precision" and row["annotators"] == row["phenomenon"] == "all"
    )
    real = sum((int(t.get("item")) % 8 != 0) + (int(t.get("item")) % 8 > 1) for t in tasks)
    assert (whole["value"], whole["real"], whole["answered"]) == (pytest.approx(real / 160), real, 160)
    # Two answers to one item are not two items.
    assert whole["high"] - whole["low"] > proportion(real, 160).high - proportion(real, 160).low


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (
            ("set.jsonl", "--set", "distance=9"),
            "set.jsonl has no dependency of distance 9 whose two words are known",
        ),
        (
            ("set.jsonl", "--system", "x"),
            "--system only applies to a run folder, but set.jsonl is a challenge set",
        ),
        (
            ("queue.jsonl", "--set", "distance=1"),
            "--set distance only applies to a run folder or a challenge set, but queue.jsonl is neither",
        ),
        (("ldd:nowhere,de",), "say with --queue FILE where what is drawn from ldd:nowhere,de goes"),
        (("ldd:nowhere,de", "--queue", "q.jsonl"), "nowhere: no such folder"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(
    babelscope: Babelscope, command: tuple[str, ...], told: str
) -> None:
    Path("queue.jsonl").write_text('{"id": 1, "task": "assessment", "source": "a", "translation": "b"}\n')
    done = babelscope("annotate", *command, "--no-open")
    assert (done.code, told in done.err, done.out) == (2, True, ""), done.err
    assert not Path("q.jsonl").exists()


def test_answers_without_their_items_are_refused(babelscope: Babelscope) -> None:
    drawn(babelscope, "--queue-size", "10")
    answer_all("set.queue.jsonl", "anna", lambda _: "Real")
    Path("set.queue.jsonl").unlink()
    done = babelscope("agreement set.queue.answers.anna.jsonl")
    assert done.code == 2
    assert "the file of items is needed, which says what was extracted" in done.err
