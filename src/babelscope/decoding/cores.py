"""Work divided among CPU cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

_Part = TypeVar("_Part")
_Answer = TypeVar("_Answer")


def map_on_cores(
    device: torch.device, run: Callable[[_Part], _Answer], parts: Sequence[_Part]
) -> Iterator[_Answer]:
    """Yield `run(part)` in order; on a CPU each core runs parts of its own, with one thread each."""
    threads = torch.get_num_threads()
    if device.type != "cpu" or threads == 1 or len(parts) < 2:
        yield from map(run, parts)
        return
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as workers:
            yield from workers.map(run, parts)
    finally:
        torch.set_num_threads(threads)
