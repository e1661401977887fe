"""The version: a checkout names its own commit, from files alone."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import babelscope
from babelscope.util.version import version_of

ROOT = Path(__file__).parents[2]
HASH = "0123456789abcdef0123456789abcdef01234567"
OTHER = "f" * 40


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A checkout at `HASH`, on a branch."""
    _write(tmp_path / "tree/pyproject.toml", '[tool.setuptools_scm]\nfallback_version = "7.8"  # why\n')
    _write(tmp_path / "tree/.git/HEAD", "ref: refs/heads/topic/one\n")
    _write(tmp_path / "tree/.git/refs/heads/topic/one", HASH + "\n")
    (tmp_path / "tree/src/babelscope").mkdir(parents=True)
    return tmp_path / "tree/src/babelscope"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_checkout_names_the_commit_of_its_branch(package):
    assert version_of(package) == "7.8+g012345678"
    git = package.parents[1] / ".git"
    (git / "refs/heads/topic/one").unlink()
    _write(
        git / "packed-refs",
        f"# pack-refs with: peeled\n{OTHER} refs/heads/a/refs/heads/topic/one\n{OTHER} refs/heads/topic/one-two\n"
        f"{HASH} refs/heads/topic/one\n^{OTHER}\n",
    )
    assert version_of(package) == "7.8+g012345678", "packed"
    _write(git / "HEAD", OTHER + "\n")
    assert version_of(package) == "7.8+gfffffffff"


@pytest.mark.parametrize("packed", [False, True])
def test_a_worktree(package, tmp_path, packed):
    git = tmp_path / "tree/.git"
    _write(tmp_path / "other/pyproject.toml", 'fallback_version = "7.9"\n')
    _write(tmp_path / "other/.git", f"gitdir: {git}/worktrees/other\n")
    _write(git / "worktrees/other/HEAD", "ref: refs/heads/other\n")
    _write(git / "worktrees/other/commondir", "../..\n")
    if packed:
        _write(git / "packed-refs", f"{OTHER} refs/heads/other\n")
    else:
        _write(git / "refs/heads/other", OTHER + "\n")
    (tmp_path / "other/src/babelscope").mkdir(parents=True)
    assert version_of(tmp_path / "other/src/babelscope") == "7.9+gfffffffff"
    assert version_of(package) == "7.8+g012345678"


def test_what_is_no_commit_is_left_out(package):
    _write(package.parents[1] / "secret", HASH)
    for head in (
        "",
        "ref: refs/heads/none",
        "ref: refs/../../secret",
        "not a commit",
        HASH[:39],
        "ref: refs/\0",
    ):
        _write(package.parents[1] / ".git/HEAD", head)
        assert version_of(package) == "7.8"


def test_an_installed_package_does_not_look_at_the_repository_around_it(package):
    """As in a virtual environment that lies in a checkout of something else."""
    (package.parent).rename(package.parents[1] / "site-packages")
    assert not version_of(package.parents[1] / "site-packages/babelscope").startswith("7.8")


def test_this_checkout_is_at_the_commit_that_git_says():
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools_scm"][
        "fallback_version"
    ]
    assert re.fullmatch(rf"{re.escape(stated)}(\+g[0-9a-f]{{9}})?", babelscope.__version__)
    said = subprocess.run(
        ["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    )
    if said.returncode:
        pytest.skip("no checkout")
    # Asked of a new process: commits may have been made while this one runs.
    code = "import babelscope; print(babelscope.__version__)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert found.stdout == f"{stated}+g{said.stdout[:9]}\n"
