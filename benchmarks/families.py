"""Families of models: our forward passes against transformers, on one thread or a GPU, all sides in one run.

OPUS-MT (real weights with --opus FOLDER, else random ones of its size), NLLB, T5 and Llama. Scoring of 2 and 10
variants per source, sampling and exact search, each as the time of transformers over ours; `row_over_products` is the
time of an expansion over that of the bare matrix products of its shapes. The last line has the ratios.
"""

from __future__ import annotations

import functools
import heapq
import json
import random
import statistics
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from babelscope.core.system import Budget, Drawing
from babelscope.decoding.causal import force_causal
from babelscope.decoding.exact import exact_search
from babelscope.decoding.families.decoder import Decoder, weights_of
from babelscope.decoding.generic import Generic, open_transformer
from babelscope.decoding.model import OpenModel, Vocabulary, score_targets
from babelscope.decoding.sampling import draw_samples
from benchmarks.common import arguments, settle

_SOURCE_ONLY = ("encoder_attn.k_proj", "encoder_attn.v_proj", "EncDecAttention.k", "EncDecAttention.v")
SOURCE, PROMPT, TARGET, SAMPLES = 25, 60, 25, 50
Ids = list[int]


@dataclass(frozen=True, slots=True)
class Family:
    """A network of transformers, and our way to ask it."""

    name: str
    network: Any
    ours: OpenModel
    causal: bool = False

    @property
    def end(self) -> int:
        return self.ours.vocabulary.eos

    @property
    def device(self) -> str:
        return str(self.ours.device)

    def force(self, pairs: Sequence[tuple[Ids, Ids]]) -> list[list[float]]:
        """Plain transformers: log-probabilities of equally long pairs in one forward pass."""
        sources, targets = [list(source) for source, _ in pairs], [list(target) for _, target in pairs]
        if self.causal:
            return list(force_causal(self.network, sources, targets))
        prefix = list(self.ours.vocabulary.prefix)
        fed = torch.tensor([prefix + target[:-1] for target in targets], device=self.ours.device)
        with torch.inference_mode():
            ids = torch.tensor(sources, device=self.ours.device)
            logits = self.network(input_ids=ids, decoder_input_ids=fed).logits[:, len(prefix) - 1 :].float()
            logits[..., list(self.ours.vocabulary.masked)] = float("-inf")
            wanted = torch.tensor(targets, device=self.ours.device)[..., None]
            found: list[list[float]] = torch.log_softmax(logits, -1).gather(-1, wanted)[..., 0].tolist()
        return found

    def first(self, source: Ids) -> tuple[Any, dict[str, Any]]:
        """Logits after a source and the prefix, and what every later step is given beside."""
        ids = torch.tensor([source], device=self.ours.device)
        if self.causal:
            return self.network(input_ids=ids, use_cache=True), {}
        encoded = self.network.get_encoder()(input_ids=ids)
        given = {"encoder_outputs": encoded}
        fed = torch.tensor([list(self.ours.vocabulary.prefix)], device=self.ours.device)
        return self.network(decoder_input_ids=fed, use_cache=True, **given), given

    def products(self, rows: int, repeat: int) -> float:
        """Seconds per row of the bare matrix products of one expansion."""
        body = self.network if self.causal else self.network.get_decoder()
        shapes = [
            (part.in_features, part.out_features)
            for name, part in body.named_modules()
            if isinstance(part, torch.nn.Linear)
            # Keys and values of the source are computed once.
            and not name.endswith(_SOURCE_ONLY)
        ]  # fmt: skip
        if not self.causal:
            size, width = self.network.get_output_embeddings().weight.shape
            shapes.append((width, size))
        matrices = [torch.randn(shape, device=self.ours.device) for shape in shapes]
        inputs = {width: torch.randn(rows, width, device=self.ours.device) for width, _ in shapes}

        def run() -> None:
            with torch.inference_mode():
                for matrix in matrices:
                    torch.mm(inputs[len(matrix)], matrix)

        run()
        return seconds(run, repeat, self.device)[0] / rows


