"""Detectors of errors in free translations, and how far they can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from babelscope.language.german import Analysed, Analyzer, default_analyzer
from babelscope.making.pairs.clause_omission import boundaries
from babelscope.making.pairs.making import make_pairs
from babelscope.making.pairs.polarity import (
    source_has_affix,
    source_has_no,
    source_has_particle,
    source_is_positive,
)
from babelscope.making.pairs.registry import ERROR_TYPES, error_type
from babelscope.util.errors import BabelscopeError

Detector = Callable[[str, Analysed], bool]

# What a detector looks for in the source before it looks at the translation; all others do only the latter.
_LOOKS_FOR: Mapping[str, Callable[[str], object]] = {
    "clause_omission": boundaries,
    "polarity_affix_del": source_has_affix,
    "polarity_particle_kein_del": source_has_no,
    "polarity_particle_kein_ins": source_is_positive,
    "polarity_particle_nicht_del": source_has_particle,
    "polarity_particle_nicht_ins": source_is_positive,
}


@cache
def detectors() -> Mapping[str, Detector]:
    """The detectors by the names of their error types."""
    found = ((name, error_type(name).detect) for name in ERROR_TYPES)
    return {name: detect for name, detect in found if detect is not None}


def looks_at_source(type: str) -> bool:
    """Whether a detector raises alarms for some sources only.

    References that pairs were made of have the phenomenon, so such a detector raises no alarm on them: that
    it is silent there tells nothing about other translations of the same sources.
    """
    return type in _LOOKS_FOR


def exposed(type: str, source: str) -> bool:
    """Whether the detector of `type` can raise an alarm for any translation of `source`."""
    return type not in _LOOKS_FOR or bool(_LOOKS_FOR[type](source))


def analysis_version() -> str:
    """The packages that the German analysis is made with, or nothing if one is not installed."""
    try:
        return ", ".join(f"{package} {version(package)}" for package in ("HanTa", "german-nouns"))
    except PackageNotFoundError:
        return ""


@dataclass(frozen=True, slots=True)
class DetectorCounts:
    """What a detector said about translations of the sources it is exposed to, as counts."""

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
    for number, (source, reference) in enumerate(zip(sources, references, strict=True), 1):
        if not source.strip() or not reference.strip() or not exposed(type, source):
            continue
        asked += 1
        alarms += detect(source, analyzer.analyse(reference))
        for pair in make_pairs(type, [source], [reference], seed=seed + number, analyzer=analyzer):
            variants += 1
            found += detect(source, analyzer.analyse(pair.contrastive[0]))
    return DetectorCounts(alarms, asked, found, variants)
