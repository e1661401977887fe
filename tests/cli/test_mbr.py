"""`babelscope mbr` and `translate --decode mbr`: choices among samples and given lists, with expected utilities."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from babelscope.metrics.mbr import expected_utility, mbr_decode
from tests.support import toys
from tests.support.toy_fixtures import Babelscope

SOURCES = ["a b", "b c", "ca"]
LIST = """0 ||| ab ab ||| -1.0
0 ||| ab cb ||| -2.0
0 ||| cb cb ||| -2.5
2 ||| ba ||| -0.5
2 ||| ab ||| -0.25
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("".join(f"{source}\n" for source in SOURCES))
    (tmp_path / "list.txt").write_text(LIST)
    (tmp_path / "alternatives.tsv").write_text("ab\tab\tcb\nba\nabc\tab c\n")


def drawn(n: int, seed: int = 0) -> list[list[str]]:
    samples = toys.ToySystem(salt="1").sample(SOURCES, n=n, seed=seed)
    return [[each.text for each in own] for own in samples]


def rows_of(out: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Lines about sources, and figures."""
    rows = [json.loads(line) for line in out.split("\n")[:-1]]
    return [row for row in rows if "source" in row], [row for row in rows if "name" in row]


def test_a_line_a_source_and_the_mean_on_stderr(babelscope: Babelscope) -> None:
    ran = babelscope("mbr", "--system", "toy:1", "--source", "in.txt", "--n", "9", "--seed", "3")
    right = [mbr_decode(texts) for texts in drawn(9, seed=3)]
    lines = [f"{each.utility:.4f}\t9\t{each.distinct}\t{each.text}" for each in right]
    assert ran.out == "\n".join(["utility\tn\tdistinct\ttranslation", *lines, ""])
    assert "expected_utility" in ran.err
    assert "mbr|aggregate:0|metric:chrf|n:9|" in ran.err


def test_several_metrics_and_systems_have_a_line_each(babelscope: Babelscope) -> None:
    asked = ("mbr", "--source", "in.txt", "--n", "7", "--metric", "ter", "--metric", "chrf++")
    right = [
        mbr_decode(texts, expected_utility(metric)) for texts in drawn(7) for metric in ("ter", "chrf++")
    ]
    lines = babelscope(*asked, "--system", "toy:1").out.split("\n")[1:-1]
    assert [line.split("\t")[0] for line in lines] == ["ter", "chrf++"] * 3
    assert [line.split("\t")[-1] for line in lines] == [each.text for each in right]
    both = babelscope(*asked, "--system", "toy:1", "--system", "toy:2").out.split("\n")
    assert both[0].split("\t")[:2] == ["system", "metric"]
    assert [line.split("\t")[0] for line in both[1:-1]] == ["toy:1"] * 6 + ["toy:2"] * 6


def test_json_has_all_that_a_number_needs(babelscope: Babelscope) -> None:
    asked = ("mbr", "--system", "toy:1", "--source", "in.txt", "--n", "9", "--json")
    lines, [figure] = rows_of(babelscope(*asked).out)
    right = [mbr_decode(texts) for texts in drawn(9)]
    for line, choice in zip(lines, right, strict=True):
        assert line["translation"]["text"] == choice.text
        assert (line["utility"], line["n"], line["tied"]) == (choice.utility, 9, choice.tied)
        assert (line["metric"], line["weights"], line["aggregate"]) == ("chrf", "count", 0)
    assert figure["value"] == pytest.approx(sum(each.utility for each in right) / 3)
    assert 0 <= figure["low"] <= figure["value"] <= figure["high"] <= 100
    assert (figure["n"], figure["candidates"], figure["skipped"]) == (3, 27, 0)
    again = rows_of(babelscope(*asked, "--aggregate", "2").out)[1][0]
    assert again["signature"] != figure["signature"]


def test_aggregation_is_the_linear_time_utility(babelscope: Babelscope) -> None:
    ran = babelscope(
        "mbr", "--system", "toy:1", "--source", "in.txt", "--n", "9", "--aggregate", "2", "--json"
    )
    right = [mbr_decode(texts, expected_utility("chrf", parts=2)) for texts in drawn(9)]
    assert [line["utility"] for line in rows_of(ran.out)[0]] == [each.utility for each in right]


def test_a_list_is_weighed_by_its_probabilities(babelscope: Babelscope) -> None:
    asked = ("mbr", "--system", "lists:?beam=list.txt", "--source", "in.txt", "--json")
    lines, [figure] = rows_of(babelscope(*asked).out)
    weights = [math.exp(each) for each in (-1.0, -2.0, -2.5)]
    right = mbr_decode(["ab ab", "ab cb", "cb cb"], expected_utility("chrf", weights=weights))
    assert (lines[0]["translation"]["text"], lines[0]["weights"]) == (right.text, "probability")
    assert lines[0]["utility"] == pytest.approx(right.utility)
    assert lines[1]["unanswered"] == "no list of this sentence"
    assert (figure["n"], figure["skipped"]) == (2, 1)
    counted = rows_of(babelscope(*asked, "--weights", "count").out)[0][0]
    assert counted["utility"] == pytest.approx(mbr_decode(["ab ab", "ab cb", "cb cb"]).utility)
    # The first of the list, as beam search has them.
    cut = rows_of(babelscope(*asked, "--n", "1").out)[0]
    assert [line["translation"] and line["translation"]["text"] for line in cut] == ["ab ab", None, "ba"]


def test_alternatives_without_log_probabilities_count_as_often_as_they_are_there(
    babelscope: Babelscope,
) -> None:
    asked = ("mbr", "--system", "file:alternatives.tsv?format=tsv", "--source", "in.txt")
    texts = [["ab", "ab", "cb"], ["ba"], ["abc", "ab c"]]
    lines = babelscope(*asked).out.split("\n")[1:-1]
    assert [line.split("\t")[3] for line in lines] == [mbr_decode(own).text for own in texts]
    assert [line.split("\t")[1] for line in lines] == ["3", "1", "2"]
    ran = babelscope(*asked, "--weights", "probability")
    assert (ran.code, "has no log-probabilities to weigh candidates by" in ran.err) == (2, True)


def test_translate_by_minimum_risk_writes_translations_only(babelscope: Babelscope) -> None:
    asked = ("translate", "--system", "toy:1", "in.txt", "--decode", "mbr", "--samples", "9", "--seed", "3")
    right = [mbr_decode(texts) for texts in drawn(9, seed=3)]
    assert babelscope(*asked).out == "".join(f"{each.text}\n" for each in right)
    rows = rows_of(babelscope(*asked, "--json").out)[0]
    assert [row["translations"][0]["text"] for row in rows] == [each.text for each in right]
    assert [(row["utility"], row["n"], row["metric"]) for row in rows] == [
        (each.utility, 9, "chrf") for each in right
    ]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("mbr", "--metric", "chfr"), "did you mean chrf?"),
        (("mbr", "--metric", "bleu", "--aggregate", "1"), "bleu has no linear-time form"),
        (("mbr", "--temperature", "0"), "a temperature is above 0"),
        (("mbr", "--system", "lists:?beam=list.txt&top=list.txt"), "name one of top= and beam="),
        (("mbr", "--system", "cmd:cat"), "mbr needs a system that"),
        (("translate", "--samples", "9"), "--samples has no effect here: it is about --decode mbr"),
        (("translate", "--decode", "mbr", "--beam", "9"), "--beam has no effect here: it is about beam"),
    ],
)
def test_bad_input_is_told(babelscope: Babelscope, arguments: tuple[str, ...], told: str) -> None:
    command, *more = arguments
    sources = ["--source", "in.txt"] if command == "mbr" else ["in.txt"]
    systems = [] if "--system" in more else ["--system", "toy:1"]
    ran = babelscope(command, *sources, *systems, *more)
    assert (ran.code, told in ran.err, ran.out) == (2, True, ""), ran.err


def test_sources_with_nothing_to_choose_among_are_told(babelscope: Babelscope) -> None:
    ran = babelscope("mbr", "--system", "file:alternatives.tsv?format=tsv", "--source", "in.txt")
    assert "has a single candidate for 1 of 3 sources" in ran.err
    assert (
        "single candidate" not in babelscope("mbr", "--system", "toy:1", "--source", "in.txt", "--n", "9").err
    )


def test_a_test_set_has_sources_and_its_ids_name_lists(babelscope: Babelscope, tmp_path: Path) -> None:
    items = [{"id": f"item-{n}", "source": source} for n, source in enumerate(SOURCES)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    asked = ("mbr", "--n", "9", "--seed", "3", "--json")
    by_tests = babelscope(*asked, "--system", "toy:1", "--tests", "a.jsonl").out
    assert by_tests == babelscope(*asked, "--system", "toy:1", "--source", "in.txt").out
    lines = [{"id": "item-2", "text": text, "logprob": -number} for number, text in enumerate(("ab", "b"), 1)]
    (tmp_path / "l.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = rows_of(babelscope(*asked, "--system", "lists:?top=l.jsonl", "--tests", "a.jsonl").out)[0]
    assert [row.get("n") for row in found] == [None, None, 2]
    (tmp_path / "r.de").write_text("a\nb\nc\n")
    told = {
        "mbr needs --source FILE or --tests TESTS": (),
        "one of the two": ("--tests", "a.jsonl", "--source", "in.txt"),
        "may need the sources, and references:r.de has none": (
            "--tests",
            "references:r.de",
            "--metric",
            "cmd:cat",
        ),
    }
    for sentence, more in told.items():
        ran = babelscope("mbr", "--system", "lists:?top=l.jsonl", *more)
        assert (ran.code, sentence in ran.err) == (2, True), ran.err
