"""Outputs that grow part by part: whole or not there; what was written is checked before it is gone on with."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.resumable import resumable_output

ASKED = {"command": "grow"}


def work(out: Path | None, made: list[int], *, until: int = 5) -> list[Any]:
    def make(number: int) -> tuple[bytes, Any]:
        if number >= until:
            raise SystemFailure("the disk is gone")
        made.append(number)
        return b"%d" % number * 1000 + b"\n", {"count": number}

    with resumable_output(out, ASKED) as parts:
        return [parts.part(f"part {n}", partial(make, n)) for n in range(5)]


WHOLE = b"".join(b"%d" % number * 1000 + b"\n" for number in range(5))


def test_it_is_there_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    made: list[int] = []
    with pytest.raises(SystemFailure):
        work(out, made, until=3)
    assert sorted(path.name for path in out.parent.iterdir()) == ["out.partial", "out.partial.data"]
    out.write_bytes(b"an older output")
    assert work(out, made) == [{"count": number} for number in range(5)]
    assert made == [0, 1, 2, 3, 4]
    assert out.read_bytes() == WHOLE
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_a_failure_before_the_first_part_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(SystemFailure):
        work(tmp_path / "new" / "out", [], until=0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("how", ["changed", "cut", "removed", "removed beside an older output"])
def test_what_was_changed_is_refused(tmp_path: Path, how: str) -> None:
    out, data = tmp_path / "out", tmp_path / "out.partial.data"
    with pytest.raises(SystemFailure):
        work(out, [], until=3)
    if how == "changed":
        data.write_bytes(data.read_bytes().replace(b"1", b"7", 1))
    elif how == "cut":
        data.write_bytes(data.read_bytes()[:-2])
    else:
        data.unlink()
    if how == "removed beside an older output":
        out.write_bytes(WHOLE)  # begins with the very parts that are stored
    made: list[int] = []
    with pytest.raises(BabelscopeError, match=r"it was changed or damaged; delete both"):
        work(out, made)
    assert how == "removed beside an older output" or made == []
    assert not out.exists() or out.read_bytes() == WHOLE


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for name in ("out.partial", "out.partial.data"):
        (tmp_path / name).symlink_to(victim)
        with pytest.raises(BabelscopeError, match="is a symbolic link, which is not followed"):
            work(tmp_path / "out", [])
        (tmp_path / name).unlink()
    assert victim.read_text() == "precious"


def test_a_full_disk_keeps_what_was_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, left = os.write, [3500]

    def write(descriptor: int, data: bytes) -> int:
        if not left[0]:
            raise OSError(28, "No space left on device")
        written = real(descriptor, data[: left[0]])
        left[0] -= written
        return written

    monkeypatch.setattr(os, "write", write)
    made: list[int] = []
    with pytest.raises(SystemFailure, match="No space left on device; what was done before is safe"):
        work(tmp_path / "out", made)
    monkeypatch.undo()
    done = len(made) - 1
    assert 0 < done < 4
    work(tmp_path / "out", made)
    assert made == [*range(done + 1), *range(done, 5)]
    assert (tmp_path / "out").read_bytes() == WHOLE


def test_without_an_output_states_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    made: list[int] = []
    with pytest.raises(SystemFailure):
        work(None, made, until=3)
    assert work(None, made) == [{"count": number} for number in range(5)]
    assert made == [0, 1, 2, 3, 4]
