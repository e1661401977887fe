"""A few hundred broken inputs to every reader and to the command line (`make fuzz` tries a million); the fuzzer."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from babelscope.util.errors import BabelscopeError
from tests.fuzz import commands, fuzzing, targets_runs
from tests.fuzz.fuzzing import Files, Target, fuzz, try_files
from tests.fuzz.targets import READERS

INPUTS = 100


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside other tests an input may take longer than `make fuzz` allows it."""
    monkeypatch.setattr(fuzzing, "LONGEST", 5 * fuzzing.LONGEST)


@pytest.fixture(scope="module")
def runs(toy_folders: list[str]) -> Iterator[list[Files]]:
    with pytest.MonkeyPatch.context() as patch:
        for folder in toy_folders:
            patch.syspath_prepend(folder)
        for name in ("BABELSCOPE_CACHE", "BABELSCOPE_DATA", "BABELSCOPE_MIRROR"):
            patch.setenv(name, "")  # to be as it was afterwards
        yield targets_runs.finished_runs()


def _holds(target: Target, folder: Path, inputs: int) -> None:
    folder.mkdir()
    for files in target.seeds:
        assert try_files(target, folder, files) in (None, "")
    found = fuzz(target, folder, range(inputs))
    assert not found.crashes
    assert found.tried == inputs
    assert 0 < found.refused < inputs, "inputs that are all good or all bad try little"


@pytest.mark.usefixtures("patience")
@pytest.mark.parametrize("target", READERS, ids=lambda target: target.name)
def test_a_reader_reads_or_refuses_in_a_sentence(target: Target, tmp_path: Path) -> None:
    _holds(target, tmp_path / "inputs", max(20, round(INPUTS * target.share)))


@pytest.mark.usefixtures("patience")
def test_our_own_files_servers_answers_and_the_command_line(runs: list[Files], tmp_path: Path) -> None:
    targets = [*targets_runs.targets(runs), *commands.targets(runs)]
    for number, target in enumerate(targets):
        _holds(target, tmp_path / str(number), 120)


# -- the fuzzer itself ---------------------------------------------------------------------------------


def test_what_takes_too_long_too_much_or_kills_the_process_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(folder: Path) -> None:
        data = (folder / "a").read_bytes()
        while data == b"busy":
            try:
                sum(range(1000))
            except Exception:  # which a hang must not be caught by
                continue
        try:
            bytearray(600_000_000 if data == b"large" else 300_000_000)
        except MemoryError:
            raise BabelscopeError("there was not enough memory") from None
        if data.startswith(b"good") and len(data) > 4:
            os.kill(os.getpid(), signal.SIGKILL)
        if data != b"good":
            raise BabelscopeError("bad")

    target = Target("deadly", read, [{"a": b"good"}])
    folder = tmp_path / "own"
    folder.mkdir()
    assert try_files(target, folder, {"a": b"good"}) is None
    assert (try_files(target, folder, {"a": b"large"}) or "").startswith("MemoryError at")
    bytearray(600_000_000)  # the limit is lifted again
    with monkeypatch.context() as patch:
        patch.setattr(fuzzing, "LONGEST", 0.05)
        assert (try_files(target, folder, {"a": b"busy"}) or "").startswith("Hang at")
    found = fuzz(target, folder, range(40))
    assert found.tried == 40
    (fault,) = found.crashes
    assert fault == "the process ended with -9"
    assert 0 < len(found.crashes[fault]) <= 40 - found.refused
    assert found.refused > 0
