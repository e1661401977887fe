"""Decoder-only networks without the overhead: Llama, Mistral, Qwen 2 and 3, Gemma 2 and 3 in a few tensor operations.

A prompt is the root of its source's tree. The beginning that the prompts of a batch share (instructions, examples) is
computed once for all of them, the rest once a source; targets of one source are one tree below it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from babelscope.decoding.model import (
    Array,
    Joins,
    Memory,
    OpenModel,
    Packing,
    TargetTree,
    Vocabulary,
    ancestors,
    column_blocks,
    edge_logprobs,
    product_by_columns,
)

# --- What decoder-only architectures do unlike Llama ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Family:
    """What an architecture does unlike Llama; sizes, biases, windows and caps are the configuration's."""

    norms_from_one: bool = False
    """Norms multiply by 1 + weight."""
    norms_after: bool = False
    """Attention and feed-forward have a norm after them too, before they are added."""
    query_key_norms: bool = False
    """Queries and keys are normed, each head by itself, before they are rotated."""
    scales_embedding: bool = False
    """Embeddings are multiplied by the square root of their width."""
    caps_attention: bool = False
    """Attention's logits are capped, where the configuration says by what."""


FAMILIES: Mapping[str, Family] = {
    "llama": Family(),
    "mistral": Family(),
    "qwen2": Family(),
    "qwen3": Family(query_key_norms=True),
    "gemma2": Family(norms_from_one=True, norms_after=True, scales_embedding=True, caps_attention=True),
    "gemma3_text": Family(norms_from_one=True, norms_after=True, scales_embedding=True, query_key_norms=True),
}
"""By the `model_type` of a network's configuration."""

# Frequencies of these kinds depend on nothing but the configuration; those of others change with the length.
_FIXED_ROTATIONS = {"default", "linear", "llama3", "yarn"}


