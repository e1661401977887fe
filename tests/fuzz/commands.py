"""The command line, fuzzed: good commands with their arguments and files broken."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

import typer.main
from typer.main import get_command

from babelscope.cli import main
from babelscope.util.errors import BabelscopeError
from tests.fuzz.fuzzing import Files, Target, sentence_fault
from tests.fuzz.targets import CONLLU, CUED, PAIR, SENTENCE, lines, text

_SENTENCES = text("a cat", "a b c")
_JUDGED = {
    "label": ["Male"],
    "Index": "3",
    "Gold Gender": "male",
    "Source Sentence": "A nurse.",
    "Word": "nurse",
}
_FILES: Files = {
    "a.en": _SENTENCES,
    "a.de": _SENTENCES,
    "given.txt": text("abc", "ab"),
    "pairs.jsonl": lines(PAIR, {**PAIR, "id": "2"}),
    "cued.jsonl": lines(CUED, {**CUED, "id": "2"}),
    "tests.jsonl": lines(SENTENCE, {**SENTENCE, "id": "2"}),
    "links": b"0-0 1-1\n0-0\n",
    "a.conllu": CONLLU,
    "parsed.en": text("Er gibt nie auf", "Zum Haus"),
    "scores": text("-1\t-2\t-3", "-1\t-1\t-4"),
    "best.tsv": text("-1\t-2", "-3\t-4"),
    "human.jsonl": lines(*({"system": s, "id": i, "score": i * 0.2} for s in "ab" for i in (1, 2))),
    "q.jsonl": lines({"task": "assessment", "id": 1, "source": "A cat.", "translation": "Katze."}),
    "judged.jsonl": lines(*({**_JUDGED, "Sample ID": number} for number in "78")),
    "earlier.csv": b'Index,Find entity? [Y/N],Gender? [M/F/N]\r\n3,Y,M\r\n4,N,\r\n5,Y,"F"\r\n',
    "words.json": b'{"cat": {"src_forms": ["cat"], "tgt_forms_male": ["cat"], "tgt_forms_female": ["c"]}}',
    "study.toml": (
        b'[[systems]]\nspec = "toy:1"\n[[tests]]\nspec = "tests.jsonl"\n[[methods]]\nname = "likelihood"\n'
        b"[run]\nchunk = 1\n"
    ),
}
# Which files a command has is told by their names in it.
_COMMANDS = """
translate --system toy:1 a.en --beam 2 --json
translate --system file:given.txt a.en --to o
translate --decode sample --system toy:1 a.en --n 2 --seed 3
score --system toy:1 a.en --target a.de --json
contrast --system toy:1 --tests pairs.jsonl --set detect_in_output=no --json --set ties=half --score total
contrast --tests pairs.jsonl --system scores:scores?layout=columns
condition --tests cued.jsonl --system toy:1 --evaluator toy:2 --set score_base=2 --set least_certain=1 --out r
condition --tests cued.jsonl --system file:given.txt?format=auto&missing=skip --evaluator scores:best.tsv --json
challenge --tests tests.jsonl --system file:given.txt --metric chrf --distance 1 --set matched_corpora=2
run study.toml --out r --json --no-report
run study.toml --seed 3
compare . --summary --format markdown
compare --factors best.tsv --on bleu --figure all
report r -o o
agreement human.jsonl --human human.jsonl --set field=score --json
agreement judged.jsonl --task winomt
agreement earlier.csv --task winomt
annotate q.jsonl --annotator me --task assessment --port 0 --no-open --json
make challenge --parses a.conllu --source parsed.en --reference a.de --set parsed_side=source --to o
make challenge --parses a.conllu --language de --set exact=yes
make pairs --type auxiliary --source a.en --reference a.de --to o
make pairs --audit 2 --type auxiliary --source a.en --reference a.de
make pairs --list-types
flow --source a.en --data a.de --words words.json --json
flow --counts words.json --json
quality --tests tests.jsonl --system file:given.txt --metric chrf --json
make counts --source a.en --target a.de --lexicon best.tsv --json
make counts --source a.en --target a.de --words words.json --set labor=best.tsv --json
annotate --sample cued.jsonl --translations given.txt --queue o --json
run --merge r --out o
systems --json
data list --json
data show mucow --json
data get x
lab corpus --n 3 --seed 1 --stats --json
--version
--help
""".strip().split("\n")
_ON_RUNS = """
compare r0 --json
compare r0 --format latex --seed-group toy=toy:*
compare r0 --factors best.tsv --on bleu
report r0 -o o --items 3
run --merge r0 --out o
agreement q.jsonl --verdicts r0 --json
annotate --sample r0 --queue o --n 3
space --rejudge r0 --json
""".strip().split("\n")


def _seed(command: str, runs: Sequence[Files] = ()) -> Files:
    files = {name: data for name, data in _FILES.items() if name in command}
    files |= {f"r{number}/{name}": data for number, run in enumerate(runs) for name, data in run.items()}
    if "study.toml" in files:
        files["tests.jsonl"] = _FILES["tests.jsonl"]
    # A line an argument, since arguments may have spaces.
    return {**files, "arguments": command.replace(" ", "\n").encode()}


class NotASentence(Exception):
    """What a command said is not what it should say."""


_LASTING = {"train", "locality", "prepare", "demo", "evaluate"}


def _run(folder: Path) -> None:
    arguments = (folder / "arguments").read_bytes().decode("utf-8", "surrogateescape").split("\n")
    # No argument can have a NUL. Without slashes and dots nothing outside the folder is named; and no
    # process is started, no server asked, no model trained.
    safe = [each.replace("\0", "").replace("/", "_").replace("..", "__") for each in arguments]
    if _LASTING & set(safe) or any(
        each.startswith(("lab:", "hf:", "llm:", "ct2:", "--ray")) for each in safe
    ):
        return
    if len(safe) > 200:  # as many run folders as are asked for
        return
    code, said = _call(folder, safe)
    if code == 0:
        return
    last = said.rstrip("\n").split("\n")[-1]
    if code not in (1, 2) or "Traceback" in said:
        raise NotASentence(f"exit code {code}: {last}")
    # Click tells wrong usage in lines of its own, with the arguments as they were given.
    if "Usage: " not in said and not last.startswith("Error: "):
        told = last.removeprefix("babelscope: error: ")
        # As long as an argument that it repeats.
        if told == last or sentence_fault(told[:1000]):
            raise NotASentence(f"exit code {code}: {last}")
    raise BabelscopeError(last)


def _call(folder: Path, arguments: Sequence[str]) -> tuple[int, str]:
    """The exit code and standard error of a command in this process."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(3)]
    before = (sys.stdin, sys.stdout, sys.stderr, sys.argv, warnings.showwarning)
    sys.stdin, sys.stdout, sys.stderr = streams
    sys.argv = ["babelscope", *arguments]
    try:
        with contextlib.chdir(folder), _nothing_leaves():
            main()
    except SystemExit as stopped:
        code = stopped.code if isinstance(stopped.code, int) else int(stopped.code is not None)
    else:
        code = 0
    finally:
        sys.stdin, sys.stdout, sys.stderr, sys.argv, warnings.showwarning = before
    return code, streams[2].buffer.getvalue().decode("utf-8", "backslashreplace")


@functools.cache
def _built(app: typer.Typer) -> Any:
    """The commands, built once: Typer would do so at every call, which takes most of the time."""
    return get_command(app)


@contextlib.contextmanager
def _nothing_leaves() -> Iterator[None]:
    """No process, no connection, no page that waits for somebody."""
    from babelscope.annotate import server

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise OSError(1, "not while fuzzing")

    with (
        mock.patch.object(subprocess, "Popen", refuse),
        mock.patch.object(socket.socket, "connect", refuse),
        mock.patch.object(server, "serve"),
        mock.patch.object(typer.main, "get_command", _built),
    ):
        yield


def targets(runs: Sequence[Files]) -> Sequence[Target]:
    """The command line on files and on run folders; the toys must be installed."""
    os.environ |= {
        "BABELSCOPE_CACHE": ":memory:",
        "BABELSCOPE_DATA": "data",
        "BABELSCOPE_MIRROR": "http://127.0.0.1:1",
    }
    return (
        Target("command line", _run, [_seed(command) for command in _COMMANDS], share=0.4),
        Target(
            "command line, runs",
            _run,
            [_seed(command, [run]) for command in _ON_RUNS for run in runs],
            broken=("arguments",),
            share=0.1,
        ),
    )
