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

SYSTEMS = ("--system", "toy:1", "--evaluator", "toy:2")
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


def test_given_translations_and_scores_need_no_system(babelscope: Babelscope, tmp_path: Path) -> None:
    arguments = ("condition", "--tests", "t.jsonl", *GIVEN, "--records", "records.jsonl", "--json")
    rows = rows_of(babelscope(*arguments).out)
    assert (rows["all"]["value"], rows["all"]["n"], rows["all"]["ties"]) == (0.75, 4, 1)
    # male .9, .45: weights 2, 1; female .6, .5: both count as correct.
    assert rows["male"]["value"] == pytest.approx(2 / 3)
    assert rows["male"]["category"] == "male"
    assert rows["female"]["value"] == 1
    assert rows["weighted"]["value"] == pytest.approx(5 / 6)
    assert (rows["minimum"]["value"], rows["minimum"]["lowest"]) == (pytest.approx(2 / 3), "male")
    assert rows["all"]["system"] == "given.txt"
    assert rows["all"]["evaluator"] == "scores.tsv"
    records = read_rows(tmp_path / "records.jsonl")
    # Found by source, not by line.
    assert [record["translation"] for record in records] == ["a", "b", "c", "a"]
    assert [record["score"] for record in records] == pytest.approx(PROBABILITIES)
    assert [record["weight"] for record in records] == [2, 2, 1, 1]
    assert rows_of(babelscope(*arguments, "--ties", "wrong").out)["all"]["value"] == 0.5
    alone = babelscope("condition --tests t.jsonl --json", *ITEMS, *SCORES)
    assert rows_of(alone.out)["all"]["value"] == 0.75


def test_records_say_what_agreement_needs(babelscope: Babelscope, tmp_path: Path) -> None:
    item = AmbiguousSource("1", "a", ("r",), ("w",), "c", extra={"word": "pen", "corpus": "k", "more": 1})
    TestSet("t", (item, AmbiguousSource("2", "b", (), (), "c"))).write(tmp_path / "t.jsonl")
    for scores, correct in (("-1\t-2", True), ("-2\t-1", False), ("-1\t-1", None)):
        (tmp_path / "scores.tsv").write_text(f"{scores}\n-1\t-2\n")
        ran = babelscope("condition --tests t.jsonl --ties half --records r.jsonl", *ITEMS, *SCORES)
        assert ran.code == 0, ran.err
        record = json.loads((tmp_path / "r.jsonl").read_text().split("\n")[0])
        assert (record["correct"], record["word"], record["corpus"]) == (correct, "pen", "k")
        assert "more" not in record
    asked = babelscope("condition --tests t.jsonl", *SYSTEMS, "--records", "r.jsonl", "--json")
    assert asked.code == 0
    first, second = read_rows(tmp_path / "r.jsonl")
    assert first["correct"] == (first["verdict"] == "correct")
    assert (second["correct"], second["skipped"], second["weight"]) == (None, "no cue", None)


def test_given_translations_with_an_evaluator(babelscope: Babelscope, tmp_path: Path) -> None:
    arguments = ("condition", "--tests", "t.jsonl", *FILE, "--evaluator", "toy:2")
    rows = rows_of(babelscope(*arguments, "--json").out)
    assert (rows["all"]["n"], rows["all"]["given"]) == (4, 4)
    (tmp_path / "given.txt").write_text("a 1 ||| a\n")
    ran = babelscope(*arguments, "--json")
    assert (ran.code, ran.out) == (2, "")
    assert "given.txt has no translation of 'a 0' (item i0; 3 of 4 in the test set t are missing)" in ran.err
    rows = rows_of(babelscope("condition --tests t.jsonl --evaluator toy:2 --json", *SKIPPING).out)
    assert (rows["all"]["n"], rows["all"]["skipped"]) == (1, 3)


def test_the_least_certain_items_are_listed_with_both_scores(babelscope: Babelscope) -> None:
    asked = ("condition --tests t.jsonl", *GIVEN, "--least-certain", "2", "--table", "least-certain")
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


