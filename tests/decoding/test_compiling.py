"""What numba reads: nothing of the working folder, and nothing that others can write."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from babelscope.decoding import kernels

PROGRAM = """
import pathlib, sys, warnings
opened = []
sys.addaudithook(lambda event, values: opened.append(str(values[0])) if event == "open" else None)
warnings.simplefilter("always")
from babelscope.decoding import kernels
import numpy as np
kernels.compact(np.zeros(2), np.zeros(2, np.int64), np.zeros(2, np.int64), -1.0)
kernels.numba.core.config.reload_config()
read = [name for name in opened if name.endswith((".nbi", ".nbc", ".yaml"))]
print(kernels.numba.config.CACHE_DIR, kernels.compact.stats.cache_path, *read, sep="\\n")
"""


def run(folder: Path) -> tuple[list[str], str]:
    """CACHE_DIR, the cache's place, and the files opened that matter, of a process in `folder`; and its stderr."""
    given = {**os.environ, "XDG_CACHE_HOME": str(folder.parent / "cache")}
    given["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    ran = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM],
        cwd=folder,
        env=given,
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.split("\n")[:-1], ran.stderr


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A working folder that would have numba read pickles from another."""
    folder = tmp_path / "hostile"
    (folder / "pickles").mkdir(parents=True)
    (folder / ".numba_config.yaml").write_text(f"cache_dir: {folder / 'pickles'}\nopt: 0\n")
    return folder


def test_a_configuration_in_the_working_folder_is_not_read(hostile: Path) -> None:
    (cache_dir, kept, *opened), said = run(hostile)
    assert cache_dir == ""
    assert Path(kept).is_relative_to(hostile.parent / "cache" / "babelscope" / "compiled")
    assert opened
    assert not [name for name in opened if "yaml" in name or str(hostile) in name]
    assert (list((hostile / "pickles").iterdir()), said) == ([], "")


@pytest.mark.parametrize("variable", ["NUMBA_CACHE_DIR", "XDG_CACHE_HOME"])
def test_a_folder_is_chosen_if_nobody_else_can_write_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv(variable, str(tmp_path / "mine"))
    chosen = kernels.cache_folder()
    assert chosen is not None
    assert chosen.is_relative_to(tmp_path / "mine")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    (tmp_path / "file").write_text("")
    for bad in ("shared", "file/folder"):  # others can write there, or nobody can
        monkeypatch.setenv(variable, str(tmp_path / bad))
        with pytest.warns(RuntimeWarning, match="are not kept"):
            assert kernels.cache_folder() is None


def test_numba_keeps_to_the_folder_or_compiles_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "_FOLDER", tmp_path / "file" / "folder")  # where nothing can be made
    (tmp_path / "file").write_text("")

    def add(x: int) -> int:
        return x + 1

    made = kernels.compiled(add)
    assert (made(1), made.stats.cache_path) == (2, None)  # type: ignore[attr-defined]
