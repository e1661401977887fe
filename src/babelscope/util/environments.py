"""Python environments for programs whose pins exclude ours: made once from pinned hashes, in the user's cache."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.files import lock, private_folder, replacing
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


# --- A program that stays open and answers a line with a line, such as one that loads a large model once -----------


LONGEST = 256 * 2**20
"""Bytes of an answer, beyond which the program has gone wrong."""


class Worker:
    """A program of one line in, one line out. It is ended when this object is, or on any failure."""

    def __init__(self, name: str, command: Sequence[str], *, env: Mapping[str, str], timeout: float) -> None:
        """`timeout` is in seconds, for each answer; the first answer comes unasked, when the program is ready."""
        self._name, self._timeout = name, timeout
        self._lock = threading.Lock()
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 (as long as the worker)
        try:
            self._process = subprocess.Popen(
                command,
                env=dict(env),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                start_new_session=True,  # so that its children can be ended with it
            )
        except OSError as error:
            raise SystemFailure(f"{name} cannot be started: {error.strerror}") from error
        self.close = weakref.finalize(self, _end, self._process)
        """Ends the program; called at the latest when Python exits."""
        self._rest = b""
        with self._lock, self._ending_on_error():
            self.greeting = self._read()
            """What it said when it was ready."""

    @property
    def is_open(self) -> bool:
        """Whether it can be asked."""
        return self.close.alive and self._process.poll() is None

    def ask(self, line: str) -> str:
        """Its answer to a line."""
        assert self._process.stdin is not None
        with self._lock, self._ending_on_error():
            try:
                self._process.stdin.write(line.encode() + b"\n")
                self._process.stdin.flush()
            except BrokenPipeError:
                raise self._failure("has gone") from None
            return self._read()

    @contextlib.contextmanager
    def _ending_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()  # an answer that comes late would be taken for that of the next line
            raise

    def _read(self) -> str:
        assert self._process.stdout is not None
        found = [self._rest]
        until = time.monotonic() + self._timeout
        with selectors.DefaultSelector() as ready:
            ready.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in found[-1]:
                if not ready.select(max(0.0, until - time.monotonic())):
                    raise self._failure(f"did not answer within {self._timeout:g} seconds")
                part = os.read(self._process.stdout.fileno(), 2**16)
                if not part:
                    self._process.wait()
                    raise self._failure(f"ended with exit code {self._process.returncode}")
                found.append(part)
                if sum(map(len, found)) > LONGEST:
                    raise self._failure("gave an answer without end")
        line, _, self._rest = b"".join(found).partition(b"\n")
        return line.decode("utf-8", "replace")

    def _failure(self, what: str) -> SystemFailure:
        self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, self._stderr.tell() - 2000))
        lines = [
            each.strip() for each in self._stderr.read().decode(errors="replace").split("\n") if each.strip()
        ]
        told = f"; its standard error ends: {shorten(' | '.join(lines[-5:])[-500:], 500)}" if lines else ""
        return SystemFailure(f"{self._name} {what}{told}")


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    for stream in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            if stream is not None:
                stream.close()
    process.wait()


def require_consent(what: str, *, yes: bool) -> None:
    """Print on stderr what will be done; go on if the user agrees, or has by `yes`.

    Without a terminal there is nobody to ask: an error that names the option.
    """
    print(what, file=sys.stderr)
    if yes:
        return
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        raise BabelscopeError(
            "nothing was done, since there is no terminal to ask on; agree by `babelscope data get NAME --yes`"
        )
    print("Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise BabelscopeError("nothing was done, since you did not agree")
