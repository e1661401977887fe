"""Reading a sample of variants by hand: are they really wrong?"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from babelscope.making.pairs.making import make_pairs
from babelscope.util.errors import BabelscopeError
from babelscope.util.seeds import stream


def sample_for_audit(
    type: str,
    sources: Iterable[str],
    references: Iterable[str],
    *,
    n: int = 30,
    seed: int = 0,
    mode: str | None = None,
) -> list[dict[str, Any]]:
    """A random sample of pairs, at most one a sentence, as rows to be judged; memory does not grow with the texts."""
    random = stream(seed, f"audit/{type}")
    drawn = (
        (float(random.random()), number, pair)
        for number, pair in enumerate(make_pairs(type, sources, references, seed=seed, mode=mode))
    )
    chosen = heapq.nsmallest(n, drawn, key=lambda each: each[:2])
    return [
        {
            "id": pair.id,
            "type": type,
            "source": pair.source,
            "reference": pair.correct,
            "variant": pair.contrastive[0],
            "word": pair.extra["word"],
            "changed": pair.extra["changed"],
            "really_wrong": None,
        }
        for _, _, pair in sorted(chosen, key=lambda each: each[1])
    ]


def count_audit(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each type how many were judged, and which share is really wrong; what is not judged is left out."""
    judged: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for number, row in enumerate(rows, 1):
        answer = row.get("really_wrong")
        if answer is None:
            continue
        if answer not in (True, False, "yes", "no"):
            raise BabelscopeError(f"row {number}: 'really_wrong' must be yes or no, not {answer!r}")
        if not isinstance(name := row.get("type"), str):
            raise BabelscopeError(f"row {number}: 'type' must be text")
        judged[name] += 1
        wrong[name] += answer in (True, "yes")
    return [
        {"name": name, "value": wrong[name] / judged[name], "wrong": wrong[name], "n": judged[name]}
        for name in sorted(judged)
    ]
