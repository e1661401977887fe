"""Stored systems are held against the whole test set, and belong to one, before anything is asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from babelscope.core.results import Record
from babelscope.runs.shards import merge
from babelscope.runs.study import run_study
from babelscope.testsets import AmbiguousSource, MinimalPair, TestSet
from babelscope.util.errors import BabelscopeError
from tests.support.same_runs import assert_same
from tests.support.toy_fixtures import read_rows

TEXTS = ["ab", "ba", "c", "a", "b", "ca"]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, toy_schemes: None) -> None:  # noqa: ARG001
    for name, sign in (("one", "a"), ("two", "b")):
        items = [
            AmbiguousSource(f"{n}", f"{sign} {n}", (f"r {n}",), (f"w {n}",), "male")
            for n in range(len(TEXTS))
        ]
        TestSet(name, tuple(items)).write(tmp_path / f"{name}.jsonl")
    write(tmp_path / "whole.txt", TEXTS)
    write(tmp_path / "half.txt", TEXTS[:3])
    write(tmp_path / "reversed.txt", TEXTS[::-1])
    write(tmp_path / "columns.tsv", [f"-{n + 1}\t-3.5" for n in range(6)])


def write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines))


def study(
    folder: Path, spec: str, *tests: str, run: str = "", evaluator: str = "toy:2", more: str = ""
) -> Path:
    sets = "".join(f'[[tests]]\nname = "{name}"\nspec = "{name}.jsonl"\n' for name in tests)
    (folder / "study.toml").write_text(
        f'[[systems]]\nname = "stored"\nspec = {spec}\n{more}{sets}'
        f'[[methods]]\nname = "condition"\nevaluator = "{evaluator}"\n[run]\n{run}\n'
    )
    return folder / "study.toml"


def records(folder: Path) -> list[Record]:
    return read_rows(folder / "records.jsonl")


LISTS = [json.dumps({"id": n, "text": "a"}) for n in range(7)]
TWO = ("one", "two")
TWO_SETS = "has one line per item and no sources, .* both one and two"


@pytest.mark.parametrize("shard", [None, "2/2"])
@pytest.mark.parametrize(
    ("spec", "lines", "tests", "told"),
    [
        ("file:own.txt", TEXTS[:3], TWO[:1], "translations of 3 sources, but the test set one has 6"),
        (
            "file:own.txt?format=auto",
            TEXTS[:3],
            TWO[:1],
            "translations of 3 sources, but the test set one has 6",
        ),
        (
            "file:own.txt",
            [*TEXTS, ""],
            TWO[:1],
            "7 sources, but the test set one has 6; its last line is empty",
        ),
        ("lists:own.txt?format=jsonl", LISTS[:3], TWO[:1], "translations of 3 sources, but the test set"),
        ("lists:own.txt?format=jsonl", LISTS, TWO[:1], "translations of 7 sources, but the test set"),
        (
            "file:own.txt?format=tsv",
            [f"a {n}\t{text}" for n, text in enumerate(TEXTS)],
            TWO[:1],
            "the first column has the sources of the test set one",
        ),
        (
            "file:own.txt",
            ['{"source": "a 0", "translation": "ab"}'] * 6,
            TWO[:1],
            "own.txt:1 is JSON, no translation: .*format=log",
        ),
        (
            "file:own.txt?format=log",
            ['{"text": "ab"}'] * 6,
            TWO[:1],
            "own.txt:1: field 'source' must be text",
        ),
        ("file:own.txt", TEXTS, TWO, TWO_SETS),
    ],
)
def test_a_file_that_does_not_fit_is_refused_before_any_work(tmp_path, spec, lines, tests, told, shard):
    write(tmp_path / "own.txt", lines)
    # The live system before it would be asked first.
    first = '[[systems]]\nspec = "toy:1?log=asked.txt"\n'
    path = study(tmp_path, json.dumps(spec), *tests, run="chunk = 3", more=first)
    with pytest.raises(BabelscopeError, match=told):
        run_study(path, out=tmp_path / "run", shard=shard)
    assert not (tmp_path / "asked.txt").exists()
    assert not (tmp_path / "run").exists()


def test_so_are_the_scores_of_an_evaluator(tmp_path):
    path = study(tmp_path, '"items:translations"', *TWO, evaluator="scores:columns.tsv")
    with pytest.raises(BabelscopeError, match=f"columns.tsv {TWO_SETS}"):
        run_study(path, out=tmp_path / "run")


@pytest.mark.parametrize("evaluator", ["toy:2", "scores:columns.tsv"])
def test_in_chunks_and_shards_every_item_has_its_own_line(tmp_path, evaluator):
    path = study(tmp_path, '"file:whole.txt"', "one", run="chunk = 2", evaluator=evaluator)
    run_study(path, out=tmp_path / "run")
    found = records(tmp_path / "run")
    assert [record["translation"] for record in found] == TEXTS
    if evaluator != "toy:2":
        assert [record["correct_logprob"] for record in found] == [-1, -2, -3, -4, -5, -6]
    shards = [tmp_path / f"shard-{n}" for n in (1, 2)]
    for number, shard in enumerate(shards, 1):
        run_study(path, out=shard, shard=f"{number}/2")
    merge(shards, tmp_path / "merged")
    assert_same(tmp_path / "run", tmp_path / "merged")


def test_a_file_a_test_set_answers_its_own(tmp_path):
    path = study(
        tmp_path, '{one = "file:whole.txt", two = "file:reversed.txt"}', "one", "two", run="chunk = 4"
    )
    run_study(path, out=tmp_path / "run")
    assert [each["translation"] for each in records(tmp_path / "run")] == [*TEXTS, *TEXTS[::-1]]
    path = study(tmp_path, '{one = "file:whole.txt", two = "file:half.txt"}', "one", "two")
    with pytest.raises(
        BabelscopeError, match=r"half.txt has translations of 3 sources, but the test set two has 6"
    ):
        run_study(path, out=tmp_path / "other")


def test_a_file_with_sources_is_found_by_them_and_must_have_all(tmp_path):
    lines = [{"source": f"{sign} {n}", "translation": text} for sign in "ab" for n, text in enumerate(TEXTS)]
    write(tmp_path / "both.jsonl", [json.dumps(line) for line in reversed(lines)])
    run_study(study(tmp_path, '"file:both.jsonl"', "one", "two"), out=tmp_path / "run")
    assert [each["translation"] for each in records(tmp_path / "run")] == TEXTS * 2
    write(tmp_path / "less.jsonl", [json.dumps(line) for line in lines[:-2]])
    with pytest.raises(
        BabelscopeError, match=r"less.jsonl has no translation of 'b 4' \(item 4; 2 of 6 in the test set two"
    ):
        run_study(study(tmp_path, '"file:less.jsonl"', "one", "two"), out=tmp_path / "other")


def test_translate_asks_in_batches_but_reads_the_whole_file(babelscope, tmp_path):
    write(tmp_path / "input", [f"a {n}" for n in range(512)])
    write(tmp_path / "output", [f"b {n}" for n in range(512)])
    assert (
        babelscope("translate", "--system", "file:output", "input").out == (tmp_path / "output").read_text()
    )
    write(tmp_path / "output", [f"b {n}" for n in range(256)])  # as many as are asked at once
    ran = babelscope("translate", "--system", "file:output", "input")
    assert (ran.code, ran.out) == (2, "")
    assert "output has translations of 256 sources, but input has 512" in ran.err


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path):
    (tmp_path / "whole.txt").write_bytes(b"\xef\xbb\xbf" + (tmp_path / "whole.txt").read_bytes())
    run_study(study(tmp_path, '"file:whole.txt"', "one"), out=tmp_path / "run")
    assert records(tmp_path / "run")[0]["translation"] == "ab"


def test_a_layout_of_scores_is_not_guessed_and_stands_in_the_signature(babelscope, tmp_path):
    pairs = [MinimalPair(f"{n}", f"a {n}", "a", ("b",), "polarity", "human") for n in range(60)]
    TestSet("pairs", tuple(pairs)).write(tmp_path / "pairs.jsonl")
    write(tmp_path / "scores", [f"{-1 - n % 7}" for n in range(60)] + [f"{-1.5 - n % 7}" for n in range(60)])
    asked = ("contrast", "--tests", "pairs.jsonl", "--system")
    ran = babelscope(*asked, "scores:scores", "--json")
    assert (ran.code, ran.out) == (2, "")
    assert "layout=interleaved" in ran.err
    assert "layout=blocks" in ran.err
    for layout, right in (("blocks", 1.0), ("interleaved", None)):
        row = json.loads(babelscope(*asked, f"scores:scores?layout={layout}", "--json").out.split("\n")[0])
        assert f"/{layout}.higher|" in row["signature"]
        assert (row["value"] == 1.0) == (right == 1.0)


def test_ids_before_the_scores_are_no_scores(babelscope, tmp_path):
    pairs = [MinimalPair(f"{n}", f"a {n}", "a", ("b",), "polarity", "human") for n in range(4)]
    TestSet("pairs", tuple(pairs)).write(tmp_path / "pairs.jsonl")
    write(tmp_path / "scores", [f"{n}\t-1\t{-2 if n else -0.5}" for n in (3, 2, 1, 0)])
    ran = babelscope("contrast", "--tests", "pairs.jsonl", "--system", "scores:scores", "--json")
    assert json.loads(ran.out.split("\n")[0])["value"] == 0.75
