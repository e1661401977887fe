"""Scoring minimal pairs: Babelscope against plain transformers and CTranslate2, on the same model in one run."""

from __future__ import annotations

import gzip
import random
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from babelscope import load, open_system
from babelscope.systems.huggingface import HuggingFace
from benchmarks.common import arguments, best_setting, fastest, shared, show

Pairs = list[tuple[str, str]]


def variants(sources: list[str], targets: list[str], n: int, seed: int = 1) -> Pairs:
    """For each source its target and n - 1 copies with one word replaced by another of the corpus."""
    random_ = random.Random(seed)
    words = sorted({word for target in targets for word in target.split()})
    pairs = []
    for source, target in zip(sources, targets, strict=True):
        pairs.append((source, target))
        for _ in range(n - 1):
            changed = target.split()
            changed[random_.randrange(len(changed))] = random_.choice(words)
            pairs.append((source, " ".join(changed)))
    return pairs


def transformers_batched(system: HuggingFace, pairs: Pairs, size: int) -> list[list[float]]:
    """Plain transformers: sorted by target length, `size` pairs a forward pass, log-softmax and gather."""
    tokenizer, model = system.tokens.tokenizer, system.network
    sources = tokenizer([source for source, _ in pairs])["input_ids"]
    targets = tokenizer(text_target=[target for _, target in pairs])["input_ids"]
    order = sorted(range(len(pairs)), key=lambda i: (len(targets[i]), len(sources[i])))
    answers: list[list[float]] = [[] for _ in pairs]
    start = model.config.decoder_start_token_id
    for begin in range(0, len(order), size):
        batch = order[begin : begin + size]
        fed = tokenizer.pad({"input_ids": [sources[i] for i in batch]}, return_tensors="pt")
        labels = tokenizer.pad({"input_ids": [targets[i] for i in batch]}, return_tensors="pt")["input_ids"]
        shifted = torch.cat([torch.full((len(batch), 1), start), labels[:, :-1]], dim=1)
        with torch.inference_mode():
            logits = model(**fed, decoder_input_ids=shifted, use_cache=False).logits
            found = logits.log_softmax(-1).gather(-1, labels[..., None])[..., 0].tolist()
        for i, row in zip(batch, found, strict=True):
            answers[i] = row[: len(targets[i])]
    return answers


def ctranslate2_scorer(folder: Path) -> Callable[[HuggingFace, Pairs, int], list[list[float]]]:
    """CTranslate2 in float32 with the fast tokenizer, `size` tokens a batch."""
    import ctranslate2

    with tempfile.TemporaryDirectory() as temporary, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        converted = ctranslate2.converters.TransformersConverter(str(folder)).convert(f"{temporary}/model")
        translator = ctranslate2.Translator(
            converted, compute_type="float32", inter_threads=1, intra_threads=torch.get_num_threads()
        )

    def score(system: HuggingFace, pairs: Pairs, size: int) -> list[list[float]]:
        tokens = system.tokens
        sources = [list(tokens.tokens(row)) for row in tokens.encode_sources([source for source, _ in pairs])]
        targets = tokens.encode_targets([target for _, target in pairs], eos=system.vocabulary.eos)
        pieces = [list(tokens.tokens(row[:-1])) for row in targets]
        found = translator.score_batch(
            sources, pieces, max_batch_size=size, batch_type="tokens", max_input_length=0
        )
        return [answer.log_probs for answer in found]

    return score


