"""Inner loops that tensor operations run slowly on a CPU, compiled by numba at their first use.

Indices are loop variables wherever they can be: numba then knows that they are not negative, and LLVM vectorizes.
"""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeVar

import numpy as np
import platformdirs

from babelscope.decoding.model import Array
from babelscope.util.files import private_folder

# --- numba without settings from the working folder, and with a cache that only this user can write ----------------


_CONFIGURATION = ".numba_config.yaml"
_Function = TypeVar("_Function", bound=Callable[..., Any])


class _WithoutFile(SourceFileLoader):
    """Loads numba.core.config with its settings file replaced by one that is always empty."""

    def get_code(self, fullname: str) -> CodeType | None:
        code = super().get_code(fullname)
        return code and code.replace(
            co_consts=tuple(os.devnull if each == _CONFIGURATION else each for each in code.co_consts)
        )


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname == "numba.core.config" else None
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _WithoutFile(spec.loader.name, spec.loader.path)
        return spec


def _import_numba() -> Any:
    finder = _Finder()
    sys.meta_path.insert(0, finder)  # not a change of folder, which other threads would see
    try:
        import numba
    finally:
        sys.meta_path.remove(finder)
    # The file would be read again at each compilation, also where somebody else imported numba first.
    numba.core.config._config_fname = os.devnull
    return numba


def cache_folder() -> Path | None:
    """Where compiled functions are kept: NUMBA_CACHE_DIR or the user's cache; None if others can write there."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    try:
        return private_folder(
            Path(given) if given else platformdirs.user_cache_path("babelscope") / "compiled"
        )
    except OSError as error:
        warnings.warn(
            f"compiled functions are not kept, and take some seconds each time: {error.filename}: {error.strerror}",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


numba = _import_numba()
_FOLDER = cache_folder()


def inlined(function: _Function) -> _Function:
    """Decorator: compile a function into each of its callers."""
    made: _Function = numba.njit(inline="always")(function)
    return made


def compiled(function: _Function) -> _Function:
    """Decorator: compile a function at its first call and cache it if possible; sums may be reordered."""
    options: dict[str, Any] = {
        "nogil": True,
        "error_model": "numpy",
        "fastmath": {"reassoc", "contract", "nsz", "arcp"},
    }
    kept = _FOLDER and _kept(function, options, _FOLDER)
    made: _Function = kept or numba.njit(**options)(function)
    return made


def _kept(function: Callable[..., Any], options: dict[str, Any], folder: Path) -> Any:
    """Compile with a cache in `folder`; None if numba would write the cache elsewhere."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        made = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # there is no place that can be written
        return None
    finally:
        numba.config.CACHE_DIR = before
    return made if Path(made.stats.cache_path).is_relative_to(folder) else None


# --- Inner loops that tensor operations run slowly on a CPU, compiled by numba at their first use ------------------


# Into how many buckets the prefixes of one source that may be taken at once are sorted.
_BUCKETS = 256


