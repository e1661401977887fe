"""How far a detector can be trusted: asked about references, and about references with the error put in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from babelscope.errors import BabelscopeError
from babelscope.language.german import Analyzer, default_analyzer
from babelscope.making.pairs.making import make_pairs
from babelscope.making.pairs.registry import error_type


@dataclass(frozen=True, slots=True)
class DetectorCounts:
    """What a detector said, as counts, so that intervals can be put on the rates."""

    alarms: int
    """References, thought to be right, that it took for wrong."""
    references: int
    found: int
    """Variants with the error that it found."""
    variants: int

    @property
    def false_positive_rate(self) -> float:
        return self.alarms / self.references if self.references else float("nan")

    @property
    def sensitivity(self) -> float:
        return self.found / self.variants if self.variants else float("nan")


def measure_detector(
    type: str,
    sources: Iterable[str],
    references: Iterable[str],
    *,
    seed: int = 0,
    analyzer: Analyzer | None = None,
) -> DetectorCounts:
    """Ask the detector of `type` about each reference, and about one variant of each that has the phenomenon."""
    detect = error_type(type).detect
    if detect is None:
        raise BabelscopeError(f"error type {type} has no detector")
    analyzer = analyzer or default_analyzer()
    alarms = asked = found = variants = 0
    for source, reference in zip(sources, references, strict=True):
        if not source.strip() or not reference.strip():
            continue
        asked += 1
        alarms += detect(source, analyzer.analyse(reference))
        for pair in make_pairs(type, [source], [reference], seed=seed + asked, analyzer=analyzer):
            variants += 1
            found += detect(source, analyzer.analyse(pair.contrastive[0]))
    return DetectorCounts(alarms, asked, found, variants)
