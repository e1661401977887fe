"""Memory of exact search with random weights: a model of OPUS-MT's size, a vocabulary of 60,000, 1,000 open prefixes;
and a tiny Llama with a vocabulary of 256,000, which also scores, samples and searches by beam.

A random model has the widest space there is, so the search runs until its budget is spent. Beyond the budget, which
is for keys, values and open prefixes, a search holds one piece of logits (2^22 numbers of 4 bytes; while the best of
a vocabulary of 256,000 are rescored, 2^24) and what is computed from it, for which half as much is granted. All three
together are printed as `allowed`.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import torch

from babelscope.core.system import Budget, Drawing
from babelscope.decoding.beam import beam_search
from babelscope.decoding.causal import Causal
from babelscope.decoding.exact import exact_search
from babelscope.decoding.families.decoder import Decoder, weights_of
from babelscope.decoding.model import LOGITS, OpenModel, Vocabulary, score_targets
from babelscope.decoding.sampling import draw_distinct, draw_samples
from benchmarks.common import arguments, forget_peak, peak_mb, random_marian, show

_VOCABULARY, _WIDE, _MB = 60_000, 256_000, 2**20
# What each way of decoding may take, in pieces of logits (2^24 numbers of 4 bytes).
_ALLOWED = {"score": 2, "beam": 4, "sample": 4, "sample_top_p": 5, "sample_distinct": 6}


def wide_llama(*, lean: bool) -> OpenModel:
    """A tiny Llama with a vocabulary of 256,000."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(1)
    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2}
    config = LlamaConfig(vocab_size=_WIDE, **sizes, **heads, tie_word_embeddings=True, eos_token_id=1)
    network = LlamaForCausalLM(config).eval()
    vocabulary = Vocabulary(_WIDE, (0,), 1, (), None, 32)
    return Decoder(weights_of(network), vocabulary) if lean else Causal(network, vocabulary)


def measured_wide(way: str, *, lean: bool = True) -> dict[str, Any]:
    """What one way of asking the wide Llama adds to a process: a number is a budget of exact search in MB."""
    torch.set_num_threads(1)
    model = wide_llama(lean=lean)
    sources = [[*range(100, 140 + number)] for number in range(8)]
    target = [*range(50, 75), 1]
    exact = Budget(bytes=int(way) * _MB, expansions=1000) if way.isdigit() else None
    cut = Drawing(top_p=0.9)
    ways: dict[str, Callable[[], object]] = {
        "score": lambda: list(score_targets(model, sources, [[target, [9, *target]]] * 8, budget=2048)),
        "beam": lambda: beam_search(model, sources * 8, beam=10, max_length=2),
        "sample": lambda: draw_samples(model, sources, n=125, seed=1, limit=2),
        "sample_top_p": lambda: draw_samples(model, sources, n=8, seed=1, limit=2, drawing=cut),
        "sample_distinct": lambda: draw_distinct(model, sources[:2], n=50, seed=1, limit=2),
        way if exact else "": lambda: exact_search(model, sources, k=10, budget=exact),
    }
    exact_search(model, sources[:1], k=2, budget=Budget(expansions=2))  # buffers of the libraries
    forget_peak()
    before = peak_mb()
    ways[way]()
    beside = 1.5 if exact else _ALLOWED[way]
    allowed = (int(way) if exact else 0) + beside * LOGITS * 4 / _MB
    return {"way": way, "lean": lean, "grown_mb": peak_mb() - before, "allowed_mb": allowed}


def measured(megabytes: int) -> dict[str, Any]:
    """What a search with that budget adds to a process that has done nothing else of weight."""
    torch.set_num_threads(1)
    model = random_marian(_VOCABULARY, 512, 6)
    source = [*range(100, 125), 0]
    exact_search(model, [source], k=10, budget=Budget(expansions=20))  # buffers of the libraries
    forget_peak()
    before = peak_mb()
    budget = Budget(bytes=megabytes * _MB, expansions=3000)
    [found] = exact_search(model, [source], k=10, budget=budget)
    return {
        "budget_mb": megabytes,
        "expansions": found.expansions,
        "exact": found.exact,
        "grown_mb": peak_mb() - before,
        "allowed_mb": megabytes + 2**22 * 4 * 1.5 / _MB,
    }


def main() -> None:
    options = arguments(__doc__ or "")
    budgets = (32, 64) if options.quick else (32, 64, 128)
    # A process each: what an earlier search leaves unused in the heap is not the next one's.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as workers:
        rows = list(workers.map(measured, budgets))
        rows += workers.map(measured_wide, (*_ALLOWED, "32", "128"))
    within = all(row["grown_mb"] <= row["allowed_mb"] for row in rows)
    show(rows, {"within_budget": within}, as_json=options.json)


if __name__ == "__main__":
    main()
