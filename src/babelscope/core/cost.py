"""The cost of asking systems, counted while they are asked and stored in the manifest of a run."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass(slots=True)
class Meter:
    """Counters of this process; a run stores the difference between its start and its end."""

    tokens: int = 0
    """Tokens of translations, samples and scored targets, EOS included."""
    retries: int = 0
    """How often a question to a server was repeated."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, *, tokens: int = 0, retries: int = 0) -> None:
        with self._lock:
            self.tokens += tokens
            self.retries += retries


METER = Meter()
