"""`babelscope sample`: samples in the order drawn, tab-separated or as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from babelscope.metrics.mbr import expected_utility, mbr_decode
from tests.support import toys
from tests.support.toy_fixtures import Babelscope

SOURCES = ["a b", "b c", "ca"]


@pytest.fixture(autouse=True)
def sources(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("".join(f"{source}\n" for source in SOURCES))


def test_a_line_a_source_and_its_samples_between_tabs(babelscope: Babelscope) -> None:
    right = toys.ToySystem(salt="1").sample(SOURCES, n=5, seed=7)
    expected = "".join("\t".join(each.text for each in drawn) + "\n" for drawn in right)
    asked = ("sample", "--system", "toy:1", "--n", "5", "--seed", "7")
    assert babelscope(*asked, "--source", "in.txt").out == expected
    assert babelscope(*asked, "--source", "-", stdin=b"a b\nb c\nca\n").out == expected
    assert babelscope("sample", "--system", "toy:1", "--n", "5", "--source", "in.txt").out != expected
    both = babelscope(*asked, "--system", "toy:2", "--source", "in.txt").out.split("\n")[:-1]
    assert [line.split("\t")[0] for line in both] == ["toy:1"] * 3 + ["toy:2"] * 3


def test_json_has_scores_and_counts_what_did_not_end(babelscope: Babelscope) -> None:
    ran = babelscope("sample", "--system", "toy:1?limit=2", "--n", "9", "--source", "in.txt", "--json")
    right = toys.ToySystem(salt="1", limit=2).sample(SOURCES, n=9, seed=0)
    rows = [json.loads(line) for line in ran.out.split("\n")[:-1]]
    assert [(row["source"], row["n"], row["seed"]) for row in rows] == [(each, 9, 0) for each in SOURCES]
    for row, drawn in zip(rows, right, strict=True):
        assert [each["text"] for each in row["samples"]] == [each.text for each in drawn]
        assert [each["total"] for each in row["samples"]] == [each.total for each in drawn]
        assert row["unfinished"] == sum("unfinished" in each.notes for each in drawn)
    unfinished = sum(row["unfinished"] for row in rows)
    assert unfinished
    assert ran.err == f"babelscope: samples with notes: {unfinished} unfinished\n"


def test_the_sample_of_least_risk_by_each_metric(babelscope: Babelscope) -> None:
    asked = (
        "sample",
        "--system",
        "toy:1",
        "--n",
        "9",
        "--source",
        "in.txt",
        "--metric",
        "chrf",
        "--metric",
        "ter",
    )
    right = [
        [mbr_decode([each.text for each in drawn], expected_utility(metric)) for metric in ("chrf", "ter")]
        for drawn in toys.ToySystem(salt="1").sample(SOURCES, n=9, seed=0)
    ]
    expected = "".join("\t".join(choice.text for choice in choices) + "\n" for choices in right)
    assert babelscope(*asked).out == expected
    rows = [json.loads(line) for line in babelscope(*asked, "--json").out.split("\n")[:-1]]
    for row, (by_chrf, by_ter) in zip(rows, right, strict=True):
        assert row["chosen"]["chrf"] == asdict(by_chrf)
        assert row["samples"][row["chosen"]["ter"]["number"]]["text"] == by_ter.text


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--metric", "chfr"), "did you mean chrf?"),
        (("--n", "0"), "'--n'"),
        (("--temperature", "0"), "a temperature is above 0, not 0.0"),
        (("--top-p", "1.5"), "top-p is above 0 and at most 1, not 1.5"),
        (("--temperature", "2"), "draws from its whole distribution only"),
        (("--system", "file:in.txt?source=in.txt"), "file:in.txt"),
    ],
)
def test_bad_input_is_told(babelscope: Babelscope, arguments: tuple[str, ...], told: str) -> None:
    ran = babelscope("sample", "--system", "toy:1", "--source", "in.txt", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


def test_a_real_model_says_the_same_again(babelscope: Babelscope, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("The old man reads a book.\n")
    asked = ("sample", "--system", "lab:teacher", "--source", "in.txt", "--n", "6", "--temperature", "1.2")
    first = babelscope(*asked, "--cache").out
    assert first.count("\t") == 5
    assert babelscope(*asked).out == first
