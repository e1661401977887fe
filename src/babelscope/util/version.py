"""The software's version, which is part of every signature; in a checkout it names the commit."""

from __future__ import annotations

import re
from pathlib import Path

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_HEAD = 9  # hexadecimal digits of a commit, as many as setuptools-scm writes
_AT_MOST = 1 << 20  # bytes of a file


def version_of(package: Path) -> str:
    """The version of a checkout from its own files, or that of the installed distribution."""
    root = package.parent.parent
    stated = re.search(r'^fallback_version = "([^"]+)"', _read(root / "pyproject.toml"), re.MULTILINE)
    if package.parent.name == "src" and stated:
        commit = _commit(root / ".git")
        return f"{stated[1]}+g{commit[:_HEAD]}" if commit else stated[1]
    import importlib.metadata  # slow to import, and not needed in a checkout

    try:
        return importlib.metadata.version("babelscope")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def _commit(git: Path) -> str:
    """The commit that is checked out, read from .git without git; empty if it cannot be found."""
    if linked := re.match(r"gitdir: (.+)", _read(git)):  # of a worktree
        git = git.parent / linked[1]
    head = _read(git / "HEAD").strip()
    if branch := re.fullmatch(r"ref: (refs/(?!.*\.\.).+)", head):
        head = _branch(git, branch[1])
    return head if _COMMIT.fullmatch(head) else ""


def _branch(git: Path, name: str) -> str:
    """The commit of a branch; a worktree keeps its branches in the repository that it was made from."""
    common = git / (_read(git / "commondir").strip() or ".")
    if found := _read(common / name).strip():
        return found
    packed = re.search(rf"^([0-9a-f]+) {re.escape(name)}$", _read(common / "packed-refs"), re.MULTILINE)
    return packed[1] if packed else ""


def _read(path: Path) -> str:
    """The text of a small file; empty if it does not exist."""
    try:
        with path.open("rb") as file:
            return file.read(_AT_MOST).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


__version__ = version_of(Path(__file__).parent.parent)
