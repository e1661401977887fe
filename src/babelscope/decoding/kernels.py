"""The inner loops that tensor operations do not do well on a processor, in float32, compiled by numba at first use.

Indices are loop variables wherever they can be: numba then knows that they are not negative, and LLVM vectorises.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

from babelscope.decoding.model import Array

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _compiled(function: _Function) -> _Function:
    """Compiled once for all processes, if there is a folder to keep it in; sums may be taken in any order."""
    options = {
        "nogil": True,
        "error_model": "numpy",
        "fastmath": {"reassoc", "contract", "nsz", "arcp", "nnan"},
    }
    try:
        made: _Function = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        made = numba.njit(**options)(function)
    return made


@numba.njit(inline="always")
def _exp(x: Any) -> Any:
    """e^x for float32 x <= 0, to 2 units in the last place (at least 1e-38): unlike libm's, it is vectorised.

    2^n e^r, with |r| <= ln 2 / 2; the polynomial and the two parts of ln 2 are those of Cephes' expf.
    """
    x = max(x, np.float32(-87))
    n = np.floor(x * np.float32(1 / math.log(2)) + np.float32(0.5))
    r = x - n * np.float32(0.693359375) + n * np.float32(2.12194440e-4)
    p = np.float32(1.9875691500e-4)
    p = p * r + np.float32(1.3981999507e-3)
    p = p * r + np.float32(8.3334519073e-3)
    p = p * r + np.float32(4.1665795894e-2)
    p = p * r + np.float32(1.6666665459e-1)
    p = p * r + np.float32(5.0000001201e-1)
    p = p * (r * r) + r + np.float32(1)
    return p * np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)


@_compiled
def attend(queries: Array, table: Array, paths: Array, rows: Array, lengths: Array, mixed: Array) -> None:
    """Attention of queries [n, _, heads, width], of which the first are taken, into `mixed` [n, heads, width].

    Query i attends to the keys and values in `table` [places, 2, heads, width] at the first `lengths[i]` places of
    `paths[rows[i]]`.
    """
    n, _, heads, width = queries.shape
    scale = np.float32(1 / math.sqrt(width))
    weights = np.empty(paths.shape[1], dtype=np.float32)
    for i in range(n):
        path = paths[rows[i]]
        length = lengths[i]
        for head in range(heads):
            top = np.float32(-np.inf)
            for place in range(length):
                key = path[place]
                total = np.float32(0)
                for j in range(width):
                    total += queries[i, 0, head, j] * table[key, 0, head, j]
                weights[place] = total * scale
                top = max(top, weights[place])
            norm = np.float32(0)
            for place in range(length):
                weight = _exp(weights[place] - top)
                weights[place] = weight
                norm += weight
            for j in range(width):
                mixed[i, head, j] = 0
            for place in range(length):
                key = path[place]
                weight = weights[place] / norm
                for j in range(width):
                    mixed[i, head, j] += weight * table[key, 1, head, j]


@_compiled
def log_normalisers(logits: Array, tops: Array) -> Array:
    """log sum exp of each row of logits [rows, vocabulary], given the rows' maxima; in double."""
    rows, size = logits.shape
    norms = np.empty(rows)
    for i in range(rows):
        top = tops[i]
        total = np.float32(0)
        for j in range(size):
            total += _exp(logits[i, j] - top)
        norms[i] = top + math.log(total)
    return norms
