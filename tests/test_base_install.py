"""`pip install .` without extras: its size, and every command that needs no model of this machine.

The slow tests install it; the quick ones block the packages of `[models]` in a process of their own.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from babelscope.cli import app
from tests.cli.test_size import leaves
from tests.golden.data import lay
from tests.support.chat_servers import ChatModel
from tests.support.serving import Request, Server

ROOT = Path(__file__).parents[1]
LARGEST = 550 * 2**20
OWN = "--tests parallel:own.en,own.de"
CHAT = "'openai:{server}/v1#m?source=English&target=German&logprobs=vllm'"
# In this order, since later ones read the runs of earlier ones.
COMMANDS = [
    "systems",
    "doctor file:first.de",
    "plan --margin 2%",
    "data list",
    "data show distil-lingeval/clause_omission.mt",
    "data get chrf",
    "make pairs --list-types",
    "make counts --source a.en --target a.de --lexicon lexicon.tsv",
    "flow --source doctors.en --target doctors.de --words lab:occupations",
    "lab corpus --n 200 --out corpus",
    "run --init --system file:first.de --tests parallel:own.en,own.de --method quality init.toml",
    f"score --system {CHAT} own.en --target own.de",
    "translate --system 'cmd:./translate.sh' own.en",
    f"translate --system {CHAT} own.en",
    f"quality --system file:first.de --system file:second.de {OWN} --out run",
    f"quality --system 'cmd:./translate.sh' {OWN} --out other",
    f"quality --system {{server}}/translate {OWN}",
    f"quality --system {CHAT} {OWN}",
    "challenge --system 'cmd:./translate.sh' --tests challenge.jsonl --set matched_corpora=3",
    "condition --judge mucow --tests mucow:senses?all=yes --system file:senses.de?format=auto",
    "contrast --tests pairs.jsonl --system 'scores:pairs.scores?layout=interleaved&direction=lower' --set ties=wrong",
    f"contrast --tests pairs.jsonl --system {CHAT}",
    f"likelihood --system {CHAT} {OWN}",
    f"prompted-choice --system {CHAT} --tests pairs.jsonl",
    f"judged --system file:first.de {OWN} --judge {CHAT} --error omission",
    "check 'cmd:./translate.sh' --text own.en --source-language en --target-language de --out card",
    "rules --system file:given.txt?source=a.en --tests rules:terms.tsv",
    "gate old=file:own.de new=file:own.de --source own.en --source-language en --target-language de --margin 90%",
    "space --system 'lists:?top=top.moses&beam=beam.moses' --tests references:own.de --k 3 --samples 0",
    "compare run other",
    "report run --to page.html",
    "agreement --task mucow released.ann.jsonl released.bob.jsonl",
]
WITH_LANGUAGE_EXTRAS = [
    f"errors --system file:first.de {OWN} --target-language de",
    "condition --judge winomt --tests winomt:wino.tsv?neutral=yes --system file:wino.de?format=auto --target de "
    "--out wino",
    "annotate --sample wino --queue queue.jsonl --queue-size 4",
    "run stored.toml --out study",
    "make challenge --parses a.conllu --source parsed.de --reference parsed.en --to made.jsonl",
]
NEED_MODELS = [
    "score own.en --system lab:student --target own.de",
    "translate --system hf:Helsinki-NLP/opus-mt-en-de own.en",
    "translate --system llm:some/model own.en",
    "contrast --system lab:student --tests pairs.jsonl",
    f"quality --system file:first.de {OWN} --metric bleu --tokenize spm:own.model",
    "lab train --source own.en --target own.de --out trained",
    "lab prepare --source own.en --target own.de --forward lab --out prepared",
    "lab locality --out local --set quick=yes",
    "lab evaluate --system lab:student --n 10",
    "make cues --tests lab:senses?n=60 --evaluator lab:teacher --candidates candidates.json --to cued.jsonl",
    "make machine-references --tests pairs.jsonl --system lab:teacher --to machine.jsonl",
    "run study.toml --out models",
    "demo --out demo",
]

Run = Callable[[str], "subprocess.CompletedProcess[str]"]


def answer(request: Request) -> Any:
    """A chat model, and an endpoint that translates."""
    if request.path.startswith("/v1"):
        return ChatModel()(request)
    return {"translations": ["Das ist ein Haus." for _ in request.body["sources"]]}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty environment, with a copy of this tree installed."""
    folder = tmp_path_factory.mktemp("base")
    # A copy, since a build leaves folders behind.
    without = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", folder / "tree" / "src", ignore=without)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, folder / "tree")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    install(folder, "")
    return folder


def install(folder: Path, extras: str) -> None:
    pip = [
        str(folder / "venv" / "bin" / "pip"),
        "install",
        "--quiet",
        "-c",
        str(ROOT / "constraints.txt"),
    ]
    subprocess.run([*pip, f"{folder / 'tree'}{extras}"], check=True)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server(answer)
    yield server
    server.shutdown()
    server.server_close()


