"""Items without references: judged by metrics that read none, refused for others before any system is asked."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from babelscope.testsets import SourceSentence, load
from tests.support.toy_fixtures import Babelscope

# A stand-in for a reference-free metric: it fails if it is shown a reference.
LENGTHS = """
import json, sys
for line in sys.stdin:
    given = json.loads(line)
    assert given.keys() == {"source", "hypothesis"}, given
    print(1 / (1 + abs(len(given["source"]) - len(given["hypothesis"]))))
"""
SPACE = ("space", "--system", "lab:student", "--k", "3", "--samples", "4", "--mbr-samples", "4")


@pytest.fixture
def metric(tmp_path: Path) -> str:
    (tmp_path / "lengths.py").write_text(LENGTHS)
    (tmp_path / "a.en").write_text("The old man reads a book.\nA dog sleeps.\n")
    return f"cmd:{sys.executable} lengths.py?bound=1&reference=no"


@pytest.mark.parametrize("form", ["sources:a.en", "a.jsonl"])
def test_a_metric_that_reads_none_judges_sources_alone(
    babelscope: Babelscope, tmp_path: Path, metric: str, form: str
) -> None:
    lines = (tmp_path / "a.en").read_text().splitlines()
    items = [{"id": str(n), "source": source} for n, source in enumerate(lines, 1)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    ran = babelscope(*SPACE, "--tests", form, "--metric", metric, "--records", "r.jsonl", "--json")
    assert ran.code == 0, ran.err
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert {"kqrg", "krg", "quality", "empty_mode"} <= {row["name"] for row in rows}
    assert not {"bleu", "chrf"} & {row["name"] for row in rows}
    for line in (tmp_path / "r.jsonl").read_text().splitlines():
        record = json.loads(line)
        assert (record["references"], record["reference_logprob"]) == ([], None)
        best = record["best"]
        gap = abs(len(record["source"]) - len(best["text"]))
        assert best["quality"] == pytest.approx(1 / (1 + gap))
    shown = babelscope(*SPACE, "--tests", form, "--metric", metric, "--cases", "1", "--all")
    assert shown.code == 0, shown.err
    assert "Scales of the metrics" in shown.out


def test_it_is_shown_no_reference_where_there_are_some(babelscope: Babelscope, metric: str) -> None:
    tests = "lab:parallel?n=2&seed=1"
    ran = babelscope(*SPACE, "--tests", tests, "--metric", metric, "--metric", "ter", "--all")
    assert ran.code == 0, ran.err
    assert "from 0; lower is better" in ran.out


def test_a_metric_that_reads_references_is_refused(babelscope: Babelscope, metric: str) -> None:
    asked = (*SPACE, "--tests", "sources:a.en")
    for more in ((), ("--metric", metric, "--metric", "bleu")):
        ran = babelscope(*asked, *more)
        assert ran.code == 2
        assert "needs references, and item 1 has none; choose a metric that reads none" in ran.err


def test_other_methods_refuse_sources_alone(babelscope: Babelscope, metric: str) -> None:
    assert metric
    ran = babelscope("likelihood", "--system", "lab:student", "--tests", "sources:a.en")
    assert (ran.code, "SourceSentence" in ran.err) == (2, True)


def test_sources_are_items(tmp_path: Path) -> None:
    (tmp_path / "a.en").write_text("a\nb\n")
    found = load(f"sources:{tmp_path / 'a.en'}")
    assert found.items == (SourceSentence("1", "a"), SourceSentence("2", "b"))
    assert found.items[0].as_json() == {"id": "1", "source": "a"}
