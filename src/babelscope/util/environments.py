"""Python environments for programs whose pins exclude ours: made once by uv, from pinned hashes."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from babelscope.util.errors import BabelscopeError, SystemFailure, explain_missing
from babelscope.util.files import lock, private_folder, replacing
from babelscope.util.progress import working
from babelscope.util.text import shorten

_MARKER = "ready.json"
# They would let in what is installed elsewhere.
_NOT_INHERITED = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")


def environments_folder() -> Path:
    """$BABELSCOPE_ENVIRONMENTS, or `environments` in the user's cache folder; only this user can write there."""
    import platformdirs

    stated = os.environ.get("BABELSCOPE_ENVIRONMENTS")
    path = Path(stated).absolute() if stated else platformdirs.user_cache_path("babelscope") / "environments"
    try:
        return private_folder(path)
    except OSError as error:
        raise BabelscopeError(
            f"{error.filename or path} cannot hold environments: {error.strerror}; name another folder in "
            "BABELSCOPE_ENVIRONMENTS"
        ) from error


@dataclass(frozen=True)
class Environment:
    """A Python environment with exactly the packages of a requirements file, each with its hash."""

    name: str
    requirements: bytes
    module: str
    """What must be importable in it."""

    @property
    def digest(self) -> str:
        """Of all that it is made of: requirements, version of Python, kind of machine."""
        version = ".".join(platform.python_version_tuple()[:2])
        built_for = f"{version} {sys.platform} {platform.machine()}\n"
        return hashlib.sha256(built_for.encode() + self.requirements).hexdigest()

    @property
    def folder(self) -> Path:
        return environments_folder() / f"{self.name}-{self.digest[:16]}"

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    @property
    def is_ready(self) -> bool:
        """Whether it was made to the end; the marker is written last."""
        return self.python.exists() and self.note(_MARKER).get("digest") == self.digest

    def note(self, name: str) -> Mapping[str, Any]:
        """A small JSON object kept in its folder; empty if there is none, or none that can be read."""
        try:
            found = json.loads((self.folder / name).read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def keep_note(self, name: str, note: Mapping[str, Any]) -> None:
        """Write such an object, as a whole or not at all."""
        with replacing(self.folder / name) as file:
            file.write(json.dumps(note, ensure_ascii=False).encode() + b"\n")

    def make(self) -> None:
        """Make it, unless it is there; what a killed process left of one is removed first."""
        folder = self.folder
        held = os.open(folder.with_name(f".{folder.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            lock(held, folder, instead="run the same command again later")
            if not self.is_ready:
                with working(f"making the environment {self.name}"):
                    self._fill(folder, held)
                self.keep_note(_MARKER, {"digest": self.digest, "python": platform.python_version()})
        finally:
            os.close(held)

    def _fill(self, folder: Path, held: int) -> None:
        with explain_missing("an environment for a metric", "comet"):
            from uv import find_uv_bin
        uv, python = find_uv_bin(), str(self.python)
        log = folder.with_name(f".{folder.name}.log")
        # Wheels only: building a source distribution would run its code, with build requirements without hashes.
        pinned = ("--require-hashes", "--only-binary", ":all:")
        for step in (
            [uv, "venv", "--clear", "--no-project", "--python", sys.executable, str(folder)],
            [uv, "pip", "install", *pinned, "--python", python, "-r", "-"],
            [python, "-I", "-c", f"import {self.module}"],
        ):
            with open(log, "wb") as output:
                done = subprocess.run(
                    step,
                    cwd=folder.parent,  # so that no configuration of the working folder counts
                    env=isolated(),
                    input=self.requirements,
                    stdout=output,
                    stderr=output,
                    # If we are killed, nobody touches the folder until the step has ended, too.
                    pass_fds=(held,),
                    check=False,
                )
            if done.returncode:
                lines = log.read_text(encoding="utf-8", errors="replace").strip().split("\n")
                raise SystemFailure(
                    f"the environment {folder.name} could not be made ({Path(step[0]).name} ended with "
                    f"{done.returncode}): {shorten(' | '.join(lines[-3:]), 500)}; all of it is in {log}"
                )


def isolated() -> dict[str, str]:
    """Our environment variables, without those that would mix another environment with ours."""
    return {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
