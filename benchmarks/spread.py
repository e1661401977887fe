"""Exact search in Ray workers: two workers against one, on the same sentences in one run.

Each worker has one thread. Sentences are the test set's first ones; a budget ends the widest searches, so that the
run ends too. The same parts are searched in this process as well: answers must be the same to the last bit, wherever
they come from. Starting Ray and opening models is not in the seconds.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from babelscope import open_system
from babelscope.core.system import Budget, TopK
from babelscope.systems.clusters import connect
from babelscope.systems.ray import balanced_parts, spread
from benchmarks.common import arguments, multi30k, ratio, rounds, show, sources_of

_PART = 8
_BUDGET = Budget(expansions=1500)


def task(quick: bool) -> tuple[str, list[str]]:
    """A model and sentences for it: a real one where the shared data is, else the lab's."""
    count = 96 if quick else 480
    if real := multi30k():
        return f"hf:{real[0]}", real[1][:count]
    return "lab:teacher", sources_of(f"lab:parallel?n={count}&seed=2026")


def search(system: Any, sources: list[str]) -> list[TopK]:
    found: list[TopK] = system.top_k(sources, k=10, budget=_BUDGET)
    return found


def search_here(spec: str, sources: list[str]) -> list[TopK]:
    """The same in this process, part by part."""
    plain = open_system(spec)
    found: dict[int, TopK] = {}
    for part in balanced_parts(sources, [len(source) for source in sources], _PART):
        some = search(plain, [sources[number] for number in part])
        found |= zip(part, some, strict=True)
    return [found[number] for number in range(len(sources))]


def main() -> None:
    options = arguments(__doc__ or "")
    torch.set_num_threads(1)
    spec, sources = task(options.quick)
    answers: dict[str, list[TopK]] = {"none": search_here(spec, sources)}
    with contextlib.ExitStack() as stack:
        connect(3, None, 1)
        one = stack.enter_context(spread(spec, workers=1, part=_PART))
        two = stack.enter_context(spread(spec, workers=2, part=_PART))
        search(two, sources)  # until both have opened their model
        seconds = rounds(
            {
                "one": lambda: answers.update(one=search(one, sources)),
                "two": lambda: answers.update(two=search(two, sources)),
            },
            repeats=3 if options.quick else 7,
        )
    show(
        [
            {"workers": name, "round": number, "seconds": each}
            for name in seconds
            for number, each in enumerate(seconds[name], 1)
        ],
        {
            "speedup": ratio(seconds["one"], seconds["two"]),
            "identical": answers["none"] == answers["one"] == answers["two"],
            "sentences": len(sources),
            "expansions": sum(each.expansions for each in answers["none"]),
            "exact": sum(each.exact for each in answers["none"]),
        },
        as_json=options.json,
    )


if __name__ == "__main__":
    main()
