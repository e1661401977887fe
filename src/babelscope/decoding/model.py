"""The open model that decoding is built on: encode sources, then next-token distributions of many prefixes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from babelscope.util.errors import SystemFailure

# --- Targets of one source as a tree: a shared beginning is computed once ------------------------------------------


@dataclass(frozen=True, slots=True)
class TargetTree:
    """A trie of target sequences as the decoder reads it.

    `tokens[i]` is fed at node i, whose parent is `parents[i]` (-1 for the first); parents come before children.
    Edge e asks for the probability of `edge_tokens[e]` after node `edge_nodes[e]`; `paths[t]` are target t's edges.
    """

    tokens: list[int]
    parents: list[int]
    depths: list[int]
    edge_nodes: list[int]
    edge_tokens: list[int]
    paths: list[list[int]]


def target_tree(prefix: Sequence[int], targets: Sequence[Sequence[int]]) -> TargetTree:
    """The tree of `targets` (ids, each ending in EOS) below the decoder's fixed `prefix`."""
    tokens = list(prefix)
    parents = list(range(-1, len(prefix) - 1))
    depths = list(range(len(prefix)))
    edge_nodes: list[int] = []
    edge_tokens: list[int] = []
    edges: dict[tuple[int, int], int] = {}
    below: list[int] = []  # the node that an edge leads to, -1 until some target goes on from there
    paths: list[list[int]] = []
    for target in targets:
        path: list[int] = []
        node, fed = len(prefix) - 1, True
        for token in target:  # as far as the tree goes already
            edge = edges.get((node, token)) if fed else None
            if edge is None:
                break
            path.append(edge)
            node, fed = (below[edge], True) if below[edge] >= 0 else (node, False)
        if rest := list(target[len(path) :]):  # what is new is one branch, added as a whole
            first = len(tokens)
            new = rest[:-1] if fed else [target[len(path) - 1], *rest[:-1]]
            if not fed:
                below[path[-1]] = first
            branch = list(range(first, first + len(new)))
            tokens += new
            parents += [node, *branch[:-1]][: len(new)]
            depths += range(depths[node] + 1, depths[node] + 1 + len(new))
            nodes = [node, *branch] if fed else branch
            start = len(edge_nodes)
            edges.update(zip(zip(nodes, rest, strict=True), range(start, start + len(rest)), strict=True))
            edge_nodes += nodes
            edge_tokens += rest
            below += [*nodes[1:], -1]
            path += range(start, start + len(rest))
        paths.append(path)
    return TargetTree(tokens, parents, depths, edge_nodes, edge_tokens, paths)


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


# --- The open model that decoding is built on: encode sources ------------------------------------------------------


Array = np.ndarray[Any, Any]

