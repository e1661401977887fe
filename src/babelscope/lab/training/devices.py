"""Where training computes: the processor or a GPU, and the state of its random numbers."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import torch
from torch import Tensor

from babelscope.util.errors import BabelscopeError


def find_device(name: str) -> torch.device:
    """The device called `cpu`, `cuda` or `cuda:1`; refuses one that is not here."""
    kind, _, number = name.partition(":")
    if kind == "cpu" and not number:
        return torch.device("cpu")
    if kind != "cuda" or not (number.isdigit() or name == "cuda"):
        raise BabelscopeError(f"there is no device {name!r} to train on; there are cpu, cuda and cuda:NUMBER")
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if int(number or 0) >= count:
        raise BabelscopeError(
            f"torch finds {count} CUDA devices here, so there is no {name}; leave --device out"
        )
    return torch.device("cuda", int(number or 0))


def random_states(device: torch.device) -> dict[str, Tensor]:
    """The states of all random numbers that training on `device` draws."""
    own = {"random_cuda": torch.cuda.get_rng_state(device)} if device.type == "cuda" else {}
    return {"random": torch.get_rng_state(), **own}


def restore_random_states(device: torch.device, states: dict[str, Tensor]) -> None:
    """Restore what `random_states` returned."""
    torch.set_rng_state(states["random"])
    if device.type == "cuda":
        torch.cuda.set_rng_state(states["random_cuda"], device)


@contextlib.contextmanager
def training_numerics(threads: int, device: torch.device | None = None) -> Iterator[None]:
    """Set threads and flush denormals for training; restore threads and random state afterwards.

    On a GPU, deterministic kernels are used where there are any; torch warns of others.
    """
    before, deterministic = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    gpu = device is not None and device.type == "cuda"
    torch.set_num_threads(threads or before)
    torch.set_flush_denormal(True)  # Adam's averages of unused rows decay into denormals, which are slow
    if gpu:
        os.environ.setdefault(
            "CUBLAS_WORKSPACE_CONFIG", ":4096:8"
        )  # else matrix products are not deterministic
        torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with torch.random.fork_rng(devices=[device] if gpu else []):
            yield
    finally:
        if gpu:
            torch.use_deterministic_algorithms(deterministic)
        torch.set_flush_denormal(False)
        torch.set_num_threads(before)
