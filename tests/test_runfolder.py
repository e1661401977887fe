"""The run folder: whatever is left of it, it goes on right or says in a sentence why not."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelscope.errors import BabelscopeError, SystemFailure
from babelscope.results import Record
from babelscope.runfolder import Chunk, RunFolder, key_of, plan


def manifest(items: int = 7, chunk: int = 3, **config: Any) -> dict[str, Any]:
    cells = [
        {"method": "m", "system": system, "tests": "t", "items": items} for system in ("one", "two \u2028 é")
    ]
    return {"config": {"chunk": chunk, **config}, "cells": cells}


def records_of(folder: RunFolder, chunk: Chunk) -> list[Record]:
    return [
        {**key_of(folder._cells[chunk.cell], item), "answer": f"é\u2028{item}"}
        for item in range(chunk.start, chunk.stop)
    ]


def fill(path: Path, at_most: int = 99) -> int:
    """Answer what is missing; returns how many chunks were asked."""
    with RunFolder(path, manifest()) as folder:
        missing = folder.missing()[:at_most]
        for chunk in missing:
            folder.store(records_of(folder, chunk))
        return len(missing)


def test_chunks_cover_every_item_once() -> None:
    chunks = plan(manifest()["cells"], 3)
    assert chunks == [Chunk(c, *ends) for c in (0, 1) for ends in ((0, 3), (3, 6), (6, 7))]


def test_what_is_stored_is_not_asked_again(tmp_path: Path) -> None:
    assert fill(tmp_path / "run", 2) == 2
    assert fill(tmp_path / "run", 1) == 1
    assert fill(tmp_path / "run") == 3
    assert fill(tmp_path / "run") == 0
    lines = (tmp_path / "run" / "records.jsonl").read_bytes().split(b"\n")
    assert [json.loads(line)["item"] for line in lines[:-1]] == [*range(7), *range(7)]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_cut_anywhere_it_goes_on_to_the_same_bytes(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        fill(path)
        whole = (path / "records.jsonl").read_bytes()
        cut = data.draw(st.integers(0, len(whole)))
        # A power cut can leave zeros where the last lines should be.
        tail = data.draw(st.sampled_from([b"", b"\0" * 30, b"{\xff", b"null\n"]))
        (path / "records.jsonl").write_bytes(whole[:cut] + tail)
        kept = whole[:cut].count(b"\n")
        complete = sum(end <= kept for end in (3, 6, 7, 10, 13, 14))
        if complete < 6:
            assert fill(path) == 6 - complete
            assert (path / "records.jsonl").read_bytes() == whole


@pytest.mark.parametrize("number", [1, 3, 4, 13])
def test_damage_before_the_last_chunk_is_told_with_its_line(tmp_path: Path, number: int) -> None:
    fill(tmp_path)
    lines = (tmp_path / "records.jsonl").read_bytes().split(b"\n")
    for damage in (b"garbage", b"[1]", lines[5] if number != 6 else b"", b""):
        (tmp_path / "records.jsonl").write_bytes(b"\n".join([*lines[: number - 1], damage, *lines[number:]]))
        with pytest.raises(BabelscopeError, match=rf"records\.jsonl:{number} is not the record"):
            fill(tmp_path)


def test_more_records_than_items_are_told(tmp_path: Path) -> None:
    fill(tmp_path)
    with open(tmp_path / "records.jsonl", "ab") as file:
        file.write(b"{}\n")
    with pytest.raises(BabelscopeError, match=r"records\.jsonl:15 "):
        fill(tmp_path)


def test_a_run_of_another_configuration_is_refused_and_kept(tmp_path: Path) -> None:
    fill(tmp_path)
    before = (tmp_path / "records.jsonl").read_bytes()
    with pytest.raises(
        BabelscopeError, match=r"config\.chunk: 3 there, 4 here; config\.seed: nothing there, 1 here"
    ):
        RunFolder(tmp_path, manifest(chunk=4, seed=1))
    with pytest.raises(BabelscopeError, match=r"cells\[0\]\.items: 7 there, 8 here"):
        RunFolder(tmp_path, manifest(items=8))
    assert (tmp_path / "records.jsonl").read_bytes() == before


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("\\documentclass{}")
    with pytest.raises(BabelscopeError, match=r"thesis\.tex"):
        RunFolder(tmp_path, manifest())
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]
    with pytest.raises(BabelscopeError, match="cannot be a run folder"):
        RunFolder(tmp_path / "thesis.tex", manifest())


def test_what_a_kill_left_of_the_first_steps_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / "records.jsonl").touch()
    (tmp_path / ".manifest.json.0a1b2c3d.part").write_text('{"conf')
    assert fill(tmp_path) == 6
    assert not list(tmp_path.glob(".*"))


def test_a_damaged_manifest_is_told(tmp_path: Path) -> None:
    fill(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(BabelscopeError, match=r"manifest\.json is damaged"):
        fill(tmp_path)


def test_two_processes_at_once_are_refused_and_death_releases(tmp_path: Path) -> None:
    hold = (
        "import json, sys; from babelscope.runfolder import RunFolder\n"
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


def test_a_full_disk_is_told_and_nothing_is_lost(tmp_path: Path) -> None:
    fill(tmp_path, 2)
    before = (tmp_path / "records.jsonl").read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 20, hard))
    try:
        with pytest.raises(SystemFailure, match=r"records\.jsonl cannot be written.*same command again"):
            fill(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (tmp_path / "records.jsonl").read_bytes() == before
    assert fill(tmp_path) == 4
