"""Decoder-only networks without the overhead: Llama, Mistral, Qwen 2 and 3, Gemma 2 and 3 in a few tensor operations.

A prompt is the root of its source's tree. The beginning that the prompts of a batch share (instructions, examples) is
computed once for all of them, the rest once a source; targets of one source are one tree below it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from babelscope.decoding.families.description import Layer, Weights
from babelscope.decoding.model import Array, Memory, OpenModel, Vocabulary
from babelscope.decoding.packing import Joins, Packing, ancestors, edge_logprobs
from babelscope.decoding.trees import TargetTree

_Attend = Callable[[Layer, int, Tensor, Tensor], Tensor]
"""From a layer, its number, queries [tokens, heads, width] and keys and values [tokens, 2, key heads, width] to what
the queries see [tokens, heads * width]."""


@dataclass(frozen=True, slots=True)
class _Prompts:
    """Encoded prompts, without their last tokens."""

    last: Array
    """The last token of each."""
    lengths: Array
    places: Array
    """Where the tokens of each stand in the tables [prompts, longest]."""
    tables: Sequence[Tensor]
    """A layer's keys and values [places, 2, key heads, width]."""


class Decoder(OpenModel):
    """An OpenModel on the weights of a decoder-only network.

    The first token that is fed, the vocabulary's prefix, stands for the last token of the prompt. Where a text may
    end in several ways, all of them are the vocabulary's EOS; tokens of each group of `joined` are its first one.
    """

    @torch.inference_mode()
    def __init__(
        self,
        weights: Weights,
        vocabulary: Vocabulary,
        ends: Sequence[int] = (),
        joined: Sequence[Sequence[int]] = (),
    ) -> None:
        self.weights = weights
        self.vocabulary = vocabulary
        self.device: torch.device = weights.embedding.device
        self.dtype: torch.dtype = weights.embedding.dtype
        self._compiled = self.device.type == "cpu" and self.dtype == torch.float32
        self._joins = Joins([[vocabulary.eos, *ends], *joined])
        # Gemma rounds it as it rounds its weights.
        self._scale = torch.tensor(weights.embedding_scale, dtype=self.dtype, device=self.device)

    @torch.inference_mode()
    def encode(self, sources: Sequence[Sequence[int]]) -> Memory:
        """Prompts without their last tokens, which are fed later, so that a prompt has a node of its own."""
        rows = [list(source[:-1]) for source in sources]
        common = _common(rows)
        shared = self._shared(rows[0][:common])
        rests = [row[common:] for row in rows]
        sizes = [len(rest) for rest in rests]
        own = self._chains(rests, common, shared) if any(sizes) else []
        tables = [torch.cat([table, *own[layer : layer + 1]]) for layer, table in enumerate(shared)]
        starts = common + np.cumsum([0, *sizes[:-1]])
        places = np.zeros((len(rows), max(len(row) for row in rows)), dtype=np.int64)
        places[:, :common] = np.arange(common)
        for row, start, size in zip(places, starts, sizes, strict=True):
            row[common : common + size] = np.arange(start, start + size)
        lengths = np.array([len(row) for row in rows])
        return Memory(
            len(rows), _Prompts(np.array([source[-1] for source in sources]), lengths, places, tables)
        )

    @torch.inference_mode()
    def feed(self, memory: Memory, nodes: Array, tokens: Array) -> Tensor:
        prompts: _Prompts = memory.encoded
        source, depths = memory.source[nodes], memory.depth[nodes]
        fed = np.where(depths == 1, prompts.last[source], tokens)
        slot = self._put(nodes - memory.n_sources)

        def attend(layer: Layer, number: int, queries: Tensor, both: Tensor) -> Tensor:
            table = memory.put(number, slot, both)
            paths = memory.paths[nodes, : int(depths.max())]
            return self._look_back(layer, number, queries, prompts, source, table, paths, depths)

        return self._run(fed, prompts.lengths[source] + depths - 1, attend)

    def _look_back(
        self,
        layer: Layer,
        number: int,
        queries: Tensor,
        prompts: _Prompts,
        source: Array,
        table: Tensor,
        paths: Array,
        depths: Array,
    ) -> Tensor:
        """What each query sees of its prompt and of the tokens fed after it."""
        window = layer.window or np.iinfo(np.int64).max
        if self._compiled:
            from babelscope.decoding.kernels import attend_after_prompt  # numba is not needed to score

            mixed = torch.empty_like(queries)
            attend_after_prompt(
                queries.numpy(),
                prompts.tables[number].numpy(),
                prompts.places[source],
                prompts.lengths[source],
                table.numpy(),
                paths,
                depths,
                window,
                np.float32(self.weights.attention_scale),
                np.float32(self.weights.attention_cap or 0),
                mixed.numpy(),
            )
            return mixed.flatten(1)
        lengths = prompts.lengths[source]
        before = np.arange(prompts.places.shape[1])
        after = np.arange(paths.shape[1])
        # Position of the query: `lengths + depths - 1`; it sees what is nearer than the window.
        here = (lengths + depths - 1)[:, None]
        seen = np.concatenate(
            [
                (before < lengths[:, None]) & (here - before < window),
                (after < depths[:, None]) & (here - lengths[:, None] - after < window),
            ],
            axis=1,
        )
        tables = [
            prompts.tables[number][self._put(prompts.places[source])],
            table[self._put(np.where(after < depths[:, None], paths, 0))],
        ]
        keys, values = torch.cat(tables, 1).permute(2, 0, 3, 1, 4)
        mask = self._put(seen)[:, None, None]
        return self._mix(queries[:, :, None], keys, values, mask).flatten(1)

    @torch.inference_mode()
    def read(self, hidden: Tensor) -> Tensor:
        return self._logits(hidden, hidden.new_empty((len(hidden), self.vocabulary.size)))

    def _logits(self, hidden: Tensor, out: Tensor) -> Tensor:
        output = self.weights.output
        torch.mm(hidden, output.weight.t(), out=out)
        if output.bias is not None:
            out += output.bias
        if cap := self.weights.output_cap:
            out.div_(cap).tanh_().mul_(cap)
        self._joins.apply(out)
        out[:, list(self.vocabulary.masked)] = float("-inf")
        return out

    @torch.inference_mode()
    def force(self, sources: Sequence[Sequence[int]], trees: Sequence[TargetTree]) -> list[Tensor]:
        common = _common([source[:-1] for source in sources])
        shared = self._shared(list(sources[0][:common]))
        # A row is a prompt, whose last token is the root of the tree, and the tree below it.
        rests = [list(source[common:]) for source in sources]
        tokens = [[*rest, *tree.tokens[1:]] for rest, tree in zip(rests, trees, strict=True)]
        parents = [
            [*range(-1, len(rest) - 1), *(len(rest) - 1 + parent for parent in tree.parents[1:])]
            for rest, tree in zip(rests, trees, strict=True)
        ]
        positions = [
            [
                *range(common, common + len(rest)),
                *(common + len(rest) - 1 + depth for depth in tree.depths[1:]),
            ]
            for rest, tree in zip(rests, trees, strict=True)
        ]
        sizes = [len(row) for row in tokens]
        starts = np.cumsum([0, *sizes[:-1]])
        roots = [start + len(rest) - 1 for start, rest in zip(starts, rests, strict=True)]
        rows = np.concatenate(
            [np.asarray(tree.edge_nodes) + root for tree, root in zip(trees, roots, strict=True)]
        )
        wanted = np.concatenate([np.asarray(tree.edge_tokens) for tree in trees])
        # Of a prompt, only the last token has a next one whose probability is asked for.
        kept, rows = np.unique(rows, return_inverse=True)
        hidden = self._run_rows(tokens, positions, parents, common, shared, kept=kept)[0]
        found = edge_logprobs(hidden, rows, wanted, self.vocabulary.size, self._logits)
        return list(torch.split(found.cpu(), [len(tree.edge_tokens) for tree in trees]))

    def _shared(self, prompt: list[int]) -> list[Tensor]:
        """A layer's keys and values of a prompt's beginning [tokens, 2, key heads, width]."""
        if prompt:
            return self._chains([prompt], 0, [])
        weights = self.weights
        shape = (0, 2, weights.key_heads, weights.width)
        return [weights.embedding.new_empty(shape) for _ in weights.layers]

    def _chains(self, rows: Sequence[list[int]], common: int, shared: Sequence[Tensor]) -> list[Tensor]:
        """Keys and values of texts that go on after `common` shared tokens, packed."""
        real = [row for row in rows if row]
        positions = [list(range(common, common + len(row))) for row in real]
        parents = [list(range(-1, len(row) - 1)) for row in real]
        return self._run_rows(real, positions, parents, common, shared, last=False)[1]

    def _run_rows(
        self,
        tokens: Sequence[Sequence[int]],
        positions: Sequence[Sequence[int]],
        parents: Sequence[Sequence[int]],
        common: int,
        shared: Sequence[Tensor],
        *,
        last: bool = True,
        kept: Array | None = None,
    ) -> tuple[Tensor, list[Tensor]]:
        """Hidden states of trees of tokens after a shared beginning, packed, and each layer's keys and values.

        Without `last`, the last layer is left after its keys and values, and there are no hidden states. With `kept`,
        there are those of these tokens only.
        """
        packing = Packing([len(row) for row in tokens], self.device)
        place = np.zeros((len(tokens), packing.longest), dtype=np.int64)
        for number, row in enumerate(positions):
            place[number, : len(row)] = row
        above = ancestors(parents, packing.longest)
        apart = place[:, :, None] - place[:, None]
        before = place[:, :, None] - np.arange(common)
        masks: dict[int | None, Tensor] = {}
        for window in {layer.window for layer in self.weights.layers}:
            own = above if window is None else above & (apart < window)
            first = np.ones_like(before, dtype=bool) if window is None else before < window
            # Padding sees itself: a row that sees nothing would be no number.
            masks[window] = self._put(np.concatenate([first, own], axis=2))[:, None]
        made: list[Tensor] = []

        def attend(layer: Layer, number: int, queries: Tensor, both: Tensor) -> Tensor:
            made.append(both)
            spread = packing.spread(queries.flatten(1))
            q = spread.view(*spread.shape[:2], *queries.shape[1:]).transpose(1, 2)
            spread = packing.spread(both.flatten(1))
            kv = spread.view(*spread.shape[:2], *both.shape[1:])
            if common:
                kv = torch.cat([shared[number].expand(len(kv), *shared[number].shape), kv], 1)
            keys, values = kv.permute(2, 0, 3, 1, 4)
            return packing.pack(self._mix(q, keys, values, masks[layer.window]))

        hidden = self._run(
            np.concatenate([np.asarray(row) for row in tokens]),
            np.concatenate([np.asarray(row) for row in positions]),
            attend,
            last=last,
            kept=kept,
        )
        return hidden, made

    def _run(
        self,
        tokens: Array,
        positions: Array,
        attend: _Attend,
        *,
        last: bool = True,
        kept: Array | None = None,
    ) -> Tensor:
        """Hidden states [tokens, ...] of packed tokens at their positions, or of `kept` ones, normed for output."""
        weights = self.weights
        turns = [self._turns(positions, kind) for kind in range(len(weights.frequencies))]
        x = F.embedding(self._put(tokens), weights.embedding) * self._scale
        for number, layer in enumerate(weights.layers):
            qkv = layer.qkv(layer.norm(x)).view(len(x), -1, weights.width)
            queries, keys, values = torch.split(qkv, [weights.heads, weights.key_heads, weights.key_heads], 1)
            if layer.q_norm and layer.k_norm:
                queries, keys = layer.q_norm(queries), layer.k_norm(keys)
            cos, sin = turns[layer.rotation]
            both = torch.stack([_turned(keys, cos, sin), values], 1)
            mixed = attend(layer, number, _turned(queries, cos, sin), both)
            if number == len(weights.layers) - 1:
                if not last:
                    return x
                if kept is not None and len(kept) < len(x):  # nothing looks at the other tokens any more
                    rows = self._put(kept)
                    x, mixed = x.index_select(0, rows), mixed.index_select(0, rows)
            mixed = layer.out(mixed)
            x = x + (layer.norm_after(mixed) if layer.norm_after else mixed)
            gate, up = layer.gate_up(layer.feed_norm(x)).chunk(2, -1)
            fed = layer.down(weights.activation(gate).mul_(up))
            x = x + (layer.feed_norm_after(fed) if layer.feed_norm_after else fed)
        return weights.norm(x)

    def _turns(self, positions: Array, kind: int) -> tuple[Tensor, Tensor]:
        """Cosine and sine of each position's angles [tokens, 1, width]."""
        angles = self._put(positions).float()[:, None] * self.weights.frequencies[kind]
        twice = torch.cat([angles, angles], -1)[:, None]
        scale = self.weights.rotation_scales[kind]
        return (twice.cos() * scale).to(self.dtype), (twice.sin() * scale).to(self.dtype)

    def _mix(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        """Attention of queries [rows, heads, n, width] to keys and values [rows, key heads, m, width]."""
        weights = self.weights
        grouped = weights.heads != weights.key_heads
        if weights.attention_cap is None:
            return F.scaled_dot_product_attention(
                queries, keys, values, attn_mask=mask, scale=weights.attention_scale, enable_gqa=grouped
            )
        if grouped:
            times = weights.heads // weights.key_heads
            keys, values = keys.repeat_interleave(times, 1), values.repeat_interleave(times, 1)
        logits = torch.matmul(queries, keys.transpose(2, 3)) * weights.attention_scale
        logits = torch.tanh(logits / weights.attention_cap) * weights.attention_cap
        logits = logits.masked_fill(~mask, float("-inf"))
        return torch.matmul(torch.softmax(logits.float(), -1).to(values.dtype), values)

    def _put(self, array: Array) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)


def _common(rows: Sequence[Sequence[int]]) -> int:
    """How many first tokens all of several rows share."""
    if len(rows) < 2:
        return 0
    return sum(1 for _ in itertools.takewhile(lambda each: len(set(each)) == 1, zip(*rows, strict=False)))


def _turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Numbers [tokens, heads, width] rotated in pairs, of which one is in the first half, the other in the second."""
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin
