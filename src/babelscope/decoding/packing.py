"""Rows of unequal length without padding, trees of tokens as masks, and log-probabilities in pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from babelscope.decoding.model import Array

# Rows of the output layer computed at once; measured best on two cores for vocabularies of 4,000 and 60,000.
_OUTPUT_ROWS = 256
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


def edge_logprobs(
    nodes: Tensor, rows: Array, wanted: Array, size: int, logits_of: Callable[[Tensor, Tensor], Tensor]
) -> Tensor:
    """Log-probability of token `wanted[e]` after node `rows[e]`.

    `logits_of(hidden, out)` writes the logits [rows, size] of some rows of hidden states.
    """
    most = max(1, min(_OUTPUT_ROWS, _OUTPUT_SIZE // size))
    order = np.argsort(rows, kind="stable")
    bounds = np.searchsorted(rows[order], np.arange(0, len(nodes) + most, most))
    buffer = nodes.new_empty((min(most, len(nodes)), size))
    found = torch.empty(len(rows), device=nodes.device)
    for chunk, start in enumerate(range(0, len(nodes), most)):
        part = nodes[start : start + most]
        logits = logits_of(part, buffer[: len(part)])
        here = order[bounds[chunk] : bounds[chunk + 1]]
        row = torch.from_numpy(rows[here] - start).to(nodes.device)
        chosen = logits[row, torch.from_numpy(wanted[here]).to(nodes.device)].float()
        top = logits.amax(-1, keepdim=True)
        # In place: the logits are not needed any more, and a second copy would not fit the cache.
        norm = logits.sub_(top).exp_().sum(-1, dtype=torch.float32).log_() + top[:, 0].float()
        found[torch.from_numpy(here).to(nodes.device)] = chosen - norm[row]
    return found
