"""The toy systems as an installed plug-in, and the command line in this process."""

from __future__ import annotations

import io
import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import toys
from tests.support.enumerated import Enumerated


@pytest.fixture(scope="session")
def toy_folders(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Folders to put on the Python path of a process that shall know the toys."""
    return toys.install(tmp_path_factory.mktemp("plug-in"))


@pytest.fixture
def toy_schemes(toy_folders: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`open_system` knows `toy:`, `mute:` and `nan:`."""
    for folder in toy_folders:
        monkeypatch.syspath_prepend(folder)


@pytest.fixture
def exact_toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toys search exactly, by looking at their whole space."""
    monkeypatch.setattr(toys.ToySystem, "top_k", Enumerated.top_k, raising=False)
    monkeypatch.setattr(toys.ToySystem, "space", Enumerated.space, raising=False)


@dataclass
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The JSON objects that it printed; it must have ended well."""
        assert self.code == 0, self.err
        return [json.loads(line) for line in self.out.split("\n")[:-1]]


Babelscope = Callable[..., Ran]


def read_rows(path: str | Path) -> list[dict[str, Any]]:
    """The JSON objects of a file, one per line."""
    return [json.loads(line) for line in Path(path).read_text("utf-8").split("\n")[:-1]]


@pytest.fixture
def babelscope(
    toy_schemes: None,  # noqa: ARG001
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Babelscope:
    """Runs `babelscope ARGUMENTS` in a folder of its own, with the toys installed; the first may be several words."""
    from babelscope.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BABELSCOPE_CACHE", str(tmp_path / "cache.sqlite"))
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # main changes it

    def run(*arguments: str, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "argv", ["babelscope", *" ".join(arguments[:1]).split(), *arguments[1:]])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        captured = capsys.readouterr()
        return Ran(int(stopped.value.code or 0), captured.out, captured.err)

    return run
