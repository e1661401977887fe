"""Drawing 200 translations a sentence: samples a CPU second, against transformers and CTranslate2 in one run."""

from __future__ import annotations

import functools
import math
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import torch

from babelscope import open_system
from babelscope.core.system import Drawing
from babelscope.decoding.sampling import draw_samples
from babelscope.systems.models.hf import HuggingFace
from benchmarks.common import arguments, convert_ct2, copy_files, multi30k, opened, show, sources_of

SAMPLES = 200
LIMIT = 128

Drawn = tuple[int, int, int]
"""How many samples a side drew, their tokens (EOS included), and how many did not end."""


def _drawn(system: HuggingFace, rows: list[list[int]]) -> Drawn:
    unfinished = sum(row[-1] != system.vocabulary.eos for row in rows)
    return len(rows), sum(map(len, rows)), unfinished


def _total(parts: list[Drawn]) -> Drawn:
    samples, tokens, unfinished = (sum(numbers) for numbers in zip(*parts, strict=True))
    return samples, tokens, unfinished


def babelscope(system: HuggingFace, sources: list[str], _: int) -> Drawn:
    """Ids with log-probabilities."""
    ids = system._source_ids(sources)[0]
    found = draw_samples(system.model, ids, n=SAMPLES, seed=1, limit=LIMIT)
    return _drawn(system, [each.ids for drawn in found for each in drawn])


def babelscope_text(system: HuggingFace, sources: list[str], _: int) -> Drawn:
    """The whole answer: text, tokens, log-probabilities, and whether the text survives tokenization."""
    found = system.sample(sources, n=SAMPLES, seed=1, drawing=Drawing(max_length=LIMIT))
    scored = [each for drawn in found for each in drawn]
    unfinished = sum("unfinished" in each.notes for each in scored)
    return len(scored), sum(len(each.tokens) for each in scored), unfinished


def transformers(system: HuggingFace, sources: list[str], size: int) -> Drawn:
    """`generate`, `size` sources at a time; ids only."""
    tokenizer, eos = system.tokens.tokenizer, system.vocabulary.eos
    torch.manual_seed(1)
    rows: list[list[int]] = []
    for start in range(0, len(sources), size):
        fed = tokenizer(sources[start : start + size], return_tensors="pt", padding=True)
        with torch.inference_mode():
            found = system.network.generate(
                **fed, do_sample=True, num_beams=1, num_return_sequences=SAMPLES, max_new_tokens=LIMIT,
                max_length=None, top_k=0, top_p=1.0, temperature=1.0,
            )  # fmt: skip
        for row in found[:, 1:].tolist():
            rows.append(row[: row.index(eos) + 1] if eos in row else row)
    return _drawn(system, rows)


@functools.cache
def _translator(folder: Path) -> Any:
    return convert_ct2(folder, (1, torch.get_num_threads()))[0]


def ctranslate2(system: HuggingFace, sources: list[str], size: int) -> Drawn:
    """`translate_batch` with random sampling, `size` sources at a time; tokens only."""
    translator, tokens = _translator(system.folder), system.tokens
    found = translator.translate_batch(
        [list(tokens.tokens(row)) for row in tokens.encode_sources(sources)],
        beam_size=1, num_hypotheses=SAMPLES, sampling_topk=0, sampling_temperature=1.0,
        max_decoding_length=LIMIT, max_batch_size=size, return_end_token=True,
    )  # fmt: skip
    eos = tokens.tokens([system.vocabulary.eos])[0]
    rows = [row for answer in found for row in answer.hypotheses]
    return len(rows), sum(map(len, rows)), sum(row[-1] != eos for row in rows)


SIDES: dict[str, tuple[Callable[..., Drawn], tuple[int, ...]]] = {
    "babelscope": (babelscope, (0,)),
    "babelscope, with text": (babelscope_text, (0,)),
    "transformers generate": (transformers, (1, 2)),
    "ctranslate2 float32": (ctranslate2, (1, 2, 4)),
}
"""Each side with the settings among which its best is taken."""
SLOW = "transformers generate"


