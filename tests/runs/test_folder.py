"""The run folder: whatever is left of it, it goes on right or says in a sentence why not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelscope.core.results import Record
from babelscope.runs import folder as runfolder
from babelscope.runs.folder import FORMAT, Chunk, RunFolder, chunks_of, count_records, record_key
from babelscope.runs.reading import read_run
from babelscope.util.errors import BabelscopeError


def manifest(items: int = 7, chunk: int = 3, **config: Any) -> dict[str, Any]:
    jobs = [
        {"method": "m", "system": system, "tests": "t", "items": items} for system in ("one", "two \u2028 é")
    ]
    return {"format": FORMAT, "config": {"chunk": chunk, **config}, "jobs": jobs}


def records_of(folder: RunFolder, chunk: Chunk) -> list[Record]:
    return [
        {**record_key(folder._jobs[chunk.job], item), "answer": f"é\u2028{item}"}
        for item in range(chunk.start, chunk.stop)
    ]


def fill(path: Path, at_most: int = 99) -> int:
    """Answer what is missing; returns how many chunks were asked."""
    with RunFolder(path, manifest()) as folder:
        missing = folder.missing()[:at_most]
        for chunk in missing:
            folder.store(records_of(folder, chunk))
        return len(missing)


def test_what_is_stored_is_not_asked_again(tmp_path):
    assert fill(tmp_path / "run", 2) == 2
    assert fill(tmp_path / "run", 1) == 1
    assert fill(tmp_path / "run") == 3
    assert fill(tmp_path / "run") == 0
    lines = (tmp_path / "run" / "records.jsonl").read_bytes().split(b"\n")
    assert [json.loads(line)["item"] for line in lines[:-1]] == [*range(7), *range(7)]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_cut_anywhere_it_goes_on_to_the_same_bytes(data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        fill(path)
        whole = (path / "records.jsonl").read_bytes()
        cut = data.draw(st.integers(0, len(whole)))
        # A power cut can leave zeros where the last lines should be.
        tail = data.draw(st.sampled_from([b"", b"\0" * 30]))
        (path / "records.jsonl").write_bytes(whole[:cut] + tail)
        kept = whole[:cut].count(b"\n")
        complete = sum(end <= kept for end in (3, 6, 7, 10, 13, 14))
        if complete < 6:
            assert fill(path) == 6 - complete
            assert (path / "records.jsonl").read_bytes() == whole


@pytest.mark.parametrize("number", [1, 3, 4, 13])
def test_damage_before_the_last_chunk_is_told_with_its_line(tmp_path, number):
    fill(tmp_path)
    lines = (tmp_path / "records.jsonl").read_bytes().split(b"\n")
    for damage in (b"garbage", b"[1]", lines[5] if number != 6 else b"", b""):
        (tmp_path / "records.jsonl").write_bytes(b"\n".join([*lines[: number - 1], damage, *lines[number:]]))
        with pytest.raises(BabelscopeError, match=rf"records\.jsonl:{number} is not the record"):
            fill(tmp_path)


def test_more_records_than_items_are_told(tmp_path):
    fill(tmp_path)
    with open(tmp_path / "records.jsonl", "ab") as file:
        file.write(b"{}\n")
    with pytest.raises(BabelscopeError, match=r"records\.jsonl:15 "):
        fill(tmp_path)


def test_a_run_of_another_configuration_is_refused_and_kept(tmp_path):
    fill(tmp_path)
    before = (tmp_path / "records.jsonl").read_bytes()
    with pytest.raises(
        BabelscopeError, match=r"config\.chunk: 3 there, 4 here; config\.seed: nothing there, 1 here"
    ):
        RunFolder(tmp_path, manifest(chunk=4, seed=1))
    with pytest.raises(BabelscopeError, match=r"jobs\[0\]\.items: 7 there, 8 here"):
        RunFolder(tmp_path, manifest(items=8))
    assert (tmp_path / "records.jsonl").read_bytes() == before


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("\\documentclass{}")
    with pytest.raises(BabelscopeError, match=r"thesis\.tex"):
        RunFolder(tmp_path, manifest())
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(BabelscopeError, match="cannot be a run folder"):
        RunFolder(tmp_path / "thesis.tex", manifest())


def test_what_a_kill_left_of_the_first_steps_is_no_hindrance(tmp_path):
    (tmp_path / "records.jsonl").touch()
    (tmp_path / ".manifest.json.0a1b2c3d.part").write_text('{"conf')
    assert fill(tmp_path) == 6
    assert not list(tmp_path.glob(".*"))


def test_a_damaged_manifest_is_told(tmp_path):
    fill(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(BabelscopeError, match=r"manifest\.json is damaged"):
        fill(tmp_path)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, "was made by a version before 0.2.0; run the study again"),
        ({"format": 1}, "was made by a version before 0.2.0; run the study again"),
        ({"format": FORMAT + 1}, "has the format .*: get a newer one"),
        ({"format": "two"}, "has the format .*: get a newer one"),
    ],
)
def test_another_format_is_refused(tmp_path, change, told):
    fill(tmp_path, 1)
    stored = manifest()
    del stored["format"]
    (tmp_path / "manifest.json").write_text(json.dumps({**stored, **change}))
    for read in (fill, read_run):
        with pytest.raises(BabelscopeError, match=told):
            read(tmp_path)


def test_two_processes_at_once_are_refused_and_death_releases(tmp_path):
    hold = (
        "import json, sys; from babelscope.runs.folder import RunFolder\n"
        "folder = RunFolder(sys.argv[1], json.loads(sys.argv[2])); print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", hold, str(tmp_path), json.dumps(manifest())]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(BabelscopeError, match="in use by another process"):
            fill(tmp_path)
        process.kill()
    assert fill(tmp_path) == 6


def _odd(path: Path, what: str) -> bytes:
    """Put something that is no file of ours in a file's place; returns what must stay as it is."""
    other = path.parent.parent / "thesis.tex"
    other.write_bytes(b"\\documentclass{}\n")
    path.unlink()
    if what == "link":
        path.symlink_to(other)
    elif what == "dangling link":
        path.symlink_to(path.parent.parent / "nothing")
    elif what == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    return other.read_bytes()


