"""`babelscope run`: a study file in, a table or JSON rows out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.toy_fixtures import Babelscope

STUDY = """
[[systems]]
name = "one"
spec = "toy:1"
[[tests]]
name = "tiny"
spec = "parallel:in.txt,out.txt"
[[methods]]
name = "likelihood"
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "in.txt").write_text("a b\nb c\nca\n")
    (tmp_path / "out.txt").write_text("ab\nc\ncc\n")


def test_a_table_with_the_signature(babelscope: Babelscope, tmp_path: Path) -> None:
    ran = babelscope("run study.toml")
    assert "perplexity" in ran.out
    *_, folder, signature, report, end = ran.out.split("\n")
    assert (folder, report, end) == (
        "run folder: runs/study",
        "report, for a browser: runs/study/report.html",
        "",
    )
    assert signature.startswith("signature: seed:0|v:")
    assert ran.err == ""
    assert (tmp_path / "runs" / "study" / "report.html").stat().st_size > 10_000
    assert babelscope("run study.toml").out == ran.out


def test_out_seed_and_cache_override_the_study(babelscope: Babelscope, tmp_path: Path) -> None:
    ran = babelscope("run study.toml --out there --seed 5 --cache")
    assert " seed:5|" in ran.out
    assert (tmp_path / "there" / "summary.json").exists()
    assert (tmp_path / "cache.sqlite").exists()
    ran = babelscope("run study.toml --out there --seed 6")
    assert (ran.code, ran.out) == (2, "")
    assert "there holds another run (config.seed: 5 there, 6 here)" in ran.err


def test_an_item_the_system_refuses_is_told_and_the_rest_is_safe(
    babelscope: Babelscope, tmp_path: Path
) -> None:
    (tmp_path / "study.toml").write_text(STUDY + "[run]\nchunk = 2\n")
    (tmp_path / "in.txt").write_text("a b\nb c\nca\n" + "c" * 10_000 + "\n")
    (tmp_path / "out.txt").write_text("ab\nc\ncc\nc\n")
    ran = babelscope("run study.toml")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "babelscope: error: tiny, item 4: source has 10000 tokens, but toy:1 takes 1000\n"
    assert (tmp_path / "runs" / "study" / "records.jsonl").read_bytes().count(b"\n") == 2
