"""What the benchmarks share: arguments, timing, tables."""

from __future__ import annotations

import argparse
import functools
import gzip
import json
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any


def arguments(
    description: str, *, devices: bool = False, more: Mapping[str, str] | None = None
) -> argparse.Namespace:
    """What was asked for; `devices` for benchmarks that can be run on a GPU, `more` for options with their help."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="minutes, not an hour")
    parser.add_argument(
        "--json", action="store_true", help="one JSON object per line; the last one has the ratios"
    )
    if devices:
        parser.add_argument("--device", default="cpu", help="cpu, cuda or mps")
    for option, help_text in (more or {}).items():
        parser.add_argument(option, default="", help=help_text)
    return parser.parse_args()


def settle(device: str) -> None:
    """Wait for what a GPU has been told to do, which it does while the clock runs on."""
    import torch

    if device.startswith("cuda"):
        torch.cuda.synchronize(device)
    elif device.startswith("mps"):
        torch.mps.synchronize()


def shared(*parts: str) -> Path | None:
    """A path in the shared data folder, or None where that is absent."""
    path = Path(os.environ.get("BABELSCOPE_SHARED", Path(__file__).parents[2] / "shared"), *parts)
    return path if path.exists() else None


def sources_of(spec: str) -> list[str]:
    """The source sentences of a parallel test set."""
    from babelscope import load
    from babelscope.testsets.items import ParallelSentence

    return [item.source for item in load(spec).items_of(ParallelSentence, what_for="a benchmark")]


def multi30k(language: str = "en") -> tuple[Path, list[str]] | None:
    """A small real model and real captions in its source language, where the shared data is at hand."""
    folder, data = (
        shared("models", "m30k-ende"),
        shared("data", "multi30k", f"test_2016_flickr.{language}.gz"),
    )
    if folder is None or data is None:
        return None
    with gzip.open(data, "rt", encoding="utf-8", newline="\n") as file:
        return folder, file.read().removesuffix("\n").split("\n")


def copy_files(system: Any, folder: Path) -> None:
    """Copy the files of a system's network and tokenizer, for processes that open it on their own."""
    for path in {*system.folder.iterdir(), *system.tokens.folder.iterdir()}:
        (folder / path.name).write_bytes(path.read_bytes())


@functools.cache
def opened(folder: str) -> Any:
    """The system in a folder, opened once a process."""
    from babelscope.systems.models.hf import HuggingFace

    return HuggingFace("benchmark", Path(folder))


def convert_ct2(folder: Path, *threads: tuple[int, int]) -> list[Any]:
    """CTranslate2 translators in float32, one for each of (batches at once, threads a batch)."""
    import ctranslate2

    with tempfile.TemporaryDirectory() as temporary, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        converted = ctranslate2.converters.TransformersConverter(str(folder)).convert(f"{temporary}/model")
        return [
            ctranslate2.Translator(
                converted, compute_type="float32", inter_threads=inter, intra_threads=intra
            )
            for inter, intra in threads
        ]


def random_marian(vocabulary: int, width: int, layers: int) -> Any:
    """An OpenModel of Marian's shape with random weights; 60,000, 512 and 6 are OPUS-MT's size."""
    import torch
    from transformers import MarianConfig, MarianMTModel

    from babelscope.decoding.families.encoder_decoder import EncoderDecoder, weights_of
    from babelscope.decoding.model import Vocabulary

    torch.manual_seed(1)
    pad, heads = vocabulary - 1, max(1, width // 64)
    network = MarianMTModel(
        MarianConfig(
            vocab_size=vocabulary, d_model=width, encoder_layers=layers, decoder_layers=layers,
            encoder_ffn_dim=4 * width, decoder_ffn_dim=4 * width, encoder_attention_heads=heads,
            decoder_attention_heads=heads, pad_token_id=pad, eos_token_id=0, decoder_start_token_id=pad,
            forced_eos_token_id=None, scale_embedding=True, share_encoder_decoder_embeddings=True,
            activation_function="swish",
        )
    ).eval()  # fmt: skip
    return EncoderDecoder(weights_of(network), Vocabulary(vocabulary, (pad,), 0, (pad,), 512, 512))


def forget_peak() -> None:
    """Let `peak_mb` begin anew from what is held now: opening a model may have taken more. Linux only."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> float:
    """The most memory (RSS) this process has had, in MB. Linux only."""
    [line] = [each for each in Path("/proc/self/status").read_text().splitlines() if each.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def rounds(sides: Mapping[str, Callable[[], object]], *, repeats: int) -> dict[str, list[float]]:
    """Seconds of each side in each round; sides take turns, so that a machine's slow moments hit all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(repeats):
        for name, run in sides.items():
            began = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - began)
    return seconds


def ratio(other: Sequence[float], ours: Sequence[float]) -> float:
    """How many times as long the other side takes: the median over rounds, each compared within itself."""
    return statistics.median(a / b for a, b in zip(other, ours, strict=True))


def show(rows: Sequence[Mapping[str, Any]], ratios: Mapping[str, Any], *, as_json: bool) -> None:
    """Rows as a table (or JSON lines), then the ratios."""
    if as_json:
        for row in [*rows, ratios]:
            print(json.dumps(row, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 120)
    table = Table(*rows[0])
    for row in rows:
        table.add_row(
            *(f"{value:,.6g}" if isinstance(value, float) else str(value) for value in row.values())
        )
    console.print(table)
    for name, value in ratios.items():
        console.print(f"{name:32} {value:,.6g}" if isinstance(value, float) else f"{name:32} {value}")
