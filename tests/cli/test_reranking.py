"""`translate --decode rerank`: the best of the candidates by a metric that reads no references."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.support.toy_fixtures import Babelscope
from tests.support.toys import ToySystem

SOURCES = ["a b", "b c", "ca"]
TOY = ToySystem(salt="1")
LIST = "0 ||| ab ab ||| -1.0\n0 ||| ccb ||| -2.0\n0 ||| cbc ||| -2.5\n2 ||| ba ||| -0.5\n"
JUDGE = """
import json, sys
open("started", "a").write("x")
for line in sys.stdin:
    own = json.loads(line)
    assert set(own) == {"source", "hypothesis"}
    print(own["hypothesis"].count("c") + 0.5 * own["hypothesis"].count(own["source"][0]))
"""


def quality(source: str, text: str) -> float:
    return text.count("c") + 0.5 * text.count(source[0])


@pytest.fixture(autouse=True)
def metric(tmp_path: Path) -> str:
    (tmp_path / "in.txt").write_text("".join(f"{source}\n" for source in SOURCES))
    (tmp_path / "list.txt").write_text(LIST)
    (tmp_path / "judge.py").write_text(JUDGE)
    return f"cmd:{sys.executable} judge.py?reference=no"


def best_of(source: str, texts: list[str]) -> str:
    return max(texts, key=lambda text: quality(source, text))  # the first of equals


@pytest.mark.parametrize(
    ("how", "candidates"),
    [
        (["--n", "4"], TOY.translate(SOURCES, beam=4, n_best=4)),
        (["--n", "3", "--beam", "6"], TOY.translate(SOURCES, beam=6, n_best=3)),
        (
            ["--n", "30", "--set", "candidates=sample", "--seed", "2"],
            TOY.sample(SOURCES, n=30, seed=2),
        ),
    ],
)
def test_the_best_candidate_by_the_metric_is_chosen(
    babelscope: Babelscope, metric: str, tmp_path: Path, how: list[str], candidates: list[list[object]]
) -> None:
    asked = ["translate --decode rerank --system toy:1 in.txt --metric", metric, *how]
    texts = [[each.text for each in own] for own in candidates]  # type: ignore[attr-defined]
    right = [best_of(source, own) for source, own in zip(SOURCES, texts, strict=True)]
    assert babelscope(*asked).out == "".join(f"{text}\n" for text in right)
    assert (tmp_path / "started").read_text() == "x", "all sources are judged at once"
    *lines, figure = babelscope(*asked, "--json").rows
    for line, source, own, text in zip(lines, SOURCES, texts, right, strict=True):
        assert (line["quality"], line["n"]) == (quality(source, text), len(own))
        assert line["tied"] == sum(quality(source, each) == line["quality"] for each in set(own)) - 1
    assert (figure["name"], figure["metric"]) == ("quality", metric)
    assert figure["value"] == pytest.approx(sum(line["quality"] for line in lines) / 3)
    assert figure["signature"].startswith("rerank|")


def test_of_lists_made_elsewhere(babelscope: Babelscope, metric: str) -> None:
    asked = ("translate --decode rerank --json --system lists:?beam=list.txt in.txt --metric", metric)
    *lines, figure = babelscope(*asked).rows
    assert [line["translation"] and line["translation"]["text"] for line in lines] == ["ccb", None, "ba"]
    assert lines[1]["unanswered"] == "no list of this sentence"
    assert (lines[0]["tied"], figure["n"], figure["skipped"]) == (1, 2, 1)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("--metric chrf", "chrf needs references, which translations to choose from do not have"),
        ("--metric cmd:cat", "cmd:cat needs references"),
        ("", "--decode rerank needs --metric"),
        ("--metric cometkiwi --set weights=count", "it only applies to --decode mbr"),
        ("--metric cometkiwi --seed 1", "--seed has no effect here"),
        ("--metric cometkiwi --set candidates=sample --beam 3", "--beam has no effect here"),
        ("--metric cometkiwi --set candidates=sample --set groups=2", "groups has no effect here"),
        ("--metric cometkiwi --beam 3 --n 4", "a beam of 3 has no 4 best translations"),
    ],
)
def test_bad_input_is_told(babelscope: Babelscope, command: str, told: str) -> None:
    ran = babelscope(f"translate --decode rerank --system toy:1 in.txt {command}".strip())
    assert (ran.code, told in ran.err, ran.out) == (2, True, ""), ran.err
