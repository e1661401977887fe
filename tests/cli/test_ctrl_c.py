"""Ctrl-C (SIGINT) in every command that works long: exit code 130, a sentence, nothing half-written."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from babelscope.cli import app
from babelscope.testsets import AmbiguousSource, MinimalPair
from tests.support import toys
from tests.support.toy_fixtures import Babelscope

GO_ON = "run the same command again to resume"
# They answer at once, or nearly so.
SHORT = {"systems", "data list", "data show", "data echo", "data publish", "doctor", "plan"}
SHORT |= {"gate"}  # asks as `check` does, and ends with a code of its own
# What must be said, and beginnings of the names of files that may be left, to resume with.
REPORTED_FLAGS: dict[str, tuple[str, tuple[str, ...]]] = {
    "servers": ("only answers of servers are kept", ()),
    "cache": ("are in the cache", ("cache",)),
    "no cache": ("no answers are kept", ()),
    "nothing": ("nothing is kept; run the same command to start again", ()),
    "answers": (f"what systems answered is kept; {GO_ON}", ("state",)),
    "parts": (f"finished parts are kept; {GO_ON}", ("state", "run")),
    "run": (f"finished work is kept in run; {GO_ON}", ("run",)),
    "study": (f"finished work is kept in the run folder; {GO_ON}", ("run",)),
    "download": ("downloaded whole are kept", ()),
    "metric": ("what is unfinished will be made again", ()),
}


PAIR = MinimalPair("1", "a", "ab", ("ba",), "placeholder_ding", "human")
CUED = AmbiguousSource("1", "a", ("a b",), ("b a",), "c", gold="c", extra={"word": "a", "reference": "ab"})
FAR = {"phenomenon": "particle", "head": 1, "dependent": 4, "distance": 2}
FILES = {
    "a.en": "a\nb\n",
    "a.de": "ab\nba\n",
    "pairs.jsonl": json.dumps(PAIR.as_json()) + "\n",
    "cued.jsonl": json.dumps(CUED.as_json()) + "\n",
    "tests.tsv": "a\tab\nb\tba\n",
    "far.jsonl": json.dumps({"id": "1", "source": "a b c d", "reference": "ab", "dependencies": [FAR]})
    + "\n",
    "scores.jsonl": '{"system": "a", "id": 1, "score": 0.2}\n',
    "words.json": '{"a": {"src_forms": ["a"], "tgt_forms_male": ["ab"], "tgt_forms_female": ["ba"]}}',
    "wino.tsv": "male\t1\tThe cook slept because he was tired.\tcook\tpro\n",
    "wino.txt": "Der Koch schlief, weil er müde war.\n",
    "wino.align": "0-0 1-1\n",
    "en-de.text.txt": "My pen.\n",
    "en-de.key.tsv": "1\tted\tpen\tstift\tgehege\n",
    "mucow.de": "Meine Stifte.\n",
    "a.conllu": "".join(f"# text = {w}\n1\t{w}\t{w}\tNOUN\t_\t_\t0\troot\t_\t_\n\n" for w in "ab"),
    "links": "0-0\n0-0\n",
    "candidates.json": "{}",
    "terms.tsv": "source\trequire\na\tb\n",
    "study.toml": '[study]\nname = "s"\n[[systems]]\nspec = "toy:1"\n[[tests]]\nspec = "tsv:tests.tsv"\n'
    '[[methods]]\nname = "likelihood"\n',
}
# By what must be said: a command, and the function in which Ctrl-C comes.
CASES = {
    "servers": """
