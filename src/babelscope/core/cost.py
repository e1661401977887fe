"""What asking systems costs: counted where they are asked, told in the manifest of a run."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass(slots=True)
class Meter:
    """Counts of this process; runs take the difference between two readings."""

    tokens: int = 0
    """Of the answers: of translations, samples and scored targets, end of sentence included."""
    retries: int = 0
    """Questions to servers that had to be asked again."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, *, tokens: int = 0, retries: int = 0) -> None:
        with self._lock:
            self.tokens += tokens
            self.retries += retries


METER = Meter()
