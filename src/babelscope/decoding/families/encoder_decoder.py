"""The lean forward pass of encoder-decoders: a network's weights in a few tensor operations.

Projections to queries, keys and values are one matrix; cross-attention keys and values are made once a source;
targets of one source are read as one tree, so that a shared beginning is computed once; the output layer is
reduced to what is asked (a gather and a logsumexp), in pieces that stay in the processor's cache.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from babelscope.decoding.families.decoder import Linear, join_linear
from babelscope.decoding.model import (
    Array,
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

# --- What encoder-decoders built as BART or T5 do unlike Marian ----------------------------------------------------


ENCODER, DECODER = "model.encoder", "model.decoder"
POSITIONS = "embed_positions.weight"
OUTPUT, OUTPUT_BIAS = "lm_head.weight", "final_logits_bias"


@dataclass(frozen=True, slots=True)
class Family:
    """What an architecture does unlike Marian."""

    pre_norm: bool = False
    """Norms come before each sublayer, and one after the last layer of each side."""
    norms_embedding: bool = False
    """The sum of embedding and position is normed."""
    first_position: int = 0
    """The row of the first token in the table of positions."""
    counts_from_pad: bool = False
    """The first token's row is that after the id of pad; pad itself has no position, and none is counted for it."""
    distances: bool = False
    """As T5: no positions, but attention with a bias for each distance; norms do not subtract the mean."""


FAMILIES: Mapping[str, Family] = {
    "marian": Family(),
    "bart": Family(norms_embedding=True, first_position=2),
    "mbart": Family(pre_norm=True, norms_embedding=True, first_position=2),
    "pegasus": Family(pre_norm=True),
    "m2m_100": Family(pre_norm=True, counts_from_pad=True),  # NLLB too
    "fsmt": Family(counts_from_pad=True),
    "t5": Family(pre_norm=True, distances=True),  # MADLAD too
    "mt5": Family(pre_norm=True, distances=True),
    "umt5": Family(pre_norm=True, distances=True),
}
"""By the `model_type` of a network's configuration."""

# Published models tell distances up to 128 tokens apart.
_MOST_DISTANCE = 1024


@dataclass(frozen=True, slots=True)
class Weights:
    """A network: its tensors as MarianMTModel's state_dict names them, and what their shapes do not tell."""

    tensors: Mapping[str, Tensor]
    """In the tables of positions, row i is the position of token i."""
    layers: tuple[int, int]
    """Of the encoder and of the decoder, as are the attention heads."""
    heads: tuple[int, int]
    scale_embedding: bool
    activation: str
    family: Family = FAMILIES["marian"]
    pad: int | None = None
    """The id without a position, in families that count positions from pad."""
    norm_eps: float = 1e-5  # of torch's LayerNorm


def why_not_lean(network: Any, prefix: tuple[int, ...] = ()) -> str:
    """Why a network needs the forward pass of transformers; nothing if it does not."""
    config = network.config
    family = FAMILIES.get(config.model_type)
    if family is None:
        return f"{config.model_type} is not described here"
    if not type(network).__module__.startswith("transformers.models."):
        return "its code is not that of transformers"
    if family.pre_norm and network.dtype == torch.float16:
        return "transformers clamps its states in float16"
    if family.counts_from_pad:
        if config.pad_token_id in prefix:
            return "its targets begin with pad, which has no position"
        if len(_positions(network, "encoder")) < config.max_position_embeddings:
            return "its table of positions is too short"
    if family.distances and config.relative_attention_max_distance > _MOST_DISTANCE:
        return f"it tells distances up to {config.relative_attention_max_distance} apart"
    return ""


