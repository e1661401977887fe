"""`babelscope score`: the log-probabilities of a file of translations, and their mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.toy_fixtures import Babelscope
from tests.support.toys import ToySystem

PAIRS = [("a b", "ab"), ("b c", ""), ("ca", "cab")]
FILES = ("--source", "in.txt", "--target", "out.txt")


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("".join(f"{source}\n" for source, _ in PAIRS))
    (tmp_path / "out.txt").write_text("".join(f"{target}\n" for _, target in PAIRS))


def rows_of(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.split("\n")[:-1]]


def test_json_rows_and_the_row_over_all(babelscope: Babelscope) -> None:
    ran = babelscope("score", "--system", "toy:1", *FILES, "--json")
    *rows, whole = rows_of(ran.out)
    right = ToySystem(salt="1").score(PAIRS)
    assert [row["target"] for row in rows] == ["ab", "", "cab"]
    for row, (source, _), scored in zip(rows, PAIRS, right, strict=True):
        assert list(row) == ["system", "source", "target", "tokens", "logprobs", "total", "mean", "notes"]
        assert (row["system"], row["source"], row["tokens"]) == ("toy:1", source, list(scored.tokens))
        assert (row["logprobs"], row["total"], row["mean"]) == (
            list(scored.logprobs),
            scored.total,
            scored.mean,
        )
    assert (whole["name"], whole["system"], whole["n"], whole["tokens"]) == ("all", "toy:1", 3, 8)
    assert whole["value"] == pytest.approx(sum(each.total for each in right) / 8)
    assert whole["low"] <= whole["value"] <= whole["high"]
    assert whole["signature"].startswith("likelihood|")


def test_lines_on_stdout_and_a_table_on_stderr(babelscope: Babelscope) -> None:
    ran = babelscope("score", "--system", "toy:1", *FILES)
    heading, *lines = ran.out.split("\n")[:-1]
    assert heading.split("\t") == ["mean", "total", "tokens", "target"]
    right = ToySystem(salt="1").score(PAIRS)
    assert lines == [f"{s.mean:.4f}\t{s.total:.4f}\t{len(s.tokens)}\t{s.text}" for s in right]
    assert "perplexity" in ran.err
    assert "95 % interval" in ran.err
    ran = babelscope("score", "--system", "toy:1", "--system", "toy:2", *FILES)
    assert ran.out.split("\n")[0].startswith("system\t")
    assert ran.out.count("toy:2\t") == 3


def test_the_seed_moves_the_interval_only(babelscope: Babelscope) -> None:
    first, second, again = (
        rows_of(babelscope("score", "--system", "toy:1", *FILES, "--json", "--seed", seed).out)
        for seed in ("1", "2", "1")
    )
    assert first == again
    assert first[:-1] == second[:-1]
    assert first[-1]["value"] == second[-1]["value"]
    assert first[-1]["signature"] != second[-1]["signature"]


def test_an_impossible_target_is_null_and_counted(babelscope: Babelscope, tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("ab\nx\nc\n")
    _, impossible, _, whole = rows_of(babelscope("score", "--system", "toy:1", *FILES, "--json").out)
    assert impossible["logprobs"][0] is None
    assert (impossible["total"], impossible["mean"]) == (None, None)
    assert (whole["n"], whole["infinite"]) == (2, 1)
    assert "\t-inf\t" in babelscope("score", "--system", "toy:1", *FILES).out


def test_no_line_at_all_is_no_figure(babelscope: Babelscope, tmp_path: Path) -> None:
    for name in ("in.txt", "out.txt"):
        (tmp_path / name).write_text("")
    (whole,) = rows_of(babelscope("score", "--system", "toy:1", *FILES, "--json").out)
    assert (whole["value"], whole["n"]) == (None, 0)


def test_out_and_cache(babelscope: Babelscope, tmp_path: Path) -> None:
    expected = babelscope("score", "--system", "toy:1", *FILES, "--json").out
    for _ in range(2):
        ran = babelscope(
            "score",
            "--system",
            f"toy:1?log={tmp_path}/log",
            *FILES,
            "--json",
            "--cache",
            "--to",
            "scores.jsonl",
        )
        assert (ran.code, ran.out) == (0, "")
        assert (tmp_path / "scores.jsonl").read_text() == expected
    assert (tmp_path / "log").read_text().count("\n") == 3


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("out.txt", b"ab\n", "but in.txt has 3, out.txt has 1"),
        ("in.txt", b"a\n\nb\n", "in.txt:2 is empty"),
        ("out.txt", b"a\nb\0\nc\n", "out.txt:2 has a NUL character"),
        ("out.txt", b"a\nb\rb\nc\n", "out.txt:2 has a line break inside"),
        ("out.txt", "a\nb\u2028b\nc\n".encode(), "out.txt:2 has the line separator U+2028"),
        ("out.txt", b"a\n\xed\xa0\x80\nc\n", "out.txt:2: not UTF-8"),
        ("in.txt", None, "in.txt: no such file"),
    ],
)
def test_bad_files_are_told(
    babelscope: Babelscope, tmp_path: Path, name: str, content: bytes | None, told: str
) -> None:
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    ran = babelscope("score", "--system", "toy:1", *FILES)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("system", "told"),
    [
        ("mute:1", "mute gave 2 answers to 3 questions"),
        ("nan:1", "a system gave nan"),
        ("file:out.txt?source=in.txt", "score needs a system that gives log-probabilities"),
    ],
)
def test_bad_systems_are_told(babelscope: Babelscope, system: str, told: str) -> None:
    ran = babelscope("score", "--system", system, *FILES, "--json")
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


def test_a_target_the_system_refuses_is_told_with_file_and_line(
    babelscope: Babelscope, tmp_path: Path
) -> None:
    (tmp_path / "in.txt").write_text("a\n" * 300)
    (tmp_path / "out.txt").write_text("a\n" * 299 + "c" * 10_000 + "\n")
    ran = babelscope("score", "--system", "toy:1", *FILES)
    assert ran.code == 2
    assert ran.err == "babelscope: error: out.txt:300 has 10000 tokens, but toy:1 takes 1000\n"
