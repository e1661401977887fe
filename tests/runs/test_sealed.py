"""A damaged run is not believed: count and digest of its records are in the manifest, and checked by all readers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from babelscope.runs.reading import read_run
from babelscope.runs.study import run_study
from babelscope.util.errors import BabelscopeError
from tests.support.same_runs import assert_same
from tests.support.sealing import seal

STUDY = """
[[systems]]
spec = "toy:1"
[[systems]]
spec = "toy:2"
[[tests]]
spec = "parallel:source.txt,reference.txt"
[[methods]]
name = "likelihood"
[run]
chunk = 4
"""


@pytest.fixture
def run(tmp_path: Path, toy_schemes: None) -> Path:  # noqa: ARG001
    for name, text in (("source", "a"), ("reference", "b c")):
        (tmp_path / f"{name}.txt").write_text("".join(f"{text} {'abc'[n % 3]}\n" for n in range(12)))
    (tmp_path / "study.toml").write_text(STUDY)
    run_study(tmp_path / "study.toml", out=tmp_path / "run")
    return tmp_path / "run"


def cut(folder: Path, lines: int) -> None:
    path = folder / "records.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:lines]))


def edit(folder: Path) -> None:
    """One digit of one record."""
    path = folder / "records.jsonl"
    text = path.read_text()
    assert '"item": 3' in text
    place = text.index("-", text.index('"item": 3')) + 1
    path.write_text(text[:place] + ("1" if text[place] != "1" else "2") + text[place + 1 :])


def test_a_finished_run_says_what_its_records_are(run):
    manifest = json.loads((run / "manifest.json").read_text())
    before = dict(manifest["records"])
    seal(run)
    assert before == json.loads((run / "manifest.json").read_text())["records"]
    assert before["count"] == 24


@pytest.mark.parametrize(
    "command",
    [
        ("report", "run", "--to", "page.html"),
        ("compare", "run"),
        ("likelihood", "--rejudge", "run"),
        ("agreement", "run/records.jsonl", "--human", "human.jsonl"),
    ],
)
def test_every_reader_refuses_a_damaged_run(run, babelscope, command):
    Path("human.jsonl").write_text('{"system": "toy:1", "id": "1", "score": 1}\n')
    whole = (run / "records.jsonl").read_bytes()
    cut(run, 15)
    ran = babelscope(*command)
    assert (ran.code, ran.out) == (2, "")
    assert "records.jsonl has 15 records, but its manifest.json says 24" in ran.err
    (run / "records.jsonl").write_bytes(whole)
    edit(run)
    ran = babelscope(*command)
    assert (ran.code, ran.out) == (2, "")
    assert "records.jsonl is not as the run left it" in ran.err


def test_verdicts_of_a_damaged_run_are_refused(run):
    from babelscope.runs.reading import check_if_of_a_run

    assert check_if_of_a_run(run) == check_if_of_a_run(run / "records.jsonl") == run / "records.jsonl"
    cut(run, 20)
    for path in (run, run / "records.jsonl"):
        with pytest.raises(BabelscopeError, match="has 20 records"):
            check_if_of_a_run(path)
    loose = shutil.copy(run / "records.jsonl", run.parent / "records.jsonl")
    assert check_if_of_a_run(Path(loose)) == Path(loose)


def test_a_cut_run_is_healed_by_the_same_command(run, tmp_path):
    shutil.copytree(run, tmp_path / "right")
    cut(run, 15)
    run_study(tmp_path / "study.toml", out=run)
    assert_same(run, tmp_path / "right")
    assert read_run(run).manifest.records is not None


def test_a_changed_run_is_not_gone_on_with(run, tmp_path):
    edit(run)
    with pytest.raises(BabelscopeError, match="is not as the run left it"):
        run_study(tmp_path / "study.toml", out=run)
    cut(run, 15)  # what is asked again cannot mend what was changed
    with pytest.raises(BabelscopeError, match="is not as the run left it"):
        run_study(tmp_path / "study.toml", out=run)
    with pytest.raises(BabelscopeError, match="is not as the run left it"):
        read_run(run)


def test_a_run_that_was_stopped_is_sealed_when_it_ends(run, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    manifest = json.loads((run / "manifest.json").read_text())
    del manifest["records"]
    (other / "manifest.json").write_text(json.dumps({**manifest, "status": "unfinished", "cost": {}}))
    (other / "records.jsonl").write_bytes((run / "records.jsonl").read_bytes()[:-5])  # as a kill leaves it
    with pytest.raises(BabelscopeError, match="is not finished"):
        read_run(other)
    run_study(tmp_path / "study.toml", out=other)
    assert_same(run, other)
