"""`--protocol paper` and `released`: all that the paper or its code does otherwise, in one word."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from babelscope.methods.condition.settings import ConditionSettings
from babelscope.methods.patterns.mucow.settings import MucowSettings
from babelscope.methods.patterns.winomt.settings import WinomtSettings
from babelscope.testsets import AmbiguousSource, TestSet
from tests.support.toy_fixtures import Babelscope


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    items = [AmbiguousSource(f"i{n}", f"a {n}", (f"r {n}",), (f"w {n}",), "c") for n in range(4)]
    TestSet("t", tuple(items)).write(tmp_path / "t.jsonl")
    scores = (0.9, 0.5, 0.5, 0.3)
    (tmp_path / "s.tsv").write_text("".join(f"{math.log(p)!r}\t{math.log(1 - p)!r}\n" for p in scores))


ASKED = ("condition", "--tests", "t.jsonl", "--scores", "s.tsv", "--json")


def figures(babelscope: Babelscope, *more: str) -> tuple[float, float, list[dict[str, Any]]]:
    """Accuracy, weighted accuracy, and the records."""
    ran = babelscope(*ASKED, "--records", "r.jsonl", *more)
    assert ran.code == 0, ran.err
    rows = {row["name"]: row["value"] for row in map(json.loads, ran.out.splitlines())}
    return rows["all"], rows["weighted"], [json.loads(x) for x in Path("r.jsonl").read_text().splitlines()]


def test_a_protocol_stands_for_several_settings(babelscope: Babelscope) -> None:
    accuracy, weighted, records = figures(babelscope, "--protocol", "paper")
    # Section 3.4: correct is what scores above 0.5; the two ties share the weights 2 and 1.
    assert (accuracy, weighted) == (0.25, 4 / 10)
    assert [record["weight"] for record in records] == [4, 1.5, 1.5, 3]
    accuracy, weighted, records = figures(babelscope, "--protocol", "released")
    assert (accuracy, weighted) == (0.75, pytest.approx(7 / 10))
    assert [record["weight"] for record in records] == [4, 2, 1, 3]
    assert records[0]["score"] == pytest.approx(
        2 ** math.log(0.9) / (2 ** math.log(0.9) + 2 ** math.log(0.1))
    )


def test_what_is_said_beside_it_stays(babelscope: Babelscope) -> None:
    assert figures(babelscope, "--protocol", "paper", "--ties", "correct")[0] == 0.75
    assert figures(babelscope, "--protocol", "released", "--score-base", "e")[2][0]["score"] == pytest.approx(
        0.9
    )


def test_a_finished_run_is_judged_again_by_it(babelscope: Babelscope) -> None:
    assert babelscope(*ASKED, "--out", "run").code == 0
    again = babelscope("condition", "--rejudge", "run", "--protocol", "paper", "--json")
    rows = {row["name"]: row for row in map(json.loads, again.out.splitlines())}
    assert rows["all"]["value"] == 0.25
    # A run keeps the test of its evaluator, which the protocol leaves out.
    direct = babelscope(*ASKED, "--protocol", "paper", "--preflight", "100")
    same = json.loads(direct.out.splitlines()[0])["signature"]
    assert rows["all"]["signature"].rpartition("|sha:")[0] == same.rpartition("|sha:")[0]


def test_studies_and_python_have_it_too() -> None:
    assert ConditionSettings(protocol="paper").ties == "wrong"
    assert ConditionSettings(protocol="paper").preflight == 0
    assert ConditionSettings(protocol="paper", preflight=9).preflight == 9
    assert ConditionSettings(protocol="paper", ties="half").ties == "half"
    assert ConditionSettings().ties == "correct"
    released = ConditionSettings(protocol="released")
    assert (released.tied_weights, released.score_base) == ("order", "2")
    assert WinomtSettings(target="de", protocol="paper").intermediate_rounding == "published"
    assert WinomtSettings(target="de").intermediate_rounding == "exact"
    assert MucowSettings(protocol="paper").word_matching == "conditioning"
    for settings in (released, ConditionSettings(protocol="paper", ties="half")):
        assert ConditionSettings.model_validate(settings.model_dump()) == settings


def test_make_cues_has_it(babelscope: Babelscope) -> None:
    asked = ("make", "cues", "--tests", "t.jsonl", "--evaluator", "toy:1", "--candidates", "t.jsonl")
    ran = babelscope(*asked, "--protocol", "paper", "--share", "0.3")
    assert (ran.code, "--share has no effect" in ran.err) == (2, True)
