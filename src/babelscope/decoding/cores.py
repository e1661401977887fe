"""A processor's cores: each works on a part of its own."""

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
    """`run` of each part, in order, a part a core: small operations need not wait for each other."""
    threads = torch.get_num_threads()
    if device.type != "cpu" or threads == 1 or len(parts) < 2:
        yield from map(run, parts)
        return
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as workers:
            yield from workers.map(run, parts)
    finally:
        torch.set_num_threads(threads)
