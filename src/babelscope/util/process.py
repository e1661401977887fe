"""Running programs that read lines on stdin and write lines on stdout; without a shell unless asked for."""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import IO

from babelscope.util.digests import digest_file, stamp
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.text import parse_lines, shorten

# `NAME=value` where a shell or env takes it for a variable, before the program's own name.
_ASSIGNMENT = re.compile(
    r"(?:^|[;&|(`{]|\$\(|\b(?:env|export|declare|set|sudo|do|then)\b)\s*(?:-\S+\s+)*[\"']?[A-Za-z_]\w*=\S"
)
_SECRET_OPTION = re.compile(
    r"(?:--?)?[\w-]*(?:api[-_]?key|token|secret|password|passwd|pwd|auth)(?:=|$)", re.IGNORECASE
)
_STDERR_LINES = 5


@dataclass(frozen=True)
class Program:
    """A command line; refused if its program is missing or it contains a secret."""

    name: str
    """Name in messages."""
    command: str
    shell: bool = False
    timeout: float = 3600.0
    """Seconds that one run may take."""

    def __post_init__(self) -> None:
        words = self.words
        named = [word for word in words if _SECRET_OPTION.match(word)]
        if named or _ASSIGNMENT.search(self.command):
            raise BabelscopeError(
                "a command is stored with the results and must hold no secret: set variables and keys in the "
                "environment before you start babelscope, which hands them on to the command"
            )
        if self.shell:
            return
        if not words:
            raise BabelscopeError(f"{self.name}: the command is empty")
        if shutil.which(words[0]) is None:
            raise BabelscopeError(f"{self.name}: the command {words[0]!r} is not found or not executable")

    @cached_property
    def words(self) -> list[str]:
        """The command line split as a shell would; empty if it is for a shell and cannot be split."""
        try:
            return shlex.split(self.command)
        except ValueError as error:
            if self.shell:
                return []
            raise BabelscopeError(f"{self.name}: the command cannot be split into words ({error})") from None

    @cached_property
    def _files(self) -> dict[str, str]:
        """The program and every file that the command line names, by the word that names it."""
        files = {}
        for position, word in enumerate(self.words):
            path = (shutil.which(word) if position == 0 else None) or word.rpartition("=")[2]
            # os.path.isfile, since Path.is_file raises on a word too long for a file name.
            if os.path.isfile(path) and os.access(path, os.R_OK):
                files[word] = path
        return files

    @cached_property
    def _first_seen(self) -> dict[str, tuple[tuple[int, ...], str]]:
        """Stamp and digest of each file when it was first looked at."""
        # The stamp is taken first: a file that changes while it is read is then found changed.
        return {word: (stamp(path), digest_file(path)) for word, path in self._files.items()}

    def file_digests(self) -> dict[str, str]:
        """SHA-256 of the program and of every file that the command line names, by the word that names it."""
        return {word: digest for word, (_, digest) in self._first_seen.items()}

    def check_unchanged(self) -> None:
        """Raise if the program, or a file that its command line names, is another one than when first looked at."""
        for word, (first, digest) in self._first_seen.items():
            path = self._files[word]
            try:
                # A large model is read again only if its stamp differs.
                changed = stamp(path) != first and digest_file(path) != digest
            except OSError:
                changed = True
            if changed:
                raise SystemFailure(
                    f"{self.name}: {path} was changed or removed while it was in use; its later "
                    f"answers are not stored: restore the old file to resume, or start again"
                )

    def run(self, lines: Sequence[str]) -> tuple[list[str], str]:
        """Run the program once on `lines`: the lines it wrote, and the end of its stderr, ready for a message.

        It is checked before and after: what it wrote is never that of a changed program.
        """
        self.check_unchanged()
        written = self._run(lines)
        self.check_unchanged()
        return written

    def _run(self, lines: Sequence[str]) -> tuple[list[str], str]:
        try:
            process = subprocess.Popen(
                self.command if self.shell else self.words,
                shell=self.shell,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # so that its children can be ended with it
            )
        except OSError as error:
            raise SystemFailure(f"{self.name} cannot be started: {error.strerror}") from error
        with process:
            try:
                output, stderr = process.communicate(
                    "".join(f"{line}\n" for line in lines).encode(), timeout=self.timeout
                )
            except subprocess.TimeoutExpired as error:
                _kill(process)
                raise SystemFailure(
                    f"{self.name} did not finish within {self.timeout:g} seconds (timeout=) on "
                    f"{len(lines)} lines{_tail(error.stderr)}"
                ) from None
            except BaseException:  # Ctrl-C goes to us alone, since the command has its own session
                _kill(process)
                raise
        if process.returncode:
            raise SystemFailure(f"{self.name} failed with exit code {process.returncode}{_tail(stderr)}")
        return parse_lines(output, f"the output of {self.name}", keep_separators=True), _tail(stderr)


# --- A program that stays open and answers a line with a line, such as one that loads a large model once -----------


LONGEST = 256 * 2**20
"""Maximum size of an answer in bytes; more means that the program is broken."""


class Worker:
    """A program of one line in, one line out. It is killed with this object, or on any failure."""

    def __init__(self, name: str, command: Sequence[str], *, env: Mapping[str, str], timeout: float) -> None:
        """`timeout` is in seconds, for each answer; the program writes a first line when it is ready."""
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
        self.close = weakref.finalize(self, _end, self._process, self._stderr)
        """Ends the program; called at the latest when Python exits."""
        self._rest = b""
        with self._lock, self._ending_on_error():
            self.greeting = self._read()
            """Its first line, written when it was ready."""

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
                    raise self._failure(f"exited with code {self._process.returncode}")
                found.append(part)
                if sum(map(len, found)) > LONGEST:
                    raise self._failure("gave an endless answer")
        line, _, self._rest = b"".join(found).partition(b"\n")
        return line.decode("utf-8", "replace")

    def _failure(self, what: str) -> SystemFailure:
        self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, self._stderr.tell() - 2000))
        return SystemFailure(f"{self._name} {what}{_tail(self._stderr.read())}")


def _end(process: subprocess.Popen[bytes], stderr: IO[bytes]) -> None:
    _kill(process)
    for stream in (process.stdin, process.stdout, stderr):
        with contextlib.suppress(OSError):
            if stream is not None:
                stream.close()
    process.wait()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a program and its children."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()


def _tail(stderr: bytes | None) -> str:
    """The last lines of a program's standard error, for a message."""
    lines = [line.strip() for line in (stderr or b"").decode(errors="replace").split("\n") if line.strip()]
    last = " | ".join(lines[-_STDERR_LINES:])
    return f"; its standard error ends: {shorten(last[-500:], 500)}" if last else ""
