"""Whatever fails in the middle of a study: one clear sentence, what was done is kept, a later run goes on."""

from __future__ import annotations

import errno
import json
import os
import resource
import sqlite3
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from babelscope.annotate.answers import AnswerFile, read_answers
from babelscope.annotate.queue import read_tasks
from babelscope.core.system import Question, Scored, Target
from babelscope.runs.study import run_study
from babelscope.systems import cache
from babelscope.systems.cache import cached
from babelscope.util.errors import BabelscopeError, SystemFailure
from tests.support.same_runs import assert_same
from tests.support.serving import Request
from tests.support.toys import ToySystem

ITEMS, CHUNK, BAD = 8, 2, 4  # the fault is in the third chunk

# Does well until there is a file `broken`, which says what goes wrong at the source with a 4 in it.
COMMAND = """
import pathlib, sys, time
sources = sys.stdin.read().splitlines()
broken = pathlib.Path("broken")
fault = broken.read_text() if broken.exists() and any("4" in source for source in sources) else ""
if fault == "hangs":
    time.sleep(60)
if fault == "dies":
    sys.exit("the disk is on fire")
lines = [source[::-1] for source in sources]
if fault == "half a line":
    sys.stdout.write(lines[0][:2])
elif fault == "no text":
    sys.stdout.buffer.write(b"\\xff\\n" * len(lines))
else:
    print(*lines, sep="\\n")
"""


# A method that needs translations only.
CHALLENGE = 'name = "challenge"\nmatched_corpora = 2\nlength_corpora = 4'


@pytest.fixture
def folder(tmp_path: Path, toy_schemes: None) -> Path:  # noqa: ARG001
    lines = (
        {"id": str(n), "source": f"a b{n}", "reference": "ba a", "dependencies": []} for n in range(ITEMS)
    )
    (tmp_path / "tests.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "translate.py").write_text(COMMAND)
    return tmp_path


def study(folder: Path, system: str, method: str = 'name = "likelihood"', more: str = "") -> Path:
    path = folder / "study.toml"
    path.write_text(
        f"[[systems]]\nspec = {json.dumps(system)}\n[[tests]]\nspec = 'tests.jsonl'\n[[methods]]\n{method}\n"
        f"[run]\nchunk = {CHUNK}\nout = 'run'\n{more}\n"
    )
    return path


def fails_and_goes_on(path: Path, told: str, mend: Callable[[], object]) -> SystemFailure | BabelscopeError:
    """Run it with the fault and without: nothing is lost, doubled, or other than in a run without faults."""
    records = path.parent / "run" / "records.jsonl"
    with pytest.raises(BabelscopeError, match=told) as caught:
        run_study(path)
    kept = records.read_bytes()
    assert kept.count(b"\n") == BAD, "what came before the fault is kept, and nothing of what came with it"
    mend()
    run_study(path)
    assert records.read_bytes().startswith(kept)
    run_study(path, out=path.parent / "whole")
    for name in ("records.jsonl", "summary.json"):
        assert (path.parent / "run" / name).read_bytes() == (path.parent / "whole" / name).read_bytes()
    return caught.value


# -- systems ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("hangs", r"did not finish within 3 seconds"),
        ("dies", r"failed with exit code 1; its standard error ends: 'the disk is on fire'"),
        ("half a line", r"was given 2 lines but wrote translations of 1"),
        ("no text", r"not UTF-8"),
    ],
)
def test_a_command(folder, fault, told):
    (folder / "broken").write_text(fault)
    system = f"cmd:{sys.executable} -S -E translate.py?timeout=3"
    fails_and_goes_on(study(folder, system, CHALLENGE), told, (folder / "broken").unlink)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("hangs", "did not answer within 2 seconds"),
        ("half", "did not answer"),
        ("NaN", "is not a text: 'NaN'"),
    ],
)
def test_a_server(folder, serve, fault, told):
    faults = [fault]

    def answer(request: Request) -> Any:
        sources = request.body["sources"]
        right = {"translations": [source[::-1] for source in sources]}
        if not faults or not any("4" in source for source in sources):
            return right
        if fault == "hangs":
            request.server.closing.wait(30)
        data = json.dumps(right).encode()
        half = 200, {"Content-Length": str(len(data))}, data[: len(data) // 2]
        return half if fault == "half" else {"translations": [float("nan")] * len(sources)}

    system = f"{serve(answer).url}/?timeout=2&retries=0"
    error = fails_and_goes_on(study(folder, system, CHALLENGE), told, faults.clear)
    assert error.exit_code == 1


def test_a_model_out_of_memory(folder, monkeypatch):
    import torch

    from babelscope.decoding.families.encoder_decoder import EncoderDecoder

    right, batches = EncoderDecoder.force, []

    def full(self: EncoderDecoder, *arguments: Any, **options: Any) -> Any:
        batches.append(1)
        if len(batches) > BAD // CHUNK:
            raise torch.OutOfMemoryError("no room")
        return right(self, *arguments, **options)

    monkeypatch.setattr(EncoderDecoder, "force", full)
    told = "out of memory on a single sentence"
    path = study(folder, "lab:student")
    error = fails_and_goes_on(path, told, lambda: monkeypatch.setattr(EncoderDecoder, "force", right))
    assert error.exit_code == 1


# -- the cache ---------------------------------------------------------------------------------------


def _stops(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """The toy fails at the bad source; returns what mends it."""
    right = ToySystem.score

    def stopped(self: ToySystem, pairs: Sequence[tuple[Question, Target]]) -> list[Scored]:
        if any("4" in question.source for question, _ in pairs):
            raise SystemFailure("the toy is broken")
        return right(self, pairs)

    monkeypatch.setattr(ToySystem, "score", stopped)
    return lambda: monkeypatch.setattr(ToySystem, "score", right)


def test_a_cache_damaged_between_two_runs(folder, monkeypatch):
    path = study(folder, "toy:1", more="cache = 'cache.sqlite'")

    def mend_and_damage() -> None:
        mend()
        with sqlite3.connect(folder / "cache.sqlite") as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        whole = (folder / "cache.sqlite").read_bytes()
        (folder / "cache.sqlite").write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))
        before = (folder / "run" / "records.jsonl").read_bytes()
        with pytest.raises(BabelscopeError, match=r"is damaged.*move it away or delete it"):
            run_study(path)
        assert (folder / "run" / "records.jsonl").read_bytes() == before
        for left in folder.glob("cache.sqlite*"):
            left.unlink()

    mend = _stops(monkeypatch)
    fails_and_goes_on(path, "the toy is broken", mend_and_damage)


