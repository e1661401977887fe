"""Ctrl-C (SIGINT) in every command that works long: exit code 130, a sentence, nothing half-written."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from babelscope.cli import app
from babelscope.testsets import AmbiguousSource, MinimalPair
from tests.support import toys
from tests.support.enumerated import Enumerated
from tests.support.toy_fixtures import Babelscope

NOTHING = "nothing is kept; run the same command to start again"
GO_ON = "run the same command again to go on"
JUDGE = "babelscope.methods.cells:Cell.judge"
# They answer at once, or nearly so.
SHORT = {"systems", "init", "data list", "data show", "lab models", "make types"}


@dataclass(frozen=True)
class Case:
    """A command, the function in which Ctrl-C comes, what must be said then, and what may be left."""

    command: str
    place: str
    told: str
    left: tuple[str, ...] = ()
    """Beginnings of the names of files that may be left, to go on with."""


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
    "study.toml": '[study]\nname = "s"\n[[systems]]\nspec = "toy:1"\n[[tests]]\nspec = "tsv:tests.tsv"\n'
    '[[methods]]\nname = "likelihood"\n',
}
TOY = "tests.support.toys:ToySystem"
CASES = [
    Case("translate --system toy:1 a.en --to out", f"{TOY}.translate", "only answers of servers are kept"),
    Case(
        "translate --system toy:1 a.en --to out --cache", f"{TOY}.translate", "are in the cache", ("cache",)
    ),
    Case("translate --system toy:1 a.en --to out --no-cache", f"{TOY}.translate", "no answers are kept"),
    Case("sample --system toy:1 --source a.en --n 2 --to out", f"{TOY}.sample", "answers of servers"),
    Case("mbr --system toy:1 --source a.en --n 2 --to out", f"{TOY}.sample", "answers of servers"),
    Case(
        "top-k --system toy:1?alphabet=ab&limit=4 a.en --k 2 --to out",
        f"{TOY}.top_k",
        f"what systems answered is kept; {GO_ON}",
        ("out.partial",),
    ),
    Case("score --system toy:1 --source a.en --target a.de --to out", f"{TOY}.score", "answers of servers"),
    Case("contrast --system toy:1 --tests pairs.jsonl --records out", JUDGE, "answers of servers"),
    Case("errors --system toy:1 --tests pairs.jsonl --records out", JUDGE, "answers of servers"),
    Case(
        "contrast --system toy:1 --tests pairs.jsonl --records out --out run",
        JUDGE,
        f"finished work is kept in run; {GO_ON}",
        ("run",),
    ),
    Case("condition --system toy:1 --evaluator toy:1 --tests cued.jsonl --records out", JUDGE, "answers of"),
    Case(
        "space --system toy:1?alphabet=ab&limit=4 --tests tsv:tests.tsv --k 2 --samples 4 --segments out",
        JUDGE,
        "answers of",
    ),
    Case("challenge --system toy:1 --tests far.jsonl --metric chrf --records out", JUDGE, "answers of"),
    Case("likelihood --system toy:1 --tests tsv:tests.tsv --records out", JUDGE, "answers of servers"),
    Case("quality --system toy:1 --tests tsv:tests.tsv --records out", JUDGE, "answers of servers"),
    Case(
        "patterns winomt --tests wino.tsv --translations wino.txt --alignments wino.align --target de --to out",
        JUDGE,
        "answers of servers",
    ),
    Case("patterns mucow --tests mucow:en-de.text.txt --translations mucow.de --to out", JUDGE, "answers of"),
    Case(
        "patterns flow --source a.en --data a.de --words words.json --to out",
        "babelscope.methods.patterns.flow:find_occurrences",
        NOTHING,
    ),
    Case("run study.toml --out run --no-report", JUDGE, f"finished work is kept in run; {GO_ON}", ("run",)),
    Case("run study.toml --no-report", JUDGE, f"finished work is kept in the run folder; {GO_ON}", ("run",)),
    Case("merge one two --out run", "babelscope.runs.shards:merge", "finished work is kept in run", ("run",)),
    Case("compare one two --to out", "babelscope.runs.reading:read_run", NOTHING),
    Case("report one --to out", "babelscope.report.building:collect", NOTHING),
    Case("annotate pairs.jsonl --no-open", "babelscope.annotate.items:read_tasks", NOTHING),
    Case(
        "annotate far.jsonl --no-open",
        "babelscope.annotate.extraction:queue_of_set",
        NOTHING,
    ),
    Case(
        "annotate sample --tests winomt:wino.tsv --translations wino.txt --to out",
        "babelscope.annotate.sampling:draw_sample",
        NOTHING,
    ),
    Case(
        "agreement scores.jsonl --task winomt --to out", "babelscope.annotate.answers:find_answers", NOTHING
    ),
    Case(
        "correlate scores.jsonl --human scores.jsonl --to out",
        "babelscope.stats.correlation:human_correlations",
        NOTHING,
    ),
    Case(
        "data get distil-lingeval/np_agreement",
        "babelscope.util.published:fetch",
        "downloaded whole are kept",
    ),
    Case(
        "data metric comet --yes",
        "babelscope.metrics.preparing:find_metric",
        "what is unfinished will be made again",
    ),
    Case(
        "make pairs --type np_agreement --source a.en --reference a.de --to out",
        "babelscope.making.pairs:make_lines",
        f"finished parts are kept; {GO_ON}",
        ("out.partial",),
    ),
    Case(
        "make pairs --type placeholder_ding --source a.en --reference a.de",
        "babelscope.making.pairs:PairsOfFiles.lines",
        NOTHING,
    ),
    Case(
        "make audit --type placeholder_ding --source a.en --reference a.de --to out",
        "babelscope.making.audit:sample_for_audit",
        NOTHING,
    ),
    Case(
        "make challenge --source a.en --reference a.de --parses a.conllu --alignments links --to out",
        "babelscope.making.challenge.search:run_search",
        f"finished parts are kept; {GO_ON}",
        ("out.partial",),
    ),
    Case(
        "make cues --tests cued.jsonl --evaluator toy:1 --candidates candidates.json --to out",
        "babelscope.making.cue_search:make_cues",
        f"what systems answered is kept; {GO_ON}",
        ("out.partial",),
    ),
    Case(
        "make senses --source a.en --target a.de --lexicon tests.tsv --to out",
        "babelscope.making.senses:count_senses",
        NOTHING,
    ),
    Case(
        "make occupations --source a.en --target a.de --words words.json --to out",
        "babelscope.making.occupations:count_genders",
        NOTHING,
    ),
    Case(
        "make machine-references --system toy:1 --tests pairs.jsonl --to out",
        f"{TOY}.translate",
        f"what systems answered is kept; {GO_ON}",
        ("out.partial",),
    ),
    Case(
        "demo --n 10 --out run", "babelscope.runs.study:run_study", "finished work is kept in run", ("run",)
    ),
    Case(
        "lab corpus --n 50 --out run",
        "babelscope.lab.grammar.corpus:_make_part",
        f"finished parts are kept; {GO_ON}",
        ("run",),
    ),
    Case("lab corpus --n 50 --stats", "babelscope.lab.grammar.corpus:generate", NOTHING),
    Case(
        "lab train --source a.en --target a.de --out run",
        "babelscope.lab.training.train:train",
        f"finished work is kept in run; {GO_ON}",
        ("run",),
    ),
    Case(
        "lab distill --teacher one --source a.en --out run",
        "babelscope.lab.training.distillation:distill",
        f"finished work is kept in run; {GO_ON}",
        ("run",),
    ),
    Case(
        "lab augment --source a.en --target a.de --forward one --out run",
        "babelscope.lab.training.augmenting:augment",
        f"finished work is kept in run; {GO_ON}",
        ("run",),
    ),
    Case(
        "lab make-models --out run --models two",
        "babelscope.lab.training.recipe:make_models",
        f"finished work is kept in run; {GO_ON}",
        ("run",),
    ),
    Case(
        "lab evaluate --system toy:1 --n 10",
        f"{TOY}.translate",
        f"what systems answered is kept; {GO_ON}",
        ("state",),
    ),
    Case(
        "lab truth --evaluator toy:1 --n 24 --records out",
        f"{TOY}.score",
        f"what systems answered is kept; {GO_ON}",
        ("out.partial",),
    ),
    Case(
        "lab prepare --source a.en --target a.de --languages en-de --out run",
        "babelscope.lab.training.preparing:filter_pairs",
        NOTHING,
    ),
    Case(
        "lab locality --out run --quick",
        "babelscope.lab.experiments.locality:locality",
        f"finished work is kept in run; {GO_ON}",
        ("run",),
    ),
]


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    for name in getattr(command, "commands", ()):
        yield from leaves(command.commands[name], (*path, name))
    if not hasattr(command, "commands"):
        yield " ".join(path)


def test_every_command_has_a_case() -> None:
    """A new command works long, and has a case here, or answers at once, and says so above."""
    asked = [f"{case.command} " for case in CASES]
    found = [name for name in leaves(get_command(app)) if any(each.startswith(f"{name} ") for each in asked)]
    known = SHORT | set(found)
    assert sorted(leaves(get_command(app))) == sorted(known)


def interrupt(monkeypatch: pytest.MonkeyPatch, place: str) -> list[str]:
    """Let SIGINT come when the function is called, as Ctrl-C does; what comes back says that it did."""
    module, _, path = place.partition(":")
    *owners, name = path.split(".")
    owner: Any = importlib.import_module(module)
    for each in owners:
        owner = getattr(owner, each)
    came: list[str] = []

    def interrupted(*_arguments: Any, **_options: Any) -> Any:
        came.append(place)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
        pytest.fail("SIGINT did not come")

    monkeypatch.setattr(owner, name, interrupted)
    return came


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.command)
def test_ctrl_c_says_what_is_kept(
    babelscope: Babelscope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: Case
) -> None:
    monkeypatch.setattr(toys.ToySystem, "top_k", Enumerated.top_k, raising=False)
    monkeypatch.setattr(toys.ToySystem, "space", Enumerated.space, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("BABELSCOPE_DATA", str(tmp_path / "data"))
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    if "one" in case.command.split():
        for number, name in enumerate(("one", "two"), 1):
            made = babelscope(
                "run study.toml --no-report --out",
                name,
                *(("--shard", f"{number}/2") if case.command.startswith("merge") else ()),
            )
            assert made.code == 0, made.err
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with monkeypatch.context() as patch:
        came = interrupt(patch, case.place)
        ran = babelscope(*case.command.split())
    assert came == [case.place], ran.err
    assert ran.code == 130
    *_, last = ran.err.splitlines()
    assert last.startswith("babelscope: stopped; ")
    assert case.told in last
    assert "Traceback" not in ran.err
    assert ran.out == "", "nothing but the sentence"
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    changed = [str(path.relative_to(tmp_path)) for path in after if before.get(path) != after[path]]
    kept = ("cache.sqlite", *case.left)
    assert [name for name in changed if not name.startswith(kept)] == []
    assert before.keys() <= after.keys()
    if "toy:1" in case.command and "make" not in case.command and "lab" not in case.command:
        again = babelscope(*case.command.split())
        assert (again.code, (tmp_path / "out").exists()) == (0, "out" in case.command.split()), again.err


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
