"""How cost grows: time and memory against sentences, length, k, vocabulary, size of the model, and workers.

Every point is measured in a process of its own with one thread: processor seconds of the work alone, the least of
three times (wall seconds for workers), and by how much it raised the process's peak memory. An exponent is the slope
of log cost against log size, with the 95 % interval of least squares: 1 is linear, 0 is flat. Models whose size is
varied have random weights, of which the cost of an expansion does not depend (how many there are does). The table is
written to --out as Markdown, too.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import forget_peak, peak_mb, random_marian, show

Row = dict[str, Any]
Work = Callable[[], object]
_HOME = Path(__file__).parents[1]


@dataclass(frozen=True)
class Job:
    """What is done at several sizes; `prepare` opens the model and gives the work, and how often its unit is done."""

    what: str
    size: str
    """What the sizes count."""
    sizes: tuple[int, ...]
    unit: str
    prepare: Callable[[int], tuple[Work, int]]
    clock: Callable[[], float] = time.process_time


def sentences() -> Iterator[str]:
    """Sentences of the lab, all different: what is asked twice is computed once."""
    from babelscope.lab.grammar.corpus import generate

    seen = set()
    for pair in generate(1_000_000, seed=2026, split="all"):
        if pair.source not in seen:
            seen.add(pair.source)
            yield pair.source


def scoring(pairs: int, length: int) -> tuple[Work, int]:
    """Score sentences of so many words or a little more, made of sentences of the lab, as their own translation."""
    from babelscope import open_system

    system = open_system("lab:teacher")
    one = sentences()
    texts = []
    for _ in range(pairs):
        words: list[str] = []
        while len(words) < length:
            words += next(one).split()
        texts.append(" ".join(words))
    system.score([(text, text) for text in texts[:100]])
    return lambda: system.score([(text, text) for text in texts]), pairs


def translating(pairs: int) -> tuple[Work, int]:
    from babelscope import open_system

    system = open_system("lab:teacher")
    sources = list(itertools.islice(sentences(), pairs))
    return lambda: system.translate(sources, beam=5), pairs


def searching(k: int) -> tuple[Work, int]:
    """The exact top k of 24 sentences."""
    from babelscope import open_system

    system = open_system("lab:student")
    sources = list(itertools.islice(sentences(), 24))
    return lambda: system.top_k(sources, k=k), len(sources)


def expanding(vocabulary: int = 8000, width: int = 128, layers: int = 3) -> tuple[Work, int]:
    """The next tokens of 256 prefixes of 32 sources, as in a search, eight times, by a random Marian."""
    model = random_marian(vocabulary, width, layers)
    sources = [[*range(100 + number, 125 + number), 0] for number in range(32)]

    def work() -> None:
        memory = model.encode(sources)
        nodes = np.repeat(np.arange(len(sources)), 8)
        for step in range(8):
            first = memory.size
            model.step(memory, nodes, np.full(len(nodes), 5 + step))
            nodes = np.arange(first, memory.size)

    return work, 8 * 8 * len(sources)


# As large as a model of multi30k, OPUS-MT (Marian's base), and NLLB-200's smallest: vocabulary, width, layers.
_MODELS = {2: (4_000, 128, 3), 75: (60_000, 512, 6), 615: (256_000, 1024, 12)}


def working(workers: int) -> tuple[Work, int]:
    """Exact search by so many Ray workers."""
    from babelscope.systems.clusters import connect
    from babelscope.systems.ray import spread
    from benchmarks.spread import search, task

    spec, sources = task(quick=True)
    connect(workers, None, 1)
    system = spread(spec, workers=workers, part=8)
    search(system, sources)  # until all have opened their model
    return lambda: search(system, sources), len(sources)


JOBS = (
    Job("score", "sentences", (500, 1000, 2000, 4000), "pair", lambda n: scoring(n, 1)),
    Job("score", "words per sentence", (8, 16, 32, 64, 128), "pair", lambda n: scoring(200, n)),
    Job("translate, beam 5", "sentences", (100, 200, 400, 800), "sentence", translating),
    Job("exact top k", "k", (1, 2, 5, 10, 20, 50), "sentence", searching),
    Job("expand", "vocabulary", (1000, 4000, 16000, 64000), "expansion", lambda n: expanding(vocabulary=n)),
    Job("expand", "width", (128, 256, 512, 1024), "expansion", lambda n: expanding(width=n)),
    Job("expand", "layers", (1, 2, 4, 8), "expansion", lambda n: expanding(width=256, layers=n)),
    Job("expand", "million parameters", tuple(_MODELS), "expansion", lambda n: expanding(*_MODELS[n])),
    Job("exact over Ray", "workers", (1, 2), "sentence", working, clock=time.perf_counter),
)


def point(job: Job, size: int) -> Row:
    """One measurement, in this process."""
    import torch

    torch.set_num_threads(1)
    work, units = job.prepare(size)
    forget_peak()
    before = peak_mb()
    seconds = []
    for _ in range(3):
        began = job.clock()
        work()
        seconds.append(job.clock() - began)
    return _row(job.what, job.size, size, min(seconds), units, job.unit, peak_mb() - before)


def exponent(rows: Sequence[Row], cost: str) -> tuple[float, float, float]:
    """Slope of log cost against log n with its 95 % interval; NaN where there is no interval, or cost to speak of."""
    from scipy.stats import linregress, t

    costs = [row[cost] for row in rows]
    if min(costs) < (1 if cost == "grown_mb" else 0):
        return math.nan, math.nan, math.nan
    fit = linregress([math.log(row["n"]) for row in rows], [math.log(each) for each in costs])
    half = float(t.ppf(0.975, len(rows) - 2)) * fit.stderr
    return fit.slope, fit.slope - half, fit.slope + half


def corpora(n: int) -> list[Row]:
    """`make challenge` and `make pairs` by the pairs they have read, counted from an eighth on."""
    from benchmarks import corpus

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        corpus.write(folder, n)
        for command in corpus.COMMANDS:
            first, *others = corpus.run(Path(folder), command, n)
            for row in others:
                pairs, seconds = row["n"] - first["n"], row["seconds"] - first["seconds"]
                grown = max(0.0, row["memory_mb"] - first["memory_mb"])
                rows.append(_row(f"make {command}", "pairs", pairs, seconds, pairs, "pair", grown))
    return rows


def _row(what: str, size: str, n: int, seconds: float, units: int, unit: str, grown: float) -> Row:
    return {
        "what": what,
        "size": size,
        "n": n,
        "seconds": seconds,
        "ms_a_unit": 1000 * seconds / units,
        "unit": unit,
        "grown_mb": grown,
    }


def fitted(rows: Sequence[Row]) -> list[Row]:
    """Exponents of time and memory of each job."""
    fits = []
    for what, size in dict.fromkeys((row["what"], row["size"]) for row in rows):
        own = [row for row in rows if (row["what"], row["size"]) == (what, size)]
        fit: Row = {"what": what, "size": size, "points": len(own)}
        for cost, name in (("seconds", "time"), ("grown_mb", "memory")):
            fit |= zip((name, f"{name}_low", f"{name}_high"), exponent(own, cost), strict=True)
        fits.append(fit)
    return fits


def markdown(rows: Sequence[Row], fits: Sequence[Row]) -> str:
    """Both tables."""
    lines = ["| what | size | n | seconds | ms a unit | memory, MB more |", "|---|---|--:|--:|--:|--:|"]
    for row in rows:
        lines.append(
            f"| {row['what']} | {row['size']} | {row['n']:,} | {row['seconds']:.3g} | "
            f"{row['ms_a_unit']:.3g} a {row['unit']} | {row['grown_mb']:.1f} |"
        )
    lines += [
        "",
        "| what | against | exponent of time | exponent of memory | points |",
        "|---|---|---|---|--:|",
    ]
    for fit in fits:
        told = [
            "none"
            if math.isnan(fit[name])
            else f"{fit[name]:.2f}"
            if math.isnan(fit[f"{name}_low"])
            else f"{fit[name]:.2f} ({fit[f'{name}_low']:.2f} to {fit[f'{name}_high']:.2f})"
            for name in ("time", "memory")
        ]
        lines.append(f"| {fit['what']} | {fit['size']} | {told[0]} | {told[1]} | {fit['points']} |")
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="the three smallest sizes of each")
    parser.add_argument("--json", action="store_true", help="one JSON object per line; exponents last")
    parser.add_argument("--out", type=Path, help="a file for the tables")
    parser.add_argument("--point", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.point:
        number, size = options.point
        print(json.dumps(point(JOBS[number], size)))
        return
    rows = []
    for number, job in enumerate(JOBS):
        for size in job.sizes[:3] if options.quick else job.sizes:
            asked = [sys.executable, "-m", "benchmarks.growth", "--point", str(number), str(size)]
            said = subprocess.run(asked, cwd=_HOME, check=True, stdout=subprocess.PIPE, text=True).stdout
            rows.append(json.loads(said.splitlines()[-1]))
            print(said.splitlines()[-1], file=sys.stderr)
    rows += corpora(8000 if options.quick else 64000)
    fits = fitted(rows)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(markdown(rows, fits), encoding="utf-8")
    show(rows, {f"{fit['what']} / {fit['size']}": fit["time"] for fit in fits}, as_json=options.json)


if __name__ == "__main__":
    main()
