"""`--rejudge` of runs by answers, through every judging command."""

from __future__ import annotations

from pathlib import Path

import pytest

from babelscope.runs import study
from babelscope.testsets.items import TestSet
from tests.methods.answers.test_answers import STORED, Talker
from tests.support.same_runs import assert_same
from tests.support.toy_fixtures import Babelscope

COMMANDS = {"contrast": "contrast_answers", "condition": "condition_answers"}


@pytest.fixture(params=sorted(COMMANDS))
def command(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, babelscope: Babelscope
) -> str:
    """The command whose run by answers is in `run`, and under `--ties wrong` in `other`."""
    name = str(request.param)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(study, "open_system", lambda spec, **_: Talker(spec))
    TestSet("items", tuple(STORED[COMMANDS[name]])).write(tmp_path / "items.jsonl")
    asked = [name, "--by-answer", "--system", "toy", "--tests", "items.jsonl"]
    asked += ["--evaluator", "judge"] if name == "condition" else []
    for folder, more in (("run", []), ("other", ["--ties", "wrong"])):
        done = babelscope(*asked, "--out", folder, *more)
        assert done.code == 0, done.err
    return name


@pytest.mark.parametrize("said", [[], ["--by-answer"]])
def test_a_run_judged_again_is_the_run(command: str, said: list[str], babelscope: Babelscope) -> None:
    done = babelscope(command, *said, "--rejudge", "run", "--out", "same")
    assert done.code == 0, done.err
    assert_same(Path("run"), Path("same"))
    done = babelscope(command, *said, "--rejudge", "run", "--ties", "wrong", "--out", "again")
    assert done.code == 0, done.err
    assert_same(Path("other"), Path("again"))


def test_every_kind_of_output(command: str, babelscope: Babelscope) -> None:
    for more in ([], ["--all"], ["--json"], ["--by", "length"], ["--records", "records.jsonl"]):
        done = babelscope(command, "--rejudge", "run", *more)
        assert done.code == 0, done.err
        assert "answer" in done.out
    assert len(Path("records.jsonl").read_text("utf-8").splitlines()) == 7
    rows = babelscope(command, "--rejudge", "run", "--json").rows
    assert {row["method"] for row in rows} == {COMMANDS[command]}


def test_options_of_likelihoods_are_refused(command: str, babelscope: Babelscope) -> None:
    refused = {
        "contrast": [["--score", "total"], ["--spread", "1"], ["--annotate", "queue.jsonl"]],
        "condition": [["--likelihood", "total"], ["--least-certain", "2"], ["--annotate", "queue.jsonl"]],
    }
    for more in refused[command]:
        done = babelscope(command, "--rejudge", "run", *more)
        assert done.code == 2
        assert f"{more[0]} has no effect beside --by-answer" in done.err
    Path("question.txt").write_text("{source} {translation} {first} {second}", encoding="utf-8")
    done = babelscope(command, "--rejudge", "run", "--by-answer", "--question", "question.txt")
    assert done.code == 2
    assert "prompt cannot be changed after a run" in done.err


@pytest.mark.parametrize("other", ["likelihood", "errors", "quality", "space", "challenge"])
def test_other_commands_say_whose_run_it_is(command: str, other: str, babelscope: Babelscope) -> None:
    done = babelscope(other, "--rejudge", "run")
    assert done.code == 2
    assert f"run is a run of {COMMANDS[command]}, not of {other}" in done.err
    twin = next(each for each in COMMANDS if each != command)
    done = babelscope(twin, "--rejudge", "run")
    assert done.code == 2
    assert f"run is a run of {COMMANDS[command]}, not of {twin}" in done.err
    assert "Traceback" not in done.err
