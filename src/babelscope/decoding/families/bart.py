"""What encoder-decoders built as BART do unlike Marian, and a network's weights as the forward pass takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

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


FAMILIES: Mapping[str, Family] = {
    "marian": Family(),
    "bart": Family(norms_embedding=True, first_position=2),
    "mbart": Family(pre_norm=True, norms_embedding=True, first_position=2),
    "pegasus": Family(pre_norm=True),
    "m2m_100": Family(pre_norm=True, counts_from_pad=True),  # NLLB too
    "fsmt": Family(counts_from_pad=True),
}
"""By the `model_type` of a network's configuration."""


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
    return ""


def weights_of(network: Any) -> Weights:
    """The weights of a network of transformers, not copied."""
    config, family = network.config, FAMILIES[network.config.model_type]
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


def _positions(network: Any, side: str) -> Tensor:
    """The table of positions of a side, from that of the first token on."""
    family = FAMILIES[network.config.model_type]
    module = getattr(network.model, side).embed_positions
    # M2M's are computed, and no part of the network's state.
    table: Tensor = (module.weights if hasattr(module, "weights") else module.weight).detach()
    return table[network.config.pad_token_id + 1 if family.counts_from_pad else family.first_position :]
