"""Figures by a field of the items stand beside those over all items, and are never taken for them."""

from __future__ import annotations

import json

import pytest

from babelscope.core.results import Row
from babelscope.runs.compare import group_runs
from babelscope.runs.execute import run_method
from babelscope.runs.reading import read_run, results_of_run
from babelscope.testsets.items import MinimalPair, ParallelSentence
from babelscope.util.errors import BabelscopeError
from tests.support.toys import ToySystem

PAIRS = [
    MinimalPair(
        str(n), f"s {n}", "ab", ("ba",), "swap", "human", extra={"domain": "news" if n % 2 else "chat"}
    )
    for n in range(6)
]


def by_domain(rows: list[Row]) -> list[object]:
    return [row.labels.get("domain") for row in rows if row.name == "all"]


def test_every_figure_is_told_for_each_value():
    result = run_method("contrast", ToySystem(), PAIRS, by=("domain",))
    assert by_domain(list(result.rows)) == [None, "chat", "news"]
    assert [row.estimate.n for row in result.rows if row.name == "all"] == [6, 3, 3]
    assert [row.is_part for row in result.rows if row.name == "all"] == [False, True, True]
    whole = run_method("contrast", ToySystem(), PAIRS)
    assert list(whole.rows) == [row for row in result.rows if not row.is_part]


def test_a_field_that_no_item_has_is_refused_with_those_there_are():
    with pytest.raises(BabelscopeError, match=r"no field 'domian'; fields are length, .*domain"):
        run_method("contrast", ToySystem(), PAIRS, by=("domian",))


def test_by_length_items_are_in_quarters():
    items = [ParallelSentence(str(n), "a" * (n + 1), ("b",)) for n in range(8)]
    result = run_method("likelihood", ToySystem(), items, by=("length",))
    found = [row.labels["length"] for row in result.rows if row.is_part and row.name == "perplexity"]
    assert found == [f"{n}-{n + 1} characters" for n in (1, 3, 5, 7)]


def test_a_number_and_a_text_of_the_same_digits_are_kept_apart(babelscope, tmp_path):
    values = [1, "1", 2, "1", True, "True"]
    lines = [{**pair.as_json(), "turn": value} for pair, value in zip(PAIRS, values, strict=True)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    asked = ("contrast", "--tests", "t.jsonl", "--system", "toy:1", "--group-by", "turn", "--json")
    rows = [row for row in babelscope(*asked).rows if row["name"] == "all"]
    sizes = {row["turn"]: row["n"] for row in rows if "turn" in row}
    assert sizes == {"1": 1, '"1"': 2, "2": 1, "true": 1, '"True"': 1}


def test_figures_by_a_field_stand_beside_those_of_all_items(babelscope, tmp_path):
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(pair.as_json()) + "\n" for pair in PAIRS))
    asked = ("contrast", "--tests", "t.jsonl", "--system", "toy:1")
    plain = babelscope(*asked, "--out", "plain").out
    split = babelscope(*asked, "--out", "split", "--group-by", "domain").out
    assert "news" not in plain
    assert "domain news: " in split
    runs = [read_run(tmp_path / name) for name in ("plain", "split")]
    without, with_parts = (results_of_run(run)[0] for run in runs)
    assert without.rows == with_parts.rows
    (group,) = group_runs(runs[1:])
    assert {row.labels.get("domain") for row in group.results[0].figures.values()} == {None, "news", "chat"}


def test_in_a_study_a_test_set_may_lack_the_field(babelscope, tmp_path):
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(pair.as_json()) + "\n" for pair in PAIRS))
    (tmp_path / "u.tsv").write_text("a\tb\n")
    (tmp_path / "study.toml").write_text(
        '[study]\nby = ["domain"]\n[[systems]]\nspec = "toy:1"\n[[tests]]\nspec = "t.jsonl"\n[[tests]]\n'
        'spec = "tsv:u.tsv"\n[[methods]]\nname = "contrast"\n[[methods]]\nname = "likelihood"\n'
    )
    parts = [row for row in babelscope("run", "study.toml", "--json", "--no-report").rows if "by" in row]
    assert {(row["method"], row["by"], row["domain"]) for row in parts} == {
        ("contrast", "domain", "chat"), ("contrast", "domain", "news"),
    }  # fmt: skip
