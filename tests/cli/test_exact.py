"""`translate --decode exact`: what the search finds with its proof, by length, resumed, refused."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from babelscope.cli import translate as command
from tests.support import toys
from tests.support.enumerated import Enumerated
from tests.support.stored import unfinished
from tests.support.toy_fixtures import Babelscope

pytestmark = pytest.mark.usefixtures("exact_toys")

SOURCES = ["a b", "b c", "ca"]
LAB = ["the old man sleeps .", "a woman sees the dog ."]
EXACT = "translate --decode exact --system"
TOY = "toy:1?alphabet=ab&limit=4"
HEADING = ["source", "rank", "logprob", "tokens", "proven", "bound", "mass", "expansions", "seconds"]


@pytest.fixture(autouse=True)
def sources(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("".join(f"{source}\n" for source in SOURCES))
    (tmp_path / "lab.en").write_text("".join(f"{source}\n" for source in LAB))


def space(source: str) -> list[Any]:
    return Enumerated(symbols="ab", limit=4, salt="1").space(source)


def rows_of(text: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of sources, and rows of figures."""
    rows = [json.loads(line) for line in text.split("\n")[:-1]]
    return [row for row in rows if "found" in row], [row for row in rows if "found" not in row]


def test_a_line_a_hypothesis(babelscope: Babelscope, tmp_path: Path) -> None:
    ran = babelscope(EXACT, TOY, "--n", "3", "in.txt")
    heading, *lines = [line.split("\t") for line in ran.out.split("\n")[:-1]]
    assert heading == [*HEADING, "translation"]
    expected = [
        [str(number), str(rank), f"{each.total:.4f}", str(len(each.tokens)), "yes", each.text]
        for number, source in enumerate(SOURCES, 1)
        for rank, each in enumerate(space(source)[:3], 1)
    ]
    assert [[*line[:5], line[-1]] for line in lines] == expected
    assert all(line[8] == "-" for line in lines), "the toy does not take its time"
    assert "proven" in ran.err
    assert "top-k|k:3|" in ran.err
    both = babelscope(EXACT, TOY, "--system", "toy:2?alphabet=ab&limit=4", "--n", "1", "in.txt")
    named = [line.split("\t")[0] for line in both.out.split("\n")[:-1]]
    assert named == ["system", *["toy:1"] * 3, *["toy:2"] * 3]
    assert babelscope(EXACT, TOY, "--n", "3", "in.txt", "--to", "out").out == ""
    assert (tmp_path / "out").read_text() == ran.out
    assert babelscope(EXACT, TOY, "--n", "3", stdin=b"a b\nb c\nca\n").out == ran.out


def test_what_was_searched_is_not_searched_again(
    babelscope: Babelscope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped in the second of three chunks, the same command asks for the last two only."""
    monkeypatch.setattr(command, "SOURCES_AT_ONCE", 1)
    asked = (EXACT, f"{TOY}&log=asked", "--n", "2", "in.txt", "--to", "out")

    def stop_at_the_second(self: Any, questions: Any, **how: Any) -> Any:
        if questions[0].source == SOURCES[1]:
            raise KeyboardInterrupt
        return Enumerated.top_k(self, questions, **how)

    with monkeypatch.context() as patch:
        patch.setattr(toys.ToySystem, "top_k", stop_at_the_second)
        stopped = babelscope(*asked)
    assert stopped.code == 130
    assert "what systems answered is kept" in stopped.err
    assert len(unfinished()) == 1
    assert babelscope(*asked).code == 0
    lines = (tmp_path / "asked").read_text().split("\n")[:-1]
    assert lines == [f"top_k\t{source}" for source in SOURCES], "each once"
    assert unfinished() == []
    assert (tmp_path / "out").read_text().count("\n") == 7


def test_a_length_that_has_no_hypothesis_is_a_line_of_dashes(
    babelscope: Babelscope, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(self: Any, questions: Any, **_how: Any) -> Any:
        found = Enumerated.top_k(self, questions, k=1)
        return [type(each)((), True, -math.inf, 0.0, 1, 1) for each in found]

    monkeypatch.setattr(toys.ToySystem, "top_k", nothing)
    ran = babelscope(EXACT, TOY, "in.txt")
    assert ran.out.split("\n")[1].split("\t") == ["1", "-", "-", "-", "yes", "-inf", "0", "1", "-", ""]
    found, figures = rows_of(babelscope(EXACT, TOY, "in.txt", "--json").out)
    assert (found[0]["found"], found[0]["bound"]) == ([], None)
    assert [row["none"] for row in figures if row["name"] == "logprob"] == [3]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--set", "length=three"], "give a length or a range, such as 1..20"),
        (["--set", "length=0..4"], "give a length or a range, such as 1..20"),
        (["--set", "length=5..4"], "give a length or a range, such as 1..20"),
        (["--set", "length=1..9999"], "at most 1000"),
        (["--set", "length=1..3", "--set", "max_length=4"], "not both"),
        (["--set", "length=3", "--set", "max_length=4"], "not both"),
        (["--set", "length_penalty=-1"], "from 0 to 10"),
        (["--set", "length_penalty=nan"], "from 0 to 10"),
        (["--set", "budget_seconds=0"], "must be greater than 0"),
        (["--set", "length=2000"], "no hypothesis of 2000 tokens"),
        (["--set", "length=1..1000"], "no hypothesis of 1000 tokens"),
        (["--n", "0"], "greater than or equal to 1"),
    ],
)
def test_what_cannot_be_searched_is_refused(babelscope: Babelscope, options: list[str], said: str) -> None:
    ran = babelscope("translate --decode exact --system lab:teacher lab.en", *options)
    assert (ran.code, ran.out.count("\n") <= 1) == (2, True)
    assert said in ran.err


def test_systems_that_cannot_are_named(babelscope: Babelscope) -> None:
    ran = babelscope(EXACT, TOY, "in.txt", "--set", "length=2")
    assert ran.code == 2
    assert "searches all lengths by log-probability alone" in ran.err