def _run(folder: str, side: str, setting: int, sources: list[str]) -> tuple[float, Drawn]:
    """CPU seconds of all threads and what was drawn; called in a process of its own."""
    # A thread a process: more of them draw sooner, but wait for each other at the processor's cost.
    torch.set_num_threads(1)
    system = opened(folder)
    if side.startswith("ctranslate2"):
        _translator(system.folder)
    began = time.process_time()
    drawn = SIDES[side][0](system, sources, setting)
    return time.process_time() - began, drawn


def compare(folder: str, sources: list[str], *, repeats: int) -> dict[str, list[tuple[float, Drawn]]]:
    """CPU seconds and samples of each round by each side, at its best setting.

    A side has a process of its own: torch and CTranslate2 in one slow each other down tenfold. They take turns, so
    that a machine's slow moments hit all alike.
    """
    spawn = multiprocessing.get_context("spawn")
    pools = {side: ProcessPoolExecutor(1, mp_context=spawn) for side in SIDES}

    def run(side: str, setting: int, some: list[str]) -> tuple[float, Drawn]:
        return pools[side].submit(_run, folder, side, setting, some).result()

    best: dict[str, int] = {}
    for side, (_, settings) in SIDES.items():
        run(side, settings[0], sources[:1])  # warms up
        trials = {
            each: run(side, each, sources[: max(settings)])[0] for each in settings if len(settings) > 1
        }
        best[side] = min(trials, key=lambda each: trials[each], default=settings[0])
    rounds: dict[str, list[tuple[float, Drawn]]] = {side: [] for side in SIDES}
    for number in range(repeats):
        for side in SIDES:
            # transformers is slow: it gets another part of the sentences in every round, and all of them in all.
            some = sources[number::repeats] if side == SLOW else sources
            rounds[side].append(run(side, best[side], some))
    for pool in pools.values():
        pool.shutdown()
    return rounds


def measure(system: HuggingFace, sources: list[str], *, repeats: int) -> tuple[list[Any], Any]:
    """Rows of throughput and the ratios."""
    with tempfile.TemporaryDirectory() as folder:
        copy_files(system, Path(folder))
        rounds = compare(folder, sources, repeats=repeats)
    rounds[SLOW] = [
        (math.fsum(second for second, _ in rounds[SLOW]), _total([drawn for _, drawn in rounds[SLOW]]))
    ]
    seconds = {side: statistics.median(second for second, _ in found) for side, found in rounds.items()}
    last = {side: found[-1][1] for side, found in rounds.items()}
    rows = [
        {
            "model": system.name,
            "side": side,
            "samples/CPU s": round(last[side][0] / seconds[side], 1),
            "tokens per sample": round(last[side][1] / last[side][0], 2),
            "unfinished": last[side][2],
        }
        for side in SIDES
    ]
    ours, text = seconds["babelscope"], seconds["babelscope, with text"]
    ratios = {
        "model": system.name,
        "vs_hf_generate": seconds["transformers generate"] / ours,
        "vs_ctranslate2": seconds["ctranslate2 float32"] / ours,
        # Text and the check of its tokens included on our side only.
        "with_text_vs_hf_generate": seconds["transformers generate"] / text,
        "with_text_vs_ctranslate2": seconds["ctranslate2 float32"] / text,
        "sentences": len(sources),
        "samples": last["babelscope"][0],
        "unfinished": last["babelscope"][2],
    }
    return rows, ratios


def lab_material(n: int) -> tuple[HuggingFace, list[str]]:
    """The lab's teacher, and sentences of its own world."""
    return open_system("lab:teacher"), sources_of(f"lab:parallel?n={n}&seed=5")


def multi30k_material(n: int) -> tuple[HuggingFace, list[str]] | None:
    """A small real model with real captions, where the shared data is at hand."""
    real = multi30k()
    return (HuggingFace("m30k-ende", real[0]), real[1][:n]) if real else None


def main() -> None:
    options = arguments(__doc__ or "")
    n = 12 if options.quick else 48
    real = multi30k_material(n)
    # A quick run measures one model: the real one where it is at hand.
    materials = [real or lab_material(n)] if options.quick else [lab_material(n), *([real] if real else [])]
    for material in materials:
        rows, ratios = measure(*material, repeats=3 if options.quick else 5)
        show(rows, ratios, as_json=options.json)


if __name__ == "__main__":
    main()