def compare(
    system: HuggingFace, checkpoint: Path, pairs: Pairs, *, quick: bool, one_by_one: bool
) -> tuple[dict[str, float], float]:
    """Seconds for all `pairs` by each side at its best batch size, and the largest difference of a token."""
    ct2 = ctranslate2_scorer(checkpoint)
    trial = pairs[: len(pairs) // 3]

    def babelscope(budget: int, asked: Pairs) -> list[list[float]]:
        system._budget = budget
        return [list(scored.logprobs) for scored in system.score(asked)]

    budget = best_setting(lambda size: babelscope(size, trial), (1024, 2048))
    batch = best_setting(lambda size: transformers_batched(system, trial, size), (16, 32, 64))
    tokens = best_setting(lambda size: ct2(system, trial, size), (512, 1024, 2048))
    answers: dict[str, Any] = {}
    sides: dict[str, Callable[[], object]] = {
        "babelscope": lambda: answers.update(a=babelscope(budget, pairs)),
        "transformers, batched by length": lambda: answers.update(
            b=transformers_batched(system, pairs, batch)
        ),
        "ctranslate2 float32": lambda: answers.update(c=ct2(system, pairs, tokens)),
    }
    few = pairs[: len(pairs) // 6]
    if one_by_one:
        sides["transformers, one at a time"] = lambda: answers.update(d=transformers_batched(system, few, 1))
    seconds = fastest(sides, repeats=3 if quick else 7)
    if one_by_one:
        seconds["transformers, one at a time"] *= len(pairs) / len(few)
    difference = max(
        abs(x - y)
        for other in "bcd"
        for row, peer in zip(answers["a"], answers.get(other, ()), strict=False)
        for x, y in zip(row, peer, strict=True)
    )
    return seconds, difference


def measure(
    system: HuggingFace, sources: list[str], targets: list[str], *, quick: bool
) -> tuple[list[Any], Any]:
    """Rows of throughput and the ratios, for two and for ten targets a source."""
    pairs = variants(sources, targets, 2)
    tens = variants(sources[: len(sources) // 3], targets[: len(targets) // 3], 10)
    with tempfile.TemporaryDirectory() as folder:
        for path in {*system.folder.iterdir(), *system.tokens.folder.iterdir()}:
            (Path(folder) / path.name).write_bytes(path.read_bytes())
        two, difference = compare(system, Path(folder), pairs, quick=quick, one_by_one=True)
        ten, difference_10 = compare(system, Path(folder), tens, quick=quick, one_by_one=False)
    rows = [
        {
            "model": system.name,
            "targets a source": n,
            "side": side,
            "targets/s": round(len(asked) / seconds[side], 1),
        }
        for n, asked, seconds in ((2, pairs, two), (10, tens, ten))
        for side in seconds
    ]
    ratios = {
        "model": system.name,
        "vs_hf_batched": two["transformers, batched by length"] / two["babelscope"],
        "vs_one_by_one": two["transformers, one at a time"] / two["babelscope"],
        "vs_ctranslate2": two["ctranslate2 float32"] / two["babelscope"],
        "vs_hf_batched_10": ten["transformers, batched by length"] / ten["babelscope"],
        "vs_ctranslate2_10": ten["ctranslate2 float32"] / ten["babelscope"],
        "max_difference": max(difference, difference_10),
    }
    return rows, ratios


def lab_material(n: int) -> tuple[HuggingFace, list[str], list[str]]:
    """The lab's teacher, and sentences of its own world."""
    items = load(f"lab:parallel?n={n}&seed=5").items
    return open_system("lab:teacher"), [i.source for i in items], [i.references[0] for i in items]


def multi30k_material(n: int) -> tuple[HuggingFace, list[str], list[str]] | None:
    """A small real model with real captions, where the shared data is at hand."""
    folder, data = shared("models", "m30k-ende"), shared("data", "multi30k")
    if folder is None or data is None:
        return None
    texts = []
    for language in ("en", "de"):
        with gzip.open(
            data / f"test_2016_flickr.{language}.gz", "rt", encoding="utf-8", newline="\n"
        ) as file:
            texts.append(file.read().split("\n")[:n])
    return HuggingFace("m30k-ende", folder), texts[0], texts[1]


def main() -> None:
    options = arguments(__doc__ or "")
    n = 300 if options.quick else 1000
    real = multi30k_material(n)
    # A quick run measures one model: the real one where it is at hand.
    materials = [real or lab_material(n)] if options.quick else [lab_material(n), *([real] if real else [])]
    for material in materials:
        rows, ratios = measure(*material, quick=options.quick)
        show(rows, ratios, as_json=options.json)


if __name__ == "__main__":
    main()