def opus(options: Namespace) -> Family:
    """OPUS-MT: real weights, or random ones of its size."""
    from transformers import AutoModelForSeq2SeqLM, MarianConfig, MarianMTModel

    if options.opus:
        network: Any = AutoModelForSeq2SeqLM.from_pretrained(Path(options.opus), dtype=torch.float32)
    else:
        network = MarianMTModel(
            MarianConfig(
                vocab_size=60_000, d_model=512, encoder_layers=6, decoder_layers=6, encoder_ffn_dim=2048,
                decoder_ffn_dim=2048, encoder_attention_heads=8, decoder_attention_heads=8, pad_token_id=59_999,
                eos_token_id=0, decoder_start_token_id=59_999, scale_embedding=True, activation_function="swish",
                forced_eos_token_id=None,
            )
        )  # fmt: skip
    pad = network.config.pad_token_id
    return encoder_decoder("opus", network, options.device, (pad,), (pad,))


def nllb(options: Namespace) -> Family:
    """An M2M-100 network with NLLB's prefix of two tokens, and a quarter of its vocabulary."""
    from transformers import M2M100Config, M2M100ForConditionalGeneration

    config = M2M100Config(
        vocab_size=64_000, d_model=512, encoder_layers=6, decoder_layers=6, encoder_ffn_dim=2048,
        decoder_ffn_dim=2048, encoder_attention_heads=8, decoder_attention_heads=8, pad_token_id=1, eos_token_id=2,
        decoder_start_token_id=2, encoder_layerdrop=0.0, decoder_layerdrop=0.0,
    )  # fmt: skip
    return encoder_decoder("nllb", M2M100ForConditionalGeneration(config), options.device, (2, 3), (1,))


def t5(options: Namespace) -> Family:
    """T5 of the size of t5-small."""
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(vocab_size=32_128, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)
    return encoder_decoder("t5", T5ForConditionalGeneration(config), options.device, (0,), (0,))


def encoder_decoder(
    name: str, network: Any, device: str, prefix: tuple[int, ...], masked: tuple[int, ...]
) -> Family:
    network = network.eval().to(device)
    size = network.get_output_embeddings().weight.shape[0]
    vocabulary = Vocabulary(size, prefix, network.config.eos_token_id, masked, 512, TARGET)
    return Family(name, network, open_transformer(network, vocabulary))


def llama(options: Namespace) -> Family:
    """A Llama of 8 layers with random weights."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=32_000, hidden_size=512, intermediate_size=1376, num_hidden_layers=8, num_attention_heads=8,
        num_key_value_heads=8, max_position_embeddings=512, eos_token_id=1,
    )  # fmt: skip
    network: Any = LlamaForCausalLM(config).eval().to(options.device)
    vocabulary = Vocabulary(32_000, (0,), 1, (), None, TARGET)
    return Family("llama", network, Decoder(weights_of(network), vocabulary), causal=True)


FAMILIES: dict[str, Callable[[Namespace], Family]] = {"opus": opus, "nllb": nllb, "t5": t5, "llama": llama}


def questions(family: Family, count: int, variants: int) -> tuple[list[Ids], list[list[Ids]]]:
    """Sources, and for each a target with variants that differ in one token; prompts begin alike."""
    rng = random.Random(7)
    special = {family.end, *family.ours.vocabulary.prefix, *family.ours.vocabulary.masked}
    ordinary = [token for token in range(family.ours.vocabulary.size) if token not in special]

    def draw(length: int) -> Ids:
        return rng.choices(ordinary, k=length)

    begin = draw(PROMPT // 3)
    sources = [
        [*begin, *draw(PROMPT - len(begin))] if family.causal else [*draw(SOURCE - 1), family.end]
        for _ in range(count)
    ]
    groups = []
    for _ in sources:
        target = draw(TARGET - 1)
        group = [target]
        for _ in range(variants - 1):
            place = rng.randrange(len(target))
            group.append([*target[:place], rng.choice(ordinary), *target[place + 1 :]])
        groups.append([[*each, family.end] for each in group])
    return sources, groups


def seconds(run: Callable[[], Any], repeat: int, device: str) -> tuple[float, Any]:
    """The median time, and what came out."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        found = run()
        settle(device)
        times.append(time.perf_counter() - start)
    return statistics.median(times), found


