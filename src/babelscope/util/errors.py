"""The errors that users see: one sentence each, with what to do."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from babelscope.util.terminal import visible

# Characters of a message. Ids and names come from files, and may be as long as the file.
_LONGEST = 2000


class BabelscopeError(Exception):
    """Bad input or usage; the command line prints it without a traceback and exits with `exit_code`."""

    exit_code = 2

    def __str__(self) -> str:
        """One line, whatever a name or text in it holds; nothing in it can steer a terminal."""
        return _shorten(visible(_shorten(super().__str__())))


def _shorten(message: str) -> str:
    if len(message) <= _LONGEST:
        return message
    return f"{message[: _LONGEST // 2]} … {message[-_LONGEST // 4 :]}"


Side = Literal["source", "target"]


class RefusedText(BabelscopeError):
    """A text that a system cannot be asked about. The caller adds where it came from, with `relocate_errors`."""

    def __init__(self, side: Side, number: int, reason: str) -> None:
        """`number` counts from 1 within one call; `reason` is the rest of the sentence, such as "is empty"."""
        super().__init__(f"{side} {number} {reason}")
        self.side: Side = side
        self.number = number
        self.reason = reason
        self.item = ""
        """Id of the test item that the question is about, if any; filled by `systems.contract`."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickling an exception passes it its message alone; workers send this one back.
        return type(self), (self.side, self.number, self.reason)


class SystemFailure(BabelscopeError):
    """A system, disk or network failed although the input was fine."""

    exit_code = 1


def at(path: str | Path, line: int | None = None) -> str:
    """Where in a file: `path:line`, lines counted from 1."""
    return f"{path}:{line}" if line is not None else str(path)


_PACKAGE = Path(__file__).parent.parent


@contextlib.contextmanager
def explain_damage(what: str) -> Iterator[None]:
    """Turn any unexpected error in the block into one that says the files of `what` are damaged."""
    try:
        yield
    except (BabelscopeError, OSError, MemoryError):
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"[:200] + _own_frame(error)
        raise BabelscopeError(
            f"{what}: the files do not hold what the method writes ({reason}): they were changed or damaged; "
            "run it again (or, if nobody has changed them, report this as a fault of Babelscope)"
        ) from error


def _own_frame(error: Exception) -> str:
    """The innermost line of our own code in the traceback, for the message."""
    own = [
        f", at {path.relative_to(_PACKAGE)}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if (path := Path(frame.filename)).is_relative_to(_PACKAGE)
    ]
    return own[-1] if own else ""


def install_hint(extra: str) -> str:
    """How to install an extra, for messages; from a clone, since Babelscope is on no package index."""
    return f"pip install '.[{extra}]' (in the clone of Babelscope)"


# What the extra `models` installs, as it is imported.
_FOR_MODELS = {
    "huggingface_hub",
    "numba",
    "safetensors",
    "sentencepiece",
    "tokenizers",
    "torch",
    "transformers",
}


@contextlib.contextmanager
def explain_missing(what: str, extra: str = "") -> Iterator[None]:
    """Turn the lack of a package that `models` or the extra installs into a sentence that says what to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in _FOR_MODELS:
            extra = extra or "models"
        elif not extra:
            raise
        raise BabelscopeError(f"{what} needs {package}: {install_hint(extra)}") from error
