"""Answer files: nothing lost, nothing doubled, the last answer counts."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelscope.annotate.answers import (
    LONGEST_LINE,
    AnswerFile,
    answer_path,
    check_answer,
    check_names,
    is_complete,
    read_answers,
    read_judged,
)
from babelscope.annotate.queue import Task, make_tasks, read_tasks
from babelscope.util.errors import BabelscopeError, SystemFailure
from tests.annotate.annotating import item, lines, write_items


@pytest.fixture
def items(tmp_path: Path) -> Path:
    return write_items(tmp_path / "queue.jsonl", [item("winomt", n) for n in range(3)])


@pytest.fixture
def tasks(items: Path) -> list[Task]:
    return read_tasks(items)


def test_answers_are_kept_and_found_again(items: Path, tasks: list[Task]) -> None:
    file = AnswerFile(items, "anna", tasks)
    file.save(tasks[0], {"label": "Male"})
    file.save(tasks[1], {"label": "Female"})
    file.save(tasks[0], {"label": "Female"})
    file.save(tasks[0], {"label": "Female"})  # said again: not written again
    path = items.with_name("queue.answers.anna.jsonl")
    assert [(line["id"], line["answer"]["label"]) for line in lines(path)] == [
        ("SECRET-0", "Male"),
        ("SECRET-1", "Female"),
        ("SECRET-0", "Female"),
    ]
    assert {*lines(path)[0]} == {"id", "item", "task", "system", "answer", "annotator", "time"}
    file.close()
    again = AnswerFile(items, "anna", tasks)
    assert again.answers == {task.digest: {"label": "Female"} for task in tasks[:2]}
    again.close()
    assert [row["answer"] for _, row in read_judged(path)] == ["Female", "Female"]


def one_answer(items: Path, tasks: list[Task]) -> tuple[Path, bytes]:
    """A file with one answer, and its bytes."""
    file = AnswerFile(items, "anna", tasks)
    file.save(tasks[0], {"label": "Male"})
    file.close()
    return file.path, file.path.read_bytes()


def test_a_torn_line_is_cut_off_and_said(items: Path, tasks: list[Task]) -> None:
    path, whole = one_answer(items, tasks)
    for torn in (1, 20, len(whole) - 2):
        path.write_bytes(whole + whole[:torn])
        assert len(read_answers(path)) == 1
        again = AnswerFile(items, "anna", tasks)
        assert len(again.answers) == 1
        assert again.torn == whole[:torn]
        again.close()
        assert path.read_bytes() == whole
    path.write_bytes(b"{}\n" + whole)
    with pytest.raises(BabelscopeError, match=r"anna\.jsonl:1 is no answer: 'annotator' is missing"):
        read_answers(path)


def test_a_whole_answer_without_its_newline_is_kept(items: Path, tasks: list[Task]) -> None:
    path, first = one_answer(items, tasks)
    second = first.replace(tasks[0].digest.encode(), tasks[1].digest.encode()).replace(b"Male", b"Female")
    path.write_bytes(first + second.rstrip(b"\n"))
    assert [each.answer["label"] for each in read_answers(path).values()] == ["Male", "Female"]
    again = AnswerFile(items, "anna", tasks)
    assert (len(again.answers), again.torn) == (2, b"")
    assert path.read_bytes() == first + second, "mended at once, so that nothing is appended to it"
    again.save(tasks[2], {"label": "Male"})
    again.close()
    assert [line["answer"]["label"] for line in lines(path)] == ["Male", "Female", "Male"]


FOREIGN = [
    b"my precious notes",
    b"my precious notes\nand more",
    b'{"id": "1"}',
    b'{"id": "1", "answer": {"label": "Male"}}\n{"id": "',
    b'[1, 2]\n{"id": "',
    b"\x00" * 10,
    b"\n",
    b'{"id": "' + b"x" * (LONGEST_LINE + 1),
]


@pytest.mark.parametrize("foreign", FOREIGN, ids=range(len(FOREIGN)))
def test_what_is_no_file_of_answers_stays_as_it_is(items: Path, tasks: list[Task], foreign: bytes) -> None:
    path = answer_path(items, "anna")
    path.write_bytes(foreign)
    with pytest.raises(BabelscopeError, match=r"anna\.jsonl:\d"):
        AnswerFile(items, "anna", tasks)
    with pytest.raises(BabelscopeError, match=r"anna\.jsonl:\d"):
        read_answers(path)
    assert path.read_bytes() == foreign


def test_links_and_pipes_are_not_written_to(items: Path, tasks: list[Task]) -> None:
    path = answer_path(items, "anna")
    precious = items.with_name("precious")
    for content in (b"no newline at its end", b"", b'{"id": "'):
        precious.write_bytes(content)
        path.symlink_to(precious)
        with pytest.raises(BabelscopeError, match="is a symbolic link, which is not followed"):
            AnswerFile(items, "anna", tasks)
        with pytest.raises(BabelscopeError, match="is a symbolic link"):
            read_answers(path)
        path.unlink()
        assert precious.read_bytes() == content
    os.mkfifo(path)
    with pytest.raises(BabelscopeError, match="is not a regular file"):
        AnswerFile(items, "anna", tasks)
    with pytest.raises(BabelscopeError, match="is not a regular file"):
        read_answers(path)


def test_a_file_that_was_moved_or_changed_is_not_written_to(items: Path, tasks: list[Task]) -> None:
    path, whole = one_answer(items, tasks)
    file = AnswerFile(items, "anna", tasks)
    moved = path.rename(path.with_suffix(".moved"))
    with pytest.raises(SystemFailure, match="changed or moved by somebody else"):
        file.save(tasks[1], {"label": "Male"})
    moved.rename(path)
    path.write_bytes(whole + b"{")
    with pytest.raises(SystemFailure, match="changed or moved by somebody else"):
        file.save(tasks[1], {"label": "Male"})
    path.write_bytes(whole)
    file.save(tasks[1], {"label": "Male"})
    file.close()
    assert len(lines(path)) == 2


def test_a_file_that_is_removed_while_it_is_opened(
    items: Path, tasks: list[Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last holder removes it, being empty, between our opening and locking it."""

    locked = fcntl.flock
    removed: list[None] = []

    def flock(file: int, how: int) -> None:
        if not removed:
            removed.append(answer_path(items, "anna").unlink())
        locked(file, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    file = AnswerFile(items, "anna", tasks)
    file.save(tasks[0], {"label": "Male"})
    file.close()
    assert removed
    assert len(lines(file.path)) == 1


def test_an_answer_is_one_write_and_one_sync(
    items: Path, tasks: list[Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    write, sync = os.write, os.fsync
    file = AnswerFile(items, "anna", tasks)
    file.save(tasks[0], {"label": "Male"})  # the first syncs the folder too
    monkeypatch.setattr(os, "write", lambda *given: (done.append("write"), write(*given))[1])
    monkeypatch.setattr(os, "fsync", lambda given: (done.append("sync"), sync(given))[1])
    file.save(tasks[1], {"label": "Male"})
    assert done == ["write", "sync"]
    monkeypatch.undo()
    file.close()


def test_one_process_at_a_time_and_no_empty_files(items: Path, tasks: list[Task]) -> None:
    first = AnswerFile(items, "anna", tasks)
    with pytest.raises(BabelscopeError, match="anna is already judging these items on another page"):
        AnswerFile(items, "anna", tasks)
    other = AnswerFile(items, "bert", tasks)
    other.save(tasks[0], {"label": "Male"})
    first.close()
    other.close()
    assert [path.name for path in items.parent.iterdir() if "answers" in path.name] == [
        "queue.answers.bert.jsonl"
    ]


def test_answers_to_a_changed_item_do_not_count(items: Path, tasks: list[Task]) -> None:
    file = AnswerFile(items, "anna", tasks)
    for task in tasks:
        file.save(task, {"label": "Male"})
    file.close()
    changed = [item("winomt", 0), item("winomt", 1, translation="Die Bäckerin."), item("winomt", 2)]
    file = AnswerFile(items, "anna", make_tasks([(str(n), each) for n, each in enumerate(changed)]))
    assert (len(file.answers), file.unknown) == (2, 1)
    file.close()


@pytest.mark.parametrize("name", ["", "../x", "a.b", "a/b", "x" * 41, "a b", "a\0"])
def test_a_name_cannot_leave_the_folder(name: str) -> None:
    with pytest.raises(BabelscopeError, match="an annotator's name has up to 40 letters"):
        check_names([name])


def task_of(kind: str) -> Task:
    return make_tasks([("f:1", item(kind))])[0]


@pytest.mark.parametrize(
    ("kind", "answer", "kept"),
    [
        ("winomt", {"label": "Male"}, True),
        ("machine-reference", {"label": "Wrong", "correction": "Der  unbeliebte\nPlan."}, True),
        ("assessment", {"score": 0}, True),
        ("assessment", {"score": 100}, True),
        ("ranking", {"scores": [1, 2, 3], "overall": 5}, True),
        ("ranking", {"scores": [1, None, 3], "overall": None}, False),
        ("ranking", {"scores": [1, 2, 3], "overall": None}, False),
    ],
)
def test_good_answers(kind: str, answer: dict[str, Any], kept: bool) -> None:
    found = check_answer(task_of(kind), answer)
    assert is_complete(found) is kept
    if "correction" in answer:
        assert found["correction"] == "Der unbeliebte Plan."
    else:
        assert found == answer


@pytest.mark.parametrize(
    ("kind", "answer", "told"),
    [
        ("winomt", "Male", "must be a JSON object"),
        ("winomt", {"label": "Correct Sense"}, "'Correct Sense' is no label"),
        ("winomt", {"label": "Male", "correction": "x"}, "has no 'correction'"),
        ("winomt", {"label": "Male", "extra": 1}, "has no 'extra'"),
        ("machine-reference", {"label": "Right", "correction": "x"}, "has no 'correction'"),
        ("machine-reference", {"label": "Wrong", "correction": " "}, "a correction must be text"),
        ("machine-reference", {"label": "Wrong", "correction": "a\ud800"}, "lone surrogate"),
        ("assessment", {"score": 101}, "whole number from 0 to 100"),
        ("assessment", {"score": True}, "whole number from 0 to 100"),
        ("assessment", {"score": 1.5}, "whole number from 0 to 100"),
        ("ranking", {"scores": [1, 2], "overall": 1}, "must be a list of 3"),
        ("ranking", {"scores": [1, 2, 3], "overall": 6}, "from 1 to 5"),
    ],
)
def test_bad_answers_are_refused(kind: str, answer: Any, told: str) -> None:
    with pytest.raises(BabelscopeError) as caught:
        check_answer(task_of(kind), answer)
    assert told in str(caught.value)


NAMES = st.sampled_from(["label", "score", "scores", "overall", "correction", "x"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda some: st.lists(some) | st.dictionaries(NAMES, some),
    max_leaves=8,
)


@given(JSON)
def test_whatever_is_sent_is_taken_or_refused(answer: Any) -> None:
    for kind in ("machine-reference", "assessment", "ranking"):
        task = task_of(kind)
        try:
            found = check_answer(task, answer)
        except BabelscopeError:
            continue
        assert check_answer(task, found) == found
