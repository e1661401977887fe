"""`babelscope mbr`: the translation of least Bayes risk among samples, or among the hypotheses of a given list."""

from __future__ import annotations

import functools
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from babelscope.cli.common import (
    AsJson,
    Cache,
    Form,
    Seed,
    Systems,
    ToFile,
    Tokenize,
    Yes,
    as_line,
    ask_lines,
    open_systems,
    output,
    read_sources,
)
from babelscope.cli.sample import SAMPLES_AT_ONCE, Epsilon, MaxLength, Temperature, TopK, TopP
from babelscope.cli.shell import answers_kept, telling_what_is_kept
from babelscope.cli.translate import described, one_line, tell_notes
from babelscope.util.errors import BabelscopeError
from babelscope.util.outputs import check_outputs

if TYPE_CHECKING:
    from babelscope.core.answers import Drawing, Scored
    from babelscope.core.results import Estimate, Result
    from babelscope.metrics.base import Metric, Scale
    from babelscope.metrics.mbr import MbrChoice

VERSION = 1
"""Raised when the choices or their expected utilities change."""
_HEADING = ("utility", "n", "distinct", "translation")


class Weights(StrEnum):
    """What a candidate counts as a reference."""

    count = "count"  # type: ignore[assignment]
    probability = "probability"


Utilities = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="METRIC",
        help="The utility: chrf, chrf++, bleu, ter, ribes, comet, cmd:COMMAND...; may be repeated, a line each. "
        "(Default: chrf.)",
        show_default=False,
    ),
]
Aggregate = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="PARTS",
        help="Compare with the mean n-gram counts of so many parts of the candidates, in linear time (chrf, chrf++); "
        "0: with each of them.",
    ),
]


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


def _sources(file: Path | None, tests: str, metrics: Sequence[Metric]) -> Sources:
    """The lines of a file, or the sources of a test set; they must be known to metrics that read them."""
    from babelscope.testsets import Dependency, load
    from babelscope.testsets.items import NO_SOURCE

    if file is not None and not tests:
        return Sources.of_lines(file, read_sources(file))
    if file is not None or not tests:
        raise BabelscopeError("mbr needs --source FILE or --tests TESTS, one of the two")
    items = [item for item in load(tests) if not isinstance(item, Dependency)]
    read = [metric.name for metric in metrics if metric.reads_sources]
    if read and any(NO_SOURCE in item.extra for item in items):
        raise BabelscopeError(f"{read[0]} may need the sources, and {tests} has none; say --source FILE")
    languages = frozenset(item.target_language or "" for item in items)
    return Sources(Path(tests), [item.source for item in items], [item.id for item in items], languages)


