"""Context that systems do not read is warned of, and rows say so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.toy_fixtures import Ran

SYSTEM = "toy:1?alphabet=ab&limit=5"


@pytest.fixture
def tests(tmp_path: Path) -> str:
    """Three items, of which two have context, and one has an empty list of it."""
    items: list[dict[str, Any]] = [
        {"id": str(n), "source": f"s {n}", "reference": "ab", "context_source": context}
        for n, context in enumerate([["a dog ."], ["a cat .", "it sleeps ."], []])
    ]
    (tmp_path / "tests.jsonl").write_text("".join(json.dumps(each) + "\n" for each in items))
    return "tests.jsonl"


def labels_of(ran: Ran) -> set[int | None]:
    return {row.get("context") for row in ran.rows}


def test_each_system_is_warned_of_once(babelscope, tests):
    asked = ["quality", "--tests", tests, "--system", SYSTEM, "--json"]
    ran = babelscope(*asked, "--out", "run")
    assert labels_of(ran) == {0}
    assert ran.err.count("toy:1") == 1
    assert "warning: toy:1 does not read context: 2 items of tests are asked without theirs" in ran.err
    again = babelscope("quality", "--rejudge", "run", "--metric", "bleu", "--json")
    assert labels_of(again) == {0}, "the answers are the same"
    assert "context" not in again.err, "nobody is asked"
    for number in ("1", "2"):
        study = Path("study.toml")
        study.write_text(
            f"""[study]\nname = "c"\n[[systems]]\nspec = "{SYSTEM}"\n[[tests]]\nspec = "{tests}"\n"""
            """[[methods]]\nname = "quality"\n[run]\nchunk = 2\n"""
        )
        assert babelscope("run", "study.toml", "--shard", f"{number}/2", "--out", f"part{number}").code == 0
    assert babelscope("run", "--merge", "part1", "part2", "--out", "whole").code == 0
    rows = json.loads(Path("whole/summary.json").read_text())["rows"]
    assert {row["context"] for row in rows} == {0}


def test_without_context_nothing_changes(babelscope, tmp_path):
    (tmp_path / "tests.jsonl").write_text('{"id": "1", "source": "s", "reference": "ab"}\n')
    ran = babelscope("quality", "--tests", "tests.jsonl", "--system", SYSTEM, "--json")
    assert labels_of(ran) == {None}
    assert "context" not in ran.err


def test_of_answers_made_elsewhere_nobody_knows(babelscope, tests, tmp_path):
    (tmp_path / "out.txt").write_text("ab\nba\naa\n")
    ran = babelscope("quality", "--tests", tests, "--system", "file:out.txt", "--json")
    assert labels_of(ran) == {None}
    assert "context" not in ran.err


def test_the_cache_tells_contexts_apart(babelscope):
    """The items of a group have one source and differ in their context alone."""
    asked = ["contrast", "--tests", "lab:pronouns?n=9&seed=3", "--discrepancy", "none", "--format", "json"]

    def errors(spec: str, *more: str) -> float:
        rows = babelscope(*asked, "--system", spec, *more).rows
        return next(1 - row["value"] for row in rows if row["name"] == "pronoun")

    for reads, wrong in ((0, 6), (1, 4), (3, 0)):
        spec = f"lab:context?context={reads}&context_target=no"
        found = [errors(spec, "--no-cache"), errors(spec, "--cache"), errors(spec, "--cache")]
        assert found == pytest.approx([wrong / 9] * 3), spec
