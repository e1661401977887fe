"""Every command in a working folder full of traps: only what the command line names is read from there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.main import get_command

import babelscope
from babelscope.cli import app
from babelscope.lab.training.recipe import _command
from tests.hostile import commands, traps
from tests.support.models import spec

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")

# `platform.platform()`, which a run folder is told, asks this of a program on the PATH.
_HARMLESS = {"started uname -p"}
# What is named is found by listing its folder; `run --init` writes a file that no option names, `space --rejudge` one
# that a setting names (segments).
_LISTS = {"agreement", "annotate challenge.jsonl", "run --init", "condition --judge mucow", "space --rejudge"}


_OUTPUTS = {
    *("--out", "--to", "-o", "--records", "--queue", "--flows", "--svg"),
}


@dataclass
class Ran:
    """What a command did: its exit code and stderr, and what was seen of it."""

    arguments: list[str]
    code: object
    err: str
    seen: list[str]


@dataclass
class Hostile:
    """A working folder with traps, and the files that cases name."""

    folder: Path
    mark: Path
    traps: set[str]

    def environment(self) -> dict[str, str]:
        home = self.folder.parent / "home"
        home.mkdir(exist_ok=True)
        return {
            **os.environ,
            "PYTHONPATH": str(Path(babelscope.__file__).parents[1]),
            "HOME": str(home),
            **{f"XDG_{name}_HOME": str(home / name) for name in ("CACHE", "CONFIG", "DATA", "STATE")},
            "BABELSCOPE_CACHE": str(home / "answers.sqlite"),
            "BABELSCOPE_DATA": str(home / "data"),
            "BABELSCOPE_MIRROR": "http://127.0.0.1:1",
            "HF_HUB_OFFLINE": "1",
            "NO_PROXY": "127.0.0.1",
        }

    def run(self, commands: Sequence[list[str]]) -> list[Ran]:
        """All commands in one process that is started as the installed command would be."""
        program = self.folder.parent / "bin" / "babelscope"
        program.parent.mkdir(exist_ok=True)
        shutil.copy(Path(__file__).with_name("watching.py"), program)
        asked, found = (self.folder.parent / name for name in ("asked.json", "found.json"))
        asked.write_text(json.dumps(commands))
        words = [sys.executable, str(program), str(self.folder), str(asked), str(found)]
        subprocess.run(words, cwd=self.folder, env=self.environment(), check=True)
        told = json.loads(found.read_text())
        return [Ran(each, code, err, seen) for each, (code, err, seen, _) in zip(commands, told, strict=True)]

    def ran_traps(self) -> str:
        return self.mark.read_text() if self.mark.exists() else ""

    def unexpected(self, ran: Ran) -> list[str]:
        """What was seen and not named: a trap is named only as a system."""
        words = {part for word in ran.arguments for part in re.split(r"[,:?&=]", word) if part}
        named = {part for part in words if part.split("/")[0] not in self.traps}
        named |= {word[3:] for word in ran.arguments if word.startswith("hf:")}
        # Who writes a file looks beside it for what a killed process left of it.
        lists = bool(_OUTPUTS & set(ran.arguments)) or any(
            " ".join(ran.arguments).startswith(command) for command in _LISTS
        )
        return [each for each in ran.seen if each not in _HARMLESS and not _is_named(each, named, lists)]


def _is_named(event: str, named: set[str], lists: bool) -> bool:
    what, _, path = event.partition(" ")
    if what in ("started", "connected"):
        return False
    if path == ".":  # a study's folder is its working folder
        return what == "os.chdir" or (lists and what in ("listed", "os.listdir", "os.scandir"))
    if part := re.fullmatch(r"\.(.+)\.[0-9a-f]+\.part", path):  # what becomes a file when it is whole
        path = part[1]
    # Beside a name: answers of annotators, the two files of a MuCoW set.
    return any(path == name or path.startswith((f"{name}/", f"{name.split('.')[0]}.")) for name in named)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    base = tmp_path_factory.mktemp("hostile")
    laid = traps.lay(base / "work", base / "mark")
    assert not laid & set(commands.files())
    commands.lay(base / "work")
    return Hostile(base / "work", base / "mark", laid)


def check(hostile: Hostile, cases: Sequence[tuple[int, list[str]]]) -> None:
    ran = hostile.run([arguments for _, arguments in cases])
    assert hostile.ran_traps() == ""
    assert [(each.arguments, found) for each in ran if (found := hostile.unexpected(each))] == []
    for (code, _), each in zip(cases, ran, strict=True):
        assert each.code == code, (each.arguments, each.code, each.err)


def test_every_command_has_a_case():
    def names(command: object, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
        below = getattr(command, "commands", None)
        if below is None:
            yield before
        for name, each in (below or {}).items():
            yield from names(each, (*before, name))

    cases = [arguments for _, arguments in commands.cases({})]
    for name in names(get_command(app)):
        assert any(tuple(case[: len(name)]) == name for case in cases), f"{' '.join(name)} has no case"


def test_what_is_read_or_started_is_seen(hostile):
    (ran,) = hostile.run([["translate", "--system", "cmd:cat .netrc", "a.en"]])
    assert {"opened .netrc", "started cat .netrc"} <= set(hostile.unexpected(ran))


def test_german_analysis(hostile):
    pytest.importorskip("HanTa")
    names = ("make pairs", "condition --judge winomt", "condition --judge mucow")
    check(hostile, [case for case in commands.cases({}) if " ".join(case[1]).startswith(names)])


def test_jobs_of_make_models_do_not_import_from_their_folder(hostile):
    words = _command(("corpus", "--n", "3", "--stats"))
    subprocess.run(words, cwd=hostile.folder, env=hostile.environment(), check=True, capture_output=True)
    assert hostile.ran_traps() == ""


@pytest.mark.slow
def test_every_command(hostile, checkpoint, tmp_path_factory):
    converters = pytest.importorskip("ctranslate2.converters")
    marian, converted = checkpoint("marian"), tmp_path_factory.mktemp("ct2") / "model"
    converters.TransformersConverter(str(marian)).convert(str(converted))
    systems = {
        "hf": spec("marian", marian),
        "fsmt": spec("fsmt", checkpoint("fsmt")),
        "t5": spec("t5", checkpoint("t5")),
        "ct2": f"ct2:{converted}?tokenizer={marian}&max_length=48",
    }
    check(hostile, commands.cases(systems))


@pytest.mark.slow
def test_ray(hostile):
    pytest.importorskip("ray")
    ran = hostile.run([case.split() for case in commands.RAY_CASES])
    assert hostile.ran_traps() == ""
    for each in ran:
        assert each.code == 0, each.err
        started = [found for found in each.seen if found.startswith("started ")]
        assert all("/ray/" in found or found in _HARMLESS for found in started)
        each.seen = [found for found in each.seen if found not in started]
        assert hostile.unexpected(each) == []
