"""What fuzzing has found, each case once more: refused in a sentence that says what is wrong."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from babelscope.annotate.answers import read_answers
from babelscope.annotate.queue import read_tasks
from babelscope.core.registry import Options
from babelscope.core.system import ItemChoice
from babelscope.language.ud import read_trees
from babelscope.language.ud_rules import Finder, choose_rules, read_rules
from babelscope.report.flows import flow_charts
from babelscope.runs.manifest import Manifest
from babelscope.runs.reading import Run
from babelscope.runs.shards import merge
from babelscope.runs.study import run_study
from babelscope.systems.registry import open_system
from babelscope.systems.stored.scores import ScoresFile
from babelscope.testsets import load
from babelscope.testsets.ldd import read_ldd
from babelscope.testsets.mucow import read_mucow
from babelscope.testsets.winomt import read_winomt
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import read_lines
from tests.fuzz.fuzzing import Target, sentence_fault, try_files
from tests.fuzz.mutating import DEEP, LONG_NUMBER
from tests.fuzz.targets import CONLLU, SENTENCE, lines, text
from tests.support.sealing import seal

NINES = LONG_NUMBER.decode()
TASK = {"id": "1", "source": "a", "translation": "b", "task": "assessment"}
ANSWER = {"id": "1", "item": "d", "annotator": "me"}


def _damaged_gzip() -> bytes:
    data = bytearray(gzip.compress(CONLLU, mtime=0))
    data[20:40] = b"\xff" * 20
    return bytes(data)


def _scores(path: Path) -> None:
    ScoresFile(str(path), layout="columns").item_scores([ItemChoice("1")], best=False)


@pytest.mark.parametrize(
    ("name", "data", "read", "told"),
    [
        # Python turns no more than 4300 digits into a number, and says so with an error of its own.
        ("w.tsv", b"male\t" + LONG_NUMBER + b"\ta nurse\tnurse", read_winomt, "is no index of a token"),
        # Nests deeper than Python can call itself.
        ("a.toml", b"a = " + DEEP, read_rules, "not TOML"),
        # zlib's errors are not those of files.
        ("t.conllu.gz", _damaged_gzip(), lambda path: list(read_trees(path)), "cannot be read"),
        # An id that is empty was taken for none.
        ("s", text("1\t-1\t-2", "\t-1\t-2"), _scores, "has scores of ''"),
        # Fields of a wrong type.
        ("q.jsonl", lines({**TASK, "question": 5}), read_tasks, "'question' must be text"),
        ("a.jsonl", lines({**ANSWER, "task": "assessment", "answer": {}}), read_answers, "a score must be"),
        (
            "a.jsonl",
            lines({**ANSWER, "task": "ranking", "answer": {}}),
            read_answers,
            "'scores' must be a list",
        ),
        ("a.jsonl", lines({**ANSWER, "task": "mucow", "answer": {}}), read_answers, "'label' must be text"),
        (
            "m.json",
            json.dumps([{"source": "", "reference": 5, "errors": []}]).encode(),
            lambda path: load(f"mucow-scoring:{path}?empty=yes"),
            "must be texts",
        ),
    ],
)
def test_files(tmp_path, name, data, read, told):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(BabelscopeError, match=told) as caught:
        read(path)
    assert sentence_fault(str(caught.value)) == ""


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: Options("s", {"n": NINES}).integer("n", 1), "is not a whole number"),
        # Names of files that no system has, and some that only a system can have.
        (lambda: read_lines("a\0b"), "no such file"),
        (lambda: read_mucow("."), "must be what the files of a language pair begin with"),
        (lambda: read_ldd("a" * 300 + ",de"), "no such folder"),
        (lambda: open_system("file:\udcff"), "not valid Unicode"),
        # A name with a line break or an escape sequence stays within its line.
        (lambda: load("tsv:a\nb\x1b[31m"), r"a\\nb\\x1b\[31m: no such file"),
    ],
)
def test_values_and_names(ask, told):
    with pytest.raises(BabelscopeError, match=told) as caught:
        ask()
    assert sentence_fault(str(caught.value)) == ""


def _lay_study(folder: Path) -> None:
    (folder / "t.jsonl").write_bytes(lines(SENTENCE, {**SENTENCE, "id": "2"}))
    (folder / "s.toml").write_text(
        '[[systems]]\nspec = "toy:1"\n[[tests]]\nspec = "t.jsonl"\n[[methods]]\nname = "likelihood"\n'
    )


def test_commands(babelscope, tmp_path):
    """A name that is no text is written as it came."""
    (tmp_path / "p.en").write_text("a\n")
    ran = babelscope("translate", "--system", "toy:1", os.fsdecode(b"\xfe.txt"))
    assert (ran.code, sentence_fault(ran.err.rstrip("\n"))) == (2, "")
    assert babelscope("translate", "--system", "toy:1", "p.en", "--to", os.fsdecode(b"\xff.txt")).code == 0


def test_files_that_took_too_much(tmp_path):
    """Found with bounds on time and memory: a relation of many parts, a small file of many blank lines."""
    deep = "1\ta\ta\tX\t_\t_\t0\troot" + ":a" * 50_000 + "\t_\t_\n\n"
    (tmp_path / "a.conllu").write_text(deep)
    (tmp_path / "b.conllu.gz").write_bytes(gzip.compress(b"\n" * 40_000_000, mtime=0))

    def find(folder: Path) -> None:
        finder = Finder(choose_rules())
        for tree in read_trees(next(folder.glob("*.conllu*"))):
            assert tree is not None
            finder(tree, "source")

    for name, told in (("a.conllu", None), ("b.conllu.gz", "")):
        (tmp_path / "own").mkdir(exist_ok=True)
        seed = {name: (tmp_path / name).read_bytes()}
        assert try_files(Target("trees", find, [seed]), tmp_path / "own", seed) == told


def test_merged_records_that_no_method_can_read(tmp_path, toy_schemes):  # noqa: ARG001
    _lay_study(tmp_path)
    run = run_study(tmp_path / "s.toml", shard="1/1").folder
    assert run is not None
    records = run / "records.jsonl"
    records.write_text(records.read_text().replace('"references"', '"other"'))
    seal(run)
    with pytest.raises(BabelscopeError, match="the records of the shards are damaged"):
        merge([run], tmp_path / "out")


def test_flows_of_nothing(tmp_path):
    (tmp_path / "flows.json").write_text('[["doctor_data_male", "doctor_student_other", 0]]')
    with pytest.raises(BabelscopeError, match="nothing that flows from data"):
        flow_charts([Run(tmp_path, Manifest.model_construct(), [])])
