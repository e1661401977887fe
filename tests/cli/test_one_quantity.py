"""One quantity has one name and one direction, however it is asked for, and a difference is that of two figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from babelscope.testsets import MinimalPair, TestSet
from tests.support.toy_fixtures import Babelscope


def rows_of(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.parametrize("tests", ["t.jsonl", "tsv:t.tsv", "parallel:a.en,a.de"])
def test_names_do_not_depend_on_out(tests: str, babelscope: Babelscope, tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"id": "1", "source": "a", "reference": "b"}\n')
    (tmp_path / "t.tsv").write_text("a\tb\n")
    (tmp_path / "a.en").write_text("a\n")
    (tmp_path / "a.de").write_text("b\n")
    (tmp_path / "mine.txt").write_text("b\n")
    asked = ("quality", "--tests", tests, "--system", "file:mine.txt", "--json")
    plain, stored = rows_of(babelscope(*asked).out), rows_of(babelscope(*asked, "--out", "run").out)
    assert plain
    assert plain == stored


def test_a_summary_by_a_field_says_that_it_counts_errors(babelscope: Babelscope, tmp_path: Path) -> None:
    pairs = [
        MinimalPair(
            str(n), f"s {n}", "ab", ("ba",), "swap", "human", extra={"domain": "news" if n % 2 else "chat"}
        )
        for n in range(12)
    ]
    TestSet("t", tuple(pairs)).write(tmp_path / "t.jsonl")
    # Right in a quarter of the pairs of each domain.
    (tmp_path / "scores").write_text("".join(f"1\t{2 - 2 * (n // 2 % 3 == 0)}\n" for n in range(12)))
    asked = (
        "contrast",
        "--tests",
        "t.jsonl",
        "--scores",
        "scores",
        "--direction",
        "higher",
        "--by",
        "domain",
    )
    rows = [row for row in rows_of(babelscope(*asked, "--json").out) if row["name"] == "swap"]
    accuracies = {row["domain"]: row["value"] for row in rows if "domain" in row}
    told = babelscope(*asked).out
    assert accuracies == {"chat": pytest.approx(1 / 3), "news": pytest.approx(1 / 3)}
    for domain in accuracies:
        (line,) = (line for line in told.splitlines() if f"domain {domain}" in line)
        assert "66.7 %" in line
        assert "error preferred: swap" in line
