"""What can go wrong, said in one sentence a user can act on."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from babelscope.util.terminal import visible

# Characters of a message: an id or a name in it may be as long as a file.
_LONGEST = 2000


class BabelscopeError(Exception):
    """Bad input or usage; the command line prints it without a traceback and exits with `exit_code`."""

    exit_code = 2

    def __str__(self) -> str:
        """One line, whatever a name or text in it holds; nothing in it can steer a terminal."""
        return _cut(visible(_cut(super().__str__())))


def _cut(told: str) -> str:
    return told if len(told) <= _LONGEST else f"{told[: _LONGEST // 2]} … {told[-_LONGEST // 4 :]}"


Side = Literal["source", "target"]


class RefusedText(BabelscopeError):
    """A text that a system cannot be asked about. Only who asked knows where it stands: see `relocate_errors`."""

    def __init__(self, side: Side, number: int, reason: str) -> None:
        """Text `number`, counted from 1, of what was asked at once; `reason` goes on from there: "is empty"."""
        super().__init__(f"{side} {number} {reason}")
        self.side: Side = side
        self.number = number
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.side, self.number, self.reason)  # it crosses processes


class SystemFailure(BabelscopeError):
    """A system, disk or network failed although the input was fine."""

    exit_code = 1


def at(path: str | Path, line: int | None = None) -> str:
    """Where in a file: `path:line`, lines counted from 1."""
    return f"{path}:{line}" if line is not None else str(path)
