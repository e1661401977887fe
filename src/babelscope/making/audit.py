"""Audits of error types: a sample of variants to be judged by hand."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Any

from babelscope.making.pairs import make_pairs
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
    """A random sample of `n` pairs, at most one a sentence, as rows to be judged; the texts are streamed."""
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
