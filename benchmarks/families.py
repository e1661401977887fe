"""Decoder-only models: the lean forward pass against transformers, on one thread or a GPU, all sides in one run.

Random weights: 8 layers of width 512, a vocabulary of 32,000, prompts of 60 tokens, targets of 25. The last line has
the ratios; `llama_row_over_products` is the time of an expansion over that of the bare matrix products of its shapes.
"""

from __future__ import annotations

import functools
import json
import random
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from babelscope.core.system import Budget, Drawing
from babelscope.decoding.causal import Causal, force_causal
from babelscope.decoding.exact import exact_search
from babelscope.decoding.families.decoder import Decoder, weights_of
from babelscope.decoding.model import OpenModel, Vocabulary, score_targets
from babelscope.decoding.sampling import draw_samples
from benchmarks.common import arguments, settle

SIZE, WIDTH, LAYERS, PROMPT, TARGET, END = 32_000, 512, 8, 60, 25, 1
Ids = list[int]


def network(device: str) -> Any:
    """A Llama with random weights."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=SIZE,
        hidden_size=WIDTH,
        intermediate_size=1376,
        num_hidden_layers=LAYERS,
        num_attention_heads=8,
        num_key_value_heads=8,
        max_position_embeddings=512,
        eos_token_id=END,
    )
    return LlamaForCausalLM(config).eval().to(device)


def questions(count: int, variants: int) -> tuple[list[Ids], list[list[Ids]]]:
    """Prompts, of which a third is the same in all, and for each a target with variants that differ in one token."""
    rng = random.Random(7)

    def draw(length: int) -> Ids:
        return [rng.randrange(2, SIZE) for _ in range(length)]

    begin = draw(PROMPT // 3)
    sources = [[*begin, *draw(PROMPT - len(begin))] for _ in range(count)]
    groups = []
    for _ in sources:
        target = draw(TARGET - 1)
        group = [target]
        for _ in range(variants - 1):
            place = rng.randrange(len(target))
            group.append([*target[:place], rng.randrange(2, SIZE), *target[place + 1 :]])
        groups.append([[*each, END] for each in group])
    return sources, groups


def batched(model: Any, sources: Sequence[Ids], groups: Sequence[Sequence[Ids]], size: int) -> list[Any]:
    """Plain transformers: `size` pairs of prompt and target a forward pass; all are equally long here."""
    pairs = [(source, target) for source, group in zip(sources, groups, strict=True) for target in group]
    found = []
    for start in range(0, len(pairs), size):
        part = pairs[start : start + size]
        found += force_causal(model, [source for source, _ in part], [target for _, target in part])
    return found


def score_all(
    lean: OpenModel, sources: Sequence[Ids], groups: Sequence[Sequence[Ids]], budget: int
) -> dict[int, list[list[float]]]:
    """Our own way, `budget` tokens per batch."""
    return dict(score_targets(lean, sources, groups, budget=budget))


def seconds(run: Callable[[], Any], repeat: int, device: str) -> tuple[float, Any]:
    """The median time, and what came out."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        found = run()
        settle(device)
        times.append(time.perf_counter() - start)
    return statistics.median(times), found


def scoring(
    model: Any, lean: OpenModel, count: int, variants: int, repeat: int
) -> tuple[float, float, float]:
    """Seconds of both, transformers at its best batch size, and the largest difference a token."""
    sources, groups = questions(count, variants)
    device = str(lean.device)
    by_size = [
        seconds(functools.partial(batched, model, sources, groups, size), repeat, device) for size in (4, 16)
    ]
    theirs, expected = min(by_size, key=lambda each: each[0])
    by_budget = [
        seconds(functools.partial(score_all, lean, sources, groups, budget), repeat, device)
        for budget in (256, 1024)
    ]
    ours, found = min(by_budget, key=lambda each: each[0])
    flat = [row for number in range(len(sources)) for row in found[number]]
    worst = max(
        abs(a - b) for one, other in zip(flat, expected, strict=True) for a, b in zip(one, other, strict=True)
    )
    return theirs, ours, worst


def generated(model: Any, source: Ids, n: int) -> Any:
    """Samples by transformers' own loop."""
    with torch.inference_mode():
        return model.generate(
            input_ids=torch.tensor([source], device=model.device),
            attention_mask=torch.ones((1, len(source)), dtype=torch.long, device=model.device),
            do_sample=True, top_k=0, num_return_sequences=n, max_new_tokens=TARGET, min_new_tokens=TARGET,
            eos_token_id=END, pad_token_id=END,
        )  # fmt: skip


