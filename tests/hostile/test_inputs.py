"""Hostile files, names and answers: refused in a sentence that says why, within bounds of time and memory."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from babelscope.annotate.answers import read_answers
from babelscope.annotate.queue import read_tasks
from babelscope.core.registry import Options
from babelscope.core.system import ItemChoice
from babelscope.lab.training.text import read_side
from babelscope.language.ud import read_trees
from babelscope.language.ud_rules import Finder, choose_rules, read_rules
from babelscope.report.flows import flow_charts
from babelscope.runs.manifest import Manifest
from babelscope.runs.reading import Run
from babelscope.runs.shards import merge
from babelscope.runs.study import read_study, run_study
from babelscope.systems.registry import open_system
from babelscope.systems.stored.scores import ScoresFile
from babelscope.testsets import load
from babelscope.testsets.ldd import read_ldd
from babelscope.testsets.mucow import read_mucow
from babelscope.testsets.readers import read_mucow_scoring, read_parallel
from babelscope.testsets.winomt import read_winomt
from babelscope.util import text as bounds
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import (
    count_lines,
    parse_json,
    parse_toml,
    read_bytes,
    read_json_lines,
    read_lines,
    stream_lines,
)
from tests.fuzz.fuzzing import Target, sentence_fault, try_files
from tests.fuzz.mutating import DEEP, LONG_NUMBER
from tests.fuzz.targets import CONLLU, SENTENCE, lines, text
from tests.support.sealing import seal

MIB = 1 << 20
TASK = {"id": "1", "source": "a", "translation": "b", "task": "assessment"}
ANSWER = {"id": "1", "item": "d", "annotator": "me"}
STUDY = '[[systems]]\nspec = "{}"\n[[tests]]\nspec = "{}"\n[[methods]]\nname = "likelihood"\n'


@contextlib.contextmanager
def holding_at_most(most: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


@contextlib.contextmanager
def refused(told: str) -> Iterator[None]:
    """The block ends in one sentence that says so, and takes no more than seconds."""
    begun = time.process_time()
    with pytest.raises(BabelscopeError, match=told) as caught:
        yield
    assert sentence_fault(str(caught.value)) == ""
    assert len(str(caught.value)) < 2100
    assert time.process_time() - begun < 20


def packed(*members: bytes) -> bytes:
    return b"".join(gzip.compress(each, mtime=0) for each in members)


def damaged_gzip() -> bytes:
    data = bytearray(packed(CONLLU))
    data[20:40] = b"\xff" * 20
    return bytes(data)


def large_sentence() -> bytes:
    word = b"x" * (MIB - 100) + b"\t_" * 4 + b"\t0\troot\t_\t_\n"
    return b"".join(f"{number}\t".encode() + word for number in range(1, 20))


def many_roots() -> bytes:
    return "".join(f"{number}\tx\t_\t_\t_\t_\t0\troot\t_\t_\n" for number in range(1, 5000)).encode()


def long_lines() -> bytes:
    return b"ok\n" + b"x" * bounds.LONGEST_LINE + b"\n" + b"y" * (40 * MIB)


def trees(path: Path) -> list[Any]:
    return list(read_trees(path))


def streamed(path: Path) -> list[str]:
    return list(stream_lines(path))


def scores(path: Path) -> None:
    ScoresFile(str(path), layout="columns").item_scores([ItemChoice("1")], best=False)


def scoring(path: Path) -> None:
    load(f"mucow-scoring:{path}?empty=yes")


LINE, DOCUMENT = "has more than 1 MiB, too much for one line", "too much for one document"
TWICE = json.dumps({"id": "x" * MIB, "source": "a", "reference": "b"}).encode() + b"\n"
FILES: list[tuple[str, Any, Callable[[Path], Any], str, int]] = [
    # name, bytes (a number is the size of a file of zeros), reader, what is said, MiB held at the most
    ("a", long_lines, read_lines, f"a:3 {LINE}", 10),
    ("a", long_lines, streamed, f"a:3 {LINE}", 10),
    ("a", long_lines, count_lines, f"a:3 {LINE}", 10),
    ("a", 300 * MIB, read_bytes, f"a has more than 16 MiB, {DOCUMENT}", 40),
    ("a", 300 * MIB, read_mucow_scoring, f"a has more than 16 MiB, {DOCUMENT}", 40),
    ("a", 300 * MIB, read_study, f"a has more than 256 KiB, {DOCUMENT}", 40),
    (
        "a.jsonl",
        lambda: b'{"a": "' + b"x" * bounds.LONGEST_RECORD + b'"}\n',
        lambda path: next(read_json_lines(path)),
        r"a\.jsonl:1 has more than 16 MiB",
        40,
    ),
    ("a.gz", lambda: packed(b"\0" * (60 * MIB)), count_lines, rf"a\.gz:1 {LINE}", 10),
    ("a.gz", lambda: packed(b"\0" * (60 * MIB)), trees, r"a\.gz:1 has more than", 10),
    (
        "a.gz",
        lambda: packed(b"a" * 1000 + b"\n" * (30 * MIB)),
        count_lines,
        "expands to more than 100 times",
        40,
    ),
    ("a.gz", packed(packed(b"a\n")), streamed, r"a\.gz:1: not UTF-8", 40),
    ("a.conllu", large_sentence, trees, r"a\.conllu:17: a sentence has more than", 80),
    ("a.conllu", many_roots, trees, r"one root, this one 4999: words 1, 2, .*, …$", 40),
    ("a.jsonl", TWICE + TWICE, load, r"a\.jsonl:2: id 'xxx.*a\.jsonl:1", 40),
    # What fuzzing has found. Python turns no more than 4300 digits into a number, with an error of its own.
    ("w.tsv", b"male\t" + LONG_NUMBER + b"\ta nurse\tnurse", read_winomt, "is not the index of a token", 40),
    ("a.toml", b"a = " + DEEP, read_rules, "not TOML", 40),
    ("t.conllu.gz", damaged_gzip(), trees, "cannot be read", 40),
    ("s", text("1\t-1\t-2", "\t-1\t-2"), scores, "has scores of ''", 40),
    ("q.jsonl", lines({**TASK, "question": 5}), read_tasks, "'question' must be text", 40),
    ("a.jsonl", lines({**ANSWER, "task": "assessment", "answer": {}}), read_answers, "a score must be", 40),
    ("a.jsonl", lines({**ANSWER, "task": "ranking", "answer": {}}), read_answers, "must be a list", 40),
    ("a.jsonl", lines({**ANSWER, "task": "mucow", "answer": {}}), read_answers, "'label' must be text", 40),
    ("m.json", b'[{"source": "", "reference": 5, "errors": []}]', scoring, "must be texts", 40),
]


@pytest.mark.parametrize(("name", "data", "read", "told", "most"), FILES)
def test_files(tmp_path, name, data, read, told, most):
    path = tmp_path / name
    if isinstance(data, int):
        with path.open("wb") as file:
            file.truncate(data)
    else:
        path.write_bytes(data() if callable(data) else data)
    with holding_at_most(most * MIB), refused(told):
        read(path)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"[" * MIB, "not JSON that can be read"),
        (b'{"a":' * 10**5, "not JSON that can be read"),
        (b"[" * 103 + b"]" * 103, "nested more than 100 deep"),
        (b"9" * MIB, "a number has 1048576 digits"),
        (b"-" + b"9" * 301, "a number has 302 digits"),
        (b"NaN", "NaN is not a JSON value"),
        (b"{" + b",".join(b'"%d":1' % n for n in range(10**5)) + b',"7":1}', "'7' occurs twice"),
    ],
)
def test_json(data, told):
    with refused(told):
        parse_json(data, "a.json")


DOTTED, TABLES = ".".join("a" * 1000) + " = 1", "a = " + "{b=" * 150 + "1" + "}" * 150


@pytest.mark.parametrize(
    "data", ["a = " + "[" * 10**5, DOTTED, "x={" + "a . " * 40 + "b=1}", TABLES, "a = " + "9" * 10**5]
)
def test_toml(data):
    with refused(r"a\.toml: not TOML"):
        parse_toml(data.encode(), "a.toml")


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: read_lines("/dev/zero"), "/dev/zero:1 has more than 1 MiB"),
        (lambda: read_mucow_scoring("/dev/zero"), "/dev/zero has more than 16 MiB"),
        (lambda: load("jsonl:/dev/zero"), "/dev/zero:1 has more than 16 MiB"),
        (lambda: Options("s", {"n": LONG_NUMBER.decode()}).integer("n", 1), "is not a whole number"),
        # Names of files that no system has, and some that only a system can have.
        (lambda: read_lines("a\0b"), "no such file"),
        (lambda: read_mucow("."), "must be the common prefix of a language pair's files"),
        (lambda: read_ldd("a" * 300 + ",de"), "no such folder"),
        (lambda: open_system("file:\udcff"), "not valid Unicode"),
        # A name with a line break or an escape sequence stays within its line.
        (lambda: load("tsv:a\nb\x1b[31m"), r"a\\nb\\x1b\[31m: no such file"),
    ],
)
def test_devices_values_and_names(ask, told):
    with refused(told):
        ask()


def test_what_is_within_the_bounds_is_read(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"x" * bounds.LONGEST_LINE)
    assert [len(line) for line in read_lines(path)] == [bounds.LONGEST_LINE]
    path.write_bytes(b'{"a": "' + b"x" * (2 * MIB) + b'"}\n')  # longer than a line of text may be
    assert len(list(read_json_lines(path))) == 1
    # Corpora and lists of translations are no documents: they are held line by line, and may have more.
    path.write_bytes(b"abc def\n" * (bounds.LARGEST_DOCUMENT // 8 + 1))
    assert len(read_side(path)[0]) == bounds.LARGEST_DOCUMENT // 8 + 1
    (tmp_path / "a.gz").write_bytes(packed(b"a\nb", b"c\n", b"d\n"))
    assert streamed(tmp_path / "a.gz") == ["a", "bc", "d"], "members follow one another"
    path.write_bytes(b"ab\n" * 100)
    monkeypatch.setattr(bounds, "LARGEST_HELD", 299)
    with refused("a has more than"):
        read_lines(path)
    assert count_lines(path) == 100, "streams have no bound in all"


def test_pipes_are_read_if_the_command_line_names_them_and_not_if_a_file_does(tmp_path):
    def feed(name: str, data: bytes) -> Path:
        os.mkfifo(tmp_path / name)
        threading.Thread(target=(tmp_path / name).write_bytes, args=(data,), daemon=True).start()
        return tmp_path / name

    assert len(read_parallel([feed("en", b"a\nb\n"), feed("de", b"c\nd\n")])) == 2
    assert streamed(feed("corpus", b"a\nb\n")) == ["a", "b"]
    os.mkfifo(tmp_path / "pipe")
    for spec in ("parallel:pipe,pipe", "jsonl:pipe", "/dev/zero", "mucow-scoring:pipe"):
        (tmp_path / "study.toml").write_text(STUDY.format("lab:student", spec))
        with refused(r"tests\[0\]: .* is not a regular file"):
            run_study(tmp_path / "study.toml", out=tmp_path / "out")


def test_files_that_took_too_much(tmp_path):
    """Found with bounds on time and memory: a relation of many parts, a small file of many blank lines."""
    deep = "1\ta\ta\tX\t_\t_\t0\troot" + ":a" * 50_000 + "\t_\t_\n\n"

    def find(folder: Path) -> None:
        finder = Finder(choose_rules())
        for tree in read_trees(next(folder.glob("*.conllu*"))):
            assert tree is not None
            finder(tree, "source")

    for name, data, told in (
        ("a.conllu", deep.encode(), None),
        ("b.conllu.gz", packed(b"\n" * 40_000_000), ""),
    ):
        (tmp_path / "own").mkdir(exist_ok=True)
        assert try_files(Target("trees", find, [{name: data}]), tmp_path / "own", {name: data}) == told


def test_merged_records_that_no_method_can_read(tmp_path, toy_schemes):  # noqa: ARG001
    (tmp_path / "t.jsonl").write_bytes(lines(SENTENCE, {**SENTENCE, "id": "2"}))
    (tmp_path / "s.toml").write_text(STUDY.format("toy:1", "t.jsonl"))
    run = run_study(tmp_path / "s.toml", shard="1/1").folder
    assert run is not None
    records = run / "records.jsonl"
    records.write_text(records.read_text().replace('"references"', '"other"'))
    seal(run)
    with refused("the records of the shards are damaged"):
        merge([run], tmp_path / "out")


def test_flows_of_nothing(tmp_path):
    (tmp_path / "flows.json").write_text('[["doctor_data_male", "doctor_student_other", 0]]')
    with refused("nothing that flows from data"):
        flow_charts([Run(tmp_path, Manifest.model_construct(), [])])


SPACES = " " * 60_000
LONG_NAME = f"?x={'%25' * 2000}"
ENCODED = f'list = ["%{"25" * 100_000}3A"]\n'  # decoded until nothing changes, lest a program hide in it
SECOND = "has at most 4096"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["translate", "--system", "lab:llm?prompt=p.toml", "a.en"], "p.toml:2: a prompt has no key ' '"),
        (["quality", "--system", f"lab:teacher{LONG_NAME}", "--tests", "lab:parallel?n=2"], SECOND),
        (["quality", "--system", "lab:teacher", "--tests", f"lab:parallel{LONG_NAME}"], SECOND),
        (
            [
                "quality",
                "--system",
                "lab:teacher",
                "--tests",
                "lab:parallel?n=2",
                "--metric",
                f"cmd:cat{LONG_NAME}",
            ],
            SECOND,
        ),
        (["run", "s.toml"], ""),
        (["translate", "--system", "toy:1", os.fsdecode(b"\xfe.txt")], "no such file"),
    ],
    ids=["spaces", "system", "tests", "metric", "encoded", "no text"],
)
def test_commands(babelscope, tmp_path, arguments, told):
    (tmp_path / "a.en").write_text("a\n")
    (tmp_path / "p.toml").write_text(f'{SPACES}#\n" " = 1\n')
    (tmp_path / "s.toml").write_text(STUDY.format("lab:teacher", "lab:pairs?n=2") + ENCODED)
    begun = time.process_time()
    ran = babelscope(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert sentence_fault(ran.err.rstrip("\n")[:1000]) == ""
    assert time.process_time() - begun < 20


def test_a_name_that_is_no_text_is_written_as_it_came(babelscope, tmp_path):
    (tmp_path / "p.en").write_text("a\n")
    assert babelscope("translate", "--system", "toy:1", "p.en", "--to", os.fsdecode(b"\xff.txt")).code == 0


def test_a_key_echoed_deep_inside_an_answer_ends_in_a_sentence(babelscope, tmp_path, serve, monkeypatch):
    monkeypatch.setenv("MT_KEY", "sesame-4711")
    (tmp_path / "a.en").write_text("a\n")

    def echo(request: Any) -> tuple[int, dict[str, str], bytes]:
        key = json.dumps(request.headers["Authorization"])
        return 200, {}, f'{{"translations": ["b"], "deep": {"[" * 600}{key}{"]" * 600}}}'.encode()

    ran = babelscope("translate", "--system", f"{serve(echo).url}/?token_env=MT_KEY", "a.en")
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert "nested more than 100 deep" in ran.err
    assert "sesame" not in ran.err
