"""Any encoder-decoder of transformers through its own forward pass: the fallback, and the lean one's oracle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import DynamicCache, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from babelscope.decoding.families.encoder_decoder import EncoderDecoder, weights_of, why_not_lean
from babelscope.decoding.model import Array, Memory, OpenModel, TargetTree, Vocabulary, pad_rows

# Logits of one forward pass take at most this many bytes, however large the vocabulary.
_LOGITS_BYTES = 2**28


def open_transformer(network: Any, vocabulary: Vocabulary) -> OpenModel:
    """An encoder-decoder of transformers through the lean forward pass, or its own if that cannot be."""
    if why_not_lean(network, vocabulary.prefix):
        return Generic(network, vocabulary)
    return EncoderDecoder(weights_of(network), vocabulary)


class Generic(OpenModel):
    """An OpenModel over `model.forward`; targets of one source share its encoding, but not their beginnings."""

    def __init__(self, model: Any, vocabulary: Vocabulary) -> None:
        self.model = model
        self.feeds_logits = True
        self.vocabulary = vocabulary
        self.device: torch.device = model.device
        self.dtype: torch.dtype = model.dtype

    @torch.inference_mode()
    def encode(self, sources: Sequence[Sequence[int]]) -> Memory:
        ids, real = pad_rows(sources, self.model.config.pad_token_id or 0, self.device)
        hidden = self._encode(ids, real)
        # One throw-away decoder step computes the cross-attention keys and values, which every step reuses.
        start = torch.full((len(sources), 1), self.vocabulary.prefix[0], device=self.device)
        cache = EncoderDecoderCache(DynamicCache(), DynamicCache())
        self._forward(ids, real, hidden, start, past_key_values=cache, use_cache=True)
        cross = [(layer.keys, layer.values) for layer in cache.cross_attention_cache.layers]
        return Memory(len(sources), (ids, real, hidden, cross))

    @torch.inference_mode()
    def feed(self, memory: Memory, nodes: Array, tokens: Array) -> Tensor:
        depths = memory.depth[nodes]
        answer = torch.empty((len(nodes), self.vocabulary.size), device=self.device)
        # transformers counts positions by the cache, so rows must be of one length
        for depth in np.unique(depths):
            rows = np.flatnonzero(depths == depth)
            answer[torch.from_numpy(rows).to(self.device)] = self._feed(
                memory, nodes[rows], int(depth), tokens[rows]
            )
        answer[:, list(self.vocabulary.masked)] = float("-inf")
        return answer

    def _feed(self, memory: Memory, nodes: Array, depth: int, tokens: Array) -> Tensor:
        ids, real, hidden, cross = memory.encoded
        source = torch.from_numpy(memory.source[nodes]).to(self.device)
        path = torch.from_numpy(memory.paths[nodes, :depth]).to(self.device)
        past = [memory.get(layer, path[:, :-1]) for layer in range(memory.layers)] if depth > 1 else []
        cache = EncoderDecoderCache(
            DynamicCache([(keys.transpose(1, 2), values.transpose(1, 2)) for keys, values in past]),
            DynamicCache([(keys[source], values[source]) for keys, values in cross]),
        )
        fed = torch.from_numpy(tokens).to(self.device)[:, None]
        logits = self._forward(
            ids[source], real[source], hidden[source], fed, past_key_values=cache, use_cache=True
        )
        for number, layer in enumerate(cache.self_attention_cache.layers):
            memory.put(number, path[:, -1], torch.stack([layer.keys[:, :, -1], layer.values[:, :, -1]], 1))
        return logits[:, -1].float()

    @torch.inference_mode()
    def force(self, sources: Sequence[Sequence[int]], trees: Sequence[TargetTree]) -> list[Tensor]:
        ids, real = pad_rows(sources, self.model.config.pad_token_id or 0, self.device)
        hidden = self._encode(ids, real)
        rows = [(number, path) for number, tree in enumerate(trees) for path in tree.paths]
        edges = [torch.empty(len(tree.edge_tokens), device="cpu") for tree in trees]
        longest = max(len(path) for _, path in rows) + len(self.vocabulary.prefix)
        at_once = max(1, _LOGITS_BYTES // (4 * longest * self.vocabulary.size))
        rows.sort(key=lambda row: len(row[1]))
        for start in range(0, len(rows), at_once):
            self._force(ids, real, hidden, rows[start : start + at_once], trees, edges)
        return edges

    def _force(
        self,
        ids: Tensor,
        real: Tensor,
        hidden: Tensor,
        rows: list[tuple[int, list[int]]],
        trees: Sequence[TargetTree],
        edges: list[Tensor],
    ) -> None:
        prefix = list(self.vocabulary.prefix)
        targets = [[trees[number].edge_tokens[edge] for edge in path] for number, path in rows]
        fed, fed_real = pad_rows(
            [prefix + target[:-1] for target in targets], self.vocabulary.eos, self.device
        )
        source = torch.tensor([number for number, _ in rows], device=self.device)
        # The mask is by length, never `fed != pad`: Marian starts with pad, and masking it costs nats.
        logits = self._forward(
            ids[source],
            real[source],
            hidden[source],
            fed,
            decoder_attention_mask=fed_real.long(),
            use_cache=False,
        )
        wanted, _ = pad_rows(targets, self.vocabulary.eos, self.device)
        logits = logits[:, len(prefix) - 1 :].float()
        if self.vocabulary.masked:
            logits[..., list(self.vocabulary.masked)] = float("-inf")
        chosen = logits.gather(-1, wanted[..., None])[..., 0]
        for row in range(len(rows)):  # a row at a time, so that no second copy of the logits is made
            chosen[row] -= torch.logsumexp(logits[row], dim=-1)
        found = chosen.cpu()
        for row, (number, path) in enumerate(rows):
            edges[number][path] = found[row, : len(path)]

    def _encode(self, ids: Tensor, real: Tensor) -> Tensor:
        output = self.model.get_encoder()(input_ids=ids, attention_mask=real.long(), return_dict=True)
        hidden: Tensor = output.last_hidden_state
        return hidden

    def _forward(self, ids: Tensor, real: Tensor, hidden: Tensor, fed: Tensor, **options: Any) -> Tensor:
        """Logits [rows, length, vocabulary] of the decoder for given encodings."""
        # FSMT makes no causal mask unless it sees input_ids, although it does not encode them again.
        output = self.model(
            input_ids=ids,
            attention_mask=real.long(),
            encoder_outputs=BaseModelOutput(last_hidden_state=hidden),
            decoder_input_ids=fed,
            return_dict=True,
            **options,
        )
        logits: Tensor = output.logits
        return logits
