"""Decoding by metrics: a system's candidates, which of them is chosen, and the figures.

Minimum Bayes risk decoding compares candidates with each other; reranking asks a metric that needs no reference.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from babelscope.core.results import Estimate, Result, Row
from babelscope.core.system import Diversity, Drawing, Scored, capabilities, properties
from babelscope.core.tokenizers import find_tokenizer, language_tokenizer
from babelscope.systems.contract import ask_sample, ask_translate
from babelscope.systems.registry import require
from babelscope.systems.stored.alignment import align_to_sources
from babelscope.systems.stored.translations import TranslationsFile
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError
from babelscope.util.version import __version__

if TYPE_CHECKING:
    from babelscope.metrics.base import Metric, Scale
    from babelscope.metrics.mbr import MbrChoice


VERSION = 1
"""Raised when the choices or their expected utilities change."""
# Samples asked for at once: enough for every core, and few enough that the progress bar moves.
SAMPLES_AT_ONCE = 6400
# Sources whose candidates a metric judges at once.
_JUDGED_AT_ONCE = 64

Found = tuple[str, list[Scored] | str]
"""A source with its candidates, or with the reason why there are none."""
AskBatches = Callable[..., Iterator[Found]]
"""(texts, ask, at_once=) -> each text with its answer, or with the reason why there is none."""


class Weights(StrEnum):
    """What a candidate counts as a reference."""

    count = "count"  # type: ignore[assignment]
    probability = "probability"


@dataclass(frozen=True, slots=True)
class Sources:
    """What is translated, and where it was read."""

    path: Path
    texts: Sequence[str]
    ids: Sequence[str]
    """Of the items of a test set; else the numbers of the lines, from 0."""
    languages: frozenset[str] = frozenset()
    """Target languages that the items of a test set state."""

    @classmethod
    def of_lines(cls, path: Path, lines: Sequence[str]) -> Sources:
        """The lines of a file."""
        return cls(path, lines, [str(number) for number in range(len(lines))])


@dataclass(frozen=True, slots=True)
class Decision:
    """The candidate chosen by a metric."""

    choice: MbrChoice
    answer: Scored
    weights: Weights | None = None
    """Of minimum Bayes risk decoding."""


@dataclass(frozen=True, slots=True)
class Decoding:
    """How minimum Bayes risk decoding finds candidates, and by what it chooses."""

    name: ClassVar[str] = "mbr"
    figure: ClassVar[str] = "expected_utility"
    """Whose mean is reported."""
    metrics: Sequence[Metric]
    n: int
    seed: int
    drawing: Drawing
    parts: int = 0
    weights: Weights | None = None
    """None: as often as drawn for samples; of lists the probability, if they have one."""

    def for_languages(self, languages: Iterable[str]) -> Decoding:
        """The same with words split as these target languages need it."""
        names = sorted({language_tokenizer(language) for language in languages})
        if not any(names) or not any(each.is_tokenized for each in self.metrics):
            return self
        if len(names) > 1:
            raise BabelscopeError(
                "the items are to be translated into languages whose words are split in several ways; use "
                "--set tokenize=TOKENIZER"
            )
        return replace(self, metrics=[each.tokenized(find_tokenizer(names[0])) for each in self.metrics])

    @staticmethod
    def check(metric: Metric, parts: int) -> None:
        """Refuse a metric that is no utility."""
        from babelscope.metrics.mbr import expected_utility

        expected_utility(metric, parts=parts)

    def settings(self, decisions: Iterable[Decision]) -> dict[str, Any]:
        """The settings in the signature, beside metrics, n and drawing."""
        weights = sorted({each.weights.value for each in decisions if each.weights})
        return {"aggregate": self.parts, "weights": weights}

    def candidates(self, system: Any, sources: Sources, ask_batches: AskBatches) -> Iterator[Found]:
        """Each source with its candidates, or with the reason why there are none."""
        if "regions" in capabilities(system):
            yield from zip(sources.texts, _listed(system, sources.ids, self.n), strict=True)
            return
        if isinstance(system, TranslationsFile):
            held = align_to_sources(system, str(sources.path), sources.texts)
            for source, own in zip(sources.texts, held.all_translations(sources.texts), strict=True):
                yield source, list(own[: self.n])
            return
        ask = self._generator(system)
        yield from ask_batches(sources.texts, ask, at_once=max(1, SAMPLES_AT_ONCE // self.n))

    def _generator(self, system: Any) -> Callable[..., list[list[Scored]]]:
        """What asks the system for candidates."""
        require(system, "sample", what_for=f"--decode {self.name}")
        return functools.partial(ask_sample, system, n=self.n, seed=self.seed, drawing=self.drawing)

    def decisions(
        self, system: Any, found: Iterable[Found]
    ) -> Iterator[tuple[Found, Mapping[str, Decision]]]:
        """Each source with its candidates, and the choice by each metric if there are any."""
        for source, candidates in found:
            chosen = {} if isinstance(candidates, str) else self.decide(system, source, candidates)
            yield (source, candidates), chosen

    def decide(self, system: Any, source: str, candidates: Sequence[Scored]) -> dict[str, Decision]:
        """The choice by each metric; hypotheses that are weighed by probability count once."""
        from babelscope.metrics.mbr import expected_utility, mbr_decode, probability_weights

        weights, left = self._weighed(system, candidates)
        by_probability = weights is Weights.probability
        own = probability_weights([each.total for each in left]) if by_probability else None
        texts = [each.text for each in left]
        found = {}
        for metric in self.metrics:
            expected = expected_utility(metric, source=source, weights=own, parts=self.parts)
            choice = mbr_decode(texts, expected)
            found[metric.name] = Decision(choice, left[choice.number], weights)
        return found

    def _weighed(self, system: Any, candidates: Sequence[Scored]) -> tuple[Weights, list[Scored]]:
        """What candidates count, and which remain: of those weighed by probability each token sequence once."""
        scored = all(each.has_total for each in candidates)
        listed = properties(system).stored and scored
        weights = self.weights or (Weights.probability if listed else Weights.count)
        if weights is Weights.count:
            return weights, list(candidates)
        if not scored:
            raise BabelscopeError(
                f"{system.name} has no log-probabilities to weigh candidates by; use --set weights=count"
            )
        return weights, list({(each.text, each.tokens): each for each in reversed(candidates)}.values())[::-1]


@dataclass(frozen=True, slots=True)
class Reranking(Decoding):
    """How candidates are found, and the metrics without references that choose (Fernandes et al. 2022)."""

    name: ClassVar[str] = "rerank"
    figure: ClassVar[str] = "quality"
    beam: int = 0
    """Size of the beam whose best hypotheses are candidates; 0 for samples."""
    diversity: Diversity | None = None

    @staticmethod
    def check(metric: Metric, parts: int) -> None:  # noqa: ARG004
        """Refuse a metric that needs references."""
        if metric.reads_references:
            raise BabelscopeError(
                f"{metric.name} needs references, which translations to choose from do not have; rerank by a metric "
                "that reads none, such as cometkiwi or cmd:COMMAND?reference=no"
            )

    def settings(self, decisions: Iterable[Decision]) -> dict[str, Any]:  # noqa: ARG002
        """The settings in the signature, beside metrics, n and drawing."""
        return {"beam": self.beam, **(asdict(self.diversity) if self.diversity else {})}

    def _generator(self, system: Any) -> Callable[..., list[list[Scored]]]:
        if not self.beam:
            return Decoding._generator(self, system)
        require(system, "translate", what_for="--decode rerank")
        how: dict[str, Any] = {"beam": self.beam, "n_best": self.n, "diversity": self.diversity}
        return functools.partial(ask_translate, system, **how)

    def decisions(
        self,
        system: Any,  # noqa: ARG002
        found: Iterable[Found],
    ) -> Iterator[tuple[Found, Mapping[str, Decision]]]:
        """Each source with its candidates, and the best of them by each metric if there are any."""
        from babelscope.metrics.base import Segment, sentence_qualities
        from babelscope.metrics.mbr import mbr_decode

        left = iter(found)
        while some := list(islice(left, _JUDGED_AT_ONCE)):
            answered = [(source, own) for source, own in some if not isinstance(own, str)]
            pairs = [(source, each.text) for source, own in answered for each in own]
            segments = [Segment(source, text, ()) for source, text in pairs]
            judged = {
                metric.name: dict(zip(pairs, sentence_qualities(metric, segments), strict=True))
                for metric in self.metrics
            }
            for source, own in some:
                chosen: dict[str, Decision] = {}
                if isinstance(own, str):
                    yield (source, own), chosen
                    continue
                for name, qualities in judged.items():
                    by = functools.partial(_of_candidates, qualities, source)
                    choice = mbr_decode([each.text for each in own], by)
                    chosen[name] = Decision(choice, own[choice.number])
                yield (source, own), chosen


def _of_candidates(
    qualities: Mapping[tuple[str, str], float], source: str, candidates: Sequence[str], _: Sequence[str]
) -> Any:
    import numpy as np

    return np.array([qualities[source, text] for text in candidates])


def _listed(system: Any, ids: Sequence[str], n: int) -> list[list[Scored] | str]:
    """The lists of a region made elsewhere; those that are missing as a reason."""
    found: list[list[Scored] | str] = []
    for regions in system.regions(ids, k=n):
        if regions.top and regions.beam:
            raise BabelscopeError(f"{system.name} has two lists; name one of top= and beam= to choose from")
        own = regions.top or regions.beam or ()
        found.append(list(own[:n]) or "no list of this sentence")
    if all(isinstance(own, str) for own in found):
        raise BabelscopeError(f"{system.name} has no list of any of these {len(ids)} sentences")
    return found


def decoding_by(
    names: Sequence[str],
    *,
    yes: bool = False,
    tokenize: str = "",
    kind: type[Decoding] = Decoding,
    **how: Any,
) -> Decoding:
    """Decoding by the metrics of these names; unsuitable ones are refused before any system is asked."""
    from babelscope.metrics.base import find_metric
    from babelscope.metrics.corpus import prepare_metrics

    for name in names:
        kind.check(find_metric(name), how.get("parts", 0))
    return kind(prepare_metrics(names, yes=yes, tokenize=tokenize), **how)


def result_of(
    decoding: Decoding,
    systems: Mapping[str, Any],
    sources: Sequence[str],
    decided: Mapping[str, Sequence[tuple[str, Mapping[str, Decision]]]],
) -> Result:
    """The mean utility or quality of the choices of each system and metric, and the signature.

    `decided` are the answered sources of each system, each with its decisions by metric.
    """
    from babelscope.stats.intervals import clustered_mean

    rows = []
    for name, own in decided.items():
        for metric in decoding.metrics:
            chosen = [each[metric.name].choice for _, each in own]
            mean = clustered_mean([each.utility for each in chosen], [source for source, _ in own])
            counts = {
                "candidates": sum(each.n for each in chosen),
                "tied": sum(each.tied > 0 for each in chosen),
                "skipped": len(sources) - len(own),
            }
            labels = {"system": name, "metric": metric.name}
            rows.append(Row(decoding.figure, _within(mean, metric.scale), labels, counts))
    settings = {
        "metric": [each.identity for each in decoding.metrics],
        "n": decoding.n,
        **decoding.settings(each for own in decided.values() for _, by in own for each in by.values()),
        **{key: value for key, value in asdict(decoding.drawing).items() if value},
    }
    config = {
        "methods": [{"name": decoding.name, "version": VERSION, "settings": settings, "roles": {}}],
        "systems": [each.fingerprint.as_json() for each in systems.values()],
        "tests": [{"kind": "sources", "digest": digest_json(list(sources))}],
        "seed": decoding.seed,
        "version": __version__,
    }
    answers = [
        [source, {metric: [each.choice.text, each.choice.utility] for metric, each in by.items()}]
        for name, own in decided.items()
        if not properties(systems[name]).reproducible
        for source, by in own
    ]
    return Result({**config, **({"answers": digest_json(answers)} if answers else {})}, rows)


def _within(estimate: Estimate, scale: Scale) -> Estimate:
    """An interval of utilities, cut at the ends of their scale."""
    from babelscope.metrics.corpus import bounds_of

    low, high = bounds_of(scale)
    low, high = (low, high) if scale.better == "higher" else (-high, -low)
    if estimate.no_interval or not estimate.n:
        return estimate
    return replace(estimate, low=max(low, estimate.low), high=min(high, estimate.high))
