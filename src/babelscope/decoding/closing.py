"""Tokens after which a text is over, such as a full stop and a line break in one token."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import torch
from torch import Tensor

from babelscope.decoding.model import Array, Memory, OpenModel
from babelscope.decoding.trees import TargetTree


class Closing(OpenModel):
    """An open model in whose texts EOS follows some tokens with probability 1, whatever its network would write.

    So a text that ends in such a token has the probability of its tokens, and no decoder need know of them.
    """

    def __init__(self, inner: OpenModel, tokens: Collection[int]) -> None:
        self.inner = inner
        self.vocabulary, self.device, self.dtype = inner.vocabulary, inner.device, inner.dtype
        self.feeds_logits = inner.feeds_logits
        self._closes = np.zeros(inner.vocabulary.size, dtype=bool)
        self._closes[list(tokens)] = True
        self._first = len(inner.vocabulary.prefix)

    @property
    def decodes(self) -> bool:
        return self.inner.decodes

    def encode(self, sources: Sequence[Sequence[int]]) -> Memory:
        return self.inner.encode(sources)

    @torch.inference_mode()
    def feed(self, memory: Memory, nodes: Array, tokens: Array) -> Tensor:
        """Hidden states, in a last column 1 after a closing token; or logits, where the network itself gives them."""
        hidden = self.inner.feed(memory, nodes, tokens)
        # What is fed first is no token of the text.
        closed = self._closes[tokens] & (memory.depth[nodes] > self._first)
        flags = torch.from_numpy(closed).to(hidden.device)
        if self.feeds_logits:
            return self._ended(hidden, flags)
        return torch.cat([hidden, flags[:, None].to(hidden.dtype)], 1)

    @torch.inference_mode()
    def read(self, hidden: Tensor) -> Tensor:
        if self.feeds_logits:
            return self.inner.read(hidden)
        return self._ended(self.inner.read(hidden[:, :-1]), hidden[:, -1] > 0)

    def _ended(self, logits: Tensor, closed: Tensor) -> Tensor:
        """The logits with nothing but EOS in the rows that are closed."""
        if closed.any():
            logits[closed] = float("-inf")
            logits[closed, self.vocabulary.eos] = 0.0
        return logits

    @torch.inference_mode()
    def force(self, sources: Sequence[Sequence[int]], trees: Sequence[TargetTree]) -> list[Tensor]:
        answers = self.inner.force(sources, trees)
        for tree, edges in zip(trees, answers, strict=True):
            for edge, (node, token) in enumerate(zip(tree.edge_nodes, tree.edge_tokens, strict=True)):
                if node >= self._first and self._closes[tree.tokens[node]]:
                    edges[edge] = 0.0 if token == self.vocabulary.eos else float("-inf")
        return answers
