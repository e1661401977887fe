"""Encoder-decoders: the lean forward pass against transformers', under the same scoring, sampling and search.

Random weights: 6 + 6 layers of width 512, a vocabulary of 32,000, sources and targets of 25 tokens, one thread. The
last line has the ratios: how many times as long it takes through transformers.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

import torch

from babelscope.core.answers import Budget, Drawing
from babelscope.decoding.exact import exact_search
from babelscope.decoding.generic import Generic, open_transformer
from babelscope.decoding.model import OpenModel, Vocabulary, score_targets
from babelscope.decoding.sampling import draw_samples
from benchmarks.common import arguments, ratio, rounds, show

SIZE, LENGTH, BEGIN, PAD, END = 32_000, 25, 0, 1, 2
CLASSES = {
    "nllb": ("M2M100Config", "M2M100ForConditionalGeneration"),
    "mbart": ("MBartConfig", "MBartForConditionalGeneration"),
    "bart": ("BartConfig", "BartForConditionalGeneration"),
}


def network(kind: str) -> Any:
    """A network of transformers with random weights."""
    import transformers

    torch.manual_seed(1)
    config, model = (getattr(transformers, name) for name in CLASSES[kind])
    return model(
        config(
            vocab_size=SIZE, d_model=512, encoder_layers=6, decoder_layers=6, encoder_ffn_dim=2048,
            decoder_ffn_dim=2048, encoder_attention_heads=8, decoder_attention_heads=8,
            max_position_embeddings=256, bos_token_id=BEGIN, pad_token_id=PAD, eos_token_id=END,
            decoder_start_token_id=END, forced_eos_token_id=None,
        )
    ).eval()  # fmt: skip


def tasks(quick: bool) -> dict[str, Callable[[OpenModel], Any]]:
    """What is timed: scoring a target with variants that differ in one token, samples, expansions of exact search."""
    rng = random.Random(7)

    def draw() -> list[int]:
        return [rng.randrange(3, SIZE) for _ in range(LENGTH)]

    sources = [draw() for _ in range(4 if quick else 16)]

    def group(variants: int) -> list[list[int]]:
        target = draw()
        places = [rng.randrange(LENGTH) for _ in range(variants - 1)]
        changed = [[*target[:place], rng.randrange(3, SIZE), *target[place + 1 :]] for place in places]
        return [[*each, END] for each in (target, *changed)]

    groups = {n: [group(n) for _ in sources] for n in (2, 10)}
    expansions = 100 if quick else 500
    return {
        **{
            f"score{n}": functools.partial(_score, sources=sources, groups=asked)
            for n, asked in groups.items()
        },
        "sample": functools.partial(
            draw_samples, sources=sources[:2], n=20, seed=1, limit=LENGTH, drawing=Drawing()
        ),
        "exact": functools.partial(
            exact_search, sources=sources[:2], k=10, budget=Budget(expansions=expansions)
        ),
    }


def _score(model: OpenModel, *, sources: list[list[int]], groups: list[list[list[int]]]) -> Any:
    return dict(score_targets(model, sources, groups, budget=1024))


def main() -> None:
    options = arguments(__doc__ or "")
    torch.set_num_threads(1)
    vocabulary = Vocabulary(SIZE, (END,), END, (PAD,), 256, LENGTH + 5)
    rows: list[dict[str, Any]] = []
    ratios: dict[str, float] = {}
    for kind in CLASSES:
        made = network(kind)
        theirs, ours = Generic(made, vocabulary), open_transformer(made, vocabulary)
        for name, run in tasks(options.quick).items():
            run(ours)  # compiles
            sides = {"transformers": functools.partial(run, theirs), "lean": functools.partial(run, ours)}
            seconds = rounds(sides, repeats=1 if options.quick else 3)
            ratios[f"{kind}_{name}"] = ratio(seconds["transformers"], seconds["lean"])
            rows.append({"family": kind, "task": name, **{side: min(each) for side, each in seconds.items()}})
    show(rows, ratios, as_json=options.json)


if __name__ == "__main__":
    main()
