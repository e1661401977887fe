"""Errors from files that somebody has changed, turned into one sentence for the user."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator
from pathlib import Path

from babelscope.util.errors import BabelscopeError

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
