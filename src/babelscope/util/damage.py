"""Run folders that somebody has changed: whatever goes wrong with what they hold is told in a sentence."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Iterator
from pathlib import Path

from babelscope.util.errors import BabelscopeError

_PACKAGE = Path(__file__).parent.parent


@contextlib.contextmanager
def telling_damage(what: str) -> Iterator[None]:
    """Says of `what` that it does not hold what a method writes, instead of a traceback from deep inside."""
    try:
        yield
    except (BabelscopeError, OSError, MemoryError):
        raise
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
        raise BabelscopeError(
            f"{what}: the files do not hold what the method writes ({told[:200]}{_place(error)}): they were changed "
            "or damaged; run it again (or, if nobody has changed them, report this as a fault of Babelscope)"
        ) from error


def _place(error: Exception) -> str:
    """Where in our own code it was noticed."""
    own = [
        f", at {path.relative_to(_PACKAGE)}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if (path := Path(frame.filename)).is_relative_to(_PACKAGE)
    ]
    return own[-1] if own else ""