def weights_of(network: Any) -> Weights:
    """The weights of a network of transformers, not copied."""
    config, family = network.config, FAMILIES[network.config.model_type]
    if family.distances:
        return _weights_of_t5(network)
    tensors = dict(network.state_dict())
    for name, side in ((ENCODER, "encoder"), (DECODER, "decoder")):
        tensors[f"{name}.{POSITIONS}"] = _positions(network, side)
    if OUTPUT not in tensors:  # FSMT, whose `get_output_embeddings` is its embedding, tied or not
        tensors[OUTPUT] = tensors[f"{DECODER}.output_projection.weight"]
    tensors.setdefault(OUTPUT_BIAS, tensors[OUTPUT].new_zeros(1, len(tensors[OUTPUT])))
    return Weights(
        tensors,
        (config.encoder_layers, config.decoder_layers),
        (config.encoder_attention_heads, config.decoder_attention_heads),
        config.scale_embedding,
        config.activation_function,
        family,
        config.pad_token_id if family.counts_from_pad else None,
    )


def _weights_of_t5(network: Any) -> Weights:
    """The same of T5, mT5 or UMT5. Each layer has a table of distances, shared if they are equal."""
    config = network.config
    # As attention divides by the root of a head's width, which T5 does not; a power of two in published models.
    width_root = math.sqrt(config.d_kv)
    scaled = {"t5": "scale_decoder_outputs", "umt5": "tie_word_embeddings"}.get(config.model_type)
    output_scale = config.d_model**-0.5 if scaled and getattr(config, scaled) else 1.0
    output = network.lm_head.weight
    found = {OUTPUT: output, OUTPUT_BIAS: output.new_zeros(1, len(output))}
    for side, stack in ((ENCODER, network.encoder), (DECODER, network.decoder)):
        found[f"{side}.embed_tokens.weight"] = stack.embed_tokens.weight
        found[f"{side}.layer_norm.weight"] = stack.final_layer_norm.weight * (
            output_scale if side == DECODER else 1.0
        )
        table = None
        for number, block in enumerate(stack.block):
            name = f"{side}.layers.{number}"
            attentions = {"self_attn": block.layer[0].SelfAttention}
            if side == DECODER:
                attentions["encoder_attn"] = block.layer[1].EncDecAttention
            if attentions["self_attn"].has_relative_attention_bias:  # in T5 the first layer's is that of all
                table = _distances(attentions["self_attn"])
            found[f"{name}.distances"] = table
            for place, (part, attention) in enumerate(attentions.items()):
                found[f"{name}.{part}.q_proj.weight"] = attention.q.weight * width_root
                found[f"{name}.{part}.k_proj.weight"] = attention.k.weight
                found[f"{name}.{part}.v_proj.weight"] = attention.v.weight
                found[f"{name}.{part}.out_proj.weight"] = attention.o.weight
                found[f"{name}.{part}_layer_norm.weight"] = block.layer[place].layer_norm.weight
            dense = block.layer[-1].DenseReluDense
            found[f"{name}.final_layer_norm.weight"] = block.layer[-1].layer_norm.weight
            found[f"{name}.fc1.weight"] = dense.wi_0.weight if config.is_gated_act else dense.wi.weight
            if config.is_gated_act:
                found[f"{name}.gate.weight"] = dense.wi_1.weight
            found[f"{name}.fc2.weight"] = dense.wo.weight
    return Weights(
        {name: tensor.detach() for name, tensor in found.items()},
        (len(network.encoder.block), len(network.decoder.block)),
        (config.num_heads, config.num_heads),
        scale_embedding=False,
        activation=config.dense_act_fn,
        family=FAMILIES[config.model_type],
        norm_eps=config.layer_norm_epsilon,
    )


def _distances(attention: Any) -> Tensor:
    """What T5's attention adds where a key stands some tokens before or after the query [heads, 2 * farthest + 1]."""
    farthest = attention.relative_attention_max_distance  # farther ones are alike
    bias = attention.compute_bias(farthest + 1, farthest + 1)[0]
    return torch.cat([bias[:, -1], bias[:, 0, 1:]], -1).contiguous()