@dataclass(frozen=True, slots=True)
class Decoding:
    """How minimum Bayes risk decoding finds candidates, and by what it chooses."""

    metrics: Sequence[Metric]
    n: int
    seed: int
    drawing: Drawing
    parts: int = 0
    weights: Weights | None = None
    """None: as often as drawn for samples; of lists the probability, if they have one."""

    def for_languages(self, languages: Iterable[str]) -> Decoding:
        """The same with words split as these target languages need it."""
        from babelscope.core.tokenisers import find_tokeniser, language_tokeniser

        names = sorted({language_tokeniser(language) for language in languages})
        if not any(names) or not any(each.is_tokenised for each in self.metrics):
            return self
        if len(names) > 1:
            raise BabelscopeError(
                "the items are to be translated into languages whose words are split in several ways; say --tokenize"
            )
        return replace(self, metrics=[each.tokenised(find_tokeniser(names[0])) for each in self.metrics])

    def choose(self, source: str, candidates: Sequence[Scored], weights: Weights) -> dict[str, MbrChoice]:
        """The choice by each metric; hypotheses that are weighed by probability count once."""
        from babelscope.metrics.mbr import expected_utility, mbr_decode, probability_weights

        by_probability = weights is Weights.probability
        own = probability_weights([each.total for each in candidates]) if by_probability else None
        texts = [each.text for each in candidates]
        return {
            metric.name: mbr_decode(
                texts, expected_utility(metric, source=source, weights=own, parts=self.parts)
            )
            for metric in self.metrics
        }

    def candidates(self, system: Any, sources: Sources) -> Iterator[tuple[str, list[Scored] | str]]:
        """Each source with its candidates, or with the reason why there are none."""
        from babelscope.core.answers import capabilities
        from babelscope.systems.asking import ask_sample
        from babelscope.systems.files import TranslationsFile
        from babelscope.systems.holding import hold_sources
        from babelscope.systems.opening import require

        if "regions" in capabilities(system):
            yield from zip(sources.texts, _listed(system, sources.ids, self.n), strict=True)
            return
        if isinstance(system, TranslationsFile):
            held = hold_sources(system, str(sources.path), sources.texts)
            for source, own in zip(sources.texts, held.all_translations(sources.texts), strict=True):
                yield source, list(own[: self.n])
            return
        require(system, "sample", what_for="mbr")
        ask = functools.partial(ask_sample, system, n=self.n, seed=self.seed, drawing=self.drawing)
        at_once = max(1, SAMPLES_AT_ONCE // self.n)
        yield from ask_lines(sources.texts, ask, {"source": sources.path}, at_once=at_once)

    def weighed(self, system: Any, candidates: Sequence[Scored]) -> tuple[Weights, list[Scored]]:
        """What candidates count, and which remain: of those weighed by probability each token sequence once."""
        from babelscope.core.answers import properties

        scored = all(each.has_total for each in candidates)
        listed = properties(system).stored and scored
        weights = self.weights or (Weights.probability if listed else Weights.count)
        if weights is Weights.count:
            return weights, list(candidates)
        if not scored:
            raise BabelscopeError(
                f"{system.name} has no log-probabilities to weigh candidates by; say --weights count"
            )
        return weights, list({(each.text, each.tokens): each for each in reversed(candidates)}.values())[::-1]


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


def mbr(
    system: Systems,
    source: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Sources, one a line; - is stdin.", show_default=False)
    ] = None,
    tests: Annotated[
        str,
        typer.Option(
            metavar="TESTS", help="A test set, whose sources are taken instead.", show_default=False
        ),
    ] = "",
    metric: Utilities = None,
    n: Annotated[int, typer.Option("--n", min=1, help="Samples a source, or hypotheses of a list.")] = 100,
    tokenize: Tokenize = "",
    aggregate: Aggregate = 0,
    weights: Annotated[
        Weights | None,
        typer.Option(
            help="What a candidate counts as reference: as often as it is there (samples), or its probability "
            "within the list (lists that have log-probabilities).",
            show_default=False,
        ),
    ] = None,
    seed: Seed = 0,
    temperature: Temperature = 1,
    top_k: TopK = 0,
    top_p: TopP = 1,
    epsilon: Epsilon = 0,
    max_length: MaxLength = 0,
    as_json: AsJson = False,
    to: ToFile = None,
    cache: Cache = None,
    yes: Yes = False,
) -> None:
    """Choose the translation of least Bayes risk. Among samples, or among a list made elsewhere (lists:, file:).

    A line a source: the expected utility on the metric's own scale (negated where lower is better), candidates,
    different ones, the translation. It begins with the system and the metric where there are several.
    """
    from babelscope.core.answers import Drawing
    from babelscope.util.progress import progress

    names = list(dict.fromkeys(metric or ["chrf"]))
    check_outputs({"--to": to}, inputs=[source, tests, *system, *names])
    drawing = Drawing(temperature, top_k, top_p, epsilon, max_length)
    decoding = decoding_by(
        names, yes=yes, tokenize=tokenize, n=n, seed=seed, drawing=drawing, parts=aggregate, weights=weights
    )
    asked_about = _sources(source, tests, decoding.metrics)
    if not tokenize:
        decoding = decoding.for_languages(asked_about.languages)
    opened = open_systems(system, cache=cache)
    found = _Found(decoding, opened)
    with (
        telling_what_is_kept(answers_kept(cache)),
        output(to, Form.JSON if as_json else Form.LINES) as write,
        progress("decoding", len(opened) * len(asked_about.texts)) as advance,
    ):
        if not as_json:
            write("\t".join([*found.leading("system", "metric"), *_HEADING]))
        for name, each in opened.items():
            for asked, candidates in decoding.candidates(each, asked_about):
                for line in found.lines(name, asked, candidates, as_json=as_json):
                    write(line)
                advance(1)
        result = found.result(asked_about.texts)
        for row in result.rows if as_json else ():
            write(as_line({**row.as_json(), "signature": result.signature}))
    tell_notes("candidates", found.notes)
    if not as_json:
        print(result, file=sys.stderr)


