"""A program that stays open and answers a line with a line, such as one that loads a large model once."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence

from babelscope.util.errors import SystemFailure
from babelscope.util.text import shorten

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
