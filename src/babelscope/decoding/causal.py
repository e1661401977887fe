"""A decoder-only language model as an open model: a source is a prompt, what follows it is the target."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import DynamicCache

from babelscope.decoding.model import (
    LOGITS,
    Array,
    Joins,
    Memory,
    OpenModel,
    TargetTree,
    Vocabulary,
    pad_rows,
)
from babelscope.util.errors import BabelscopeError

# --- A decoder-only language model as an open model: a source is a prompt, what follows it is the target -----------


# Tokens of one teacher-forced batch, prompts and padding included.
_BUDGET = 2048
# Logits whose exponentials are summed at once.
_SUMMED = 2**21


class Causal(OpenModel):
    """An OpenModel over the forward pass of a causal network of transformers.

    The first token that is fed, the vocabulary's prefix, stands for the last token of the prompt. Where a text may
    end in several ways, all of them are the vocabulary's EOS; tokens of each group of `joined` are its first one.
    """

    def __init__(
        self,
        network: Any,
        vocabulary: Vocabulary,
        ends: Sequence[int] = (),
        joined: Sequence[Sequence[int]] = (),
    ) -> None:
        self.network = network
        self.feeds_logits = True
        self._joins = Joins([[vocabulary.eos, *ends], *joined])
        self.vocabulary = vocabulary
        self.device: torch.device = network.device
        self.dtype: torch.dtype = network.dtype

    @functools.cached_property
    def decodes(self) -> bool:
        """Tried on two tokens."""
        try:
            self.encode([(0, 0)])
        except BabelscopeError:
            return False
        return True

    @torch.inference_mode()
    def encode(self, sources: Sequence[Sequence[int]]) -> Memory:
        """Prompts padded on the left; their last tokens are fed later, so that a prompt has a node of its own."""
        ids, real, positions = _padded(sources, self.device)
        output = self._forward(ids, real, positions, past_key_values=DynamicCache(), use_cache=True)
        layers = getattr(output.past_key_values, "layers", [])
        plain = [
            isinstance(getattr(layer, "keys", None), Tensor) and layer.keys.shape[2] == ids.shape[1]
            for layer in layers
        ]
        if not plain or not all(plain):
            raise BabelscopeError(
                "this network does not keep keys and values of every token of its prompt (it is recurrent, or "
                "attends to a window), so that it can be scored, but not be searched or sampled here"
            )
        past = [(layer.keys[:, :, :-1], layer.values[:, :, :-1]) for layer in layers]
        last = np.array([source[-1] for source in sources])
        return Memory(len(sources), (past, real[:, :-1], last))

    @torch.inference_mode()
    def feed(self, memory: Memory, nodes: Array, tokens: Array) -> Tensor:
        """Logits [nodes, vocabulary]; rows of one depth go together."""
        depths = memory.depth[nodes]
        if (
            len(nodes) and (depths == depths[0]).all()
        ):  # as in a beam; a wide vocabulary's logits are not copied
            fed = memory.encoded[2][memory.source[nodes]] if depths[0] == 1 else tokens
            return self._feed(memory, nodes, int(depths[0]), fed)
        answer = torch.empty((len(nodes), self.vocabulary.size), device=self.device)
        for depth in np.unique(depths):
            rows = np.flatnonzero(depths == depth)
            fed = memory.encoded[2][memory.source[nodes[rows]]] if depth == 1 else tokens[rows]
            answer[torch.from_numpy(rows).to(self.device)] = self._feed(memory, nodes[rows], int(depth), fed)
        return answer

    def _feed(self, memory: Memory, nodes: Array, depth: int, tokens: Array) -> Tensor:
        past, real, _ = memory.encoded
        source = torch.from_numpy(memory.source[nodes]).to(self.device)
        path = torch.from_numpy(memory.paths[nodes, :depth]).to(self.device)
        layers = [(keys[source], values[source]) for keys, values in past]
        if depth > 1:
            fed = [memory.get(layer, path[:, :-1]) for layer in range(memory.layers)]
            layers = [
                (
                    torch.cat([keys, newer.transpose(1, 2)], 2),
                    torch.cat([values, newer_values.transpose(1, 2)], 2),
                )
                for (keys, values), (newer, newer_values) in zip(layers, fed, strict=True)
            ]
        mask = torch.cat([real[source], real.new_ones((len(nodes), depth))], 1)
        output = self._forward(
            torch.from_numpy(tokens).to(self.device)[:, None],
            mask,
            mask.sum(1, keepdim=True) - 1,
            past_key_values=DynamicCache(layers),
            use_cache=True,
        )
        for number, layer in enumerate(output.past_key_values.layers):
            memory.put(number, path[:, -1], torch.stack([layer.keys[:, :, -1], layer.values[:, :, -1]], 1))
        logits: Tensor = output.logits[:, -1].float()
        self._joins.apply(logits)
        return logits

    def force(self, sources: Sequence[Sequence[int]], trees: Sequence[TargetTree]) -> list[Tensor]:
        edges = [torch.empty(len(tree.edge_tokens), device="cpu") for tree in trees]
        rows = [(number, path) for number, tree in enumerate(trees) for path in tree.paths]
        prompts = [list(sources[number]) for number, _ in rows]
        targets = [[trees[number].edge_tokens[edge] for edge in path] for number, path in rows]
        start = 0
        while start < len(rows):
            end, longest, kept = start, 0, 0
            while end < len(rows):
                longest = max(longest, len(prompts[end]) + len(targets[end]))
                kept = max(kept, len(targets[end]) + 1)
                count = end + 1 - start
                wide = kept * count * self.vocabulary.size > LOGITS
                if end > start and (longest * count > _BUDGET or wide):
                    break
                end += 1
            found = force_causal(self.network, prompts[start:end], targets[start:end], self._joins)
            for (number, path), logprobs in zip(rows[start:end], found, strict=True):
                edges[number][path] = torch.tensor(logprobs, device="cpu")
            start = end
        return edges

    def _forward(self, ids: Tensor, mask: Tensor, positions: Tensor, **options: Any) -> Any:
        return self.network(
            input_ids=ids, attention_mask=mask, position_ids=positions, logits_to_keep=1, **options
        )


@torch.inference_mode()
def force_causal(
    network: Any,
    prompts: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    joins: Joins | None = None,
) -> list[list[float]]:
    """Log-probabilities of the targets' tokens, rows padded on the left so that targets end together."""
    keep = max(map(len, targets)) + 1
    rows = [[*p, *t] for p, t in zip(prompts, targets, strict=True)]
    ids, real, positions = _padded(rows, network.device)
    logits: Tensor = network(
        input_ids=ids,
        attention_mask=real,
        position_ids=positions,
        use_cache=False,
        logits_to_keep=keep,
    ).logits.float()
    if joins:
        joins.apply(logits)
    wanted = ids[:, ids.shape[1] - keep + 1 :]
    chosen = logits[:, :-1].gather(-1, wanted[..., None])[..., 0]
    # In pieces, since a sum of exponentials makes two copies of what it is given.
    places = max(1, _SUMMED // logits.shape[-1])
    for row, own in enumerate(logits):
        sums = [piece.logsumexp(-1) for piece in own[:-1].split(places)]
        chosen[row] -= torch.cat(sums)
    found = chosen.cpu().tolist()
    return [row[len(row) - len(target) :] for row, target in zip(found, targets, strict=True)]


def _padded(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Ids [rows, longest] padded on the left, 1 where they are real, and their positions."""
    ids, real = pad_rows(rows, 0, device, left=True)
    mask = real.long()
    return ids, mask, (mask.cumsum(1) - 1).clamp(min=0)


# --- Tokens after which a text is over, such as a full stop and a line break in one token --------------------------


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
        """The logits, with EOS as the only choice in rows that have ended."""
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
