"""Files of scores: matched with items, and told if they do not fit their test set or have no scores in them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from babelscope import condition
from babelscope.core.answers import ItemChoice, ItemScores, capabilities, properties
from babelscope.systems.opening import open_system
from babelscope.systems.scores import ScoresFile
from babelscope.testsets import AmbiguousSource, TestSet
from babelscope.util.errors import BabelscopeError

SUITE = [ItemChoice(str(number), variants) for number, variants in enumerate((2, 2, 1, 1))]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_scores_are_matched_with_items_and_turned() -> None:
    Path("scores").write_text("1\t2\t3\n2\t2\t3\t1\n3\t1\n1\tinf\n")
    system = open_system("scores:scores?direction=lower")
    assert system.item_scores(SUITE) == [
        ItemScores(-1, (-2, -3)),
        ItemScores(-2, (-2, -3), -1),
        ItemScores(-3, (-1,)),
        ItemScores(-1, (-float("inf"),)),
    ]
    assert (system.name, capabilities(system)) == ("scores", {"item_scores"})
    assert properties(system).asked_as_a_whole
    assert properties(system).stored


def test_a_file_may_leave_out_what_no_system_can_be_asked() -> None:
    items = [ItemChoice("a"), ItemChoice("b", 0, empty=True), ItemChoice("c", empty=True), ItemChoice("d")]
    Path("all").write_text("1\n2\n3\n4\n5\n6\n7\n")
    assert open_system("scores:all?layout=blocks").item_scores(items) == [
        ItemScores(1, (5,)),
        ItemScores(2, ()),
        ItemScores(3, (6,)),
        ItemScores(4, (7,)),
    ]
    Path("fewer").write_text("1\n2\n3\n4\n")
    found = open_system("scores:fewer?layout=interleaved").item_scores(items)
    assert found == [ItemScores(1, (2,)), None, None, ItemScores(3, (4,))]


def test_a_layout_is_not_guessed_without_tabs() -> None:
    Path("scores").write_text("1\n2\n")
    with pytest.raises(BabelscopeError, match=r"no tabs; say layout=blocks .* or layout=interleaved"):
        open_system("scores:scores")
    assert open_system("scores:scores?lines=blocks").item_scores([ItemChoice("a")]) == [ItemScores(1, (2,))]
    with pytest.raises(BabelscopeError, match="layout=rows is not one of"):
        open_system("scores:scores?layout=rows")


def test_a_fingerprint_is_content_direction_and_layout() -> None:
    for name in ("a", "b"):
        Path(name).write_text("1\n2\n")
    specs = ("a?layout=blocks", "b?layout=blocks", "a?layout=interleaved", "a?layout=blocks&direction=lower")
    digests = [open_system(f"scores:{spec}").fingerprint.digest for spec in specs]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


@pytest.mark.parametrize(
    ("lines", "chosen", "told"),
    [
        (
            ["1"] * 9,
            {},
            "scores has 9 lines; the test set has 4 items: 10 lines in the layout blocks, 10 lines in the layout "
            "interleaved, 4 lines in the layout columns",
        ),
        (["1\t2\t3"] * 3, {}, "scores has 3 lines; the test set has 4 items: 4 lines in the layout columns"),
        (
            ["1\t2"] * 4,
            {},
            "scores:1 has 2 columns; it must have 3 (correct, contrastive) or 4 (and the 1-best)",
        ),
        (["1"] * 9 + ["1\t2"], {}, "scores:10 has 2 columns; the layout interleaved has one"),
        (["1"] * 4 + ["one"] + ["1"] * 5, {}, "scores:5: 'one' is not a number"),
        (["1"] * 4 + [""] + ["1"] * 5, {}, "scores:5: '' is not a number"),
        (["1"] * 2 + ["nan"] + ["1"] * 7, {}, "scores:3: 'nan' is no score"),
        (["1"] * 9 + ["-inf"], {}, "scores:10: '-inf' is better than any score; is the direction right?"),
        (["1"] * 9 + ["inf"], {"direction": "higher"}, "scores:10: 'inf' is better than any score"),
    ],
)
def test_bad_files_are_told(lines: list[str], chosen: dict[str, Any], told: str) -> None:
    Path("scores").write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(BabelscopeError) as error:
        ScoresFile("scores", **{"direction": "lower", "lines": "interleaved", **chosen}).item_scores(SUITE)
    assert told in str(error.value)


# --- the best score of either side, as conditioning has it: two columns, or three that begin with an id


@pytest.mark.parametrize("text", ["-1\t-2\n-3\t-inf\n", "i1\t-3\t-inf\ni0\t-1\t-2\n"])
def test_scores_are_read_by_line_or_by_id(text: str) -> None:
    Path("scores.tsv").write_text(text)
    tests = set_of("a", "b")
    result = condition(None, open_system("scores:scores.tsv"), tests)
    assert [record["score"] for record in result.records] == [pytest.approx(1 / (1 + math.exp(-1))), 1.0]
    assert [record["weight"] for record in result.records] == [1, 2]
    Path("other.tsv").write_text("-1\t-2\n-3\t-9\n")
    assert condition(None, open_system("scores:other.tsv"), tests).signature != result.signature


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("-1\t-2\n", "scores.tsv has 1 lines; the test set t has 2 items"),
        ("-1\t-2\n-1\tnan\n", "scores.tsv:2: 'nan' is no score"),
        ("-1\t-2\n-1\tx\n", "scores.tsv:2: 'x' is not a number"),
        ("0.79\t0.74\n0.6\t0.5\n", "scores.tsv:1: 0.79 is no log-probability"),
        ("i1\t-1\t-2\ni0\t-1\t0.5\n", "scores.tsv:2: 0.5 is no log-probability"),
        ("-1\t-2\n-1\n", "scores.tsv:2 has 1 columns"),
        ("-1\n-2\n", "scores.tsv:1 has 1 columns"),
        ("i0\t-1\t-2\ni1\t-1\n", "scores.tsv:2 has 1 columns; it must have 2 .* after the item's id"),
        ("i0\t-1\t-2\ni0\t-1\t-2\n", "scores.tsv:2: the item 'i0' stands there twice"),
        ("i0\t-1\t-2\n", "no scores of item i1"),
        ("i0\t-1\t-2\ni1\t-1\t-2\ni2\t-1\t-2\n", "scores of 'i2', which the test set does not have"),
        ("", "scores.tsv has 0"),
    ],
)
def test_faulty_scores_of_two_sides_are_told(text: str, told: str) -> None:
    Path("scores.tsv").write_text(text)
    with pytest.raises(BabelscopeError, match=told):
        condition(None, open_system("scores:scores.tsv?layout=columns"), set_of("a", "b"))


def set_of(*sources: str) -> TestSet:
    items = [AmbiguousSource(f"i{n}", s, (f"r {s}",), (f"w {s}",), "m") for n, s in enumerate(sources)]
    return TestSet("t", tuple(items))
