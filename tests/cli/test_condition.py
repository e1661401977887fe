"""`babelscope condition`: systems, given translations and given scores, judged from the command line."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest

from babelscope import load
from babelscope.testsets import AmbiguousSource, TestSet
from tests.support.toy_fixtures import Babelscope, read_rows

FILE = ("--system", "given.txt=file:given.txt?format=auto")
SCORES = ("--evaluator", "scores:scores.tsv")
GIVEN = (*FILE, *SCORES)
SKIPPING = ("--system", "given.txt=file:given.txt?format=auto&missing=skip")
ITEMS = ("--system", "items:translations")
PROBABILITIES = [0.9, 0.6, 0.45, 0.5]


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    items = [
        AmbiguousSource(f"i{n}", f"a {n}", (f"r {n}", f"s {n}"), (f"w {n}",), "female" if n % 2 else "male")
        for n in range(4)
    ]
    TestSet("t", tuple(items)).write(tmp_path / "t.jsonl")
    (tmp_path / "given.txt").write_text("".join(f"a {n} ||| {'abca'[n]}\n" for n in (2, 0, 3, 1)))
    (tmp_path / "scores.tsv").write_text(
        "".join(f"{math.log(p)!r}\t{math.log(1 - p)!r}\n" for p in PROBABILITIES)
    )


def rows_of(out: str) -> dict[str, dict[str, Any]]:
    rows = [json.loads(line) for line in out.split("\n")[:-1]]
    return {row["name"]: row for row in rows if row["name"] != "confidence"}


def test_the_least_certain_items_are_listed_with_both_scores(babelscope: Babelscope) -> None:
    asked = ("condition --tests t.jsonl", *GIVEN, "--set", "least_certain=2", "--table", "least-certain")
    lines = [
        line for line in csv.reader(babelscope(*asked, "--format", "csv").out.splitlines()) if len(line) > 9
    ]
    header, *listed = lines
    found = [dict(zip(header, line, strict=True)) for line in listed if len(line) == len(header)]
    assert [(each["item"], each["verdict"], float(each["right of both"])) for each in found] == [
        ("i3", "correct", 0.5), ("i2", "wrong", pytest.approx(0.45)),
    ]  # fmt: skip
    for each in found:
        right, wrong = float(each["score, right cue"]), float(each["score, wrong cue"])
        assert right / (right + wrong) == pytest.approx(float(each["right of both"]))
    assert "Least certain" not in babelscope("condition --tests t.jsonl", *GIVEN, "--all").out


def test_items_without_a_translation_are_left_out_beside_stored_scores(
    babelscope: Babelscope, tmp_path: Path
) -> None:
    (tmp_path / "given.txt").write_text("a 1 ||| b\na 3 ||| d\n")
    ran = babelscope("condition --tests t.jsonl", *SKIPPING, *SCORES, "--json", "--out", "r")
    assert ran.code == 0, ran.err
    assert (rows_of(ran.out)["all"]["n"], rows_of(ran.out)["all"]["skipped"]) == (2, 2)
    records = read_rows(tmp_path / "r" / "records.jsonl")
    found = {record["id"]: record.get("score") for record in records}
    assert found == {"i1": pytest.approx(0.6), "i3": pytest.approx(0.5), "i0": None, "i2": None}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            (*ITEMS, "--evaluator", "toy:2"),
            "item i0: the source has no translation, and there is no system to ask",
        ),
        (("--evaluator", "toy:2", "--system", "file:no.txt?format=auto"), "no.txt: no such file"),
        ((*ITEMS, "--evaluator", "scores:given.txt"), "given.txt has no tabs"),
        (("--system", "toy:1", "--evaluator", "nan:1"), "must be a natural log"),
    ],
)
def test_bad_usage_is_told_in_a_sentence(
    babelscope: Babelscope, arguments: tuple[str, ...], told: str
) -> None:
    ran = babelscope("condition --tests t.jsonl --json", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert ran.err.count("\n") == 1


def test_verdicts_can_be_held_against_annotators(
    babelscope: Babelscope, shared: Path, tmp_path: Path
) -> None:
    """An evaluator that says what the first annotator says agrees with her throughout."""
    winomt, people = (shared / "data" / name for name in ("winomt", "human-validation/winomt"))
    said = {}
    for line in (people / "en-de.annotator1.jsonl").read_text().split("\n")[:-1]:
        record = json.loads(line)
        gold, label = record["Gold Gender"].title(), record["label"][0]
        said[str(int(record["Index"]) + 1)] = label in (gold, "Both / Neutral / Ambiguous")
    tests = load(f"winomt:{winomt / 'test.tsv'}")
    (tmp_path / "scores.tsv").write_text(
        "".join(f"{item.id}\t{-1 if said.get(item.id, True) else -2}\t-1.5\n" for item in tests)
    )
    ran = babelscope(
        "condition --tests", f"winomt:{winomt / 'test.tsv'}", *SCORES, "--json",
        "--system", f"file:{winomt / 'translations' / 'aws.en-de.txt'}?format=auto", "--out", "verdicts"
    )  # fmt: skip
    assert ran.code == 0, ran.err
    annotator = people / "en-de.annotator1.jsonl"
    Path("copy.jsonl").write_text(annotator.read_text())
    files = ("--task", "winomt", str(annotator), "copy.jsonl", "--verdicts", "verdicts")
    rows = babelscope("agreement", *files, "--json").rows
    found = [row for row in rows if row.get("verdicts") == "verdicts"]
    assert [row["weighting"] for row in found] == ["none", "category"]
    for row in found:
        assert (row["value"], row["judgments"], row["unknown"], row["missing"]) == (1, 2 * len(said), 0, 0)
