"""A few hundred broken inputs to every reader and to the command line; `make fuzz` tries a million."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fuzz import commands, fuzzing, targets_runs
from tests.fuzz.everything import READERS
from tests.fuzz.fuzzing import Files, Target, fuzz, try_files

INPUTS = 100


@pytest.fixture(autouse=True)
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
    found = fuzz(target, folder, inputs)
    assert not found.crashes
    assert found.tried == inputs
    assert 0 < found.refused < inputs, "inputs that are all good or all bad try little"


@pytest.mark.parametrize("target", READERS, ids=lambda target: target.name)
def test_a_reader_reads_or_refuses_in_a_sentence(target: Target, tmp_path: Path) -> None:
    _holds(target, tmp_path / "inputs", max(20, round(INPUTS * target.share)))


def test_our_own_files_and_servers_answers(runs: list[Files], tmp_path: Path) -> None:
    for number, target in enumerate(targets_runs.targets(runs)):
        _holds(target, tmp_path / str(number), round(INPUTS * target.share) + 100)


def test_the_command_line(runs: list[Files], tmp_path: Path) -> None:
    for number, target in enumerate(commands.targets(runs)):
        _holds(target, tmp_path / str(number), 120)
