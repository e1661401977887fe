"""Randomness: one seed, and for every part a stream of its own."""

from __future__ import annotations

import hashlib

import numpy as np


def stream(seed: int, name: str) -> np.random.Generator:
    """The random numbers of the part called `name`; adding a part changes no other's."""
    digest = hashlib.sha256(f"{seed}\0{name}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))