@dataclass(frozen=True, slots=True)
class Linear:
    weight: Tensor
    bias: Tensor | None

    def __call__(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


@dataclass(frozen=True, slots=True)
class Norm:
    """Division by the root of the mean square."""

    weight: Tensor
    eps: float

    def __call__(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.weight.shape, self.weight, self.eps)


@dataclass(frozen=True, slots=True)
class Layer:
    """One pre-norm Transformer layer with gated feed-forward."""

    qkv: Linear
    out: Linear
    gate_up: Linear
    down: Linear
    norm: Norm
    feed_norm: Norm
    norm_after: Norm | None
    feed_norm_after: Norm | None
    q_norm: Norm | None
    k_norm: Norm | None
    window: int | None
    """How many tokens back it sees, its own included; None for all."""
    rotation: int
    """Which of the network's frequencies rotate its queries and keys."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A decoder-only network."""

    embedding: Tensor
    embedding_scale: float
    layers: Sequence[Layer]
    norm: Norm
    output: Linear
    heads: int
    key_heads: int
    width: int
    """Of a head."""
    attention_scale: float
    attention_cap: float | None
    output_cap: float | None
    frequencies: Sequence[Tensor]
    """Radians a position, for each pair of numbers of a head."""
    rotation_scales: Sequence[float]
    activation: Callable[[Tensor], Tensor]


def why_not_lean(network: Any) -> str:
    """Why a network needs the forward pass of transformers; nothing if it does not."""
    config = network.config
    if config.model_type not in FAMILIES:
        return f"{config.model_type} is not described here"
    if getattr(config, "use_bidirectional_attention", False):
        return "it attends to what follows"
    kinds = {each["rope_type"] for each in _rotations(config).values()}
    return "" if kinds <= _FIXED_ROTATIONS else f"positions of the kind {', '.join(sorted(kinds))}"


def _rotations(config: Any) -> dict[str, Mapping[str, Any]]:
    """Parameters of the rotations by kind of layer; one kind is named the empty text."""
    said = config.rope_parameters
    return {"": said} if "rope_type" in said else {kind: each for kind, each in said.items() if each}


def weights_of(network: Any) -> Weights:
    """The weights of a network of transformers; only joined matrices are copied."""
    config, family = network.config, FAMILIES[network.config.model_type]
    body, tensors = network.model, network.state_dict()
    kinds = sorted(_rotations(config))
    prefixes = [f"{kind}_" if kind else "" for kind in kinds]
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    scalar = getattr(config, "query_pre_attn_scalar", None) or width
    from transformers.activations import ACT2FN

    return Weights(
        embedding=body.embed_tokens.weight,
        embedding_scale=config.hidden_size**0.5 if family.scales_embedding else 1.0,
        layers=[_layer(tensors, config, family, number, kinds) for number in range(config.num_hidden_layers)],
        norm=_norm(tensors["model.norm.weight"], config, family),
        output=Linear(network.lm_head.weight, network.lm_head.bias),
        heads=config.num_attention_heads,
        key_heads=config.num_key_value_heads,
        width=width,
        attention_scale=scalar**-0.5,
        attention_cap=config.attn_logit_softcapping if family.caps_attention else None,
        output_cap=getattr(config, "final_logit_softcapping", None),
        frequencies=[getattr(body.rotary_emb, f"{each}inv_freq").float() for each in prefixes],
        rotation_scales=[getattr(body.rotary_emb, f"{each}attention_scaling") for each in prefixes],
        activation=ACT2FN[getattr(config, "hidden_activation", None) or config.hidden_act],
    )


def _norm(weight: Tensor, config: Any, family: Family) -> Norm:
    return Norm(weight + 1.0 if family.norms_from_one else weight, config.rms_norm_eps)


def join_linear(tensors: Mapping[str, Tensor], name: str, *parts: str) -> Linear:
    """Linear layers that read the same input, joined into one."""
    weights = [tensors[f"{name}.{part}.weight"] for part in parts]
    biases = [tensors.get(f"{name}.{part}.bias") for part in parts]
    if len(parts) == 1:
        return Linear(weights[0], biases[0])
    zeros = [each.new_zeros(len(each)) for each in weights]
    known = [bias if bias is not None else zero for bias, zero in zip(biases, zeros, strict=True)]
    return Linear(torch.cat(weights), None if all(bias is None for bias in biases) else torch.cat(known))


def _layer(
    tensors: Mapping[str, Tensor], config: Any, family: Family, number: int, kinds: Sequence[str]
) -> Layer:
    name = f"model.layers.{number}"

    linear = functools.partial(join_linear, tensors, name)

    def norm(part: str) -> Norm:
        return _norm(tensors[f"{name}.{part}.weight"], config, family)

    after = family.norms_after
    return Layer(
        qkv=linear("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        out=linear("self_attn.o_proj"),
        gate_up=linear("mlp.gate_proj", "mlp.up_proj"),
        down=linear("mlp.down_proj"),
        norm=norm("input_layernorm"),
        # Where norms come after too, the second of Llama's names is that of the one after attention.
        feed_norm=norm("pre_feedforward_layernorm" if after else "post_attention_layernorm"),
        norm_after=norm("post_attention_layernorm") if after else None,
        feed_norm_after=norm("post_feedforward_layernorm") if after else None,
        q_norm=norm("self_attn.q_norm") if family.query_key_norms else None,
        k_norm=norm("self_attn.k_norm") if family.query_key_norms else None,
        window=_window(config, number),
        rotation=kinds.index(config.layer_types[number]) if len(kinds) > 1 else 0,
    )


def _window(config: Any, number: int) -> int | None:
    """How far back a layer sees; where not every layer says its kind, all are alike."""
    window: int | None = getattr(config, "sliding_window", None)
    types = getattr(config, "layer_types", None)
    return window if types is None or types[number] == "sliding_attention" else None


# --- Decoder-only networks without the overhead: Llama, Mistral, Qwen 2 and 3 --------------------------------------


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
        columns = slice(0, self.vocabulary.size)
        return self._finished(product_by_columns(hidden, self.weights.output.weight.t()), columns)

    def _logits(self, hidden: Tensor, columns: slice, out: Tensor) -> Tensor:
        return self._finished(torch.mm(hidden, self.weights.output.weight[columns].t(), out=out), columns)

    def _finished(self, out: Tensor, columns: slice) -> Tensor:
        """Logits of some columns, of all where tokens are joined, from the bare product."""
        output = self.weights.output
        if output.bias is not None:
            out += output.bias[columns]
        if cap := self.weights.output_cap:
            out.div_(cap).tanh_().mul_(cap)
        self._joins.apply(out)
        masked = [token - columns.start for token in self.vocabulary.masked]
        out[:, [token for token in masked if 0 <= token < out.shape[1]]] = float("-inf")
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
        size = self.vocabulary.size
        blocks = [slice(0, size)] if self._joins else column_blocks(size, self.device)
        found = edge_logprobs(hidden, rows, wanted, blocks, self._logits)
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