def _positions(network: Any, side: str) -> Tensor:
    """The table of positions of a side, from that of the first token on."""
    family = FAMILIES[network.config.model_type]
    module = getattr(network.model, side).embed_positions
    # M2M's are computed, and no part of the network's state.
    table: Tensor = (module.weights if hasattr(module, "weights") else module.weight).detach()
    return table[network.config.pad_token_id + 1 if family.counts_from_pad else family.first_position :]


# --- The lean forward pass of encoder-decoders: a network's weights in a few tensor operations ---------------------


# transformers' own activations for these names; here, because importing those takes seconds.
_ACTIVATIONS: dict[str, Callable[[], Callable[[Tensor], Tensor]]] = {
    "swish": lambda: nn.SiLU(inplace=True),
    "relu": lambda: nn.ReLU(inplace=True),
}


@dataclass(frozen=True, slots=True)
class LayerNorm:
    weight: Tensor
    bias: Tensor | None
    eps: float

    def __call__(self, x: Tensor) -> Tensor:
        if self.bias is None:
            return F.rms_norm(x, x.shape[-1:], self.weight, self.eps)
        return F.layer_norm(x, x.shape[-1:], self.weight, self.bias, self.eps)


@dataclass(frozen=True, slots=True)
class _Cross:
    q: Linear
    kv: Linear
    out: Linear
    norm: LayerNorm


@dataclass(frozen=True, slots=True)
class _Layer:
    """One Transformer layer; the cross-attention is absent in the encoder."""

    qkv: Linear
    self_out: Linear
    self_norm: LayerNorm
    cross: _Cross | None
    fc1: Linear
    """With a gate, what is activated and then what it is multiplied by."""
    fc2: Linear
    final_norm: LayerNorm
    gated: bool
    distances: Tensor | None


def _norm(weights: Weights, name: str) -> LayerNorm:
    return LayerNorm(weights.tensors[f"{name}.weight"], weights.tensors.get(f"{name}.bias"), weights.norm_eps)


