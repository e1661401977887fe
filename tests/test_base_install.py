"""`pip install .` without extras: its size, and every command that needs no model of this machine."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.golden.data import lay
from tests.support.chat_servers import ChatModel
from tests.support.serving import Request, Server

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
LARGEST = 550 * 2**20
OWN = "--tests parallel:own.en,own.de"
CHAT = "'openai:{server}/v1#m?source=English&target=German'"
# In this order, since later ones read the runs of earlier ones.
COMMANDS = [
    "systems",
    "translate --system 'cmd:./translate.sh' own.en",
    f"translate --system {CHAT} own.en",
    f"quality --system file:first.de --system file:second.de {OWN} --out run",
    f"quality --system 'cmd:./translate.sh' {OWN} --out other",
    f"quality --system {{server}}/translate {OWN}",
    f"quality --system {CHAT} {OWN}",
    "challenge --system 'cmd:./translate.sh' --tests challenge.jsonl --set matched_corpora=3",
    "condition --judge mucow --tests mucow:senses?all=yes --system file:senses.de?format=auto",
    "contrast --tests pairs.jsonl --system 'scores:pairs.scores?layout=interleaved&direction=lower' --set ties=wrong",
    f"prompted-choice --system {CHAT} --tests pairs.jsonl",
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
]
NEED_MODELS = [
    "score own.en --system lab:student --target own.de",
    "translate --system hf:Helsinki-NLP/opus-mt-en-de own.en",
    "translate --system llm:some/model own.en",
    "contrast --system lab:student --tests pairs.jsonl",
    f"quality --system file:first.de {OWN} --metric bleu --tokenize spm:own.model",
    "lab train --source own.en --target own.de --out trained",
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
def run(environment: Path) -> Iterator[Run]:
    work = environment / "work"
    work.mkdir()
    lay(work)
    (work / "translate.sh").write_text("#!/bin/sh\ncat\n")
    (work / "translate.sh").chmod(0o755)
    clean = {"HOME": str(work), "PATH": os.defpath, "NO_PROXY": "127.0.0.1", "HF_HUB_OFFLINE": "1"}
    server = Server(answer)

    def started(command: str) -> subprocess.CompletedProcess[str]:
        script = environment / "venv" / "bin" / "babelscope"
        words = shlex.split(command.format(server=server.url))
        return subprocess.run([script, *words], cwd=work, env=clean, capture_output=True, text=True)

    yield started
    server.shutdown()
    server.server_close()


def size(environment: Path) -> int:
    """Bytes on the disk."""
    return int(subprocess.check_output(["du", "-s", "-B1", environment / "venv"]).split()[0])


def test_it_is_small_and_has_no_torch(environment: Path) -> None:
    assert size(environment) <= LARGEST
    assert not list((environment / "venv").glob("lib/*/site-packages/torch"))


@pytest.mark.parametrize("command", NEED_MODELS)
def test_what_needs_a_model_says_what_to_install(run: Run, command: str) -> None:
    ran = run(command)
    assert ran.returncode == 2, ran.stderr
    assert ran.stderr.count("\n") == 1
    assert "pip install '.[models]'" in ran.stderr


def test_every_other_command_runs(run: Run, environment: Path) -> None:
    for command in COMMANDS:
        ran = run(command)
        assert ran.returncode == 0, f"{command}: {ran.stdout}{ran.stderr}"
    assert "<svg" in (environment / "work" / "page.html").read_text(encoding="utf-8")


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
