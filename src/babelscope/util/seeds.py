"""Random numbers: one seed for a run, and an independent stream for each part of it."""

from __future__ import annotations

import hashlib

import numpy as np


def stream(seed: int, name: str) -> np.random.Generator:
    """The random generator of the part called `name`; parts do not influence each other's numbers."""
    digest = hashlib.sha256(f"{seed}\0{name}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest, "big"))
