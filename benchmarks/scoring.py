"""Scoring minimal pairs: Babelscope against plain transformers and CTranslate2, on the same model in one run."""

from __future__ import annotations

import functools
import multiprocessing
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import torch

from babelscope import load, open_system
from babelscope.systems.models.hf import HuggingFace
from babelscope.testsets import ParallelSentence
from benchmarks.common import arguments, convert_ct2, copy_files, multi30k, opened, ratio, show
from benchmarks.real_models import items

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


def babelscope(system: HuggingFace, pairs: Pairs, budget: int) -> list[list[float]]:
    """Our own way, `budget` decoder tokens per batch."""
    system._budget = budget
    return [list(scored.logprobs) for scored in system.score(pairs)]


def one_at_a_time(system: HuggingFace, pairs: Pairs, _: int) -> list[list[float]]:
    """The peers' way: a forward pass a pair."""
    return transformers_batched(system, pairs, 1)


@functools.cache
def _translators(folder: Path) -> dict[int, Any]:
    """CTranslate2 in float32, all cores on one batch or a batch a core."""
    cores = torch.get_num_threads()
    counts = sorted({1, cores})
    return dict(zip(counts, convert_ct2(folder, *((n, cores // n) for n in counts)), strict=True))


def ctranslate2_scores(
    system: HuggingFace, pairs: Pairs, size: int, *, own: bool = False
) -> list[list[float]]:
    """CTranslate2 with our tokenizer, `size` tokens per batch; its own default is all cores on one batch."""
    translators = _translators(system.folder)
    tokens = system.tokens
    sources = [list(tokens.tokens(row)) for row in tokens.encode_sources([source for source, _ in pairs])]
    targets = tokens.encode_targets([target for _, target in pairs], eos=system.vocabulary.eos)
    found = translators[max(translators) if own else 1].score_batch(
        sources,
        [list(tokens.tokens(row[:-1])) for row in targets],
        max_batch_size=size,
        batch_type="tokens",
        max_input_length=0,
    )
    return [answer.log_probs for answer in found]


SIDES: dict[str, tuple[Callable[..., list[list[float]]], tuple[Any, ...]]] = {
    "babelscope": (babelscope, (512, 1024)),
    "transformers, batched by length": (transformers_batched, (16, 32, 64)),
    "ctranslate2 float32": (ctranslate2_scores, (512, 1024, 2048)),
    "ctranslate2, a batch a core": (functools.partial(ctranslate2_scores, own=True), (512, 1024, 2048)),
    "transformers, one at a time": (one_at_a_time, (1,)),
}
"""Each side with the settings among which its best is taken."""


def _run(folder: str, side: str, setting: Any, pairs: Pairs) -> tuple[float, list[list[float]]]:
    """Seconds and answers of a side; called in a process of its own."""
    system = opened(folder)
    began = time.perf_counter()
    answers = SIDES[side][0](system, pairs, setting)
    return time.perf_counter() - began, answers


class Worker:
    """A side in a process of its own: torch and CTranslate2 in one process slow each other down tenfold."""

    def __init__(self, folder: Path, side: str) -> None:
        self._pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
        self._folder, self._side = str(folder), side

    def best_setting(self, pairs: Pairs) -> Any:
        """The setting with which a trial is fastest; the first call warms up and is not counted."""
        settings = SIDES[self._side][1]
        self.run(pairs, settings[0])
        return min(settings, key=lambda setting: min(self.run(pairs, setting)[0] for _ in range(2)))

    def run(self, pairs: Pairs, setting: Any) -> tuple[float, list[list[float]]]:
        """Seconds and answers; the threads of other processes have a moment to go to sleep first."""
        time.sleep(0.2)
        return self._pool.submit(_run, self._folder, self._side, setting, pairs).result()

    def close(self) -> None:
        self._pool.shutdown()


def compare(
    workers: dict[str, Worker], pairs: Pairs, *, repeats: int
) -> tuple[dict[str, list[float]], float]:
    """Seconds a round for all `pairs` by each side at its best setting, and the largest difference of a token."""
    # One at a time is slow: some pairs are timed, and their time scaled up.
    asked = {name: pairs[: len(pairs) // 6] if name.endswith("at a time") else pairs for name in workers}
    settings = {name: worker.best_setting(asked[name][: len(pairs) // 3]) for name, worker in workers.items()}
    seconds: dict[str, list[float]] = {name: [] for name in workers}
    answers: dict[str, list[list[float]]] = {}
    for _ in range(repeats):  # sides take turns, so that a machine's slow moments hit all alike
        for name, worker in workers.items():
            second, answers[name] = worker.run(asked[name], settings[name])
            seconds[name].append(second * len(pairs) / len(asked[name]))
    difference = max(
        abs(x - y)
        for name in workers
        for row, peer in zip(answers["babelscope"], answers[name], strict=False)
        for x, y in zip(row, peer, strict=True)
    )
    return seconds, difference


SHORT = {
    "transformers, batched by length": "vs_hf_batched",
    "transformers, one at a time": "vs_one_by_one",
    "ctranslate2 float32": "vs_ctranslate2",
    "ctranslate2, a batch a core": "vs_ctranslate2_a_batch_a_core",  # threads as we set ours; not its default
}
"""Names of ratios."""


def measure(
    system: HuggingFace,
    sources: list[str],
    targets: list[str],
    *,
    sides: Sequence[str] = tuple(SIDES),
    quick: bool,
) -> tuple[list[Any], Any]:
    """Rows of throughput and the ratios, for two and for ten targets per source."""
    asked = {
        2: variants(sources, targets, 2),
        10: variants(sources[: len(sources) // 3], targets[: len(targets) // 3], 10),
    }
    rows: list[dict[str, Any]] = []
    ratios: dict[str, Any] = {"model": system.name, "max_difference": 0.0}
    with tempfile.TemporaryDirectory() as folder:
        copy_files(system, Path(folder))
        workers = {name: Worker(Path(folder), name) for name in sides}
        for n, pairs in asked.items():
            own = {name: each for name, each in workers.items() if n == 2 or not name.endswith("at a time")}
            seconds, difference = compare(own, pairs, repeats=4 if quick else 9)
            ratios["max_difference"] = max(ratios["max_difference"], difference)
            for side, took in seconds.items():
                speed = round(len(pairs) / statistics.median(took), 1)
                rows.append({"model": system.name, "targets per source": n, "side": side, "targets/s": speed})
                if side in SHORT:
                    ratios[SHORT[side] + ("_10" if n == 10 else "")] = ratio(took, seconds["babelscope"])
        for worker in workers.values():
            worker.close()
    return rows, ratios


def lab_material(n: int) -> tuple[HuggingFace, list[str], list[str]]:
    """The lab's teacher, and sentences of its own world."""
    items = load(f"lab:parallel?n={n}&seed=5").items_of(ParallelSentence, what_for="scoring")
    return open_system("lab:teacher"), [i.source for i in items], [i.references[0] for i in items]


def multi30k_material(n: int) -> tuple[HuggingFace, list[str], list[str]] | None:
    """A small real model with real captions, where the shared data is at hand."""
    english, german = multi30k("en"), multi30k("de")
    if english is None or german is None:
        return None
    return HuggingFace("m30k-ende", english[0]), english[1][:n], german[1][:n]


def opus_material(folder: str, n: int) -> tuple[HuggingFace, list[str], list[str]]:
    """OPUS-MT, and Chinese sentences with human references."""
    found = items(n, "quality")
    return HuggingFace("opus", Path(folder)), [i.source for i in found], [i.references[0] for i in found]


def main() -> None:
    options = arguments(__doc__ or "", more={"--opus": "OPUS-MT's folder: it alone, against CTranslate2"})
    n = 240 if options.quick else 1000
    real = None if options.opus else multi30k_material(n)
    if options.opus:
        # transformers would take hours; `benchmarks.families` has it.
        material, sides = opus_material(options.opus, n // 8), ("babelscope", "ctranslate2 float32")
        show(*measure(*material, sides=sides, quick=options.quick), as_json=options.json)
        return
    # A quick run measures one model: the real one where it is at hand.
    materials = [real or lab_material(n)] if options.quick else [lab_material(n), *([real] if real else [])]
    for material in materials:
        rows, ratios = measure(*material, quick=options.quick)
        show(rows, ratios, as_json=options.json)


if __name__ == "__main__":
    main()
