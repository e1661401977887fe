"""Stdin, stdout and stderr that are closed, full, or read by nobody."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from babelscope.testsets import AmbiguousSource
from tests.support.toy_fixtures import Babelscope

MAIN = "from babelscope.cli import main; main()"
PAIR = {"source": "a", "correct": "ab", "contrastive": ["ba"], "phenomenon": "p", "reference": "human"}


def broken_pipe() -> io.TextIOWrapper:
    read, write = os.pipe()
    os.close(read)
    return io.TextIOWrapper(open(write, "wb", buffering=0), encoding="utf-8", write_through=True)


def full_disk() -> io.TextIOWrapper:
    """Told only when it is flushed."""
    return io.TextIOWrapper(open("/dev/full", "wb"), encoding="utf-8")


def full_at_once() -> io.TextIOWrapper:
    return io.TextIOWrapper(open("/dev/full", "wb", buffering=0), encoding="utf-8", write_through=True)


FILES = {
    "a.en": "a cat\na b c\n",
    "pairs.jsonl": "".join(json.dumps({**PAIR, "id": str(n)}) + "\n" for n in range(2)),
    "cued.jsonl": "".join(
        json.dumps(AmbiguousSource(str(n), f"a {n}", ("r",), ("w",), "male").as_json()) + "\n"
        for n in range(2)
    ),
    "tests.jsonl": "".join(
        json.dumps({"id": str(n), "source": "a", "reference": "ab", "dependencies": []}) + "\n"
        for n in range(2)
    ),
    "human.jsonl": "".join(
        json.dumps({"system": s, "id": i, "score": i * 0.2}) + "\n" for s in "ab" for i in (1, 2)
    ),
    "words.json": '{"cat": {"src_forms": ["cat"], "tgt_forms_male": ["cat"], "tgt_forms_female": ["c"]}}',
    "study.toml": '[[systems]]\nspec = "toy:1"\n[[tests]]\nspec = "tests.jsonl"\n'
    '[[methods]]\nname = "likelihood"\n',
}
COMMANDS = [
    each.split()
    for each in """
translate --system toy:1 a.en
translate --system toy:1 a.en --json
translate --decode sample --system toy:1 a.en --n 2
translate --decode mbr --system toy:1 a.en --n 2
score --system toy:1 a.en --target a.en
contrast --system toy:1 --tests pairs.jsonl --set detect_in_output=no
contrast --system toy:1 --tests pairs.jsonl --set detect_in_output=no --json
condition --tests cued.jsonl --system toy:1 --evaluator toy:2
challenge --tests tests.jsonl --system toy:1 --metric chrf --set matched_corpora=2
run study.toml
run study.toml --json
agreement human.jsonl --human human.jsonl
flow --source a.en --target a.en --words words.json --flows o
make pairs --list-types
systems
data list
data show distil-lingeval --json
data list
lab corpus --n 3 --stats
--version
--help
""".strip().split("\n")
]


@pytest.fixture
def files(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    ("stdout", "code", "told"),
    [
        (lambda: None, 0, ""),
        (full_disk, 1, "babelscope: error: stdout cannot be written: No space left on device\n"),
        (full_at_once, 1, "babelscope: error: stdout cannot be written: No space left on device\n"),
        (broken_pipe, 1, ""),
    ],
    ids=["closed", "full", "full at once", "read by nobody"],
)
def test_a_stdout_that_cannot_be_written(
    babelscope: Babelscope,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
    stdout: Callable[[], object],
    code: int,
    told: str,
) -> None:
    monkeypatch.setattr(sys, "stdout", stdout())
    ran = babelscope(*command)
    said = [line for line in ran.err.split("\n") if line.startswith("babelscope: error")]
    assert (ran.code, said) == (code, told.split("\n")[:-1])
    assert "Traceback" not in ran.err
    assert "Exception ignored" not in ran.err
    if "o" in command:
        assert (tmp_path / "o").stat().st_size, "what it kept is kept all the same"


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("stderr", [lambda: None, full_at_once, broken_pipe], ids=["closed", "full", "pipe"])
def test_a_stderr_that_cannot_be_written_changes_nothing(
    babelscope: Babelscope, monkeypatch: pytest.MonkeyPatch, stderr: Callable[[], object]
) -> None:
    right = babelscope("run", "study.toml", "--out", "right").out.replace("right", "run")
    monkeypatch.setattr(sys, "stderr", stderr())
    ran = babelscope("run", "study.toml", "--out", "run")
    assert (ran.code, ran.out) == (0, right)
    assert babelscope("run", "nothing.toml").code == 2


def test_in_a_shell(toy_folders: list[str], tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(FILES["study.toml"])
    (tmp_path / "tests.jsonl").write_text(FILES["tests.jsonl"])
    paths = [*toy_folders, os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}

    def shell(line: str) -> tuple[int, str]:
        ran = subprocess.run(
            ["bash", "-c", f"set -o pipefail; babelscope() {{ {sys.executable} -m babelscope \"$@\"; }}; {line}"],
            capture_output=True, text=True, cwd=tmp_path, env=environment, check=False,
        )  # fmt: skip
        return ran.returncode, ran.stderr

    assert shell("babelscope run study.toml --no-report >&-")[0] == 0
    assert shell("babelscope systems >&- 2>&- <&-") == (0, "")
    assert shell("babelscope translate --system toy:1 <&-") == (
        2,
        "babelscope: error: stdin is closed; give a file of sources\n",
    )
    assert shell("babelscope systems > /dev/full") == (
        1,
        "babelscope: error: stdout cannot be written: No space left on device\n",
    )


def test_nothing_that_is_opened_later_takes_the_place_of_stdout(
    toy_folders: list[str], tmp_path: Path
) -> None:
    (tmp_path / "a.en").write_text("a\n")
    code = (
        "import os, sys\nos.close(0)\nos.close(1)\nsys.stdin = sys.stdout = None\n"
        "sys.argv = ['babelscope', 'translate', '--system', 'toy:1?log=log', 'a.en']\n"
        "from tests.support import toys\nright = toys.ToySystem._asked\n"
        "def asked(self, question):\n"
        "    right(self, question)\n"
        "    file = open('kept', 'w')\n"
        "    os.write(1, b'from a library in C')\n"
        "toys.ToySystem._asked = asked\n"
    )
    paths = [*toy_folders, os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    subprocess.run([sys.executable, "-c", code + MAIN], cwd=tmp_path, env=environment, check=True)
    assert b"in C" not in b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