LOGITS = 2**24
"""Most logits held at once, 64 MiB in float32, however large the vocabulary."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A decoder's token ids and length limits."""

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

    Node i < n is source i before anything is fed. `add` numbers new nodes from `size` on, in the order asked,
    unless some were given back: their numbers and rows are used again first.
    """

    def __init__(self, n_sources: int, encoded: Any) -> None:
        self.n_sources = n_sources
        self.encoded = encoded
        self.size = n_sources
        """Nodes ever held at once, sources included."""
        self.source = np.arange(n_sources)
        self.depth = np.zeros(n_sources, dtype=np.int64)
        self.paths = np.zeros((n_sources, 0), dtype=np.int64)
        self._given_back: list[Array] = []
        self._stores: list[Tensor] = []
        """A layer's keys and values [nodes, 2, heads, width]: together, since they are fetched together."""

    def add(self, parents: Sequence[int] | Array) -> Array:
        """Add a child below each of `parents`; return the new nodes' numbers."""
        parent = np.asarray(parents, dtype=np.int64)
        if parent.size and not (parent.min() >= 0 and parent.max() < self.size):
            raise IndexError(f"there is no prefix {parent.max()}: {self.size} were fed")
        nodes = self._numbers(len(parent))
        depth = self.depth[parent] + 1
        self._reserve(int(depth.max(initial=0)))
        self.paths[nodes] = self.paths[parent]
        self.paths[nodes, depth - 1] = nodes - self.n_sources
        self.source[nodes] = self.source[parent]
        self.depth[nodes] = depth
        return nodes

    def give_back(self, nodes: Array) -> None:
        """Free nodes that will not be continued; their children must have been freed before."""
        if len(nodes):
            self._given_back.append(nodes)

    def _numbers(self, count: int) -> Array:
        taken: list[Array] = []
        while count and self._given_back:
            last = self._given_back.pop()
            if len(last) > count:
                self._given_back.append(last[count:])
            taken.append(last[:count])
            count -= len(taken[-1])
        taken.append(np.arange(self.size, self.size + count))
        self.size += count
        return np.concatenate(taken)

    def _reserve(self, longest: int) -> None:
        """Make room for `size` nodes of depth `longest`, by doubling."""
        held, wide = self.paths.shape
        if self.size > held:
            more = max(self.size, 2 * held, 64) - held
            self.source = np.concatenate([self.source, np.zeros(more, dtype=np.int64)])
            self.depth = np.concatenate([self.depth, np.zeros(more, dtype=np.int64)])
            self.paths = np.concatenate([self.paths, np.zeros((more, wide), dtype=np.int64)])
        if longest > wide:
            more = max(longest, 2 * wide) - wide
            self.paths = np.concatenate(
                [self.paths, np.zeros((len(self.paths), more), dtype=np.int64)], axis=1
            )

    def put(self, layer: int, slots: Tensor, both: Tensor) -> Tensor:
        """Store one layer's keys and values [rows, 2, heads, width] at `slots`; returns all of that layer's."""
        if layer == len(self._stores):
            self._stores.append(both.new_empty((0, *both.shape[1:])))
        store = self._stores[layer]
        needed = self.size - self.n_sources
        if needed > len(store):
            grown = store.new_empty((max(needed, 2 * len(store), 64), *store.shape[1:]))
            grown[: len(store)] = store
            self._stores[layer] = store = grown
        # On two dimensions, as in `get`: torch's fastest path on a CPU.
        store.flatten(1).index_copy_(0, slots, both.flatten(1))
        return store

    def get(self, layer: int, slots: Tensor) -> tuple[Tensor, Tensor]:
        """One layer's keys and values at `slots` [rows, length], each [rows, length, heads, width]."""
        store = self._stores[layer]
        flat = slots.reshape(-1)  # index_select on two dimensions is several times faster than fancy indexing
        both = store.flatten(1).index_select(0, flat).view(*slots.shape, *store.shape[1:])
        keys, values = both.unbind(2)
        return keys, values

    def rows(self, layer: int, slots: Tensor) -> Tensor:
        """What `put` stored at `slots` as one row per node [rows, size], for states that are no keys and values."""
        return self._stores[layer].flatten(1).index_select(0, slots)

    @property
    def layers(self) -> int:
        return len(self._stores)

    def bytes_for(self, more: int) -> int:
        """Bytes of keys, values and paths after `more` further nodes."""
        free = sum(map(len, self._given_back))
        needed = self.size - self.n_sources + max(0, more - free)
        total = self.paths.nbytes + self.source.nbytes + self.depth.nbytes
        for store in self._stores:
            capacity = len(store) if needed <= len(store) else max(needed, 2 * len(store))
            total += capacity * store[:1].nbytes
        return total


class OpenModel(Protocol):
    """A network on token ids; `systems/models/hf.py` puts text around it."""

    vocabulary: Vocabulary
    device: torch.device
    dtype: torch.dtype
    feeds_logits: bool = False
    """Whether `feed` itself ends in logits, so that fewer prefixes can be fed at once where a vocabulary is wide."""

    @property
    def decodes(self) -> bool:
        """Whether prefixes can be continued; else targets can be scored only."""
        return True

    def encode(self, sources: Sequence[Sequence[int]]) -> Memory: ...

    def feed(self, memory: Memory, nodes: Array, tokens: Array) -> Tensor:
        """Feed each of the new `nodes` its token; return hidden states [nodes, ...] for `read`."""

    def read(self, hidden: Tensor) -> Tensor:
        """Logits [rows, vocabulary] from some rows of hidden states; -inf where masked."""
        return hidden

    def advance(self, memory: Memory, nodes: Array, tokens: Array) -> Tensor:
        """Feed and read at once."""
        return self.read(self.feed(memory, nodes, tokens))

    def step(self, memory: Memory, parents: Sequence[int] | Array, tokens: Sequence[int] | Array) -> Tensor:
        """Feed `tokens` after the prefixes `parents`: log-probabilities [prefixes, vocabulary], natural logs."""
        logits = self.advance(memory, memory.add(parents), np.asarray(tokens, dtype=np.int64))
        with torch.inference_mode():
            logprobs = torch.log_softmax(logits.float(), dim=-1)
            refuse_nan(logprobs[:, self.vocabulary.eos].cpu().numpy())  # softmax spreads a NaN over its row
            return logprobs

    def force(self, sources: Sequence[Sequence[int]], trees: Sequence[TargetTree]) -> list[Tensor]:
        """Log-probabilities of every edge of each source's tree, natural logs."""


