"""Python environments for programs whose pins exclude ours: made once from pinned hashes, in the user's cache."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.files import replacing
from babelscope.util.locks import lock
from babelscope.util.private_folder import private_folder
from babelscope.util.progress import working
from babelscope.util.text import shorten

_MARKER = "ready.json"
_LOG = "install.log"
# Wheels only: building a source distribution would run its code, with build requirements that have no hashes.
_PINNED = ("--require-hashes", "--only-binary", ":all:")
# They would send packages elsewhere, or let in what is installed elsewhere.
_NOT_INHERITED = (
    "PYTHONPATH",
    "PYTHONHOME",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_USER",
    "PIP_ROOT",
    "VIRTUAL_ENV",
)


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
            # The installer inherits the lock: if we are killed, nobody touches the folder until it has ended, too.
            lock(held, folder, instead="run the same command again later")
            if self.is_ready:
                return
            if folder.is_symlink():
                raise BabelscopeError(f"{folder} is a link, not an environment of ours; remove it")
            if folder.exists():
                shutil.rmtree(folder)
            folder.mkdir(mode=0o700)
            with working(f"making the environment {self.name}"):
                self._fill(folder, held)
            self.keep_note(_MARKER, {"digest": self.digest, "python": platform.python_version()})
        finally:
            os.close(held)

    def _fill(self, folder: Path, held: int) -> None:
        listed = folder / "requirements.txt"
        listed.write_bytes(self.requirements)
        inside = str(folder / "bin" / "python")
        if uv := shutil.which("uv"):
            steps = [
                [
                    uv,
                    "venv",
                    "--quiet",
                    "--no-project",
                    "--allow-existing",
                    "--python",
                    sys.executable,
                    str(folder),
                ],
                [uv, "pip", "install", *_PINNED, "--python", inside, "-r", str(listed)],
            ]
        else:
            pip = [inside, "-I", "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
            steps = [
                [sys.executable, "-I", "-m", "venv", str(folder)],
                [*pip, *_PINNED, "-r", str(listed)],
            ]
        for step in [*steps, [inside, "-I", "-c", f"import {self.module}"]]:
            _run(step, folder, held)


def isolated() -> dict[str, str]:
    """Our environment variables, without those that would mix another environment with ours."""
    return {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}


def _run(command: Sequence[str], folder: Path, held: int) -> None:
    """Run a step of the installation; it is ended with us if we can, and keeps the lock for as long as it runs."""
    path = folder / _LOG
    with open(path, "ab") as log:
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,  # so that no configuration of the working folder counts
                env=isolated(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(held,),
                start_new_session=True,
            )
        except OSError as error:
            raise SystemFailure(f"{command[0]} cannot be started: {error.strerror}") from error
        try:
            code = process.wait()
        except BaseException:  # Ctrl-C goes to us alone, since the step has its own session
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
    if code:
        lines = path.read_text(encoding="utf-8", errors="replace").strip().split("\n")
        raise SystemFailure(
            f"the environment {folder.name} could not be made ({Path(command[0]).name} ended with {code}): "
            f"{shorten(' | '.join(lines[-3:]), 500)}; all of it is in {path}"
        )
