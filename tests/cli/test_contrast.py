"""`babelscope contrast`: systems and score files to rows, tables, records and run folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.toy_fixtures import Babelscope

PAIRS = [
    ("a b", "ab", "ba", "clause_omission", "human"),
    ("b c", "bc", ["cb", "cc"], "clause_omission", "machine"),
    ("b c", "b", "c", "placeholder_ding", "human"),
    ("c", "ca", "ac", "placeholder_ding", "human"),
    ("ca", "ca", "ac", "clause_omission", "human"),
]
TESTS = ("--tests", "pairs.jsonl")
SCORES = ("--system", "scores:scores?layout=interleaved")


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    names = ("source", "correct", "contrastive", "phenomenon", "reference")
    lines = [{"id": str(n), **dict(zip(names, pair, strict=True))} for n, pair in enumerate(PAIRS)]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_the_papers_table(babelscope: Babelscope) -> None:
    asked = ("contrast", "--system", "toy:1", "--system", "toy:2", *TESTS)
    ran = babelscope(*asked, "--table", "paper", "--format", "csv", "--set", "detect_in_output=no")
    assert (ran.code, ran.err) == (0, "")
    lines = [line for line in ran.out.split("\n") if not line.startswith("#")]
    assert [line.split(",")[:2] for line in lines[:4]] == [
        ["phenomenon", "reference"],
        ["clause_omission", "human"],
        ["clause_omission", "machine"],
        ["placeholder_ding", "human"],
    ]
    assert all(each in lines[0] for each in ("accuracy", "discrepancy", "toy:1", "toy:2"))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            (*TESTS, "--system", "scores:eleven?layout=interleaved", "--set", "detect_in_output=yes"),
            "score files have no translations",
        ),
        ((*TESTS, "--system", "toy:1", "--table", "none"), "there is no table 'none' here"),
        ((*TESTS, *SCORES), "scores has 1 lines; the test set pairs has 5 items"),
        ((*TESTS, *SCORES, *SCORES), "two systems are called"),
        (("--tests", "tsv:t.tsv", "--system", "toy:1"), "contrast judges MinimalPair items"),
        ((*TESTS, "--system", "mute:1"), "mute gave 10 answers to 11 questions"),
    ],
)
def test_bad_usage_is_told(
    babelscope: Babelscope, tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    for name in ("a", "b", "scores"):
        (tmp_path / name).write_text("1\n")
    (tmp_path / "eleven").write_text("1\n" * 11)
    (tmp_path / "t.tsv").write_text("a\tb\n")
    ran = babelscope("contrast", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert ran.err.count("\n") == 1


EQUAL = {"source": "a b", "correct": "ab", "phenomenon": "swap", "reference": "human"}


def test_a_variant_equal_to_the_correct_translation_is_an_error_that_names_the_item(
    babelscope: Babelscope, tmp_path: Path
) -> None:
    pairs = [
        {**EQUAL, "id": "good", "contrastive": "ba"},
        {**EQUAL, "id": "bad", "contrastive": ["ba", "ab"]},
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(each) + "\n" for each in pairs))
    ran = babelscope("contrast --system toy:1", "--tests", "pairs.jsonl")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(
        "babelscope: error: pairs.jsonl:2: item 'bad' has a contrastive translation that"
    )
    assert ran.err.count("\n") == 1
