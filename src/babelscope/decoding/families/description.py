"""What decoder-only architectures do unlike Llama, and a network's weights as the forward pass takes them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor


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
