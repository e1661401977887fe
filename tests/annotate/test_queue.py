"""Items to judge: what is shown of each, what is not, and what is refused."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from babelscope.annotate import queue
from babelscope.annotate.queue import GUIDES, Task, make_tasks, read_tasks
from babelscope.util import text as text_module
from babelscope.util.errors import BabelscopeError
from tests.annotate.annotating import ITEMS, item, write_items


def made(record: dict[str, Any], kind: str | None = None) -> Task:
    return make_tasks([("f:1", record)], kind)[0]


def shown(task: Task) -> dict[str, str]:
    """The texts an annotator sees, with what is marked in brackets."""
    return {
        block.title: "".join(f"[{text}]" if mark else text for text, mark in block.pieces)
        for block in task.blocks
    }


def test_every_kind_shows_its_own() -> None:
    assert shown(made(item("machine-reference"))) == {
        "Phenomenon": "polarity affix del",
        "Source": "The unpopular plan was kept.",
        "Machine translation": "Der beliebte Plan wurde beibehalten.",
        "Human reference": "Den [unbeliebten] Plan behielt man bei.",
        "Human reference with the error put in": "Den [beliebten] Plan behielt man bei.",
    }
    assert shown(made(item("mucow"))) == {
        "Source": "He put the [plates] on the table.",
        "Translation": "Er legte die Kennzeichen auf den Tisch.",
        "Correct sense of “plate”": "teller",
        "Wrong sense of “plate”": "kennzeichen, nummernschild",
    }
    assert shown(made(item("winomt"))) == {
        "Source": "The [baker] thanked the driver because she was late.",
        "Translation": "Der Bäcker dankte der Fahrerin, weil sie zu spät kam.",
    }
    assert shown(made(item("challenge"))) == {
        "Phenomenon": "particle",
        "Words": "nahm … an",
        "Source": "Er [nahm] das Angebot gestern [an].",
        "Translation": "He took the offer yesterday.",
        "Human reference": "He accepted the offer yesterday.",
    }
    assert shown(made(item("assessment"))) == {"Source": "It is raining.", "Translation": "Es regnet."}
    assert made(item("ranking")).translations == tuple(ITEMS["ranking"]["translations"])
    assert shown(made(item("choice"))) == {
        "Source": "The unpopular plan was kept.",
        "Translation A": "Der [beliebte] Plan blieb.",
        "Translation B": "Der [unbeliebte] Plan blieb.",
    }
    labels = [label.value for label in made(item("choice")).labels]
    assert labels == ["A", "B", "More than one", "None", "Cannot tell"]


def test_marks_lie_on_whole_words_and_right_tokens() -> None:
    odd = item("winomt", source="The baker's bakery, said a BAKER.", occupation="baker")
    assert shown(made(odd))["Source"] == "The [baker]'s bakery, said a [BAKER]."
    absent = item("winomt", occupation="nurse")
    assert shown(made(absent))["Occupation"] == "nurse"
    words = ["an", "Bord", "kam", "er", "an"]
    twice = item("challenge", source=" ".join(words), tokens=words, head=3, dependent=5)
    assert shown(made(twice))["Source"] == "an Bord [kam] er [an]"
    # Without tokens all words like them, since nobody can tell which are meant.
    forms: dict[str, Any] = {"head_form": "nahm", "dependent_form": "an", "tokens": None}
    assert shown(made(item("challenge", **forms)))["Source"] == "Er [nahm] das Angebot gestern [an]."
    numbers = shown(made(item("challenge", tokens=["other", "words"])))
    assert (numbers["Words"], numbers["Source"]) == ("words … token 6", "Er nahm das Angebot gestern an.")
    target = item("challenge", side="target", head="accepted", dependent="yesterday", tokens=None)
    assert shown(made(target))["Human reference"] == "He [accepted] the offer [yesterday]."


def test_head_and_dependent_are_marked_where_they_stand() -> None:
    record = item("challenge", source="Er gab ab und gab es ab.", tokens=None, head="gab", dependent="ab")
    places = {"head_at": [14, 17], "dependent_at": [21, 23]}
    assert shown(made({**record, **places}))["Source"] == "Er gab ab und [gab] es [ab]."
    # Places that are none: every such word.
    odd: dict[str, Any]
    for odd in ({}, {"head_at": [14, 170]}, {"head_at": [14]}, {"head_at": "14"}, {"head_at": [17, 14]}):
        task = made({**record, **places, **odd} if odd else record)
        assert shown(task)["Source"] == "Er [gab] [ab] und [gab] es [ab]."
    same = {"source": "zum Haus", "head_at": [0, 3], "dependent_at": [0, 3]}
    assert shown(made({**record, **same}))["Source"] == "[zum] Haus"


def test_other_names_of_fields_and_the_kind_by_option() -> None:
    released = {
        "id": 2002,
        "Word": "plate",
        "Translation": "Der Teller ist leer.",
        "Wrong Sense": "kennzeichen",
        "Correct Sense": "teller",
        "Source Sentence": "The plate is empty.",
        "label": ["Correct Sense"],
    }
    task = made(released, "mucow")
    assert (task.id, shown(task)["Source"]) == ("2002", "The [plate] is empty.")
    assert made({**item("assessment"), "task": "winomt", "entity": "it"}, "mucow").kind == "winomt"


def test_an_item_can_ask_its_own_question() -> None:
    assert made(item("mucow")).question == GUIDES["mucow"].question
    assert made(item("mucow", question="Which?")).question == "Which?"
    assert made(item("challenge", questions=["Real?", "Right?"])).question == "Real? Right?"


def test_the_digest_is_that_of_what_is_judged() -> None:
    base = made(item("mucow"))
    assert made(item("mucow", verdict="other", note="x")).digest == base.digest
    for change in ({"translation": "Er."}, {"id": "2"}, {"system": "other"}, {"word": "table"}):
        assert made(item("mucow", **change)).digest != base.digest


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ({"id": 1, "source": "a"}, "f:1: field 'task' is missing; give one with --task: machine-reference"),
        ({"id": 1, "task": "maybe"}, "'maybe' is no task"),
        ({"task": "assessment", "source": "a", "translation": "b"}, "field 'id' must be text or a number"),
        (item("mucow", word=" "), "field 'word' must be text that is not empty"),
        (item("mucow", correct_sense=[]), "field 'correct_sense' must be text"),
        (item("assessment", translation=None), "field 'translation' must be text"),
        (item("assessment", source="\ud800"), "lone surrogate"),
        (item("challenge", head=None), "field 'head' is missing"),
        (item("ranking", translations=["one"]), "a list of at least two texts"),
        (item("ranking", translations=["x"] * 27), "27 translations is too long"),
        (item("choice", gold="C"), "field 'gold' must be the letter of the right translation, A, B"),
        (item("choice", gold=["A"]), "field 'gold' must be the letter of the right translation, A, B"),
        ({"id": "1", "item": "ab", "annotator": "anna"}, "these are answers, not items to judge"),
    ],
)
def test_bad_items_are_told(record: dict[str, Any], told: str) -> None:
    with pytest.raises(BabelscopeError) as caught:
        made(record)
    assert told in str(caught.value)


def test_one_id_is_one_item_of_a_system(tmp_path: Path) -> None:
    two = [item("mucow", system="a"), item("mucow", system="b")]
    assert len(read_tasks(write_items(tmp_path / "f.jsonl", two))) == 2
    with pytest.raises(BabelscopeError, match=r"f\.jsonl:3: id 'SECRET-1' is already used at .*f\.jsonl:1"):
        read_tasks(write_items(tmp_path / "f.jsonl", [*two, two[0]]))
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(BabelscopeError, match="has no items"):
        read_tasks(tmp_path / "empty.jsonl")


def test_the_released_annotations_can_be_judged_again(shared: Path) -> None:
    for kind in ("mucow", "winomt"):
        tasks = read_tasks(shared / "data" / "human-validation" / kind / "en-de.annotator1.jsonl", kind)
        assert len(tasks) == 200
        marked = [task for task in tasks if any(mark for _, mark in task.blocks[0].pieces)]
        assert len(marked) >= 198


LARGE = [50_000, 1_000_000]


def large(size: int) -> dict[str, dict[str, Any]]:
    """Texts that are hard to compare and search: few words, again and again."""
    some, others = ("x y " * size)[:size].strip(), ("y y x " * size)[:size].strip()
    return {
        "machine-reference": {"correct": some, "contrastive": others, "translation": some},
        "mucow": {"source": some, "word": "x y " * (size // 10) + "z"},
        "winomt": {"source": some, "occupation": "x y " * (size // 10) + "z"},
        "challenge": {"source": some, "tokens": None, "head": f"{some} z", "dependent": "x"},
        "assessment": {"source": some, "translation": others},
        "ranking": {"source": some, "translations": [some, others]},
    }


@pytest.mark.parametrize("size", LARGE)
def test_large_items_are_shown_in_bounded_time(size: int) -> None:
    start = time.process_time()
    tasks = [made(item(kind, **fields)) for kind, fields in large(size).items()]
    took = time.process_time() - start
    assert took < 10, "it was minutes for one of them"
    for task in tasks:
        for block in task.blocks:
            text = "".join(piece for piece, _ in block.pieces)
            assert text
            assert (block.note != "") <= (not any(mark for _, mark in block.pieces)), "all or nothing"
    notes = {task.kind: {block.title for block in task.blocks if block.note} for task in tasks}
    assert notes == {
        "machine-reference": {"Human reference", "Human reference with the error put in"},
        "mucow": {"Source"},
        "winomt": {"Source"},
        "challenge": {"Source"},
        "assessment": set(),
        "ranking": set(),
    }


def test_a_long_text_is_marked_if_that_is_quick() -> None:
    words = [f"word{n}" for n in range(1000)]
    task = made(
        item(
            "machine-reference",
            correct=" ".join(words),
            contrastive=" ".join([*words[:500], "not", *words[500:]]),
        )
    )
    block = next(block for block in task.blocks if block.title.endswith("put in"))
    assert [text for text, mark in block.pieces if mark] == ["not"]
    source = "He took it. " * 4000 + "The plate."
    (block,) = [
        block for block in made(item("mucow", source=source, word="plate")).blocks if block.title == "Source"
    ]
    assert [text for text, mark in block.pieces if mark] == ["plate"]


def test_the_bounds_of_a_file_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_items(
        tmp_path / "q.jsonl", [item("assessment", 1), item("assessment", 2, source="x" * 2000)]
    )
    with monkeypatch.context() as patch:
        patch.setattr(text_module, "LONGEST_RECORD", 1000)
        with pytest.raises(BabelscopeError, match=r"q\.jsonl:2 has more than .* too much for one line"):
            read_tasks(path)
    monkeypatch.setattr(queue, "LARGEST_FILE", 1000)
    with pytest.raises(BabelscopeError, match=r"q\.jsonl has more than .* split it"):
        read_tasks(path)
    for field in ("id", "system"):
        with pytest.raises(BabelscopeError, match=f"'{field}' is longer than 10,000 characters"):
            made({**item("assessment"), field: "x" * 10_001})


def test_the_labels_of_a_guide_are_those_that_are_compared() -> None:
    from babelscope.stats.agreement import LABELS, REAL

    for kind, labels in LABELS.items():
        offered = [label.value for label in GUIDES[kind].labels]
        # Letters of translations are labels of those items only that have so many; of a challenge, REAL is one
        # where no translation is shown.
        left_out = {REAL} if kind == "challenge" else set()
        assert offered == [label for label in labels if label not in left_out and len(label) > 1]
        assert GUIDES[kind].corrected in (None, *offered)
    assert all(text == " ".join(text.split()) for guide in GUIDES.values() for text in guide.guidelines)