@pytest.mark.parametrize("what", ["link", "dangling link", "pipe", "folder"])
@pytest.mark.parametrize("name", ["records.jsonl", "manifest.json"])
def test_what_is_no_file_of_its_own_is_refused_and_left(tmp_path, name, what):
    path = tmp_path / "run"
    fill(path, 2)
    records = (path / "records.jsonl").read_bytes()
    before = _odd(path / name, what)
    with pytest.raises(BabelscopeError, match=name):
        fill(path)
    assert (tmp_path / "thesis.tex").read_bytes() == before
    assert not (tmp_path / "nothing").exists()
    assert (path / name).is_symlink() == ("link" in what)
    if name != "records.jsonl":
        assert (path / "records.jsonl").read_bytes() == records


@pytest.mark.parametrize("what", ["link", "dangling link", "pipe", "folder"])
@pytest.mark.parametrize("name", ["records.jsonl", "manifest.json", "summary.json"])
def test_a_finished_run_with_such_files_is_refused(tmp_path, name, what):
    path = tmp_path / "run"
    fill(path)
    (path / "summary.json").write_text('{"rows": []}')
    _odd(path / name, what)
    with pytest.raises(BabelscopeError):
        _ = read_run(path).records


@pytest.mark.parametrize(
    "foreign",
    [
        b"my diary\n",
        b"my diary",
        b"{}\n",
        b'{"method": "m", "system": "one", "tests": "t", "item": 1}\n',
        b'{"method": "m", "system": "one", "tests": "t", "item": 01',
        b"\0\0\0x",
        b"\x7fELF\0\0\0",
        b'{"id": "1", "source": "a", "reference": "b"}\n' * 2,
    ],
)
@pytest.mark.parametrize("after", [0, 2])
def test_what_is_no_chunk_of_ours_is_never_cut(tmp_path, foreign, after):
    """At the head of the file, or after two whole chunks."""
    fill(tmp_path, after)
    with open(tmp_path / "records.jsonl", "ab") as file:
        file.write(foreign)
    before = (tmp_path / "records.jsonl").read_bytes()
    line = 7 if after else 1
    with pytest.raises(BabelscopeError, match=rf"records\.jsonl:{line} is not the record.*left as it is"):
        fill(tmp_path)
    assert (tmp_path / "records.jsonl").read_bytes() == before


def test_other_people_s_unfinished_files_are_left(tmp_path):
    fill(tmp_path, 1)
    for name in (".thesis.tex.part", ".summary.json.0a1b2c3d.part"):
        (tmp_path / name).touch()
    with pytest.raises(BabelscopeError):
        RunFolder(tmp_path, manifest(items=8))
    assert len(list(tmp_path.glob(".*.part"))) == 2
    fill(tmp_path)
    assert [path.name for path in tmp_path.glob(".*.part")] == [".thesis.tex.part"]


def test_a_record_too_long_to_be_read_again_is_not_stored(tmp_path, monkeypatch):
    fill(tmp_path, 1)
    before = (tmp_path / "records.jsonl").read_bytes()
    monkeypatch.setattr(runfolder, "LONGEST_RECORD", 50)
    with (
        pytest.raises(BabelscopeError, match=r"the record of item None has \d+ bytes.*at most 50"),
        RunFolder(tmp_path / "new", manifest()) as folder,
    ):
        folder.store(records_of(folder, folder.missing()[0]))
    assert (tmp_path / "records.jsonl").read_bytes() == before
    assert (tmp_path / "new" / "records.jsonl").read_bytes() == b""


@given(st.lists(st.integers(0, 30), min_size=1, max_size=5), st.integers(1, 9), st.integers(1, 9))
def test_records_are_counted_without_making_the_chunks(items, size, of):
    jobs = [{"items": count} for count in items]
    for number in range(1, of + 1):
        made = {"config": {"chunk": size}, "jobs": jobs, "shard": {"number": number, "of": of}}
        assert count_records(made) == sum(chunk.stop - chunk.start for chunk in chunks_of(made))