def _layer(weights: Weights, name: str, *, cross: bool) -> _Layer:
    """The layer whose tensors' names begin with `name`."""
    tensors = weights.tensors
    linear = functools.partial(join_linear, tensors, name)
    gated = f"{name}.gate.weight" in tensors
    return _Layer(
        qkv=linear("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        self_out=linear("self_attn.out_proj"),
        self_norm=_norm(weights, f"{name}.self_attn_layer_norm"),
        cross=_Cross(
            linear("encoder_attn.q_proj"),
            linear("encoder_attn.k_proj", "encoder_attn.v_proj"),
            linear("encoder_attn.out_proj"),
            _norm(weights, f"{name}.encoder_attn_layer_norm"),
        )
        if cross
        else None,
        fc1=linear("fc1", "gate") if gated else linear("fc1"),
        fc2=linear("fc2"),
        final_norm=_norm(weights, f"{name}.final_layer_norm"),
        gated=gated,
        distances=tensors.get(f"{name}.distances"),
    )


_NO_DISTANCES = np.zeros((0, 0), dtype=np.float32)

_Attend = Callable[[Tensor, Tensor, Tensor | None], Tensor]
"""From queries [n, _, heads, width], of which the first are taken, a table of keys and values [places, 2, heads,
width] and one of distances to what the queries see [n, heads * width]."""


def _unchanged(x: Tensor) -> Tensor:
    return x


def _activation(name: str) -> Callable[[Tensor], Tensor]:
    """An activation function by transformers' name; it may overwrite its input where it can, which writes less."""
    if name in _ACTIVATIONS:
        return _ACTIVATIONS[name]()
    from transformers.activations import ACT2FN

    found: Callable[[Tensor], Tensor] = ACT2FN[name]
    if hasattr(found, "inplace"):
        found.inplace = True
    return found


class EncoderDecoder(OpenModel):
    """An OpenModel on the weights of a network of one of the families above."""

    @torch.inference_mode()
    def __init__(self, weights: Weights, vocabulary: Vocabulary) -> None:
        tensors, family = weights.tensors, weights.family
        self.vocabulary = vocabulary
        self._source_embedding = tensors[f"{ENCODER}.embed_tokens.weight"]
        self._target_embedding = tensors[f"{DECODER}.embed_tokens.weight"]
        self._source_positions = tensors.get(f"{ENCODER}.{POSITIONS}")
        self._target_positions = tensors.get(f"{DECODER}.{POSITIONS}")
        self._unplaced = weights.pad
        self.device: torch.device = self._source_embedding.device
        self.dtype: torch.dtype = self._source_embedding.dtype
        self._compiled = self.device.type == "cpu" and self.dtype == torch.float32
        self._encoder = [
            _layer(weights, f"{ENCODER}.layers.{i}", cross=False) for i in range(weights.layers[0])
        ]
        self._decoder = [
            _layer(weights, f"{DECODER}.layers.{i}", cross=True) for i in range(weights.layers[1])
        ]
        self._pre_norm = family.pre_norm
        self._first_norms, self._last_norms = (
            [_norm(weights, f"{side}.{name}") if there else _unchanged for side in (ENCODER, DECODER)]
            for name, there in (
                ("layernorm_embedding", family.norms_embedding),
                ("layer_norm", family.pre_norm),
            )
        )
        self._heads = weights.heads
        self._scale = math.sqrt(self._source_embedding.shape[1]) if weights.scale_embedding else 1.0
        self._activation = _activation(weights.activation)
        self._output = tensors[OUTPUT].t()
        bias = tensors[OUTPUT_BIAS][0].clone()
        self._has_bias = bool(bias.any())
        self._masked = list(vocabulary.masked)
        bias[list(vocabulary.masked)] = float("-inf")
        self._output_bias = bias.to(self._output.dtype)

    @torch.inference_mode()
    def encode(self, sources: Sequence[Sequence[int]]) -> Memory:
        cross, lengths = self._encode(sources)
        places = np.arange(len(sources) * max(lengths)).reshape(len(sources), -1)
        return Memory(len(sources), ([both.flatten(0, 1) for both in cross], places, np.array(lengths)))

    @torch.inference_mode()
    def feed(self, memory: Memory, nodes: Array, tokens: Array) -> Tensor:
        cross, places, lengths = memory.encoded
        depths, source = memory.depth[nodes], memory.source[nodes]
        slot = self._put(nodes - memory.n_sources)
        back = self._attention(memory.paths, nodes, depths)
        across = self._attention(places, source, lengths[source])
        x = self._embed(self._put(tokens), self._put(depths - 1))
        for number, layer in enumerate(self._decoder):
            qkv = layer.qkv(self._before(layer.self_norm, x)).view(len(nodes), 3, self._heads[1], -1)
            table = memory.put(number, slot, qkv[:, 1:])
            x = self._add(layer.self_norm, layer.self_out(back(qkv, table, layer.distances)), x)
            assert layer.cross is not None
            q = layer.cross.q(self._before(layer.cross.norm, x)).view(len(nodes), 1, self._heads[1], -1)
            x = self._add(layer.cross.norm, layer.cross.out(across(q, cross[number], None)), x)
            x = self._feed_forward(layer, x)
        return self._last_norms[1](x)

    def _attention(self, paths: Array, rows: Array, lengths: Array) -> _Attend:
        """Attention of query i to the first `lengths[i]` places of `paths[rows[i]]`, the last of which is its own."""

        def compiled(queries: Tensor, table: Tensor, distances: Tensor | None) -> Tensor:
            from babelscope.decoding.kernels import attend  # numba is not needed to score

            mixed = queries.new_empty((len(queries), *queries.shape[2:]))
            bias = _NO_DISTANCES if distances is None else distances.numpy()
            attend(queries.numpy(), table.numpy(), paths, rows, lengths, bias, mixed.numpy())
            return mixed.flatten(1)

        if self._compiled:
            return compiled
        longest = int(lengths.max())
        path = self._put(paths[rows, :longest].ravel())
        seen = self._put(np.arange(longest) < lengths[:, None])[:, None, None]

        def plain(queries: Tensor, table: Tensor, distances: Tensor | None) -> Tensor:
            mask = seen
            if distances is not None:
                apart = np.arange(longest) - (lengths[:, None] - 1)
                mask = self._biased(seen, distances, apart[:, None])
            both = table.flatten(1).index_select(0, path).view(len(rows), longest, *table.shape[1:])
            keys, values = both.permute(2, 0, 3, 1, 4)
            mixed = F.scaled_dot_product_attention(queries[:, 0, :, None], keys, values, attn_mask=mask)
            return mixed.flatten(1)

        return plain

    def _put(self, array: Array) -> Tensor:
        return torch.from_numpy(array).to(self.device)

    @torch.inference_mode()
    def read(self, hidden: Tensor) -> Tensor:
        logits = product_by_columns(hidden, self._output)
        if self._has_bias:
            return logits.add_(self._output_bias)  # torch.addmm would write a copy of it for every row first
        logits[:, self._masked] = float("-inf")
        return logits

    @torch.inference_mode()
    def force(self, sources: Sequence[Sequence[int]], trees: Sequence[TargetTree]) -> list[Tensor]:
        cross, lengths = self._encode(sources)
        real = Packing(lengths, self.device).real[:, None, None]
        sizes = [len(tree.tokens) for tree in trees]
        packing = Packing(sizes, self.device)
        above = self._put(ancestors([tree.parents for tree in trees], packing.longest))[:, None]
        tokens = torch.tensor([token for tree in trees for token in tree.tokens], device=self.device)
        depths = torch.tensor([depth for tree in trees for depth in tree.depths], device=self.device)
        x = self._embed(tokens, depths)  # [nodes of all trees, width], as everywhere but in attention
        masks = self._masks(self._decoder, above, [tree.depths for tree in trees])
        for layer, both, mask in zip(self._decoder, cross, masks, strict=True):
            mixed = self._self_attention(layer, x, self._heads[1], mask, packing)
            x = self._add(layer.self_norm, layer.self_out(mixed), x)
            assert layer.cross is not None
            q = packing.spread(layer.cross.q(self._before(layer.cross.norm, x)))
            q = q.view(*q.shape[:2], self._heads[1], -1).transpose(1, 2)
            keys, values = both.permute(2, 0, 3, 1, 4)
            mixed = packing.pack(F.scaled_dot_product_attention(q, keys, values, attn_mask=real))
            x = self._feed_forward(layer, self._add(layer.cross.norm, layer.cross.out(mixed), x))
        x = self._last_norms[1](x)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        rows = np.concatenate(
            [np.asarray(t.edge_nodes) + o for t, o in zip(trees, offsets[:-1], strict=True)]
        )
        wanted = np.concatenate([np.asarray(tree.edge_tokens) for tree in trees])
        blocks = column_blocks(self.vocabulary.size, self.device)
        found = edge_logprobs(x, rows, wanted, blocks, self._logits)
        return list(torch.split(found.cpu(), [len(tree.edge_tokens) for tree in trees]))

    def _logits(self, hidden: Tensor, columns: slice, out: Tensor) -> Tensor:
        return torch.addmm(self._output_bias[columns], hidden, self._output[:, columns], out=out)

    def _encode(self, sources: Sequence[Sequence[int]]) -> tuple[list[Tensor], list[int]]:
        """Cross-attention keys and values a decoder layer [sources, longest, 2, heads, width], and the lengths."""
        lengths = [len(source) for source in sources]
        packing = Packing(lengths, self.device)
        ids = torch.tensor([token for source in sources for token in source], device=self.device)
        x = F.embedding(ids, self._source_embedding) * self._scale
        if self._source_positions is not None:
            positions = np.concatenate([self._places(source) for source in sources])
            x += self._source_positions[self._put(positions)] * self._put(positions >= 0)[:, None]
        x = self._first_norms[0](x)
        masks = self._masks(self._encoder, packing.real[:, None, None], [range(packing.longest)])
        for layer, mask in zip(self._encoder, masks, strict=True):
            mixed = self._self_attention(layer, x, self._heads[0], mask, packing)
            x = self._add(layer.self_norm, layer.self_out(mixed), x)
            x = self._feed_forward(layer, x)
        x = self._last_norms[0](x)
        cross = []
        for layer in self._decoder:
            assert layer.cross is not None
            both = packing.spread(layer.cross.kv(x))
            cross.append(both.view(*both.shape[:2], 2, self._heads[1], -1))
        return cross, lengths

    def _places(self, source: Sequence[int]) -> Array:
        """The positions of a source's tokens; -1 for those that have none."""
        if self._unplaced not in source:
            return np.arange(len(source))
        placed = np.array(source) != self._unplaced
        return np.where(placed, np.cumsum(placed) - 1, -1)

    def _embed(self, tokens: Tensor, positions: Tensor) -> Tensor:
        embedded: Tensor = F.embedding(tokens, self._target_embedding) * self._scale
        if self._target_positions is not None:
            embedded += self._target_positions[positions]
        return self._first_norms[1](embedded)

    def _masks(
        self, layers: Sequence[_Layer], seen: Tensor, positions: Sequence[Sequence[int]]
    ) -> Iterator[Tensor]:
        """Each layer's mask: what is seen, with a bias where the layer has distances.

        `seen` is a boolean mask; `positions` are those of each row's tokens, or of all rows if there is one.
        """
        table: Tensor | None = None
        mask = seen
        for layer in layers:
            if layer.distances is not table:
                mask, table = seen, layer.distances
                if table is not None:
                    places = np.zeros((len(positions), max(map(len, positions))), dtype=np.int64)
                    for row, own in zip(places, positions, strict=True):
                        row[: len(own)] = own
                    mask = self._biased(seen, table, places[:, None] - places[:, :, None])
            yield mask

    def _biased(self, seen: Tensor, distances: Tensor, apart: Array) -> Tensor:
        """A mask to add [rows, heads, queries, keys] for keys `apart` tokens [rows, queries, keys] behind queries."""
        farthest = distances.shape[1] // 2
        places = self._put(np.clip(apart, -farthest, farthest) + farthest)
        return distances[:, places].transpose(0, 1).where(seen, float("-inf"))

    def _before(self, norm: LayerNorm, x: Tensor) -> Tensor:
        """What a sublayer reads."""
        return norm(x) if self._pre_norm else x

    def _add(self, norm: LayerNorm, made: Tensor, x: Tensor) -> Tensor:
        """What a sublayer made, which is overwritten, added to what it was given."""
        made.add_(x)
        return made if self._pre_norm else norm(made)

    def _self_attention(self, layer: _Layer, x: Tensor, heads: int, mask: Tensor, packing: Packing) -> Tensor:
        """Self-attention of packed states [tokens, width] under a boolean mask, heads joined again."""
        spread = packing.spread(layer.qkv(self._before(layer.self_norm, x)))
        q, k, v = spread.view(*spread.shape[:2], 3, heads, -1).permute(2, 0, 3, 1, 4)
        return packing.pack(F.scaled_dot_product_attention(q, k, v, attn_mask=mask))

    def _feed_forward(self, layer: _Layer, x: Tensor) -> Tensor:
        inner = layer.fc1(self._before(layer.final_norm, x))
        if layer.gated:
            inner, gate = inner.chunk(2, -1)
            inner = self._activation(inner).mul_(gate)
        else:
            inner = self._activation(inner)
        return self._add(layer.final_norm, layer.fc2(inner), x)
