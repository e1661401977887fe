"""Any torch module with `encode` and `step` as an open model: search, sampling and scoring follow from these two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from babelscope.decoding.model import Array, Memory, OpenModel, Vocabulary, pad_rows
from babelscope.decoding.trees import TargetTree

Encoded = tuple[Tensor, ...]
"""What stays the same for a source: tensors [sources, ...]."""
States = tuple[Tensor, ...]
"""What a prefix is remembered by: tensors [prefixes, ...] whose other dimensions never change."""


class Steps(Protocol):
    """What a network must have. A row of an answer may depend on its own row alone."""

    def encode(self, source: Tensor, real: Tensor) -> tuple[Encoded, States]:
        """Source ids [n, length], and which of them are real: what `step` needs, and the states before any token."""

    def step(self, encoded: Encoded, states: States, tokens: Tensor) -> tuple[Tensor, States]:
        """Feed one token to each prefix [n]: logits of the next one [n, vocabulary], and the states after."""


class Stepwise(OpenModel):
    """An OpenModel over a module's `encode` and `step`; the states of all prefixes are kept."""

    def __init__(
        self,
        network: Steps,
        vocabulary: Vocabulary,
        *,
        device: str | torch.device = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.network = network
        self.feeds_logits = True
        self.vocabulary = vocabulary
        self.device = torch.device(device)
        self.dtype = dtype

    @torch.inference_mode()
    def encode(self, sources: Sequence[Sequence[int]]) -> Memory:
        ids, real = pad_rows(sources, 0, self.device)
        return Memory(len(sources), self.network.encode(ids, real))

    @torch.inference_mode()
    def feed(self, memory: Memory, nodes: Array, tokens: Array) -> Tensor:
        encoded, first = memory.encoded
        depth = memory.depth[nodes]
        source = self._tensor(memory.source[nodes])
        states = []
        begun = np.flatnonzero(depth > 1)
        parents = self._tensor(memory.paths[nodes[begun], depth[begun] - 2])
        for number, start in enumerate(first):
            rows = start[source]
            if len(begun):
                earlier = memory.rows(number, parents).view(len(begun), *start.shape[1:])
                rows[self._tensor(begun)] = earlier
            states.append(rows)
        logits, after = self.network.step(
            tuple(each[source] for each in encoded), tuple(states), self._tensor(tokens)
        )
        slots = self._tensor(nodes - memory.n_sources)
        for number, each in enumerate(after):
            memory.put(number, slots, each.reshape(len(nodes), -1))
        logits = logits.float().clone()
        logits[:, list(self.vocabulary.masked)] = float("-inf")
        return logits

    @torch.inference_mode()
    def force(self, sources: Sequence[Sequence[int]], trees: Sequence[TargetTree]) -> list[Tensor]:
        memory = self.encode(sources)
        edges = [torch.empty(len(tree.edge_tokens), device="cpu") for tree in trees]
        levels: dict[int, list[tuple[int, int]]] = {}
        asked: dict[tuple[int, int], list[int]] = {}
        for number, tree in enumerate(trees):
            for place, depth in enumerate(tree.depths):
                levels.setdefault(depth, []).append((number, place))
            for edge, place in enumerate(tree.edge_nodes):
                asked.setdefault((number, place), []).append(edge)
        nodes: dict[tuple[int, int], int] = {(number, -1): number for number in range(len(trees))}
        for depth in sorted(levels):
            level = levels[depth]
            new = memory.add([nodes[number, trees[number].parents[place]] for number, place in level])
            nodes |= zip(level, new.tolist(), strict=True)
            fed = np.array([trees[number].tokens[place] for number, place in level])
            logs = torch.log_softmax(self.feed(memory, new, fed), dim=-1).cpu()
            for row, (number, place) in enumerate(level):
                for edge in asked.get((number, place), ()):
                    edges[number][edge] = logs[row, trees[number].edge_tokens[edge]]
        return edges

    def _tensor(self, numbers: Array) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(numbers, dtype=np.int64)).to(self.device)
