"""Corpora made in parts by Ray workers, each of which reads its own ranges of the files.

Plain Ray tasks, not Ray Data: a part is a range of up to four parallel files, and outputs must come back in order.
There is no table to split, so Ray Data would only add columns and memory.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, TypeVar

from babelscope.systems.cache import Store
from babelscope.util.errors import BabelscopeError, SystemFailure
from babelscope.util.version import __version__

SENTENCES = 8192
"""Sentences in a part: seconds of work, megabytes of output. A multiple of the 64 that parsers are given at once."""

_RETRIES = 3
_AHEAD = 2  # tasks for each core that are submitted before the first must have come back

_Task = TypeVar("_Task")
_Made = TypeVar("_Made")


def map_parts(
    work: Callable[[_Task], _Made],
    names: Sequence[str],
    tasks: Iterable[_Task],
    ray: str | None,
    store: Store,
) -> Generator[_Made]:
    """Yield the results (JSON) of `work` on each task, in order: stored ones, then new ones, which are stored.

    They are computed in this process, or on Ray at an address ("" to start it).
    """
    done = 0
    for done, name in enumerate(names):  # noqa: B007
        if not (found := store.find([name])):
            break
        yield found[name]
    else:
        return
    left = itertools.islice(tasks, done, None)
    made = map(work, left) if ray is None else ray_map(work, left, ray or None)
    with contextlib.ExitStack() as stack:
        if isinstance(made, Generator):
            stack.enter_context(contextlib.closing(made))
        for name, value in zip(names[done:], made, strict=True):
            yield store.part(name, lambda value=value: value)  # type: ignore[misc]


def ray_map(
    work: Callable[[_Task], _Made], tasks: Iterable[_Task], address: str | None = None
) -> Generator[_Made]:
    """Yield the results of `work`, a module-level function, on each task, in order, computed by Ray workers.

    Only a few tasks for each core are submitted ahead, however many there are; a worker that dies is replaced.
    The cluster is the one at `address`, or one that is started here and stopped at the end.
    """
    from babelscope.systems.clusters import connected

    waiting: deque[Any] = deque()
    tasks = iter(tasks)
    warned = False
    with connected(None, address, 1) as ray, contextlib.ExitStack() as stack:
        stack.callback(lambda: [ray.cancel(task, force=True) for task in waiting])
        remote = ray.remote(num_cpus=1, max_retries=_RETRIES)(_run_task)
        while True:
            ahead = _AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
            for task in itertools.islice(tasks, max(0, ahead - len(waiting))):
                waiting.append(remote.remote(__version__, os.getcwd(), work, task))
            if not waiting:
                return
            made, heard = _receive(waiting.popleft())
            if heard and not warned:  # parts give the same warnings: show the first only
                warned = True
                warnings.warn(heard[0], stacklevel=2)
            if isinstance(made, BabelscopeError):
                raise made
            yield made


def _run_task(
    version: str, folder: str, work: Callable[[_Task], _Made], task: _Task
) -> tuple[Any, list[str]]:
    """In a worker: run a task; its result, or the BabelscopeError in its place, and the messages of its warnings."""
    made: Any
    with warnings.catch_warnings(record=True) as heard:
        try:
            if version != __version__:
                raise BabelscopeError(f"a Ray worker has Babelscope {__version__}, not {version}")
            with contextlib.chdir(folder):  # paths may be relative
                made = work(task)
        except BabelscopeError as raised:  # as one that any process can read
            made = (SystemFailure if isinstance(raised, SystemFailure) else BabelscopeError)(str(raised))
        except OSError as raised:
            made = SystemFailure(f"a worker cannot work in {folder}: {raised.strerror or raised}")
    return made, [str(each.message) for each in heard]


def _receive(answer: Any) -> tuple[Any, list[str]]:
    """Wait for a task: its result or error, and its warnings."""
    import ray.exceptions

    from babelscope.systems.clusters import reason

    try:
        made, heard = ray.get(answer)
    except ray.exceptions.RayTaskError as raised:
        raise raised.cause from None  # a fault in our own code, as it would be raised here
    except ray.exceptions.RayError as raised:
        raise SystemFailure(
            f"a part was given up after {_RETRIES + 1} workers died of it: {reason(raised)}"
        ) from None
    return made, heard