def one_by_one(model: Any, source: Ids, expansions: int) -> None:
    """Best-first search as it is written down: one prefix a forward pass, with its cache."""
    import heapq

    from transformers import DynamicCache

    with torch.inference_mode():
        ids = torch.tensor([source], device=model.device)
        output = model(input_ids=ids, past_key_values=DynamicCache(), use_cache=True)
        queue: list[tuple[float, int, int, Any]] = []
        ticket = 0

        def push(total: float, logits: torch.Tensor, cache: Any) -> None:
            nonlocal ticket
            logprobs, tokens = torch.log_softmax(logits[0, -1].float(), -1).topk(20)
            for each, token in zip(logprobs.tolist(), tokens.tolist(), strict=True):
                heapq.heappush(queue, (-(total + each), ticket, token, cache))
                ticket += 1

        push(0.0, output.logits, output.past_key_values)
        for _ in range(expansions):
            cost, _, token, cache = heapq.heappop(queue)
            past = DynamicCache([(layer.keys, layer.values) for layer in cache.layers])
            ids = torch.tensor([[token]], device=model.device)
            output = model(input_ids=ids, past_key_values=past, use_cache=True)
            push(-cost, output.logits, output.past_key_values)


def products(rows: int, repeat: int, device: str) -> float:
    """Seconds a row of the bare matrix products of one expansion."""
    shapes = [(WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 2 * 1376), (1376, WIDTH)] * LAYERS + [(WIDTH, SIZE)]
    matrices = [torch.randn(shape, device=device) for shape in shapes]
    inputs = {width: torch.randn(rows, width, device=device) for width in (WIDTH, 1376)}

    def run() -> None:
        with torch.inference_mode():
            for matrix in matrices:
                torch.mm(inputs[len(matrix)], matrix)

    run()
    return seconds(run, repeat, device)[0] / rows


def main() -> None:
    options = arguments(__doc__ or "", devices=True)
    torch.set_num_threads(1)
    device = options.device
    model = network(device)
    vocabulary = Vocabulary(SIZE, (0,), END, (), None, TARGET)
    lean = Decoder(weights_of(model), vocabulary)
    count, repeat = (6, 2) if options.quick else (30, 3)
    rows: dict[str, float] = {}
    worst = 0.0
    for variants in (2, 10):
        theirs, ours, apart = scoring(model, lean, count, variants, repeat)
        rows[f"llama_score{variants}"] = theirs / ours
        worst = max(worst, apart)
        print(json.dumps({"scoring": variants, "transformers": theirs, "lean": ours}), flush=True)
    sources, _ = questions(2, 1)
    n = 50
    theirs = seconds(lambda: [generated(model, each, n) for each in sources], 1, device)[0]
    draw = functools.partial(draw_samples, lean, sources, n=n, seed=1, limit=TARGET, drawing=Drawing())
    ours = seconds(draw, repeat, device)[0]
    rows["llama_sample"] = theirs / ours
    print(json.dumps({"samples": n, "transformers": theirs, "lean": ours}), flush=True)
    some = 100 if options.quick else 300
    theirs = seconds(lambda: one_by_one(model, sources[0], some), 1, device)[0] / some
    start = time.perf_counter()
    found = exact_search(lean, sources, k=10, budget=Budget(expansions=2000))
    expansions = sum(each.expansions for each in found)
    ours = (time.perf_counter() - start) / expansions
    rows["llama_exact"] = theirs / ours
    rows["llama_row_over_products"] = ours / products(64, repeat, device)
    print(json.dumps({"expansions": expansions, "one by one": theirs, "lean": ours}), flush=True)
    ((_, generic),) = score_targets(Causal(model, vocabulary), sources[:1], [[[5, END]]], budget=100)
    ((_, own),) = score_targets(lean, sources[:1], [[[5, END]]], budget=100)
    rows["max_difference"] = max(worst, *(abs(a - b) for a, b in zip(generic[0], own[0], strict=True)))
    print(json.dumps({name: round(value, 6) for name, value in rows.items()}))


if __name__ == "__main__":
    main()