def decoding_by(names: Sequence[str], *, yes: bool = False, tokenize: str = "", **how: Any) -> Decoding:
    """Decoding by the metrics of these names; what is no utility is refused before any system is asked."""
    from babelscope.metrics.mbr import expected_utility
    from babelscope.metrics.preparing import prepare_metrics

    found = Decoding(prepare_metrics(names, yes=yes, tokenize=tokenize), **how)
    for metric in found.metrics:
        expected_utility(metric, parts=found.parts)
    return found


def _within(estimate: Estimate, scale: Scale) -> Estimate:
    """An interval of utilities, cut at the ends of their scale."""
    from babelscope.metrics.corpus import bounds_of

    low, high = bounds_of(scale)
    low, high = (low, high) if scale.better == "higher" else (-high, -low)
    if estimate.no_interval or not estimate.n:
        return estimate
    return replace(estimate, low=max(low, estimate.low), high=min(high, estimate.high))


class _Found:
    """The choices so far, as lines and as figures."""

    def __init__(self, decoding: Decoding, systems: Mapping[str, Any]) -> None:
        self._decoding, self._systems = decoding, systems
        self.notes: Counter[str] = Counter()
        self._chosen: dict[tuple[str, str], list[tuple[str, MbrChoice]]] = {
            (name, metric.name): [] for name in systems for metric in decoding.metrics
        }
        self._skipped: Counter[str] = Counter()
        self._weights: set[str] = set()

    def leading(self, system: str, metric: str) -> list[str]:
        """What a line begins with: system and metric, where there are several."""
        both = ((system, self._systems), (metric, self._decoding.metrics))
        return [name for name, several in both if len(several) > 1]

    def lines(
        self, name: str, source: str, candidates: Sequence[Scored] | str, *, as_json: bool
    ) -> Iterator[str]:
        """A line for each metric about one source."""
        told: dict[str, Any] = {"system": name, "source": source}
        if isinstance(candidates, str):
            self._skipped[name] += 1
            for metric in self._decoding.metrics:
                empty = [*self.leading(name, metric.name), *"---", ""]
                reason = {**told, "metric": metric.name, "translation": None, "unanswered": candidates}
                yield as_line(reason) if as_json else "\t".join(empty)
            return
        weights, left = self._decoding.weighed(self._systems[name], candidates)
        self._weights.add(weights.value)
        self.notes.update(note for each in candidates for note in each.notes if note != "whole")
        for by, choice in self._decoding.choose(source, left, weights).items():
            self._chosen[name, by].append((source, choice))
            if as_json:
                answer = described(left[choice.number])
                figures = {"utility": choice.utility, "n": choice.n, "distinct": choice.distinct}
                how = {"tied": choice.tied, "weights": weights.value, "aggregate": self._decoding.parts}
                yield as_line({**told, "metric": by, "translation": answer, **figures, **how})
            else:
                figures_text = [f"{choice.utility:.4f}", str(choice.n), str(choice.distinct)]
                text = one_line(left[choice.number])
                yield "\t".join([*self.leading(name, by), *figures_text, text])

    def result(self, sources: Sequence[str]) -> Result:
        """The mean expected utility of the choices of each system and metric, and the signature."""
        from babelscope.core.results import Result, Row
        from babelscope.stats.intervals import clustered_mean
        from babelscope.util.digests import digest_json
        from babelscope.util.version import __version__

        rows = []
        scales = {each.name: each.scale for each in self._decoding.metrics}
        for (name, metric), chosen in self._chosen.items():
            values = [each.utility for _, each in chosen]
            estimate = _within(clustered_mean(values, [source for source, _ in chosen]), scales[metric])
            counts = {
                "candidates": sum(each.n for _, each in chosen),
                "tied": sum(each.tied > 0 for _, each in chosen),
                "skipped": self._skipped[name],
            }
            rows.append(Row("expected_utility", estimate, {"system": name, "metric": metric}, counts))
        decoding = self._decoding
        settings = {
            "metric": [each.identity for each in decoding.metrics],
            "n": decoding.n,
            "aggregate": decoding.parts,
            "weights": sorted(self._weights),
            **{key: value for key, value in asdict(decoding.drawing).items() if value},
        }
        config = {
            "methods": [{"name": "mbr", "version": VERSION, "settings": settings, "roles": {}}],
            "systems": [each.fingerprint.as_json() for each in self._systems.values()],
            "tests": [{"kind": "sources", "digest": digest_json(list(sources))}],
            "seed": decoding.seed,
            "version": __version__,
        }
        return Result(config, rows)
