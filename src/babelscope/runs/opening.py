"""Where the systems of a study are opened, and where in the study an error is."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from babelscope.systems.opening import find_scheme, open_system
from babelscope.util.errors import BabelscopeError, SystemFailure

if TYPE_CHECKING:
    from babelscope.runs.study import RunTable


def opener_of(run: RunTable, stack: contextlib.ExitStack) -> Callable[[str], Any]:
    """Opens systems here, or in Ray workers, which start with the first system and end with the stack."""
    if run.engine != "ray":
        return open_system
    from babelscope.systems.spread import spread
    from babelscope.systems.workers import Pool

    @functools.cache
    def pool() -> Pool:
        address = run.address or None
        return stack.enter_context(Pool(run.workers, address=address, cpus=run.cpus, gpus=run.gpus))

    def opened(spec: str) -> Any:
        if find_scheme(spec).stored:
            return open_system(spec)
        # A chunk goes to one worker undivided, so that batches and floats are the same as without Ray.
        return spread(spec, pool=pool(), part=None)

    return opened


@contextlib.contextmanager
def errors_located(where: str, place: str = "") -> Iterator[None]:
    """Prefix errors in the block with their place in the study; a command, without `where`, has none."""
    prefix = f"{where}{': ' if where and place else ''}{place}" if where else ""
    try:
        yield
    except SystemFailure as error:
        raise (SystemFailure(f"{prefix}: {error}") if prefix else error) from error
    except BabelscopeError as error:
        raise (BabelscopeError(f"{prefix}: {error}") if prefix else error) from error
