"""records.jsonl of a finished run has what depends on all items, such as the weights of `condition`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from babelscope.testsets import AmbiguousSource, TestSet
from tests.support.toy_fixtures import Babelscope

ASKED = ("condition", "--tests", "t.jsonl", "--scores", "s.tsv", "--json")


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    items = [AmbiguousSource(f"i{n}", f"a {n}", (f"r {n}",), (f"w {n}",), "c") for n in range(4)]
    TestSet("t", tuple(items)).write(tmp_path / "t.jsonl")
    (tmp_path / "s.tsv").write_text("-1\t-4\n-1\t-2\n-3\t-1\n-1\t-1.5\n")


def stored(folder: str) -> list[dict[str, Any]]:
    lines = Path(folder, "records.jsonl").read_text().split("\n")[:-1]
    return [json.loads(line) for line in lines]


def test_a_finished_run_has_weights(babelscope: Babelscope) -> None:
    ran = babelscope(*ASKED, "--out", "run", "--records", "r.jsonl")
    assert ran.code == 0, ran.err
    assert [record["weight"] for record in stored("run")] == [4, 2, 3, 1]
    first = Path("run/records.jsonl").read_bytes()
    assert babelscope(*ASKED, "--out", "run").code == 0, "gone on with, it is as it was"
    assert Path("run/records.jsonl").read_bytes() == first


def test_judged_again_it_has_the_weights_of_the_protocol(babelscope: Babelscope) -> None:
    assert babelscope(*ASKED, "--out", "run").code == 0
    again = babelscope("condition", "--rejudge", "run", "--protocol", "released", "--out", "again")
    assert again.code == 0, again.err
    assert [record["weight"] for record in stored("again")] == [4, 2, 3, 1]
