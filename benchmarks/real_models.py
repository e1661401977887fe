"""Methods on real models: OPUS-MT Chinese-English and SmolLM2-135M, as docs/measured/real-models.md.

FOLDER has the models as `../shared/tools/real-models FOLDER` makes them. The items are the first Chinese sentences of
DEMETR's negation set: machine translations with and without their negation, and human references. Each job runs in a
process of its own with one thread; seconds are of the processor, opening the model included, and memory is the
process's peak. A method that refuses a model has its reason in the table.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.common import peak_mb, shared

MODELS = {
    "opus-zh-en": "hf:{}/opus-zh-en",
    "opus-zh-en-ct2": "ct2:{}/opus-zh-en-ct2",
    "smollm2": "llm:{}/smollm2?source=Chinese&target=English&max_length=96",
}
"""Systems by the names of their folders."""
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "contrast": {"discrepancy": "none", "spread": 0},
    "likelihood": {},
    "quality": {},
    "space": {"k": 1, "samples": 10, "budget_expansions": 100},
    "errors": {},
    "prompted_choice": {},
}
"""Methods, each with its settings."""
FIGURES = {
    "contrast": ("all",),
    "likelihood": ("logprob", "perplexity"),
    "quality": ("chrf", "bleu"),
    "space": ("empty_mode", "search_error", "krg_above_random", "expansions"),
    "prompted_choice": ("answer_accuracy", "answer_undecided"),
}
"""The figures of the table; of several with one name, the first."""
COUNTS = ("correct", "ties", "changed", "unresolved", "wrong_language", "unfinished", "undecided", "skipped")
"""Counts of the table, where they are not zero."""
_SET = "critical_id8_negation"
_CHINESE = "chinese_simple"
_COLUMNS = ("model", "method", "figure", "value", "95 % interval", "n", "counts", "seconds", "MB")


def items(n: int, method: str) -> list[Any]:
    """The first `n` Chinese items: minimal pairs, or parallel sentences where the method judges those."""
    from babelscope import load
    from babelscope.testsets.items import MinimalPair, ParallelSentence

    path = shared("data", "demetr", f"{_SET}.json")
    if path is None:
        raise SystemExit("no shared data (set BABELSCOPE_SHARED)")
    pairs = load(f"demetr:{path}").items_of(MinimalPair, what_for="a benchmark")
    chinese = [each for each in pairs if each.extra["lang_tag"] == _CHINESE][:n]
    if method in ("contrast", "prompted_choice"):
        return chinese
    return [
        ParallelSentence(each.id, each.source, (each.extra["human_reference"],), target_language="en")
        for each in chinese
    ]


def run(spec: str, method: str, n: int) -> dict[str, Any]:
    """One job: its rows as JSON, or why it was refused; processor seconds and peak memory."""
    import torch

    import babelscope

    torch.set_num_threads(1)
    began = time.process_time()
    found: dict[str, Any] = {}
    try:
        result = getattr(babelscope, method)({"model": spec}, items(n, method), **SETTINGS[method])
        found["rows"] = [row.as_json() for row in result.rows]
    except babelscope.BabelscopeError as error:
        found["refused"] = str(error).replace("\n", " ")
    return {**found, "seconds": time.process_time() - began, "mb": peak_mb()}


def lines(model: str, method: str, job: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    """The lines of the table that one job gives."""
    cost = (f"{job['seconds']:.0f}", f"{job['mb']:,.0f}")
    if "refused" in job:
        yield (model, method, "refused", "", "", "", "", "", "")
        return
    for name in FIGURES[method]:
        row = next(each for each in job["rows"] if each["name"] == name)
        counts = ", ".join(f"{key} {row[key]}" for key in COUNTS if row.get(key))
        value = "–" if row["value"] is None else f"{row['value']:.4g}"
        interval = "–" if row["low"] is None else f"{row['low']:.4g} to {row['high']:.4g}"
        yield (model, method, name, value, interval, str(row["n"]), counts, *cost)


def page(jobs: Mapping[tuple[str, str], Mapping[str, Any]], folder: Path, command: str) -> str:
    """The page of the documentation, as Markdown."""
    table = [_COLUMNS, ["---"] * len(_COLUMNS)]
    table += [line for (model, method), job in jobs.items() for line in lines(model, method, job)]
    refused = [
        f"- {model}, {method}: {job['refused'].replace(f'{folder}/', '')}"
        for (model, method), job in jobs.items()
        if "refused" in job
    ]
    settings = json.dumps({name: own for name, own in SETTINGS.items() if own})
    return "\n".join(
        [
            "# Methods on real models",
            "",
            f"Printed by `{command}`; `../shared/tools/real-models FOLDER` makes the models.",
            "",
            "The items are the first Chinese sentences of DEMETR's negation set: machine translations with and "
            "without their negation for contrast and prompted_choice, human references for the other methods. "
            "Seconds are of one core and include opening the model; MB is the peak memory of the job's process. "
            "Where a search is unresolved, its budget ended before the mode was proven, and empty_mode and "
            "search_error are of the best that was found; their intervals cover whatever the search would have "
            "found, which is open for items counted as undecided. "
            f"Settings other than the defaults: `{settings}`.",
            "",
            *("| " + " | ".join(line) + " |" for line in table),
            "",
            "## Refused",
            "",
            *refused,
            "",
        ]
    )


def main() -> None:
    """Run every method on every model, one process at a time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--n", type=int, default=30, help="items for OPUS-MT")
    parser.add_argument("--n-llm", type=int, default=5, help="items for SmolLM2, which is slow")
    parser.add_argument("--out", type=Path, default=Path("docs/measured/real-models.md"))
    asked = parser.parse_args()
    command = f"python -m benchmarks.real_models FOLDER --n {asked.n} --n-llm {asked.n_llm}"
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    jobs = {}
    for model, spec in MODELS.items():
        n = asked.n_llm if spec.startswith("llm:") else asked.n
        for method in SETTINGS:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as worker:
                job = worker.submit(run, spec.format(asked.folder), method, n).result()
            jobs[model, method] = job
            print(model, method, job.get("refused", ""), f"{job['seconds']:.0f} s", flush=True)
            # After each job, so that what is stopped is not lost.
            asked.out.write_text(page(jobs, asked.folder, command), encoding="utf-8")


if __name__ == "__main__":
    main()
