"""The toy systems as an installed plug-in, and the command line in this process."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import toys


@pytest.fixture(scope="session")
def toy_folders(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Folders to put on the Python path of a process that shall know the toys."""
    return toys.install(tmp_path_factory.mktemp("plug-in"))


@pytest.fixture
def toy_schemes(toy_folders: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`open_system` knows `toy:`, `mute:` and `nan:`."""
    for folder in toy_folders:
        monkeypatch.syspath_prepend(folder)


@dataclass
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str


Babelscope = Callable[..., Ran]


@pytest.fixture
def babelscope(
    toy_schemes: None,  # noqa: ARG001
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Babelscope:
    """Runs `babelscope ARGUMENTS` in a folder of its own, with the toys installed."""
    from babelscope.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BABELSCOPE_CACHE", str(tmp_path / "cache.sqlite"))
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # main changes it

    def run(*arguments: str, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "argv", ["babelscope", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        captured = capsys.readouterr()
        return Ran(int(stopped.value.code or 0), captured.out, captured.err)

    return run