@inlined
def _exp(x: Any) -> Any:
    """e^x for float32 x <= 0, to 2 units in the last place (at threshold 1e-38): unlike libm's, it is vectorized.

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


@compiled
def attend(
    queries: Array, table: Array, paths: Array, rows: Array, lengths: Array, distances: Array, mixed: Array
) -> None:
    """Attention of queries [n, _, heads, width], of which the first are taken, into `mixed` [n, heads, width].

    Query i attends to the keys and values in `table` [places, 2, heads, width] at the first `lengths[i]` places of
    `paths[rows[i]]`, the last of which is its own. `distances` [heads, 2 * farthest + 1] are added by how far a key
    stands from the query; no columns for none.
    """
    n, _, heads, width = queries.shape
    farthest = distances.shape[1] // 2
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
            if farthest:
                top = np.float32(-np.inf)
                for place in range(length):
                    weights[place] += distances[head, max(place - length + 1 + farthest, 0)]
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


@inlined
def _exponentials(weights: Any, start: int, stop: int, top: Any) -> None:
    """In place: e^weight over the sum of all, from `start` to `stop`; `top` is the largest."""
    norm = np.float32(0)
    for place in range(start, stop):
        weight = _exp(weights[place] - top)
        weights[place] = weight
        norm += weight
    for place in range(start, stop):
        weights[place] /= norm


@compiled
def attend_after_prompt(
    queries: Array,
    prompts: Array,
    places: Array,
    prompt_lengths: Array,
    table: Array,
    paths: Array,
    lengths: Array,
    window: int,
    scale: Any,
    cap: Any,
    mixed: Array,
) -> None:
    """Attention of queries [n, heads, width] into `mixed`, of the same shape; several heads may share a key.

    Query i attends to keys and values in `prompts` [places, 2, key heads, width] at the first `prompt_lengths[i]` of
    `places[i]`, then to those in `table` at the first `lengths[i]` of `paths[i]`: of all these, to the last `window`.
    Logits are capped at `cap`, unless that is 0.
    """
    n, heads, width = queries.shape
    group = heads // prompts.shape[2]
    weights = np.empty(places.shape[1] + paths.shape[1], dtype=np.float32)
    for i in range(n):
        before, after = prompt_lengths[i], lengths[i]
        skipped = max(0, before + after - window)
        first, second = min(skipped, before), max(0, skipped - before)
        for head in range(heads):
            shared = head // group
            top = np.float32(-np.inf)
            for place in range(first, before):
                key = places[i, place]
                total = np.float32(0)
                for j in range(width):
                    total += queries[i, head, j] * prompts[key, 0, shared, j]
                weights[place] = total
            for place in range(second, after):
                key = paths[i, place]
                total = np.float32(0)
                for j in range(width):
                    total += queries[i, head, j] * table[key, 0, shared, j]
                weights[before + place] = total
            for place in range(skipped, before + after):
                total = weights[place] * scale
                if cap > 0:
                    total = np.float32(math.tanh(total / cap)) * cap
                weights[place] = total
                top = max(top, total)
            _exponentials(weights, skipped, before + after, top)
            for j in range(width):
                mixed[i, head, j] = 0
            for place in range(first, before):
                key = places[i, place]
                weight = weights[place]
                for j in range(width):
                    mixed[i, head, j] += weight * prompts[key, 1, shared, j]
            for place in range(second, after):
                key = paths[i, place]
                weight = weights[before + place]
                for j in range(width):
                    mixed[i, head, j] += weight * table[key, 1, shared, j]


@compiled
def children_above(
    logits: Array, tops: Array, threshold: Array, eos: int
) -> tuple[Array, Array, Array, Array]:
    """Log normalizers [rows]; then row, token and log-probability of all tokens but EOS above the row's threshold.

    `tops` are the rows' maxima; log-probabilities are in double.
    """
    rows, size = logits.shape
    norms = np.empty(rows)
    above = np.zeros((rows, -(-size // 8) * 8), dtype=np.uint8)
    eights = above.view(np.uint64)
    count = 0
    for i in range(rows):
        top = tops[i]
        total = np.float32(0)
        for j in range(size):
            total += _exp(logits[i, j] - top)
        norms[i] = top + math.log(total)
        cut = np.float32(threshold[i] + norms[i])
        if top > cut:  # about half of all prefixes have no child above the threshold
            for j in range(size):
                above[i, j] = logits[i, j] > cut
            above[i, eos] = 0
            for eight in range(eights.shape[1]):
                if eights[i, eight]:
                    for j in range(8 * eight, 8 * eight + 8):
                        count += above[i, j]
    which, tokens, logprobs = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count)
    found = 0
    for i in range(rows):
        if tops[i] > np.float32(threshold[i] + norms[i]):
            for eight in range(eights.shape[1]):
                if eights[i, eight]:
                    for j in range(8 * eight, 8 * eight + 8):
                        if above[i, j]:
                            which[found], tokens[found], logprobs[found] = i, j, logits[i, j] - norms[i]
                            found += 1
    return norms, which, tokens, logprobs


@compiled
def take_best(
    scores: Array, parents: Array, tokens: Array, count: int, window: float, found: float, threshold: float
) -> tuple[Array, Array, Array]:
    """Take the best open prefixes: at most `count`, above `threshold`, and within `window` of the best or in the
    upper half between it and `found`. Their entries become -inf.

    Prefixes are sorted into buckets, and the last bucket is taken in array order: a full sort would cost more than
    the few needless expansions.
    """
    top = -np.inf
    for i in range(len(scores)):
        top = max(top, scores[i])
    cut = max(min(top - window, (top + found) / 2), threshold)
    if not cut < top:
        return scores[:0], parents[:0], tokens[:0]
    per_nat = _BUCKETS / (top - cut)
    sizes = np.zeros(_BUCKETS + 1, np.int64)
    for i in range(len(scores)):
        if scores[i] > cut:
            sizes[int((top - scores[i]) * per_nat)] += 1
    last, rest = 0, count
    while last < _BUCKETS and sizes[last] <= rest:
        rest -= sizes[last]
        last += 1
    some = min(count, sizes.sum())
    taken, nodes, fed = np.empty(some), np.empty(some, np.int64), np.empty(some, np.int64)
    place = 0
    for i in range(len(scores)):
        if scores[i] > cut:
            bucket = int((top - scores[i]) * per_nat)
            if bucket < last or (bucket == last and rest > 0):
                rest -= bucket == last
                taken[place], nodes[place], fed[place] = scores[i], parents[i], tokens[i]
                scores[i] = -np.inf
                place += 1
    return taken, nodes, fed


@compiled
def compact(scores: Array, parents: Array, tokens: Array, threshold: float) -> tuple[int, Array]:
    """Move open prefixes that score above `threshold` to the front once they fill at most half of the entries.

    Order is kept. Returns the number of entries used, and the parents of dropped prefixes (empty entries have none).
    """
    kept = lost = 0
    for i in range(len(scores)):
        kept += scores[i] > threshold
        lost += scores[i] > -np.inf
    if 2 * kept > len(scores):
        return len(scores), parents[:0]
    dropped = np.empty(lost - kept, np.int64)
    kept = lost = 0
    for i in range(len(scores)):
        if scores[i] > threshold:
            scores[kept], parents[kept], tokens[kept] = scores[i], parents[i], tokens[i]
            kept += 1
        elif scores[i] > -np.inf:
            dropped[lost] = parents[i]
            lost += 1
    return kept, dropped


@compiled
def release(nodes: Array, references: Array, parents: Array, depths: Array, n_sources: int) -> Array:
    """Take a reference from each of `nodes`; return nodes and ancestors left with none, children before parents.

    Sources are never returned.
    """
    most = 0
    for i in range(len(nodes)):
        most += depths[nodes[i]]
    gone = np.empty(most, np.int64)
    count = 0
    for i in range(len(nodes)):
        node = nodes[i]
        references[node] -= 1
        while references[node] == 0 and node >= n_sources:
            gone[count] = node
            count += 1
            node = parents[node]
            references[node] -= 1
    return gone[:count]