def lay_files(work: Path) -> dict[str, str]:
    """A folder with all that the commands read, and the environment that they run in."""
    lay(work)
    (work / "translate.sh").write_text("#!/bin/sh\ncat\n")
    (work / "translate.sh").chmod(0o755)
    return {"HOME": str(work), "PATH": os.defpath, "NO_PROXY": "127.0.0.1", "HF_HUB_OFFLINE": "1"}


@pytest.fixture(scope="module")
def run(environment: Path, server: Server) -> Run:
    work = environment / "work"
    work.mkdir()
    clean = lay_files(work)

    def started(command: str) -> subprocess.CompletedProcess[str]:
        script = environment / "venv" / "bin" / "babelscope"
        words = shlex.split(command.format(server=server.url))
        return subprocess.run([script, *words], cwd=work, env=clean, capture_output=True, text=True)

    return started


def size(environment: Path) -> int:
    """Bytes on the disk."""
    return int(subprocess.check_output(["du", "-s", "-B1", environment / "venv"]).split()[0])


@pytest.mark.slow
def test_it_is_small_and_has_no_torch(environment: Path) -> None:
    assert size(environment) <= LARGEST
    assert not list((environment / "venv").glob("lib/*/site-packages/torch"))


@pytest.mark.slow
@pytest.mark.parametrize("command", NEED_MODELS)
def test_what_needs_a_model_says_what_to_install(run: Run, command: str) -> None:
    ran = run(command)
    assert ran.returncode == 2, ran.stderr
    assert ran.stderr.count("\n") == 1
    assert "pip install '.[models]'" in ran.stderr


@pytest.mark.slow
def test_every_other_command_runs(run: Run, environment: Path) -> None:
    failed = [f"{each}: {ran.stdout}{ran.stderr}" for each in COMMANDS if (ran := run(each)).returncode]
    assert failed == []
    assert "<svg" in (environment / "work" / "page.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_languages_are_extras_without_torch(run: Run, environment: Path) -> None:
    for command, extra in zip(WITH_LANGUAGE_EXTRAS, ("german", "align"), strict=False):
        ran = run(command)
        assert ran.returncode == 2
        assert f"pip install '.[{extra}]'" in ran.stderr
    shutil.rmtree(environment / "work" / "wino")
    install(environment, "[german,align]")
    for command in WITH_LANGUAGE_EXTRAS:
        ran = run(command)
        assert ran.returncode == 0, f"{command}: {ran.stdout}{ran.stderr}"
    assert size(environment) <= LARGEST


@pytest.mark.slow
def test_people_can_judge(run: Run, environment: Path) -> None:
    work, script = environment / "work", environment / "venv" / "bin" / "babelscope"
    assert run(f"quality --system file:first.de {OWN} --metric chrf --out people").returncode == 0
    assert run("annotate people --queue people.jsonl --queue-only").returncode == 0
    command = [str(script), "annotate", "people.jsonl", "--no-open", "--json"]
    with subprocess.Popen(command, cwd=work, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        with urllib.request.urlopen(json.loads(process.stdout.readline())["url"]) as page:
            assert b"<html" in page.read()
        process.terminate()


# Runs commands, a line each, where the packages of `[models]` cannot be imported.
BLOCKED = """
import importlib.abc, json, shlex, sys

class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "transformers", "sentencepiece", "numba"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
if __name__ == "__main__":
    from tests.golden.harness import run_command
    for line in sys.stdin:
        print(json.dumps(run_command(shlex.split(line))), flush=True)
"""


def test_commands_where_packages_for_models_are_missing(tmp_path: Path, server: Server) -> None:
    clean = {**lay_files(tmp_path), "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    (tmp_path / "blocked.py").write_text(BLOCKED)
    commands = [*COMMANDS, *WITH_LANGUAGE_EXTRAS, *NEED_MODELS]
    lines = "".join(f"{command.format(server=server.url)}\n" for command in commands)
    ran = subprocess.run(
        [sys.executable, "blocked.py"], cwd=tmp_path, env=clean, input=lines, capture_output=True, text=True
    )
    results = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(results) == len(commands), ran.stderr
    refusal = r"babelscope: error: .*pip install '\.\[models\]'.*\n"
    wrong = [
        f"{command}: {code} {out}{err}"
        for command, (code, out, err) in zip(commands, results, strict=True)
        if not (code == 2 and re.fullmatch(refusal, err) if command in NEED_MODELS else code == 0)
    ]
    assert wrong == []


def test_every_command_is_tried() -> None:
    words = [command.split() for command in (*COMMANDS, *WITH_LANGUAGE_EXTRAS, *NEED_MODELS)]
    tried = {" ".join(each[:count]) for each in words for count in (1, 2)}
    # They download, or need a run folder with answers of people.
    assert {" ".join(path) for path, _ in leaves(get_command(app))} - tried == {"data echo", "data publish"}
