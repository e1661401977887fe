"""The open model that decoding is built on: encode sources, then next-token distributions of many prefixes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from babelscope.decoding.trees import TargetTree, target_tree


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a decoder reads and writes."""

    size: int
    prefix: tuple[int, ...]
    """Fed before the first free token: the start token, then a forced language token where there is one."""
    eos: int
    masked: tuple[int, ...]
    """Ids that are no output (padding): their probability is 0, and the others' sum to 1."""
    source_limit: int | None
    target_limit: int | None
    """Most tokens on either side, EOS included (the target's without `prefix`); None for no limit."""


class Memory:
    """Encoded sources and the tree of prefixes fed so far, one key and value row a node and layer.

    Node i < n is source i before anything is fed. `step` numbers new nodes from `size` on, in the order asked.
    """

    def __init__(self, n_sources: int, encoded: Any) -> None:
        self.n_sources = n_sources
        self.encoded = encoded
        self.size = n_sources
        self.source = np.arange(n_sources)
        self.depth = np.zeros(n_sources, dtype=np.int64)
        self.paths = np.zeros((n_sources, 0), dtype=np.int64)
        self._keys: list[Tensor] = []
        self._values: list[Tensor] = []

    def add(self, parents: Sequence[int] | np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Make a child of each parent; returns its rows in the store (one a child)."""
        parent = np.asarray(parents, dtype=np.int64)
        if parent.size and not (parent.min() >= 0 and parent.max() < self.size):
            raise IndexError(f"there is no prefix {parent.max()}: {self.size} were fed")
        slots = np.arange(self.size, self.size + len(parent)) - self.n_sources
        depth = self.depth[parent] + 1
        longest = int(depth.max(initial=0))
        if longest > self.paths.shape[1]:
            wider = np.zeros((self.size, max(longest, 2 * self.paths.shape[1])), dtype=np.int64)
            wider[:, : self.paths.shape[1]] = self.paths
            self.paths = wider
        paths = self.paths[parent].copy()
        paths[np.arange(len(parent)), depth - 1] = slots
        self.source = np.concatenate([self.source, self.source[parent]])
        self.depth = np.concatenate([self.depth, depth])
        self.paths = np.concatenate([self.paths, paths])
        self.size += len(parent)
        return slots

    def put(self, layer: int, slots: Tensor, keys: Tensor, values: Tensor) -> None:
        """Store one layer's keys and values [rows, heads, width] at `slots`."""
        if layer == len(self._keys):
            self._keys.append(keys.new_empty((0, *keys.shape[1:])))
            self._values.append(values.new_empty((0, *values.shape[1:])))
        needed = int(slots.max()) + 1
        if needed > len(self._keys[layer]):
            capacity = max(needed, 2 * len(self._keys[layer]), 64)
            for store in (self._keys, self._values):
                grown = store[layer].new_empty((capacity, *store[layer].shape[1:]))
                grown[: len(store[layer])] = store[layer]
                store[layer] = grown
        self._keys[layer][slots] = keys
        self._values[layer][slots] = values

    def get(self, layer: int, slots: Tensor) -> tuple[Tensor, Tensor]:
        """One layer's keys and values at `slots` [rows, length], each [rows, length, heads, width]."""
        flat = slots.reshape(-1)  # index_select on two dimensions is several times faster than fancy indexing
        keys, values = (
            store[layer].flatten(1).index_select(0, flat).view(*slots.shape, *store[layer].shape[1:])
            for store in (self._keys, self._values)
        )
        return keys, values

    @property
    def layers(self) -> int:
        return len(self._keys)


class OpenModel(Protocol):
    """A network on token ids; `systems/huggingface.py` puts text around it."""

    vocabulary: Vocabulary
    device: torch.device

    def encode(self, sources: Sequence[Sequence[int]]) -> Memory: ...

    def step(self, memory: Memory, parents: Sequence[int], tokens: Sequence[int]) -> Tensor:
        """Feed `tokens` after the prefixes `parents`: log-probabilities [prefixes, vocabulary], natural logs."""
        ...

    def force(self, sources: Sequence[Sequence[int]], trees: Sequence[TargetTree]) -> list[Tensor]:
        """Log-probabilities of every edge of each source's tree, natural logs."""
        ...


def score_targets(
    model: OpenModel,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[Sequence[int]]],
    *,
    budget: int,
) -> Iterator[tuple[int, list[list[float]]]]:
    """For each source, in any order: its number and the token log-probabilities of its targets.

    Sources of like size go in one batch of at most `budget` decoder tokens, padding included.
    """
    trees = [target_tree(model.vocabulary.prefix, group) for group in targets]
    order = sorted(range(len(sources)), key=lambda i: (len(trees[i].tokens), len(sources[i]), i))
    sizes = [max(len(tree.tokens), len(source)) for tree, source in zip(trees, sources, strict=True)]
    batches = list(_batches(order, sizes, budget))

    def run(batch: list[int]) -> list[tuple[int, list[list[float]]]]:
        return list(_force(model, sources, trees, batch))

    threads = torch.get_num_threads()
    if model.device.type != "cpu" or threads == 1 or len(batches) == 1:
        for batch in batches:
            yield from run(batch)
        return
    # A batch a core beats all cores on one batch: small operations need not wait for each other (measured 1.5x).
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as workers:
            for found in workers.map(
                run, reversed(batches)
            ):  # the longest first, so that none is left to the end
                yield from found
    finally:
        torch.set_num_threads(threads)


def _force(
    model: OpenModel, sources: Sequence[Sequence[int]], trees: Sequence[TargetTree], batch: list[int]
) -> Iterator[tuple[int, list[list[float]]]]:
    """One batch, halved where memory runs out."""
    try:
        answers = model.force([sources[i] for i in batch], [trees[i] for i in batch])
    except Exception as error:
        if len(batch) == 1 or not out_of_memory(error):
            raise
        middle = len(batch) // 2
        yield from _force(model, sources, trees, batch[:middle])
        yield from _force(model, sources, trees, batch[middle:])
        return
    for i, edges in zip(batch, answers, strict=True):
        values = edges.tolist()
        yield i, [[values[edge] for edge in path] for path in trees[i].paths]


def _batches(order: Sequence[int], sizes: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Cut `order` into runs whose number times largest size stays within `budget` (at least one each)."""
    batch: list[int] = []
    largest = 0
    for i in order:
        if batch and max(largest, sizes[i]) * (len(batch) + 1) > budget:
            yield batch
            batch, largest = [], 0
        batch.append(i)
        largest = max(largest, sizes[i])
    if batch:
        yield batch


def out_of_memory(error: Exception) -> bool:
    """True for the ways in which torch says that memory ran out."""
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or (
        isinstance(error, RuntimeError) and "can't allocate memory" in str(error)
    )


def normalise(logits: Tensor, masked: tuple[int, ...]) -> Tensor:
    """Natural-log probabilities in float32 of logits [..., vocabulary], with `masked` ids impossible."""
    logits = logits.float()
    if masked:
        logits = logits.clone()
        logits[..., list(masked)] = float("-inf")
    return torch.log_softmax(logits, dim=-1)


def pad_rows(rows: Sequence[Sequence[int]], filler: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Rows of ids as one tensor [rows, longest], and which entries are real (bool, same shape)."""
    longest = max(map(len, rows))
    ids = np.full((len(rows), longest), filler, dtype=np.int64)
    real = np.zeros((len(rows), longest), dtype=bool)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = row
        real[number, : len(row)] = True
    return torch.from_numpy(ids).to(device), torch.from_numpy(real).to(device)
