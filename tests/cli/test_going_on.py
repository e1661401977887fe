"""Commands killed with SIGKILL at every change of a file or SQL statement: resumed, they end with the same bytes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from babelscope.lab.grammar import corpus as lab
from babelscope.testsets import AmbiguousSource, MinimalPair
from babelscope.util.errors import SystemFailure
from tests.support.killing import Killer
from tests.support.stopping import PART
from tests.support.stored import unfinished
from tests.support.toy_fixtures import Babelscope
from tests.support.toys import ToySystem

N = 200


@pytest.fixture(scope="module")
def state_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def in_state_home(toy_folders: list[str], state_home: Path) -> Iterator[Killer]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(state_home))
        with Killer("tests.support.stopping:run", toy_folders) as killer:
            yield killer


@pytest.fixture
def killer(in_state_home: Killer, state_home: Path, monkeypatch: pytest.MonkeyPatch) -> Killer:
    """What it runs keeps its state where the test looks for it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(state_home))
    return in_state_home


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("text")
    lab.make_corpus(folder, N, seed=5, name="c")
    human = [
        MinimalPair(
            str(n), f"They did not come {n}.", f"Sie kamen {n} nicht.", (f"Sie kamen {n}.",), NICHT, "human"
        )
        for n in range(10)
    ]
    (folder / "human.jsonl").write_text("".join(json.dumps(pair.as_json()) + "\n" for pair in human))
    items = [
        AmbiguousSource(
            f"{word}{sense}{n}",
            f"the {word} is {'by' * (n + 1)} the {sense}",
            (),
            (),
            sense,
            gold=sense,
            extra={"word": word, "reference": f"{sense} a{n}"},
        )
        for word in ("bat", "seal")
        for sense in ("animal", "thing")
        for n in range(6)
    ]
    (folder / "bats.jsonl").write_text("".join(json.dumps(item.as_json()) + "\n" for item in items))
    return folder


NICHT = "polarity_particle_nicht_del"
TEXT = ["--source", "{}/c.en", "--reference", "{}/c.de"]
TOY = "toy:1?log={work}"
COMMANDS = {
    "corpus": ["lab", "corpus", "--n", "70", "--stats", "--json", "--out", "{out}"],
    "pairs": ["make", "pairs", "--type", NICHT, *TEXT, "--to", "{out}"],
    "challenge": [
        *("make", "challenge", *TEXT, "--parses", "{}/c.en.conllu", "--set", "alignments={}/c.align"),
        *("--to", "{out}", "--json"),
    ],
    "count": ["make", "challenge", "--parses", "{}/c.en.conllu", "--json"],
    "machine-references": [
        *(
            "make",
            "machine-references",
            "--tests",
            "{}/human.jsonl",
            "--system",
            TOY,
            "--set",
            f"score_with={TOY}",
        ),
        *("--to", "{out}", "--queue", "{out}.queue", "--set", "with_human=yes", "--json"),
    ],
    "cues": [
        *("make", "cues", "--tests", "{}/bats.jsonl", "--evaluator", TOY, "--model", "fake"),
        *("--to", "{out}", "--set", "save_candidates={out}.candidates"),
    ],
    "evaluate": ["lab", "evaluate", "--system", TOY, "--n", "10", "--json"],
    "truth": f"lab evaluate --evaluator {TOY} --tests gender --tests senses --n 24 --records {{out}}".split(),
}


def done(work: Path) -> list[str]:
    return work.read_text().split("\n")[:-1] if work.exists() else []


@pytest.mark.parametrize(
    ("stop", "code", "told"),
    [
        (
            KeyboardInterrupt(),
            130,
            "stopped; what systems answered is kept; run the same command again to resume",
        ),
        (SystemFailure("the server is gone"), 1, "the server is gone"),
    ],
)
def test_after_ctrl_c_or_a_failing_server_paid_answers_are_not_asked_again(
    babelscope: Babelscope,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stop: BaseException,
    code: int,
    told: str,
) -> None:
    from babelscope.lab.experiments import truth

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(truth, "_CHUNK", 5)
    work = tmp_path / "work"
    words = [word.format(folder, work=work) for word in COMMANDS["evaluate"]]
    whole = babelscope(*words)
    assert whole.code == 0, whole.err
    asked = done(work)
    work.unlink()
    real = ToySystem.translate

    def translate(self: ToySystem, sources: Sequence[str], **how: int) -> Any:
        if len(done(work)) >= 15:
            raise stop
        return real(self, sources, **how)

    monkeypatch.setattr(ToySystem, "translate", translate)
    stopped = babelscope(*words)
    assert stopped.code == code
    assert told in stopped.err
    monkeypatch.setattr(ToySystem, "translate", real)
    again = babelscope(*words)
    assert (again.code, again.out) == (0, whole.out)
    assert done(work) == asked
    assert unfinished() == []


@pytest.mark.parametrize("name", COMMANDS)
def test_killed_at_some_steps_it_ends_the_same(
    killer: Killer, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    # Some are slow.
    every = {"machine-references": 19, "evaluate": 19}.get(name, 9)
    kill_at_steps(killer, folder, tmp_path, monkeypatch, name, every=every)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_killed_at_every_step_it_ends_the_same(
    killer: Killer, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    kill_at_steps(killer, folder, tmp_path, monkeypatch, name, every=1)


def kill_at_steps(
    killer: Killer, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, *, every: int
) -> None:
    if name in ("pairs", "machine-references"):
        pytest.importorskip("HanTa")
        pytest.importorskip("german_nouns.config")
    monkeypatch.chdir(tmp_path)
    work = tmp_path / "work"
    words = json.dumps([word.format(folder, work=work, out=tmp_path / "out") for word in COMMANDS[name]])

    def start(kill_at: int) -> bool:
        work.unlink(missing_ok=True)
        return killer.run(words, str(kill_at), str(work), str(tmp_path / "printed"))

    def made() -> dict[str, bytes]:
        # A kill leaves the hidden file that `replacing` was writing.
        seen = (p for p in tmp_path.rglob("*") if p.is_file() and p != work and not p.name.startswith("."))
        return {path.name: path.read_bytes() for path in seen}

    assert start(0)
    whole, log = made(), done(work)
    steps = [n for n, line in enumerate(log) if line == PART]
    assert len(steps) > 3, "there must be several parts"
    by_part = [0, *(sum(line != PART for line in log[:step]) for step in steps)]
    total = sum(line != PART for line in log)
    assert 0 < by_part[1] < total
    partly = 0
    for kill_at in range(min(every, 6), 500, every):
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
        monkeypatch.chdir(tmp_path)
        if start(kill_at):
            break
        stored = len(unfinished())
        assert start(0)
        again = sum(line != PART for line in done(work))
        assert again == total - by_part[stored], f"killed at step {kill_at}"
        assert made() == whole, f"killed at step {kill_at}"
        assert unfinished() == []
        partly += 0 < stored < len(steps)
    else:
        pytest.fail("it never came to its end")
    assert partly