def scoring(family: Family, count: int, variants: int, repeat: int) -> tuple[float, float, float]:
    """Seconds of transformers and of ours, each at its best batch size, and the largest difference per token."""
    sources, groups = questions(family, count, variants)
    pairs = [(source, target) for source, group in zip(sources, groups, strict=True) for target in group]

    def batched(size: int) -> list[list[float]]:
        parts = [pairs[start : start + size] for start in range(0, len(pairs), size)]
        return [row for part in parts for row in family.force(part)]

    def own(budget: int) -> list[list[float]]:
        found = dict(score_targets(family.ours, sources, groups, budget=budget))
        return [row for number in range(len(sources)) for row in found[number]]

    theirs, expected = min(
        (seconds(functools.partial(batched, size), repeat, family.device) for size in (4, 16)),
        key=lambda each: each[0],
    )
    ours, found = min(
        (seconds(functools.partial(own, budget), repeat, family.device) for budget in (256, 1024)),
        key=lambda each: each[0],
    )
    apart = [
        abs(a - b)
        for one, other in zip(found, expected, strict=True)
        for a, b in zip(one, other, strict=True)
    ]
    return theirs, ours, max(apart)


def generated(family: Family, source: Ids) -> Any:
    """Samples by transformers' own loop."""
    with torch.inference_mode():
        return family.network.generate(
            input_ids=torch.tensor([source], device=family.ours.device),
            attention_mask=torch.ones((1, len(source)), dtype=torch.long, device=family.ours.device),
            do_sample=True, top_k=0, num_beams=1, num_return_sequences=SAMPLES, max_new_tokens=TARGET,
            min_new_tokens=TARGET, eos_token_id=family.end, pad_token_id=family.end,
        )  # fmt: skip


def one_by_one(family: Family, source: Ids, expansions: int) -> None:
    """Best-first search as it is written down: one prefix per forward pass, with its cache."""
    import copy

    with torch.inference_mode():
        output, given = family.first(source)
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
            fed = {
                "input_ids" if family.causal else "decoder_input_ids": torch.tensor(
                    [[token]], device=family.ours.device
                )
            }
            output = family.network(**fed, **given, past_key_values=copy.deepcopy(cache), use_cache=True)
            push(-cost, output.logits, output.past_key_values)


def measure(family: Family, *, quick: bool) -> dict[str, float]:
    """The ratios of a family; what they are made of is printed."""
    count, repeat = (6, 2) if quick else (30, 3)
    rows: dict[str, float] = {"lean": float(not isinstance(family.ours, Generic))}
    worst = 0.0
    for variants in (2, 10):
        theirs, ours, apart = scoring(family, count, variants, repeat)
        rows[f"score{variants}"], worst = theirs / ours, max(worst, apart)
        say(family, f"scoring {variants}", theirs, ours)
    sources, _ = questions(family, 2, 1)
    theirs = seconds(lambda: [generated(family, each) for each in sources], 1, family.device)[0]
    draw = functools.partial(
        draw_samples, family.ours, sources, n=SAMPLES, seed=1, limit=TARGET, drawing=Drawing()
    )
    ours = seconds(draw, repeat, family.device)[0]
    rows["sample"] = theirs / ours
    say(family, f"{SAMPLES} samples", theirs, ours)
    some = 100 if quick else 300
    theirs = seconds(lambda: one_by_one(family, sources[0], some), 1, family.device)[0] / some
    start = time.perf_counter()
    found = exact_search(family.ours, sources, k=10, budget=Budget(expansions=500 if quick else 2000))
    ours = (time.perf_counter() - start) / sum(each.expansions for each in found)
    rows["exact"], rows["row_over_products"] = theirs / ours, ours / family.products(64, repeat)
    say(family, "an expansion", theirs, ours)
    return {**rows, "max_difference": worst}


def say(family: Family, what: str, theirs: float, ours: float) -> None:
    print(json.dumps({"family": family.name, "what": what, "transformers": theirs, "ours": ours}), flush=True)


def main() -> None:
    options = arguments(
        __doc__ or "",
        devices=True,
        more={"--only": "families, separated by commas", "--opus": "folder of an OPUS-MT model"},
    )
    torch.set_num_threads(1)
    ratios: dict[str, float] = {}
    for name in options.only.split(",") if options.only else FAMILIES:
        torch.manual_seed(1)
        found = measure(FAMILIES[name](options), quick=options.quick)
        ratios |= {f"{name}_{key}": round(value, 6) for key, value in found.items()}
    print(json.dumps(ratios))


if __name__ == "__main__":
    main()