translate --system toy:1 a.en --to out @ TOY.translate
translate --decode sample --system toy:1 a.en --n 2 --to out @ TOY.sample
translate --decode mbr --system toy:1 a.en --n 2 --to out @ TOY.sample
score --system toy:1 a.en --target a.de --to out @ TOY.score
contrast --system toy:1 --tests pairs.jsonl @ JUDGE
errors --system toy:1 --tests pairs.jsonl @ JUDGE
condition --system toy:1 --evaluator toy:1 --tests cued.jsonl @ JUDGE
prompted-choice --system lab:llm --tests pairs.jsonl @ JUDGE
rules --system toy:1 --tests rules:terms.tsv @ JUDGE
judged --system toy:1 --judge lab:llm --tests tsv:tests.tsv --error omission @ JUDGE
space --system toy:1?alphabet=ab&limit=4 --tests tsv:tests.tsv --k 2 --samples 4 --set segments=out @ JUDGE
challenge --system toy:1 --tests far.jsonl --metric chrf @ JUDGE
likelihood --system toy:1 --tests tsv:tests.tsv @ JUDGE
check toy:1 --text a.en --source-language en --target-language de @ JUDGE
quality --system toy:1 --tests tsv:tests.tsv @ JUDGE
condition --judge winomt --tests winomt:wino.tsv --system file:wino.txt?format=auto --target de @ JUDGE
condition --judge mucow --tests mucow:en-de.text.txt?all=yes --system file:mucow.de?format=auto @ JUDGE
""",
    "cache": "translate --system toy:1 a.en --to out --cache @ TOY.translate",
    "no cache": "translate --system toy:1 a.en --to out --no-cache @ TOY.translate",
    "nothing": """
flow --source a.en --target a.de --words words.json --flows out @ making.flows:find_occurrences
compare one two --to out @ runs.reading:read_run
report one --to out @ report.page:collect
annotate pairs.jsonl --no-open @ annotate.queue:read_tasks
annotate far.jsonl --no-open @ annotate.queue:queue_of_set
annotate --sample winomt:wino.tsv --set translations=wino.txt --queue out @ annotate.queue:draw_sample
agreement scores.jsonl --task winomt --to out @ annotate.answers:find_answers
agreement scores.jsonl --human scores.jsonl --to out @ stats.correlation:human_correlations
make pairs --type placeholder_ding --source a.en --reference a.de @ making.pairs:PairsOfFiles.lines
make pairs --audit 30 --type placeholder_ding --source a.en --reference a.de --to out @ making.pairs:sample_for_audit
make counts --source a.en --target a.de --lexicon tests.tsv --to out @ making.counts:count_senses
make counts --source a.en --target a.de --words words.json --to out @ making.counts:count_genders
lab corpus --n 50 --stats @ lab.grammar.corpus:generate
lab prepare --source a.en --target a.de --languages en-de --out run @ lab.training.preparing:filter_pairs
""",
    "answers": """
translate --decode exact --system toy:1?alphabet=ab&limit=4 a.en --n 2 --to out @ TOY.top_k
make cues --tests cued.jsonl --evaluator toy:1 --candidates candidates.json --to out @ making.cue_search:make_cues
make machine-references --system toy:1 --tests pairs.jsonl --to out @ TOY.translate
lab evaluate --system toy:1 --n 10 @ TOY.translate
lab evaluate --evaluator toy:1 --n 24 --records out @ TOY.score
""",
    "parts": """
make pairs --type np_agreement --source a.en --reference a.de --to out @ making.pairs:make_lines
make challenge --source a.en --reference a.de --parses a.conllu --set alignments=links --to out @ SEARCH
lab corpus --n 50 --out run @ lab.grammar.corpus:_make_part
""",
    "run": """
