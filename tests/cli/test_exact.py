"""`translate --decode exact`: what the search finds with its proof, by length, resumed, refused."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from babelscope.cli import translate as command
from babelscope.core.system import Budget, LengthRule
from babelscope.systems.registry import open_system
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


def test_json_has_the_proof_and_the_figures(babelscope: Babelscope) -> None:
    ran = babelscope(EXACT, TOY, "--n", "4", "--budget-expansions", "9", "in.txt", "--json")
    found, figures = rows_of(ran.out)
    right = Enumerated(symbols="ab", limit=4, salt="1").top_k(SOURCES, k=4, budget=Budget(expansions=9))
    for number, (row, answer) in enumerate(zip(found, right, strict=True), 1):
        assert (row["line"], row["source"], row["k"]) == (number, SOURCES[number - 1], 4)
        assert [each["total"] for each in row["found"]] == [each.total for each in answer.found]
        assert (row["exact"], row["bound"], row["mass"]) == (answer.exact, answer.bound, answer.mass)
        assert (row["expansions"], row["minimum"], row["seconds"]) == (9, answer.minimum, None)
    by_name = {row["name"]: row for row in figures}
    assert list(by_name) == ["proven", "empty_mode", "logprob", "tokens", "mass", "expansions"]
    assert (by_name["proven"]["value"], by_name["proven"]["n"]) == (1, 3)
    modes = [space(source)[0] for source in SOURCES]
    assert by_name["logprob"]["value"] == pytest.approx(math.fsum(each.total for each in modes) / 3)
    assert by_name["empty_mode"]["empty"] == sum(not each.text for each in modes)
    assert len({row["signature"] for row in figures}) == 1
    assert "budget_expansions:9|k:4" in figures[0]["signature"]


def test_what_is_not_proven_counts_in_no_figure_about_modes(babelscope: Babelscope) -> None:
    asked = ("translate --decode exact --system lab:teacher --n 4 --budget-expansions 1 lab.en",)
    found, figures = rows_of(babelscope(*asked, "--json").out)
    assert [(row["exact"], [each["proven"] for each in row["found"]]) for row in found] == [
        (False, [False])
    ] * 2
    by_name = {row["name"]: row for row in figures}
    assert by_name["proven"]["value"] == 0
    assert (by_name["logprob"]["n"], by_name["logprob"]["unresolved"]) == (0, 2)
    assert [line.split("\t")[4] for line in babelscope(*asked).out.split("\n")[1:-1]] == ["no"] * 2


@pytest.mark.parametrize("expansions", [20, 36, 60])
def test_what_a_budget_proves_a_full_search_confirms(babelscope: Babelscope, expansions: int) -> None:
    """What is proven within a budget has the ranks that the whole search gives it, and some of it is proven."""
    asked = ("translate --decode exact --system lab:teacher --n 5 lab.en --json",)
    found, _ = rows_of(babelscope(*asked, "--budget-expansions", str(expansions)).out)
    whole, _ = rows_of(babelscope(*asked, "--budget-expansions", "20000").out)
    counts = []
    for row, right in zip(found, whole, strict=True):
        sure = [each["tokens"] for each in row["found"] if each["proven"]]
        assert sure == [each["tokens"] for each in right["found"] if each["proven"]][: len(sure)]
        counts.append(len(sure))
    assert sum(counts) > 0


def test_lengths_are_searched_each_by_itself(babelscope: Babelscope) -> None:
    asked = ("translate --decode exact --system lab:teacher --n 2 lab.en --budget-expansions 300 --json",)
    found, figures = rows_of(babelscope(*asked, "--length", "1..3").out)
    system = open_system("lab:teacher")
    assert [(row["line"], row["length"]) for row in found] == [(n, m) for n in (1, 2) for m in (1, 2, 3)]
    for length in (1, 2, 3):
        right = system.top_k(LAB, k=2, budget=Budget(expansions=300), lengths=LengthRule(exactly=length))
        rows = [row for row in found if row["length"] == length]
        for row, answer in zip(rows, right, strict=True):
            assert [each["tokens"] for each in row["found"]] == [list(each.tokens) for each in answer.found]
            assert {len(each["tokens"]) for each in row["found"]} == {length}
            assert row["seconds"] > 0
    # The end of sentence alone is all there is of one token.
    assert [len(row["found"]) for row in found if row["length"] == 1] == [1, 1]
    assert {row["length"] for row in figures} == {1, 2, 3}
    [one, *_], _ = rows_of(babelscope(*asked, "--length", "2").out)
    assert one["found"] == found[1]["found"]


def test_length_normalized_scores(babelscope: Babelscope) -> None:
    search = [
        "translate",
        "--decode",
        "exact",
        "--system",
        "lab:teacher",
        "--n",
        "2",
        "lab.en",
        "--budget-expansions",
        "100",
    ]
    asked = [*search, "--set", "max_length=9", "--set", "length_penalty=0.5"]
    found, figures = rows_of(babelscope(*asked, "--json").out)
    for row in found:
        ranks = [each["total"] / len(each["tokens"]) ** 0.5 for each in row["found"]]
        assert [each["normalized"] for each in row["found"]] == pytest.approx(ranks)
        assert ranks == sorted(ranks, reverse=True)
        assert (row["max_length"], row["length_penalty"]) == (9, 0.5)
        assert max(len(each["tokens"]) for each in row["found"]) <= 9
    assert "normalized" in {row["name"] for row in figures}
    heading, *lines = [line.split("\t") for line in babelscope(*asked).out.split("\n")[:-1]]
    assert heading == ["source", "rank", "logprob", "normalized", *HEADING[3:], "translation"]
    assert [line[3] for line in lines] == [
        f"{each['normalized']:.4f}" for row in found for each in row["found"]
    ]


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
        (["--length", "three"], "as in 1..20"),
        (["--length", "0..4"], "as in 1..20"),
        (["--length", "5..4"], "as in 1..20"),
        (["--length", "1..9999"], "at most 1000"),
        (["--length", "1..3", "--set", "max_length=4"], "not both"),
        (["--length", "3", "--set", "max_length=4"], "not both"),
        (["--set", "length_penalty=-1"], "from 0 to 10"),
        (["--set", "length_penalty=nan"], "from 0 to 10"),
        (["--set", "budget_seconds=0"], "needs some time"),
        (["--length", "2000"], "no hypothesis of 2000 tokens"),
        (["--length", "1..1000"], "no hypothesis of 1000 tokens"),
        (["--n", "0"], "greater than or equal to 1"),
    ],
)
def test_what_cannot_be_searched_is_refused(babelscope: Babelscope, options: list[str], said: str) -> None:
    ran = babelscope("translate --decode exact --system lab:teacher lab.en", *options)
    assert (ran.code, ran.out.count("\n") <= 1) == (2, True)
    assert said in ran.err


def test_systems_that_cannot_are_named(babelscope: Babelscope) -> None:
    ran = babelscope(EXACT, TOY, "in.txt", "--length", "2")
    assert ran.code == 2
    assert "searches all lengths by log-probability alone" in ran.err
