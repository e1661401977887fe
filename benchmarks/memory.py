"""Memory of exact search on a model of OPUS-MT's size: random weights, a vocabulary of 60,000, 1,000 open prefixes.

A random model has the widest space there is, so the search runs until its budget is spent. Beyond the budget, which
is for keys, values and open prefixes, a search holds one batch of logits (256 rows of the vocabulary in float32)
and what is computed from a quarter of it; both are printed as `allowed`.
"""

from __future__ import annotations

import resource

import torch
from transformers import MarianConfig, MarianMTModel

from babelscope.decoding.exact import exact_search
from babelscope.decoding.marian import Marian
from babelscope.decoding.model import Vocabulary
from babelscope.systems.base import Budget
from benchmarks.common import arguments, show

_VOCABULARY, _MB = 60_000, 2**20


def main() -> None:
    options = arguments(__doc__ or "")
    torch.manual_seed(1)
    pad = _VOCABULARY - 1
    network = MarianMTModel(
        MarianConfig(
            vocab_size=_VOCABULARY, d_model=512, encoder_layers=6, decoder_layers=6, encoder_ffn_dim=2048,
            decoder_ffn_dim=2048, encoder_attention_heads=8, decoder_attention_heads=8, pad_token_id=pad,
            eos_token_id=0, decoder_start_token_id=pad, forced_eos_token_id=None, scale_embedding=True,
            share_encoder_decoder_embeddings=True, activation_function="swish",
        )
    ).eval()  # fmt: skip
    model = Marian(network, Vocabulary(_VOCABULARY, (pad,), 0, (pad,), 512, 512))
    source = [*range(100, 125), 0]
    exact_search(model, [source], k=10, budget=Budget(expansions=20))  # buffers of the libraries
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    rows = []
    for megabytes in (32, 64) if options.quick else (32, 64, 128):
        budget = Budget(bytes=megabytes * _MB, expansions=3000)
        [found] = exact_search(model, [source], k=10, budget=budget)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
        allowed = megabytes * _MB + 256 * _VOCABULARY * 4 * 1.5
        rows.append(
            {
                "budget_mb": megabytes,
                "expansions": found.expansions,
                "exact": found.exact,
                "grown_mb": grown / _MB,
                "allowed_mb": allowed / _MB,
            }
        )
    within = all(row["grown_mb"] <= row["allowed_mb"] for row in rows)
    show(rows, {"within_budget": within, "parameters": network.num_parameters()}, as_json=options.json)


if __name__ == "__main__":
    main()
