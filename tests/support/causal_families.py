"""Tiny random networks of the decoder-only families."""

from __future__ import annotations

import functools
from typing import Any

import torch

KINDS = ("llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3")


@functools.lru_cache
def network_of(kind: str, seed: int, size: int = 40, *, layers: int = 3, width: int = 8) -> Any:
    """A network in which whatever makes its family different is at work: windows of 4, caps, norms, biases."""
    import transformers as t

    heads = 4
    sizes: dict[str, Any] = {
        "vocab_size": size,
        "hidden_size": heads * width,
        "intermediate_size": 3 * width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": 2,
        "max_position_embeddings": 128,
        "bos_token_id": None,
        "eos_token_id": 1,
        "pad_token_id": None,
        "tie_word_embeddings": seed % 2 == 0,
    }
    torch.manual_seed(seed)
    if kind == "llama":
        scaled = {
            "rope_type": "llama3", "rope_theta": 10000.0, "factor": 4.0, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0, "original_max_position_embeddings": 16,
        }  # fmt: skip
        network: Any = t.LlamaForCausalLM(t.LlamaConfig(**sizes, attention_bias=True, rope_parameters=scaled))
    elif kind == "mistral":
        network = t.MistralForCausalLM(t.MistralConfig(**sizes, sliding_window=4))
    elif kind == "qwen2":
        window = {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1}
        network = t.Qwen2ForCausalLM(t.Qwen2Config(**sizes, **window))
    elif kind == "qwen3":
        network = t.Qwen3ForCausalLM(t.Qwen3Config(**sizes, head_dim=width + 4))
    elif kind == "gemma2":
        caps = {"attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0}
        own = {"head_dim": width, "query_pre_attn_scalar": 11, "sliding_window": 4}
        network = t.Gemma2ForCausalLM(t.Gemma2Config(**sizes, **own, **caps))
    else:
        own = {"head_dim": width, "query_pre_attn_scalar": 11, "sliding_window": 4}
        network = t.Gemma3ForCausalLM(t.Gemma3TextConfig(**sizes, **own, sliding_window_pattern=2))
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(0.0 if parameter.dim() > 1 else 0.5, 0.3)
    return network.eval()