def test_a_cache_that_another_process_holds(folder, monkeypatch):
    monkeypatch.setattr(cache, "_WAIT_SECONDS", 0.2)
    path = study(folder, "toy:1", more="cache = 'cache.sqlite'")
    run_study(study(folder, "toy:2", more="cache = 'cache.sqlite'"), out=folder / "other")
    holder = sqlite3.connect(folder / "cache.sqlite", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    # Held from the beginning it cannot be opened; held later, answers come all the same and are not remembered.
    path = study(folder, "toy:1", more="cache = 'cache.sqlite'")
    with pytest.raises(SystemFailure, match=r"cache\.sqlite failed: database is locked"):
        run_study(path)
    holder.execute("COMMIT")
    system = cached(ToySystem(), folder / "cache.sqlite")
    holder.execute("BEGIN IMMEDIATE")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert system.score([("a", "b")]) == ToySystem().score([("a", "b")])
        assert system.score([("a", "c")]) == ToySystem().score([("a", "c")])
    assert [str(each.message) for each in caught] == [
        f"{folder / 'cache.sqlite'} cannot be written (database is locked); continuing without it"
    ]
    holder.execute("COMMIT")
    holder.close()
    run_study(path)
    assert (folder / "run" / "summary.json").exists()


# -- disks -------------------------------------------------------------------------------------------


def test_a_disk_that_is_full_at_the_summary(folder, monkeypatch):
    right = os.replace

    def full(source: Path, target: Path) -> None:
        if target.name == "summary.json":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        right(source, target)

    path = study(folder, f"toy:1?log={folder / 'log'}")
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(SystemFailure, match=r"summary.json cannot be written: No space left on device"):
        run_study(path)
    assert not list((folder / "run").glob(".*")), "nothing half written is left behind"
    monkeypatch.setattr(os, "replace", right)
    run_study(path)
    assert (folder / "log").read_text().count("\n") == ITEMS, "nothing was asked twice"


@contextmanager
def _files_up_to(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def _seven_sizes(*paths: Path) -> list[int]:
    """From one byte to one less than the largest of these files has."""
    most = max(path.stat().st_size for path in paths) - 1
    return [1, *(most * share // 6 for share in range(1, 6)), most]


def test_a_run_on_a_disk_that_is_full_at_seven_sizes(folder, babelscope):
    path = study(folder, "toy:1")
    names = ("manifest.json", "records.jsonl", "summary.json")
    run_study(path, out=folder / "whole")
    stopped = set()
    for number, size in enumerate(_seven_sizes(*(folder / "whole" / name for name in names))):
        out = folder / f"run{number}"
        with _files_up_to(size):
            ran = babelscope("run", "study.toml", "--out", str(out), "--no-report")
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.count("\n") == 1
        assert "cannot be written: File too large" in ran.err
        stopped.add(Path(ran.err.split(" cannot be")[0]).name)
        kept = (out / "records.jsonl").read_bytes()
        assert kept.count(b"\n") % CHUNK == 0
        assert not list(out.glob(".*"))
        assert babelscope("run", "study.toml", "--out", str(out), "--no-report").code == 0
        assert (out / "records.jsonl").read_bytes().startswith(kept)
        assert_same(out, folder / "whole")
    assert {"manifest.json", "records.jsonl"} <= stopped, "the disk was full in different places"


@pytest.mark.parametrize(
    "command",
    [
        "translate --system toy:1 a.en --to FILE",
        "translate --system toy:1 a.en --json --to FILE",
        "translate --decode sample --system toy:1 a.en --n 3 --to FILE",
        "score --system toy:1 a.en --target a.en --to FILE",
    ],
)
def test_outputs_on_a_disk_that_is_full_at_seven_sizes(folder, babelscope, command):
    (folder / "a.en").write_text("a\nb\n" * 20)
    command = command.replace("FILE", "out")
    right = babelscope(*command.split())
    assert right.code == 0, right.err
    new = (folder / "out").read_bytes()
    sizes = _seven_sizes(folder / "out")
    (folder / "out").write_bytes(b"as it was")
    before = sorted(path.name for path in folder.rglob("*"))
    for size in sizes:
        with _files_up_to(size):
            ran = babelscope(*command.split())
        assert ran.code == 1
        assert ran.err.endswith(" cannot be written: File too large\n")
        assert ran.out == right.out, "figures are printed all the same"
        assert (folder / "out").read_bytes() == b"as it was"
        assert sorted(path.name for path in folder.rglob("*")) == before
    assert babelscope(*command.split()).code == 0
    assert (folder / "out").read_bytes() == new


def test_a_corpus_on_a_disk_that_is_full_goes_on_to_the_same_bytes(folder, babelscope):
    def written(name: str) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (folder / name).iterdir()}

    assert babelscope("lab", "corpus", "--n", "5", "--out", "right").code == 0
    command = ("lab", "corpus", "--n", "5", "--out", "out")
    for size in _seven_sizes(folder / "right" / "corpus.en.conllu"):
        with _files_up_to(size):
            ran = babelscope(*command)
        assert ran.code == 1
        assert "cannot be written: File too large" in ran.err
    assert babelscope(*command).code == 0
    assert written("out") == written("right")


def test_an_answer_that_does_not_fit_is_not_confirmed_and_the_next_one_is(tmp_path):
    items = tmp_path / "q.jsonl"
    items.write_text(
        "".join(
            json.dumps({"task": "assessment", "id": n, "source": "a", "translation": "b"}) + "\n"
            for n in range(3)
        )
    )
    tasks = read_tasks(items)
    file = AnswerFile(items, "me", tasks)
    file.save(tasks[0], {"score": 1})
    size = file.path.stat().st_size
    with _files_up_to(size + 10), pytest.raises(SystemFailure, match="cannot be written"):
        file.save(tasks[1], {"score": 2})
    assert file.path.stat().st_size == size
    file.save(tasks[2], {"score": 3})
    file.close()
    assert [each.answer["score"] for each in read_answers(file.path).values()] == [1, 3]


# Nobody, not even root, can write there.
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no folder that nobody can write to")
def test_folders_that_cannot_be_written_to(folder, babelscope):
    (folder / "a.en").write_text("a\n")
    path = study(folder, f"toy:1?log={folder / 'log'}")
    with pytest.raises(BabelscopeError, match="/proc/run cannot be written: No such file"):
        run_study(path, out="/proc/run")
    assert not (folder / "log").exists(), "told before anything is asked"
    ran = babelscope("translate", "--system", "toy:1", "a.en", "--to", "/proc/out")
    assert ran.code == 1
    assert ran.err.startswith("babelscope: error: /proc/out cannot be written: ")
    with pytest.raises(BabelscopeError, match="cannot be written"):
        AnswerFile(Path("/proc/q.jsonl"), "me", [])