def rows_at_once(model: OpenModel, most: int) -> int:
    """How many prefixes to feed at once, `most` or as few as their logits ask for."""
    return max(1, min(most, LOGITS // model.vocabulary.size)) if model.feeds_logits else most


def logits_in_pieces(
    model: OpenModel, memory: Memory, nodes: Array, tokens: Array, *, most: int = LOGITS
) -> Iterator[tuple[slice, Tensor]]:
    """Feed the new `nodes` their tokens: which of them, and logits [rows, vocabulary] of these, at most `most`."""
    some = max(1, most // model.vocabulary.size)
    at_once = rows_at_once(model, len(nodes))
    for start in range(0, len(nodes), at_once):
        hidden = model.feed(memory, nodes[start : start + at_once], tokens[start : start + at_once])
        for first in range(0, len(hidden), some):
            logits = model.read(hidden[first : first + some])
            yield slice(start + first, start + first + len(logits)), logits
            del logits  # before the next piece is made


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

    # Longest batches first, so that no core ends with a long one alone.
    for found in map_on_cores(model.device, run, batches[::-1]):
        yield from found


def _force(
    model: OpenModel, sources: Sequence[Sequence[int]], trees: Sequence[TargetTree], batch: list[int]
) -> Iterator[tuple[int, list[list[float]]]]:
    """Score one batch; split it in halves when memory runs out."""
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
    """True if `error` is torch's out-of-memory error; on a CPU only its message says so."""
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or (
        isinstance(error, RuntimeError) and "can't allocate memory" in str(error)
    )


def refuse_nan(values: Array) -> None:
    """Raise if `values` has a NaN, which a search would take for an improbable prefix."""
    if np.isnan(values).any():
        raise SystemFailure(
            "the model's probabilities are not numbers (NaN): its weights are broken or its dtype overflows; "
            "try dtype=float32"
        )


def pad_rows(
    rows: Sequence[Sequence[int]], filler: int, device: torch.device, *, left: bool = False
) -> tuple[Tensor, Tensor]:
    """Rows of ids as one tensor [rows, longest], and which entries are real (bool, same shape)."""
    longest = max(map(len, rows))
    ids = np.full((len(rows), longest), filler, dtype=np.int64)
    real = np.zeros((len(rows), longest), dtype=bool)
    for number, row in enumerate(rows):
        start = longest - len(row) if left else 0
        ids[number, start : start + len(row)] = row
        real[number, start : start + len(row)] = True
    return torch.from_numpy(ids).to(device), torch.from_numpy(real).to(device)


# --- Rows of unequal length without padding, trees of tokens as masks, and log-probabilities in pieces -------------


# Rows of the output layer computed at once; measured best on two cores for a vocabulary of 4,000.
_OUTPUT_ROWS = 256
# A wider output layer is computed in blocks of columns, of more rows; measured for a vocabulary of 65,000.
_NARROW, _COLUMNS, _BLOCK_ROWS = 4096, 1024, 1024
# Numbers of the output layer held at once, however large the vocabulary.
_OUTPUT_SIZE = 1 << 24


class Packing:
    """Rows of unequal length without padding [tokens, ...]; padded [rows, longest, ...] only where attention is."""

    def __init__(self, sizes: Sequence[int] | np.ndarray[Any, Any], device: torch.device) -> None:
        self.rows, self.longest = len(sizes), max(sizes)
        real = np.arange(self.longest) < np.asarray(sizes)[:, None]
        self.real = torch.from_numpy(real).to(device)
        self._where = torch.from_numpy(np.flatnonzero(real)).to(device)
        self._full = len(self._where) == self.rows * self.longest

    def spread(self, packed: Tensor) -> Tensor:
        """[tokens, width] to [rows, longest, width], zeros where nothing is."""
        if self._full:
            return packed.view(self.rows, self.longest, -1)
        padded = packed.new_zeros((self.rows * self.longest, packed.shape[-1]))
        return padded.index_copy_(0, self._where, packed).view(self.rows, self.longest, -1)

    def pack(self, heads: Tensor) -> Tensor:
        """Attention's [rows, heads, longest, width] to [tokens, heads * width]."""
        joined = heads.transpose(1, 2).reshape(self.rows * self.longest, -1)
        return joined if self._full else joined.index_select(0, self._where)


def ancestors(parents_of: Sequence[Sequence[int]], longest: int) -> Array:
    """Which nodes each node may attend to: itself and those above it [trees, longest, longest]."""
    parents = np.zeros((len(parents_of), longest), dtype=np.int64)
    for number, own in enumerate(parents_of):
        parents[number, : len(own)] = own
    seen = np.zeros((len(parents_of), longest, longest), dtype=bool)
    seen[:, 0, 0] = True
    everything = np.arange(len(parents_of))
    for node in range(1, longest):
        seen[:, node] = seen[everything, parents[:, node]]
        seen[:, node, node] = True
    return seen


class Joins:
    """Groups of tokens that are one outcome, such as several ends of a text.

    The first of a group gets the probability of all, the others none.
    """

    def __init__(self, groups: Sequence[Sequence[int]]) -> None:
        several = [group for group in groups if len(group) > 1]
        self._first = [group[0] for group in several]
        self._others = [token for group in several for token in group[1:]]
        self._all = [token for group in several for token in group]
        self._group = [number for number, group in enumerate(several) for _ in group]

    def __bool__(self) -> bool:
        return bool(self._first)

    def apply(self, logits: Tensor) -> None:
        """Join the groups of `logits` [..., vocabulary] in place."""
        if not self._first:
            return
        values = logits[..., self._all].float()
        if len(self._first) == 1:
            together = values.logsumexp(-1, keepdim=True)
        else:
            groups = torch.tensor(self._group, device=logits.device).expand(values.shape)
            shape = (*values.shape[:-1], len(self._first))
            top = values.new_full(shape, float("-inf")).scatter_reduce_(-1, groups, values, "amax")
            top.clamp_(min=torch.finfo(values.dtype).min)  # a group of impossible tokens
            sums = values.new_zeros(shape).scatter_add_(-1, groups, (values - top.gather(-1, groups)).exp())
            together = sums.log() + top
        logits[..., self._others] = float("-inf")
        logits[..., self._first] = together.to(logits.dtype)


def column_blocks(size: int, device: torch.device) -> list[slice]:
    """The columns of an output layer in blocks that stay in a processor's cache, or in one if it is narrow."""
    if size <= _NARROW or device.type != "cpu":
        return [slice(0, size)]
    return [slice(start, min(size, start + _COLUMNS)) for start in range(0, size, _COLUMNS)]


def product_by_columns(hidden: Tensor, matrix: Tensor) -> Tensor:
    """`hidden @ matrix`, block by block: half as fast again where the matrix is wide."""
    blocks = column_blocks(matrix.shape[1], hidden.device)
    if len(blocks) == 1:
        return torch.mm(hidden, matrix)
    out = hidden.new_empty((len(hidden), matrix.shape[1]))
    for columns in blocks:
        torch.mm(hidden, matrix[:, columns], out=out[:, columns])
    return out


def edge_logprobs(
    nodes: Tensor,
    rows: Array,
    wanted: Array,
    blocks: Sequence[slice],
    logits_of: Callable[[Tensor, slice, Tensor], Tensor],
) -> Tensor:
    """Log-probability of token `wanted[e]` after node `rows[e]`.

    `logits_of(hidden, columns, out)` writes the logits of one of the `blocks` of columns for some rows of hidden
    states. No more than a block is held at once.
    """
    width = max(each.stop - each.start for each in blocks)
    most = max(1, min(_OUTPUT_ROWS if len(blocks) == 1 else _BLOCK_ROWS, _OUTPUT_SIZE // width))
    order = np.argsort(rows, kind="stable")
    bounds = np.searchsorted(rows[order], np.arange(0, len(nodes) + most, most))
    buffer = nodes.new_empty(min(most, len(nodes)) * width)
    found = torch.empty(len(rows), device=nodes.device)
    for chunk, start in enumerate(range(0, len(nodes), most)):
        part = nodes[start : start + most]
        here = order[bounds[chunk] : bounds[chunk + 1]]
        row, tokens = rows[here] - start, wanted[here]
        chosen = torch.empty(len(here), device=nodes.device)
        top, total = None, chosen
        for columns in blocks:
            size = columns.stop - columns.start
            logits = logits_of(part, columns, buffer[: len(part) * size].view(len(part), size))
            inside = np.flatnonzero((tokens >= columns.start) & (tokens < columns.stop))
            places = (torch.from_numpy(each).to(nodes.device) for each in (row[inside], tokens[inside]))
            where, which = places
            chosen[torch.from_numpy(inside).to(nodes.device)] = logits[where, which - columns.start].float()
            best = logits.amax(-1, keepdim=True).clamp_(min=torch.finfo(logits.dtype).min)
            higher = best if top is None else torch.maximum(best, top)
            # In place: the logits are not needed any more, and a second copy would not fit the cache.
            sums = logits.sub_(higher).exp_().sum(-1, dtype=torch.float32)
            total = sums if top is None else total * (top - higher)[:, 0].float().exp_() + sums
            top = higher
        assert top is not None
        norm = total.log_() + top[:, 0].float()
        found[torch.from_numpy(here).to(nodes.device)] = chosen - norm[torch.from_numpy(row).to(nodes.device)]
    return found
