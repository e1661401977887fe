"""Exact search within a budget: which treatment of unresolved searches is nearer to the full search.

Real models (multi30k, where the shared data is at hand) and the lab's are searched with budgets of 100 to 20,000
expansions and with none. Each line has a figure under both treatments, the bounds that hold whatever the unresolved
searches would have found, and the full search's value; the last lines have the mean distance of each treatment from
that. The answers are kept where $BABELSCOPE_CACHE says so: the full search takes minutes.
"""

from __future__ import annotations

import os
import random
import statistics
from collections.abc import Sequence
from typing import Any

import torch

from babelscope import load, open_system, space
from babelscope.core.results import Row
from babelscope.methods.space.figures import TREATMENTS, budget_bounds
from babelscope.systems.cache import cached
from babelscope.testsets import ParallelSentence
from benchmarks.common import arguments, multi30k, shared, show

_BUDGETS = (100, 300, 1000, 2000, 5000, 20_000)
_MEASURES = ("empty_mode", "krg", "kqrg", "krg_beam_minus_exact", "kqrg_beam_minus_exact", "search_error")


def sentences(count: int) -> list[ParallelSentence]:
    """Random sentences of multi30k's test_2016_flickr with their references; none where it is absent."""
    english, german = multi30k("en"), multi30k("de")
    if english is None or german is None:
        return []
    chosen = sorted(random.Random(1).sample(range(len(english[1])), count))
    return [ParallelSentence(str(each), english[1][each], (german[1][each],)) for each in chosen]


def tasks(quick: bool) -> dict[str, tuple[str, Any]]:
    """Name of a model -> how it is opened, and what it translates."""
    count = 20 if quick else 100
    found: dict[str, tuple[str, Any]] = {}
    if real := sentences(count):
        for name in ("m30k-ende", "m30k-ende-nols"):
            found[name] = f"hf:{shared('models', name)}", real
    for name in ("lab:teacher", "lab:student"):
        found[name] = name, load(f"lab:parallel?n={count}&seed=2026")
    return found


def true_values(rows: Sequence[Row]) -> dict[str, float]:
    """The measures of a full search, by the names that treatments have."""
    found = {}
    for row in rows:
        labels = row.labels
        if row.name == "beam_minus_exact":
            found[f"{labels['measure']}_beam_minus_exact"] = row.estimate.value
        is_top = (labels.get("region"), labels.get("view")) == ("top", "tokens")
        if is_top or (row.name == "search_error" and labels["decoding"] == "beam"):
            found[row.name] = row.estimate.value
    return found


def main() -> None:
    options = arguments(__doc__ or "")
    torch.set_num_threads(1)
    lines: list[dict[str, Any]] = []
    distances: dict[str, list[float]] = {name: [] for name in TREATMENTS}
    for model, (spec, items) in tasks(options.quick).items():
        system: Any = open_system(spec)
        if os.environ.get("BABELSCOPE_CACHE"):
            system = cached(system)
        full = true_values(space(system, items, k=10, samples=0).rows)
        for budget in _BUDGETS:
            rows = space(system, items, k=10, samples=0, budget_expansions=budget).rows
            treated = budget_bounds(rows)
            for measure in _MEASURES:
                if own := treated.get(measure):
                    lines.append(line(model, budget, measure, own, full[measure]))
                    for name in TREATMENTS:
                        apart = abs(own[name].estimate.value - full[measure])
                        distances[name] += [100 * apart] if own[name].estimate.n else []
    show(lines, {name: statistics.mean(each) for name, each in distances.items()}, as_json=options.json)


def line(model: str, budget: int, measure: str, own: dict[str, Row], full: float) -> dict[str, Any]:
    """One measure at one budget, in percent."""
    values = {
        name: round(100 * own[name].estimate.value, 2) if name in own else None
        for name in (*TREATMENTS, "at-least", "at-most")
    }
    resolved = own["leave-out"].estimate.n
    counts = {"n": own["keep"].estimate.n, "proven": resolved}
    return {
        "model": model,
        "budget": budget,
        "measure": measure,
        **counts,
        **values,
        "full": round(100 * full, 2),
    }


if __name__ == "__main__":
    main()
