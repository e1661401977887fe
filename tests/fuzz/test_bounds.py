"""The fuzzer itself: an input that takes too long, too much, or kills the process is found and kept."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from babelscope.util.errors import BabelscopeError
from tests.fuzz import fuzzing
from tests.fuzz.apart import fuzz_apart
from tests.fuzz.fuzzing import Target, fuzz, try_files

SEEDS = [{"a": b"good"}]


def _busy(folder: Path) -> None:
    if (folder / "a").read_bytes() != b"good":
        while True:
            try:
                sum(range(1000))
            except Exception:  # which a hang must not be caught by
                continue


def _large(folder: Path) -> None:
    if (folder / "a").read_bytes() != b"good":
        try:
            bytearray(600_000_000)
        except MemoryError:
            raise BabelscopeError("there was not enough memory") from None


def _in_a_library(folder: Path) -> None:
    """One call that no signal interrupts."""
    if (folder / "a").read_bytes() != b"good":
        pow(3, 3_000_000)


def test_what_takes_too_long_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzzing, "LONGEST", 0.05)
    begun = time.process_time()
    assert (try_files(Target("busy", _busy, SEEDS), tmp_path, {"a": b"bad"}) or "").startswith("Hang at")
    assert time.process_time() - begun < 5
    told = try_files(Target("library", _in_a_library, SEEDS), tmp_path, {"a": b"bad"})
    assert told is not None
    assert "Hang at" in told or "of processor time" in told


def test_what_takes_too_much_is_found_also_if_it_is_told(tmp_path: Path) -> None:
    told = try_files(Target("large", _large, SEEDS), tmp_path, {"a": b"bad"})
    assert (told or "").startswith("MemoryError at")
    bytearray(600_000_000)  # and the limit is lifted again


def test_the_bounds_leave_room_for_what_is_good(tmp_path: Path) -> None:
    def read(_: Path) -> None:
        bytearray(300_000_000)

    assert not fuzz(Target("room", read, SEEDS), tmp_path, 3).crashes


def test_what_kills_the_process_is_found_and_the_rest_is_tried(tmp_path: Path) -> None:
    def read(folder: Path) -> None:
        data = (folder / "a").read_bytes()
        if data.startswith(b"good") and len(data) > 4:
            os.kill(os.getpid(), signal.SIGKILL)
        if data != b"good":
            raise BabelscopeError("bad")

    (tmp_path / "own").mkdir()
    found = fuzz_apart(Target("deadly", read, SEEDS), tmp_path / "own", 40)
    assert found.tried == 40
    (fault,) = found.crashes
    assert fault == "the process was killed by signal 9"
    assert 0 < len(found.crashes[fault]) < 40 - found.refused + 1
    assert found.refused > 0
