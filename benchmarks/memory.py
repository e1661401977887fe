"""Memory of exact search on a model of OPUS-MT's size: random weights, a vocabulary of 60,000, 1,000 open prefixes.

A random model has the widest space there is, so the search runs until its budget is spent. Beyond the budget, which
is for keys, values and open prefixes, a search holds one piece of logits (2^22 numbers of 4 bytes) and what is
computed from it, for which half as much is granted; all three together are printed as `allowed`.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import torch

from babelscope.core.answers import Budget
from babelscope.decoding.exact import exact_search
from benchmarks.common import arguments, forget_peak, peak_mb, random_marian, show

_VOCABULARY, _MB = 60_000, 2**20


def measured(megabytes: int) -> dict[str, Any]:
    """What a search with that budget adds to a process that has done nothing else of weight."""
    torch.set_num_threads(1)
    model = random_marian(_VOCABULARY, 512, 6)
    source = [*range(100, 125), 0]
    exact_search(model, [source], k=10, budget=Budget(expansions=20))  # buffers of the libraries
    forget_peak()
    before = peak_mb()
    budget = Budget(bytes=megabytes * _MB, expansions=3000)
    [found] = exact_search(model, [source], k=10, budget=budget)
    return {
        "budget_mb": megabytes,
        "expansions": found.expansions,
        "exact": found.exact,
        "grown_mb": peak_mb() - before,
        "allowed_mb": megabytes + 2**22 * 4 * 1.5 / _MB,
    }


def main() -> None:
    options = arguments(__doc__ or "")
    budgets = (32, 64) if options.quick else (32, 64, 128)
    # A process each: what an earlier search leaves unused in the heap is not the next one's.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as workers:
        rows = list(workers.map(measured, budgets))
    within = all(row["grown_mb"] <= row["allowed_mb"] for row in rows)
    show(rows, {"within_budget": within}, as_json=options.json)


if __name__ == "__main__":
    main()
