"""Audits of error types: a sample of variants to be judged by hand, and error rates of detectors on references."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from babelscope.language.detecting import can_detect
from babelscope.language.fitness import other_language
from babelscope.language.registry import error_type, language
from babelscope.making.pairs import make_pairs
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


@dataclass(frozen=True, slots=True)
class DetectorCounts:
    """Alarms of a detector on translations of the sources for which it can raise any."""

    alarms: int
    """References, assumed to be right, that it reported as wrong."""
    references: int
    found: int
    """Variants with the error that it reported."""
    variants: int


def measure_detector(
    type: str,
    sources: Iterable[str],
    references: Iterable[str],
    *,
    seed: int = 0,
) -> DetectorCounts:
    """Run the detector of `type` on each reference, and on one variant of each that has the phenomenon."""
    made = error_type(type)
    if (detect := made.detect) is None:
        raise BabelscopeError(f"error type {type} has no detector")
    analyser = language(made.language).analyser()
    alarms = asked = found = variants = 0
    for number, (source, reference) in enumerate(zip(sources, references, strict=True), 1):
        if not source.strip() or not reference.strip() or not can_detect(type, source):
            continue
        if other_language(reference, made.language):
            continue
        asked += 1
        alarms += detect(source, analyser.analyse(reference))
        for pair in make_pairs(type, [source], [reference], seed=seed + number):
            variants += 1
            found += detect(source, analyser.analyse(pair.contrastive[0]))
    return DetectorCounts(alarms, asked, found, variants)