contrast --system toy:1 --tests pairs.jsonl --out run @ JUDGE
run study.toml --out run --no-report @ JUDGE
run --merge one two --out run @ runs.shards:merge
demo --n 10 --out run @ runs.study:run_study
lab train --source a.en --target a.de --out run @ lab.training.train:train
lab train --teacher one --source a.en --out run @ lab.training.distillation:distill
lab prepare --source a.en --target a.de --forward one --out run @ lab.training.augmenting:augment
lab locality --out run --set quick=yes @ lab.experiments.locality:locality
""",
    "study": "run study.toml --no-report @ JUDGE",
    "download": "data get distil-lingeval/np_agreement @ util.published:fetch",
    "metric": "data get comet --yes @ metrics.corpus:find_metric",
}
PLACES = {"JUDGE": "methods.jobs:Job.judge", "SEARCH": "making.challenge.search:run_search"}
COMMANDS = [(kept, *line.split(" @ ")) for kept, lines in CASES.items() for line in lines.strip().split("\n")]


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    for name in getattr(command, "commands", ()):
        yield from leaves(command.commands[name], (*path, name))
    if not hasattr(command, "commands"):
        yield " ".join(path)


def test_every_command_has_a_case() -> None:
    """A new command works long, and has a case here, or answers at once, and says so above."""
    asked = [f"{command} " for _, command, _ in COMMANDS]
    found = [name for name in leaves(get_command(app)) if any(each.startswith(f"{name} ") for each in asked)]
    known = SHORT | set(found)
    assert sorted(leaves(get_command(app))) == sorted(known)


def interrupt(monkeypatch: pytest.MonkeyPatch, place: str) -> list[str]:
    """Let SIGINT come when the function is called, as Ctrl-C does; what comes back says that it did."""
    module, _, path = PLACES.get(place, place).partition(":")
    *owners, name = path.split(".") if path else module.split(".")[1:]
    owner: Any = importlib.import_module(f"babelscope.{module}") if path else toys.ToySystem
    for each in owners:
        owner = getattr(owner, each)
    came: list[str] = []

    def interrupted(*_arguments: Any, **_options: Any) -> Any:
        came.append(place)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
        pytest.fail("SIGINT did not come")

    original = getattr(owner, name)
    monkeypatch.setattr(owner, name, interrupted)
    INSTEAD[interrupted] = original
    return came


INSTEAD: dict[Any, Any] = {}


@pytest.fixture(autouse=True)
def modules_as_they_were() -> Iterator[None]:
    """A module that was imported in the meantime has the function that interrupts: give it the original."""
    yield
    for module in [each for name, each in sys.modules.items() if name.startswith("babelscope.")]:
        for name, value in list(vars(module).items()):
            if inspect.isfunction(value) and value in INSTEAD:
                setattr(module, name, INSTEAD[value])


@pytest.mark.usefixtures("exact_toys")
@pytest.mark.parametrize(("kept", "command", "place"), COMMANDS)
def test_ctrl_c_says_what_is_kept(
    babelscope: Babelscope,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kept: str,
    command: str,
    place: str,
) -> None:
    told, left = REPORTED_FLAGS[kept]
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("BABELSCOPE_DATA", str(tmp_path / "data"))
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    if "one" in command.split():
        for number, name in enumerate(("one", "two"), 1):
            shard = ("--shard", f"{number}/2") if command.startswith("run --merge") else ()
            made = babelscope("run study.toml --no-report --out", name, *shard)
            assert made.code == 0, made.err
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with monkeypatch.context() as patch:
        came = interrupt(patch, place)
        ran = babelscope(command)
    assert came == [place], ran.err
    assert ran.code == 130
    *_, last = ran.err.splitlines()
    assert last.startswith("babelscope: stopped; ")
    assert told in last
    assert "Traceback" not in ran.err
    assert ran.out == "", "nothing but the sentence"
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    changed = [str(path.relative_to(tmp_path)) for path in after if before.get(path) != after[path]]
    assert [name for name in changed if not name.startswith(("cache.sqlite", *left))] == []
    assert before.keys() <= after.keys()
    if "toy:1" in command and "make" not in command and "lab" not in command:
        again = babelscope(command)
        assert (again.code, (tmp_path / "out").exists()) == (
            0,
            "out" in command.replace("segments=", "").split(),
        ), again.err


def test_a_process_that_waits_for_another_is_stopped(tmp_path: Path) -> None:
    """A signal from outside, while a program that the system is made of is asked."""
    (tmp_path / "a.en").write_text("a\n")
    started = tmp_path / "started"
    command = f"cmd:sh -c 'touch {started}; exec sleep 60'"
    process = subprocess.Popen(
        [sys.executable, "-m", "babelscope", "translate", "--system", command, "a.en", "--to", "out"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 60
        while not started.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (process.returncode, out) == (130, ""), err
    assert err.startswith("babelscope: stopped; ")
    assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()
