"""A study killed with SIGKILL at random moments ends as one that was never killed, and asks nothing twice."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest

from tests.support.killing import STUDY_IMPORTS, Killer
from tests.support.torture_servers import torture_servers

CHUNK, ITEMS = 3, 30
KILLS, KILLS_AT_WORK = 25, 10  # the latter after at least one chunk


def write_study(folder: Path, name: str) -> Path:
    (folder / "source.txt").write_text("".join(f"a{number}\n" for number in range(ITEMS)))
    (folder / "reference.txt").write_text(
        "".join(f"{'abc'[number % 3] * (number % 5)}a\n" for number in range(ITEMS))
    )
    path = folder / f"{name}.toml"
    systems = "".join(
        f'[[systems]]\nname = "{salt}"\nspec = "toy:{salt}?delay=0.003&log={folder / name}-{salt}.log"\n'
        for salt in ("one", "two")
    )
    path.write_text(
        f'{systems}[[tests]]\nname = "tests"\nspec = "parallel:source.txt,reference.txt"\n'
        f'[[methods]]\nname = "likelihood"\n[run]\nchunk = {CHUNK}\nout = "{name}"\n'
    )
    return path


def stored(records: Path) -> set[str]:
    """What the file holds of complete chunks, as `system source`, found without our own code."""
    lines = records.read_bytes().split(b"\n")[:-1] if records.exists() else []
    complete = len(lines) // CHUNK * CHUNK  # the number of items is a multiple of CHUNK
    return {f"{record['system']} {record['source']}" for record in map(json.loads, lines[:complete])}


def asked(folder: Path, name: str) -> dict[str, list[str]]:
    """Every question a system was asked, in order."""
    logs = {salt: folder / f"{name}-{salt}.log" for salt in ("one", "two")}
    return {
        salt: [f"{salt} {line.split(chr(9))[1]}" for line in log.read_text().split("\n")[:-1]]
        if log.exists()
        else []
        for salt, log in logs.items()
    }


@pytest.mark.slow
def test_killed_at_random_moments_it_ends_the_same(tmp_path, toy_folders):
    moments = random.Random(20)
    whole = write_study(tmp_path, "whole")
    killed = write_study(tmp_path, "killed")
    kills = at_work = 0
    with Killer("babelscope.runs.study:run_study", toy_folders, preload=STUDY_IMPORTS) as killer:
        started = time.monotonic()
        assert killer.run(str(whole))
        duration = time.monotonic() - started
        assert sum(map(len, asked(tmp_path, "whole").values())) == 2 * ITEMS
        finished = False
        while kills < KILLS or at_work < KILLS_AT_WORK or not finished:
            if finished:  # too soon: once more from the beginning
                for path in [*tmp_path.glob("killed-*"), *(tmp_path / "killed").iterdir()]:
                    path.unlink()
                finished = False
            before = stored(tmp_path / "killed" / "records.jsonl")
            seen = {salt: len(questions) for salt, questions in asked(tmp_path, "killed").items()}
            enough = kills >= KILLS and at_work >= KILLS_AT_WORK
            wait = None if enough else moments.uniform(0, duration)
            finished = killer.run(str(killed), kill_after=wait)
            kills += not finished
            at_work += not finished and stored(tmp_path / "killed" / "records.jsonl") != before
            for salt, questions in asked(tmp_path, "killed").items():
                assert before.isdisjoint(questions[seen[salt] :]), "a stored answer was asked again"
    for name in ("summary.json", "records.jsonl"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.slow
def test_killed_while_a_server_fails_no_kept_answer_is_asked_again(tmp_path, monkeypatch):
    for name in ("XDG_STATE_HOME", "NO_PROXY"):  # which the torture sets
        monkeypatch.setenv(name, "")
    counts = torture_servers(tmp_path / "servers", 15, 5, random.Random(3))
    assert counts.kills == 15
    assert counts.deaths >= 5
    assert counts.kept > 20
    assert not counts.wrong, str(counts)
