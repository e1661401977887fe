"""Items without any contrastive variant: named, counted, left out, or right as in MuCoW's published script."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from babelscope.testsets import load
from tests.support.toy_fixtures import Babelscope


@pytest.fixture(autouse=True)
def suite(tmp_path: Path) -> None:
    def entry(number: int, *variants: str) -> dict[str, Any]:
        errors = [{"contrastive": text, "replacement": "x", "type": "y"} for text in variants]
        about = {"ambig word": "pen", "sense": "s", "origin": "ted"}
        return {"source": f"a {number}", "reference": "ab", "errors": errors, **about}

    entries = [entry(1, "ba"), entry(2), entry(3, "ca", "cb"), *(entry(4 + n) for n in range(6))]
    (tmp_path / "s.json").write_text(json.dumps(entries))
    scores = [1.0, 2.0, 5.0, 3.0, 1.0, 4.0, *[9.0] * 6]  # lower is better: right, -, wrong, ...
    (tmp_path / "s.scores").write_text("".join(f"{score}\n" for score in scores))


SCORES = (
    "contrast",
    "--tests",
    "mucow-scoring:s.json",
    "--scores",
    "s.scores",
    "--direction",
    "lower",
    "--json",
)
SYSTEM = ("contrast", "--tests", "mucow-scoring:s.json", "--system", "toy:1", "--json")


def first(out: str) -> dict[str, Any]:
    row: dict[str, Any] = next(row for row in map(json.loads, out.splitlines()) if row["name"] == "all")
    return row


def test_a_reader_names_and_counts_them(tmp_path: Path) -> None:
    assert load(f"mucow-scoring:{tmp_path}/s.json").skipped == {
        "no contrastive variant: items 2, 4, 5, 6, 7 and 2 more": 7
    }


def test_they_are_left_out_unless_they_count_as_right(babelscope: Babelscope) -> None:
    skipped = first(babelscope(*SCORES).out)
    assert (skipped["value"], skipped["n"], skipped["skipped"]) == (0.5, 2, 7)
    counted = first(babelscope(*SCORES, "--without-variants", "correct").out)
    assert (counted["value"], counted["n"], counted["without_variants"]) == (pytest.approx(8 / 9), 9, 7)
    assert skipped["signature"] != counted["signature"]


def test_nobody_failed_to_answer_about_them(babelscope: Babelscope) -> None:
    ran = babelscope(*SCORES[:-1])
    assert (ran.code, "did not answer" in ran.out) == (0, False), ran.err
    assert "left out: 7 items, the first being 2: it has no contrastive variant" in " ".join(ran.out.split())


def test_the_same_with_a_system(babelscope: Babelscope) -> None:
    skipped = first(babelscope(*SYSTEM).out)
    assert (skipped["n"], skipped["skipped"]) == (2, 7)
    told = " ".join(babelscope(*SYSTEM[:-1]).out.split())
    assert (
        "7 items were skipped and are in no figure (7 no contrastive variant: items 2, 4, 5, 6, 7 and 2"
        in told
    )
    ran = babelscope(*SYSTEM, "--without-variants", "correct", "--out", "run", "--annotate", "queue.jsonl")
    counted = first(ran.out)
    assert (counted["n"], counted["without_variants"], counted["infinite"]) == (9, 7, 0)
    assert counted["correct"] == skipped["correct"] + 7
    assert len(Path("queue.jsonl").read_text().splitlines()) == 2, "nobody can choose among one"
    assert babelscope("report", "run", "-o", "page.html").code == 0
    again = babelscope("contrast", "--rejudge", "run", "--ties", "wrong", "--json")
    assert first(again.out)["without_variants"] == 7
