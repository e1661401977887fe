"""Minimum Bayes risk decoding by chrF among 200 samples: linear-time aggregation against all pairs, in one run."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from babelscope import open_system
from babelscope.metrics.chrf import METRIC, pairwise_chrf
from babelscope.metrics.mbr import aggregated_chrf
from babelscope.systems.models.hf import HuggingFace
from benchmarks.common import arguments, multi30k, ratio, rounds, show, sources_of

SAMPLES = 200
# All pairs one by one take seconds per sentence, so that few sentences are enough.
SLOW_SENTENCES = 2


def material(n: int) -> tuple[str, list[list[str]]]:
    """Samples of a small real model where the shared data is at hand, else of the lab's teacher."""
    real = multi30k()
    system = HuggingFace("m30k-ende", real[0]) if real else open_system("lab:teacher")
    sources = real[1][:n] if real else sources_of(f"lab:parallel?n={n}&seed=5")
    drawn = system.sample(sources, n=SAMPLES, seed=1)
    return system.name, [[each.text for each in own] for own in drawn]


def one_by_one(texts: Sequence[str]) -> list[float]:
    """Expected utilities by the plain quadratic algorithm: sacreBLEU's score of every pair."""
    scorer = METRIC._sentence_scorer
    return [sum(scorer.sentence_score(each, [other]).score for other in texts) / len(texts) for each in texts]


def measure(lists: Sequence[Sequence[str]], *, repeats: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Seconds a sentence of each way, how far the linear one is off, and what its choice loses."""

    def over(some: Sequence[Sequence[str]], expected: Callable[[Sequence[str]], Any]) -> Callable[[], object]:
        return lambda: [expected(texts) for texts in some]

    fast = {parts: lambda texts, parts=parts: aggregated_chrf(texts, texts, parts=parts) for parts in (1, 8)}
    sides = {
        "aggregated": over(lists, fast[1]),
        "aggregated, 8 parts": over(lists, fast[8]),
        "all pairs at once": over(lists, lambda texts: pairwise_chrf(texts, texts).mean(axis=1)),
    }
    seconds = rounds(sides, repeats=repeats)
    slow = rounds(
        {
            "one by one": over(lists[:SLOW_SENTENCES], one_by_one),
            "aggregated": over(lists[:SLOW_SENTENCES], fast[1]),
        },
        repeats=1,
    )
    rows = [
        {"side": name, "ms per sentence": 1000 * statistics.median(own) / len(lists)}
        for name, own in seconds.items()
    ]
    rows.append(
        {"side": "all pairs one by one", "ms per sentence": 1000 * slow["one by one"][0] / SLOW_SENTENCES}
    )
    ratios: dict[str, Any] = {
        "times_as_fast_as_all_pairs_at_once": ratio(seconds["all pairs at once"], seconds["aggregated"]),
        "times_as_fast_as_one_by_one": ratio(slow["one by one"], slow["aggregated"]),
    }
    for parts, expected in fast.items():
        ratios |= {f"{name}_{parts}_parts": value for name, value in _errors(lists, expected).items()}
    return rows, {**ratios, "sentences": len(lists), "samples": SAMPLES}


def _errors(lists: Sequence[Sequence[str]], expected: Callable[[Sequence[str]], Any]) -> dict[str, float]:
    """In points of chrF: how far scores are off, and what the choice loses by the quadratic score."""
    off, lost, same = [], [], 0
    for texts in lists:
        exact, fast = pairwise_chrf(texts, texts).mean(axis=1), expected(texts)
        off += np.abs(exact - fast).tolist()
        lost.append(float(exact.max() - exact[int(np.argmax(fast))]))
        same += lost[-1] < 1e-9
    return {
        "mean_error": statistics.mean(off),
        "largest_error": max(off),
        "mean_loss_of_choice": statistics.mean(lost),
        "largest_loss_of_choice": max(lost),
        "same_choice": same / len(lists),
    }


def main() -> None:
    options = arguments(__doc__ or "")
    name, lists = material(20 if options.quick else 100)
    rows, ratios = measure(lists, repeats=5)
    show([{"model": name, **row} for row in rows], {"model": name, **ratios}, as_json=options.json)


if __name__ == "__main__":
    main()
