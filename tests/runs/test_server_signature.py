"""A server may answer otherwise another time: the signature has a digest of its answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.serving import App, Request, Server
from tests.support.serving import serve as serve  # the fixture
from tests.support.toy_fixtures import Babelscope, read_rows

STUDY = """[study]
name = "served"
[[systems]]
spec = "{url}/translate?backoff=0.01"
name = "server"
[[tests]]
spec = "tests.jsonl"
[[methods]]
name = "quality"
[run]
chunk = 2
cache = false
"""


class Changing:
    """A server's application whose answers a test can change."""

    def __init__(self) -> None:
        self.end = ""

    def __call__(self, request: Request) -> Any:
        return {"translations": [f"ab {source}{self.end}" for source in request.body["sources"]]}


@pytest.fixture
def app(serve: Callable[[App], Server], tmp_path: Path) -> Changing:
    """A served study in the working folder."""
    app = Changing()
    (tmp_path / "study.toml").write_text(STUDY.format(url=serve(app).url))
    items = [{"id": str(n), "source": f"s {n}", "reference": f"ab s {n}"} for n in range(5)]
    (tmp_path / "tests.jsonl").write_text("".join(json.dumps(each) + "\n" for each in items))
    return app


def signature(babelscope: Babelscope, out: str, *arguments: str) -> str:
    ran = babelscope(*(arguments or ("run", "study.toml", "--trust")), "--out", out)
    assert ran.code == 0, ran.err
    manifest, summary = (
        json.loads(Path(out, f"{name}.json").read_text()) for name in ("manifest", "summary")
    )
    assert manifest["signature"] == summary["signature"]
    assert manifest["sha256"] == summary["sha256"]
    return str(summary["signature"])


def test_two_results_have_two_signatures(babelscope, app):
    first = signature(babelscope, "one")
    assert "|answers:" in first
    assert signature(babelscope, "two") == first, "the same answers"
    app.end = " and more"
    assert signature(babelscope, "three") != first
    # What is finished is not asked again, and what is damaged is: with the same configuration.
    asked = signature(babelscope, "one")
    assert asked == first


def test_resumed_merged_and_judged_again(babelscope, app):
    whole = signature(babelscope, "whole")
    for number in (1, 2):
        assert (
            babelscope("run", "study.toml", "--trust", "--shard", f"{number}/2", "--out", f"s{number}").code
            == 0
        )
    assert signature(babelscope, "merged", "run", "--merge", "s1", "s2") == whole
    assert Path("merged/records.jsonl").read_bytes() == Path("whole/records.jsonl").read_bytes()
    # Killed after the first chunk.
    lines = Path("whole/records.jsonl").read_bytes().split(b"\n")
    Path("part").mkdir()
    manifest = json.loads(Path("whole/manifest.json").read_text())
    unfinished = {**manifest, "status": "unfinished"}
    del unfinished["records"], unfinished["answers"]
    Path("part/manifest.json").write_text(json.dumps(unfinished))
    Path("part/records.jsonl").write_bytes(b"\n".join([*lines[:2], b""]))
    assert signature(babelscope, "part") == whole
    assert Path("part/summary.json").read_bytes() == Path("whole/summary.json").read_bytes()
    again = signature(babelscope, "again", "quality", "--rejudge", "whole", "--metric", "bleu")
    study = Path("study.toml")
    study.write_text(study.read_text().replace('name = "quality"', 'name = "quality"\nmetric = ["bleu"]'))
    assert signature(babelscope, "asked") == again
    app.end = " and more"
    assert signature(babelscope, "other") != again


def test_what_was_not_answered_counts(babelscope, app):
    """The same server with all answers and with none: two lines are no translation."""
    first = signature(babelscope, "one")
    app.end = "\nmore"
    second = signature(babelscope, "two")
    records = read_rows("two/records.jsonl")
    assert all("unanswered" in record for record in records)
    assert second != first
    assert second.split("|answers:")[0] == first.split("|answers:")[0]


def test_models_of_our_own_have_no_digest(babelscope, tmp_path):
    (tmp_path / "tests.jsonl").write_text('{"id": "1", "source": "s", "reference": "ab"}\n')
    options = ("quality", "--tests", "tests.jsonl", "--system", "toy:1?alphabet=ab&limit=4")
    assert "answers:" not in signature(babelscope, "run", *options)
    assert "answers" not in json.loads(Path("run/manifest.json").read_text())
