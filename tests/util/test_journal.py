"""Unfinished work: what was done is read, never made again; what does not belong is refused."""

from __future__ import annotations

import os
import stat
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.journal import Journal, keep_nothing, keeping, partial_path, resumable_output

ASKED = {"command": "count", "seed": 1}


def work(keep: Any, made: list[int], *, until: int = 5) -> list[Any]:
    """Five parts; stops before part `until` as if it had failed."""

    def make(number: int) -> Any:
        if number >= until:
            raise SystemFailure("the server is gone")
        made.append(number)
        return {"number": number, "text": "Größe \ud800", "value": 0.1 + number}

    return [keep(f"part {number}", lambda number=number: make(number)) for number in range(5)]


def test_what_was_done_is_not_done_again(tmp_path: Path) -> None:
    out = tmp_path / "new" / "out.jsonl"
    made: list[int] = []
    with pytest.raises(SystemFailure), keeping(out, ASKED) as keep:
        work(keep.part, made, until=3)
    assert made == [0, 1, 2]
    with keeping(out, ASKED) as keep:
        found = work(keep.part, made)
    assert made == [0, 1, 2, 3, 4]
    assert found == work(keep_nothing, [])
    assert not partial_path(out).exists()


def test_a_stop_before_the_first_part_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(SystemFailure), keeping(tmp_path / "a" / "b" / "out", ASKED) as keep:
        work(keep.part, [], until=0)
    assert list(tmp_path.iterdir()) == []


def test_a_torn_line_is_made_again_wherever_it_was_cut(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with Journal(path, ASKED) as journal:
        whole = work(journal.part, [])
        stored = path.read_bytes()
    for cut in range(len(stored)):
        path.write_bytes(stored[:cut])
        made: list[int] = []
        with Journal(path, ASKED) as journal:
            assert work(journal.part, made) == whole
            again = path.read_bytes()
        assert made == list(range(max(0, stored[:cut].count(b"\n") - 1), 5))
        assert again == stored


def test_work_of_another_command_is_refused_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with pytest.raises(SystemFailure), Journal(path, ASKED) as journal:
        work(journal.part, [], until=2)
    stored = path.read_bytes()
    with pytest.raises(BabelscopeError, match=r"unfinished work of another command \(seed differ\)"):
        Journal(path, {**ASKED, "seed": 2})
    assert path.read_bytes() == stored
    path.write_bytes(b"a user's own file\n")
    with pytest.raises(BabelscopeError, match="holds something else"):
        Journal(path, ASKED)
    assert path.read_bytes() == b"a user's own file\n"


def test_a_part_of_another_place_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with pytest.raises(SystemFailure), Journal(path, ASKED) as journal:
        work(journal.part, [], until=2)
    with pytest.raises(BabelscopeError, match=r"journal:2 is not the part that belongs there \(other\)"):
        Journal(path, ASKED).part("other", lambda: 1)


def test_one_process_at_a_time(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with keeping(out, ASKED) as keep:
        keep.part("part 0", lambda: 1)
        with pytest.raises(BabelscopeError, match="partial is in use by another process"):
            Journal(partial_path(out), ASKED)
        assert keep.part("part 1", lambda: 2) == 2


def test_nothing_is_written_beside_a_device_or_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "anywhere")
    for name in ("pipe", "link"):
        with pytest.raises(SystemFailure), keeping(tmp_path / name, {**ASKED, "out": name}) as keep:
            work(keep.part, [], until=3)
        assert not partial_path(tmp_path / name).exists()
        made: list[int] = []
        with keeping(tmp_path / name, {**ASKED, "out": name}) as keep:
            work(keep.part, made)
        assert made == [3, 4]


def test_commands_that_print_keep_their_parts_in_a_private_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = tmp_path / "babelscope" / "unfinished"
    made: list[int] = []
    with pytest.raises(SystemFailure), keeping(None, ASKED) as keep:
        work(keep.part, made, until=3)
    (stored,) = folder.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600
    with keeping(None, {**ASKED, "seed": 2}) as keep:  # another question has a file of its own
        work(keep.part, [])
    os.utime(stored, (0, 0))
    with keeping(None, ASKED) as keep:
        with keeping(None, ASKED) as other:  # the same command at the same time: works, and keeps nothing
            assert work(other.part, []) == work(keep_nothing, [])
        work(keep.part, made)
    assert made == [0, 1, 2, *range(5)]  # too old to be gone on with
    assert list(folder.iterdir()) == []


# -- outputs that grow part by part --------------------------------------------------------------------

WHOLE = b"".join(b"%d" % number * 1000 + b"\n" for number in range(5))


def grow(out: Path | None, made: list[int], *, until: int = 5) -> list[Any]:
    def make(number: int) -> tuple[bytes, Any]:
        if number >= until:
            raise SystemFailure("the disk is gone")
        made.append(number)
        return b"%d" % number * 1000 + b"\n", {"count": number}

    with resumable_output(out, ASKED) as parts:
        return [parts.part(f"part {n}", partial(make, n)) for n in range(5)]


def test_an_output_is_there_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    with pytest.raises(SystemFailure):
        grow(out, [], until=0)
    assert list(tmp_path.iterdir()) == []
    made: list[int] = []
    with pytest.raises(SystemFailure):
        grow(out, made, until=3)
    assert sorted(path.name for path in out.parent.iterdir()) == ["out.partial", "out.partial.data"]
    out.write_bytes(b"an older output")
    assert grow(out, made) == [{"count": number} for number in range(5)]
    assert made == [0, 1, 2, 3, 4]
    assert out.read_bytes() == WHOLE
    assert [path.name for path in out.parent.iterdir()] == ["out"]


@pytest.mark.parametrize("how", ["changed", "cut", "removed", "removed beside an older output"])
def test_what_was_changed_is_refused(tmp_path: Path, how: str) -> None:
    out, data = tmp_path / "out", tmp_path / "out.partial.data"
    with pytest.raises(SystemFailure):
        grow(out, [], until=3)
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
        grow(out, made)
    assert how == "removed beside an older output" or made == []
    assert not out.exists() or out.read_bytes() == WHOLE


@pytest.mark.parametrize("name", ["out.partial", "out.partial.data"])
def test_a_link_is_not_followed(tmp_path: Path, name: str) -> None:
    (tmp_path / "victim").write_text("precious")
    (tmp_path / name).symlink_to(tmp_path / "victim")
    with pytest.raises(BabelscopeError, match="is a symbolic link, which is not followed"):
        grow(tmp_path / "out", [])
    assert (tmp_path / "victim").read_text() == "precious"


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
        grow(tmp_path / "out", made)
    monkeypatch.undo()
    done = len(made) - 1
    assert 0 < done < 4
    grow(tmp_path / "out", made)
    assert made == [*range(done + 1), *range(done, 5)]
    assert (tmp_path / "out").read_bytes() == WHOLE


def test_without_an_output_states_are_kept() -> None:
    made: list[int] = []
    with pytest.raises(SystemFailure):
        grow(None, made, until=3)
    assert grow(None, made) == [{"count": number} for number in range(5)]
    assert made == [0, 1, 2, 3, 4]