def test_the_first_table_has_error_rates_and_what_is_known_of_the_evaluator(babelscope: Babelscope) -> None:
    ran = babelscope("condition --tests t.jsonl", *GIVEN)
    lines = [line.split() for line in ran.out.split("\n")]
    worst = next(line for line in lines if line[:4] == ["error", "rate,", "worst", "category"])
    assert worst[4:6] == ["4", "33.3"], "1 - the accuracy of male"
    assert worst[-2:] == ["unknown", "unknown"], "nothing could be asked of stored scores"
    assert "it is not known if the evaluator can judge: it was not tested" in " ".join(ran.out.split())


@pytest.mark.parametrize("asked", [GIVEN, (*ITEMS, *SCORES), (*FILE, "--evaluator", "toy:2")])
def test_what_is_given_is_kept_resumed_judged_again_and_reported(
    babelscope: Babelscope, tmp_path: Path, asked: tuple[str, ...]
) -> None:
    arguments = ("condition", "--tests", "t.jsonl", *asked, "--json")
    plain, kept = rows_of(babelscope(*arguments).out), babelscope(*arguments, "--out", "run")
    assert kept.code == 0, kept.err
    for name, row in rows_of(kept.out).items():
        same = row.keys() - {"tests", "signature"}
        assert {key: row[key] for key in same} == {key: plain[name][key] for key in same}
    records = (tmp_path / "run" / "records.jsonl").read_bytes()
    (tmp_path / "run" / "records.jsonl").write_bytes(records[:-9])  # as if killed
    (tmp_path / "run" / "summary.json").unlink()
    assert babelscope(*arguments, "--out", "run").out == kept.out
    assert (tmp_path / "run" / "records.jsonl").read_bytes() == records
    again = babelscope("condition --rejudge run --ties wrong --json")
    assert rows_of(again.out)["all"]["n"] == 4
    assert babelscope("report run -o page.html").code == 0


def test_items_without_a_translation_are_left_out_beside_stored_scores(
    babelscope: Babelscope, tmp_path: Path
) -> None:
    (tmp_path / "given.txt").write_text("a 1 ||| b\na 3 ||| d\n")
    ran = babelscope("condition --tests t.jsonl", *SKIPPING, *SCORES, "--json", "--records", "r.jsonl")
    assert ran.code == 0, ran.err
    assert (rows_of(ran.out)["all"]["n"], rows_of(ran.out)["all"]["skipped"]) == (2, 2)
    records = read_rows(tmp_path / "r.jsonl")
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


@pytest.mark.parametrize("system", ["aws", "google"])
def test_winomt_translations_are_found_in_any_order(
    babelscope: Babelscope, shared: Path, tmp_path: Path, system: str
) -> None:
    winomt = shared / "data" / "winomt"
    path = winomt / "translations" / f"{system}.en-de.txt"
    lines = path.read_text().split("\n")[:-1]
    (tmp_path / "reversed.txt").write_text("\n".join(reversed(lines)) + "\n")
    tests = load(f"winomt:{winomt / 'test.tsv'}")
    (tmp_path / "scores.tsv").write_text("".join(f"-{1 + n % 3}\t-{1 + n % 5}\n" for n in range(len(tests))))
    arguments = ("condition", "--tests", f"winomt:{winomt / 'test.tsv'}", *SCORES, "--json")
    given = [
        babelscope(*arguments, "--system", f"file:{each}?format=auto", "--records", "records.jsonl")
        for each in (str(path), "reversed.txt")
    ]
    assert all(ran.code == 0 for ran in given)
    first, second = (rows_of(ran.out) for ran in given)
    assert (first["all"]["n"], first["all"]["skipped"]) == (3648, 240)
    assert first["all"]["value"] == second["all"]["value"]
    assert (first["male"]["n"], first["female"]["n"]) == (1826, 1822)


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
        "--system", f"file:{winomt / 'translations' / 'aws.en-de.txt'}?format=auto", "--records", "verdicts.jsonl"
    )  # fmt: skip
    assert ran.code == 0, ran.err
    annotator = people / "en-de.annotator1.jsonl"
    Path("copy.jsonl").write_text(annotator.read_text())
    files = ("--task", "winomt", str(annotator), "copy.jsonl", "--verdicts", "verdicts.jsonl")
    rows = babelscope("agreement", *files, "--json").rows
    found = [row for row in rows if row.get("verdicts") == "verdicts"]
    assert [row["weighting"] for row in found] == ["none", "category"]
    for row in found:
        assert (row["value"], row["judgments"], row["unknown"], row["missing"]) == (1, 2 * len(said), 0, 0)
