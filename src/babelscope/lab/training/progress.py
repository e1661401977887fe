"""Progress of a long task: a live line on a terminal, else a line every half minute."""

from __future__ import annotations

import sys
import time
from typing import Any

from babelscope.util.progress import filter_redirected, live_console
from babelscope.util.terminal import visible

_SECONDS_BETWEEN_LINES = 30.0


def clock(seconds: float) -> str:
    """A duration as 1:02:03 or 2:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Progress:
    """Shows progress on stderr; limits itself how often it prints."""

    def __init__(self, name: str, *, quiet: bool = False) -> None:
        self._name = name
        self._last = time.monotonic()
        self._live: Any = None
        self._quiet = quiet
        if not quiet and sys.stderr.isatty():
            from rich.text import Text

            self._text = Text
            self._live = live_console().status(Text(visible(name)))
            self._live.start()
            filter_redirected()

    def show(self, done: int, total: int, figures: str, seconds_left: float | None) -> None:
        """`done` of `total`, some figures, and the time left where it is known."""
        now = time.monotonic()
        if self._quiet or (self._live is None and now - self._last < _SECONDS_BETWEEN_LINES):
            return
        left = "" if seconds_left is None else f", {clock(seconds_left)} left"
        line = f"{self._name}: {done:,} of {total:,}, {figures}{left}"
        if self._live is not None:
            self._live.update(self._text(visible(line)))
        else:
            print(line, file=sys.stderr, flush=True)
        self._last = now

    def say(self, text: str) -> None:
        """Print one line that stays."""
        if self._live is not None:
            self._live.console.print(visible(f"{self._name}: {text}"), markup=False, highlight=False)
        elif not self._quiet:
            print(f"{self._name}: {text}", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
