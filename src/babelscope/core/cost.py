"""The cost of asking systems, counted while they are asked and stored in the manifest of a run."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class Meter:
    """Counters of this process; a run stores the difference between its start and its end."""

    tokens: int = 0
    """Tokens of translations, samples and scored targets, EOS included."""
    retries: int = 0
    """How often a question to a server was repeated."""
    timed: dict[tuple[str, str], tuple[float, int]] = field(default_factory=dict, repr=False)
    """(system, what it was asked for) -> seconds and number of questions, since `take_timed`. Part of no run, since
    two runs of one study must not differ."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, *, tokens: int = 0, retries: int = 0) -> None:
        with self._lock:
            self.tokens += tokens
            self.retries += retries

    @contextlib.contextmanager
    def timing(self, system: str, what: str, questions: int) -> Iterator[None]:
        """Count the seconds of the block."""
        begun = time.perf_counter()
        yield
        with self._lock:
            seconds, asked = self.timed.get((system, what), (0.0, 0))
            self.timed[system, what] = seconds + time.perf_counter() - begun, asked + questions

    def take_timed(self) -> dict[tuple[str, str], tuple[float, int]]:
        """What was timed so far, which is then forgotten."""
        with self._lock:
            taken, self.timed = self.timed, {}
        return taken


METER = Meter()
