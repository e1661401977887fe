"""Quality on challenge sets: phenomena and distances against the whole corpus (Choshen and Abend 2019)."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, cast

from pydantic import Field, field_validator

from babelscope.core.answers import System, Translates, properties
from babelscope.core.results import Record, Result, Row
from babelscope.methods.base import DEFAULT_CHUNK, Method, Settings, run_method, set_up
from babelscope.methods.challenge.figures import (
    Judged,
    control_rows,
    difference_rows,
    distance_rows,
    judged,
    length_rows,
    quality_rows,
)
from babelscope.methods.challenge.sets import instances
from babelscope.metrics.corpus_bootstrap import (
    METRICS,
    CorpusMetric,
    sentence_score,
    sentence_statistics,
)
from babelscope.metrics.quality import tokens
from babelscope.systems.asking import ask_translate
from babelscope.testsets.items import Item, ParallelSentence
from babelscope.testsets.sets import TestSet

_AT_ONCE = 100  # sentences, between two steps of a progress bar
_NOTES = ("truncated", "unfinished")


class ChallengeSettings(Settings):
    metrics: Annotated[tuple[CorpusMetric, ...], Field(min_length=1)] = METRICS
    """sacreBLEU's BLEU and chrF2 (0 to 100), RIBES (0 to 1); all cased, on 13a tokens."""
    distances: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)] = tuple(range(7))
    """The minimum numbers of words between the two words of a dependency that make a set each."""
    exact: bool = False
    """Sets of exactly so many words between, too."""
    beam: int = Field(default=5, ge=1)
    resamples: int = Field(default=1000, ge=100, le=1_000_000)
    """Bootstrap resamples of the sentences."""
    draws: int = Field(default=100, ge=2, le=1_000_000)
    """Length-matched random corpora a set."""
    apart: int = Field(default=1, ge=0)
    """By how many tokens a sentence of a length-matched corpus may be longer or shorter."""
    length_corpora: int = Field(default=1000, ge=4, le=1_000_000)
    """Random corpora of the length check, for each size."""
    length_sizes: tuple[Annotated[int, Field(ge=1)], ...] = (1000, 100, 10)
    """Sentences in each of them."""

    @field_validator("metrics", "distances", "length_sizes")
    @classmethod
    def _once(cls, values: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(set(values)) < len(values):
            raise ValueError("each may be given once")
        return values


def judge(
    systems: Mapping[str, Translates],
    items: Sequence[ParallelSentence],
    settings: ChallengeSettings,
    _seed: int,
) -> list[Record]:
    """A record a sentence: its translation, lengths in tokens, scores, and the statistics corpus scores are made of.

    Its dependencies stand in the record's `extra`.
    """
    for item in items:
        instances(item.extra, f"item {item.id}")  # refused before anything is translated
    answers = ask_translate(systems["system"], [item.source for item in items], beam=settings.beam)
    records: list[Record] = []
    for start in range(0, len(items), _AT_ONCE):
        some = items[start : start + _AT_ONCE]
        found = [answer[0] for answer in answers[start : start + _AT_ONCE]]
        statistics = {
            metric: sentence_statistics(
                metric, [scored.text for scored in found], [item.references for item in some]
            )
            for metric in settings.metrics
        }
        for number, (item, scored) in enumerate(zip(some, found, strict=True)):
            own = {metric: rows[number] for metric, rows in statistics.items()}
            records.append(
                {
                    "source": item.source,
                    "references": list(item.references),
                    "translation": scored.text,
                    "notes": list(scored.notes),
                    "lengths": {
                        "source": len(tokens(item.source)),
                        "reference": len(tokens(item.references[0])),
                        "translation": len(tokens(scored.text)),
                    },
                    "scores": {metric: sentence_score(metric, row) for metric, row in own.items()},
                    # RIBES of a corpus is the mean of its sentences' and needs nothing else.
                    "statistics": {
                        metric: [int(count) for count in row]
                        for metric, row in own.items()
                        if metric != "ribes"
                    },
                }
            )
    return records


def summarise(records: Sequence[Record], settings: ChallengeSettings, seed: int) -> list[Row]:
    """Quality of the whole and of every phenomenon and distance, controls, and correlations."""
    own = judged(records, settings.distances, exact=settings.exact)
    notes = Counter(note for record in records for note in record["notes"])
    counts = {
        "empty": sum(not record["translation"].strip() for record in records),
        **{note: notes[note] for note in _NOTES},
    }
    resampled = own.resampled(seed=seed, resamples=settings.resamples)
    return [
        *quality_rows(own, resampled, counts),
        *control_rows(own, resampled, seed=seed, draws=settings.draws, apart=settings.apart),
        *distance_rows(own, resampled),
        *length_rows(own, seed=seed, corpora=settings.length_corpora, sizes=settings.length_sizes),
    ]


METHOD = Method(
    name="challenge",
    summary="BLEU, chrF and RIBES by phenomenon and distance, against the whole and length-matched corpora",
    kind=ParallelSentence,
    settings=ChallengeSettings,
    judge=judge,
    summarise=summarise,
    needs={"system": ("translate",)},
)


def challenge(
    systems: System | Sequence[System],
    tests: TestSet | Iterable[Item],
    *,
    seed: int = 0,
    chunk: int | None = None,
    **settings: Any,
) -> Result:
    """Quality of systems on a challenge set and its parts, and the differences between systems."""
    several = list(systems) if isinstance(systems, Sequence) else [systems]
    tests = tests if isinstance(tests, TestSet) else TestSet("items", tuple(tests))
    checked = cast(ChallengeSettings, set_up(METHOD, settings).settings)
    if chunk is None:
        whole = any(properties(system).asked_as_a_whole for system in several)
        chunk = len(tests) if whole else DEFAULT_CHUNK
    result = run_method(METHOD, several, tests, seed=seed, chunk=chunk, **settings)
    return with_comparisons(result, checked, seed=seed)


def with_comparisons(result: Result, settings: ChallengeSettings, *, seed: int = 0) -> Result:
    """The same result, with rows that compare every two systems where there are several."""
    runs: dict[tuple[str, str], dict[str, list[Record]]] = {}
    for record in result.records:
        by_system = runs.setdefault((record["method"], record["tests"]), {})
        by_system.setdefault(record["system"], []).append(record)
    rows = list(result.rows)
    for (method, tests), by_system in runs.items():
        if len(by_system) < 2:
            continue
        # Corpus scores are compared over the same sentences, those that all systems answered.
        common = set.intersection(*({record["item"] for record in own} for own in by_system.values()))
        by_system = {
            system: [record for record in own if record["item"] in common]
            for system, own in by_system.items()
        }
        found: dict[str, tuple[Judged, Any]] = {}
        for system, records in by_system.items():
            own = judged(records, settings.distances, exact=settings.exact)
            found[system] = own, own.resampled(seed=seed, resamples=settings.resamples)
        rows += difference_rows(found, {"method": method, "tests": tests})
    return dataclasses.replace(result, rows=rows)
