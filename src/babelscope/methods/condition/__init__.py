"""Contrastive conditioning: which sense a translation has, told by sources with cues (Vamvas and Sennrich 2021)."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from babelscope.core.answers import Note, Scored, System
from babelscope.core.results import Record, Result, Row, finite_or_none
from babelscope.core.ties import Ties
from babelscope.methods.base import Method, Settings, run_method
from babelscope.methods.condition.figures import (
    Base,
    Equal,
    columns_of,
    margin_of,
    rows_of,
    score_of,
    verdict_of,
)
from babelscope.systems.asking import ask_score, ask_translate, relocate_errors
from babelscope.testsets.given_answers import GivenScores, GivenTranslations, only_translated
from babelscope.testsets.items import AmbiguousSource, Item
from babelscope.testsets.sets import TestSet
from babelscope.util.errors import BabelscopeError


class ConditioningSettings(Settings):
    likelihood: Literal["mean", "total"] = "mean"
    """The evaluator's score: log-probability a token (the paper's, footnote 2), or of the whole translation."""
    base: Base = "e"
    """What is raised to the log-probability: e, or 2 as in the released code. It changes scores only."""
    ties: Ties = "correct"
    """What score = 0.5 counts as: correct (>=, the released code), wrong (>, section 3.4), or half."""
    equal: Equal = "shared"
    """Items equally confident share their weights, or weigh by their order, as in the released code."""
    translations: Literal["given", "system"] = "given"
    """Judge the translation an item has, asking the system where it has none; or always ask the system."""
    beam: int = Field(default=5, ge=1)
    """Beam size of the system (section 4.2)."""


def judge(
    systems: Mapping[str, Any], items: Sequence[AmbiguousSource], settings: ConditioningSettings, _seed: int
) -> list[Record]:
    """Section 3.2: translate, score under every source with a cue, and compare the best of each side."""
    evaluator = systems["evaluator"]
    translated = _translations(systems["system"], items, settings)
    # A system that evaluates itself is asked about what it generated, not about its text tokenised again.
    itself = systems["system"].fingerprint == evaluator.fingerprint
    pairs: list[tuple[str, str | Scored]] = []
    owners: list[AmbiguousSource] = []
    for item, translation in zip(items, translated, strict=True):
        target = translation if itself and translation.tokens else translation.text
        for source in _cued(item):
            pairs.append((source, target))
            owners.append(item)
    # All of a chunk in one call, from which the evaluator makes its batches.
    with relocate_errors(lambda what, number: f"item {owners[number - 1].id}: the {_PLACES[what]}"):
        answers = iter(ask_score(evaluator, pairs) if pairs else [])
    records = []
    for item, translation in zip(items, translated, strict=True):
        given = settings.translations == "given" and item.translation is not None
        record = _begun(item, translation.text, evaluator.name, given=given)
        found = {source: next(answers) for source in _cued(item)}
        notes: set[Note] = {*translation.notes, *(note for each in found.values() for note in each.notes)}
        (correct, right), (incorrect, wrong) = (
            _best(sources, found, settings) if found else (None, None)
            for sources in (item.correct_sources, item.incorrect_sources)
        )
        record |= {"notes": sorted(notes), "correct_source": right, "incorrect_source": wrong}
        records.append(record | _verdict(correct, incorrect, settings))
    return records


def judge_given(
    systems: Mapping[str, Any], items: Sequence[AmbiguousSource], settings: ConditioningSettings, _seed: int
) -> list[Record]:
    """The same from the best score of each side, where an evaluator was asked elsewhere."""
    scores: GivenScores = systems["evaluator"]
    return [
        _begun(item, item.translation, scores.name, given=item.translation is not None)
        | _verdict(*scores.of(item.id), settings)
        for item in items
    ]


def summarise(records: Sequence[Record], settings: ConditioningSettings, _seed: int) -> list[Row]:
    """Unweighted and weighted accuracy, by category and at least, and how confident the evaluator was."""
    first, *rest = rows_of(records, settings.equal)
    notes = Counter(note for record in records for note in record["notes"])
    counts = {
        "no_cue": sum(record["skipped"] == NO_CUE for record in records),
        "impossible": sum(record["skipped"] == IMPOSSIBLE for record in records),
        "given": sum(record["given"] for record in records),
        "empty": sum(record["translation"] is not None and not record["translation"] for record in records),
        **{note: notes[note] for note in ("truncated", "changed", "unfinished")},
    }
    return [Row(first.name, first.estimate, first.labels, {**first.counts, **counts}), *rest]


NO_CUE = "no cue"
IMPOSSIBLE = "impossible"

METHOD = Method(
    name="conditioning",
    summary="accuracy of disambiguation, judged by an evaluator under sources with cues",
    kind=AmbiguousSource,
    settings=ConditioningSettings,
    judge=judge,
    summarise=summarise,
    needs={"system": ("translate",), "evaluator": ("score",)},
)
_GIVEN = dataclasses.replace(METHOD, judge=judge_given, needs={"system": (), "evaluator": ()})


def condition(
    system: System | Sequence[System] | None,
    evaluator: System | GivenScores | str,
    items: TestSet | Iterable[Item],
    *,
    skip_missing: bool = False,
    **settings: Any,
) -> Result:
    """Judge how systems disambiguate; without a system, the translations that the items have.

    Where an item has none, that is an error, or with `skip_missing` it is left out and counted.
    """
    tests = items if isinstance(items, TestSet) else TestSet("items", tuple(items))
    given = isinstance(evaluator, GivenScores)
    if system is None:
        if settings.get("translations") == "system":
            raise BabelscopeError("conditioning: translations=system, but there is no system")
        system = GivenTranslations()
    elif given and not isinstance(system, GivenTranslations):
        raise BabelscopeError("given scores are scores of given translations: conditioning takes no system")
    if isinstance(system, GivenTranslations) and not given:
        tests = only_translated(tests, skip_missing=skip_missing)
    result = run_method(_GIVEN if given else METHOD, system, tests, evaluator=evaluator, **settings)
    equal: Equal = settings.get("equal", "shared")
    return dataclasses.replace(result, records=weighed(result.records, equal))


def weighed(records: Sequence[Record], equal: Equal = "shared") -> list[Record]:
    """Records with their weights, which are known when all items of a system are judged (section 3.4)."""
    cells: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        cells.setdefault((record["system"], record["tests"]), []).append(record)
    weights = {cell: iter(columns_of(own, equal).weights) for cell, own in cells.items()}
    return [
        {
            **record,
            "weight": None if record["skipped"] else next(weights[record["system"], record["tests"]]),
        }
        for record in records
    ]


_PLACES = {"source": "source with a cue", "target": "translation"}


def _translations(
    system: Any, items: Sequence[AmbiguousSource], settings: ConditioningSettings
) -> list[Scored]:
    """The translation of each item: its own, or the system's."""
    own = [item.translation if settings.translations == "given" else None for item in items]
    asked = [item for item, text in zip(items, own, strict=True) if text is None]
    with relocate_errors(lambda what, number: f"item {asked[number - 1].id}: the {what}"):
        answers = ask_translate(system, [item.source for item in asked], beam=settings.beam) if asked else []
    found = iter(answers)
    return [Scored(text) if text is not None else next(found)[0] for text in own]


def _cued(item: AmbiguousSource) -> list[str]:
    """Its distinct sources with cues; none unless there are some on both sides, since one alone says nothing."""
    if not (item.correct_sources and item.incorrect_sources):
        return []
    return list(dict.fromkeys([*item.correct_sources, *item.incorrect_sources]))


def _best(
    sources: Sequence[str], found: Mapping[str, Scored], settings: ConditioningSettings
) -> tuple[float, str]:
    """The best evaluator score over the sources of one side, in nats, and the source that has it."""
    scores = {
        source: found[source].mean if settings.likelihood == "mean" else found[source].total
        for source in sources
    }
    best = max(scores, key=lambda source: scores[source])
    return scores[best], best


def _begun(item: AmbiguousSource, translation: str | None, evaluator: str, *, given: bool) -> Record:
    """What a record says before the evaluator is heard."""
    return {
        "source": item.source,
        "category": item.category,
        "gold": item.gold,
        "translation": translation,
        "given": given,
        "evaluator": evaluator,
        "notes": [],
        # What `babelscope agreement` joins MuCoW's annotators by.
        **{name: item.extra[name] for name in ("word", "corpus") if name in item.extra},
    }


def _verdict(correct: float | None, incorrect: float | None, settings: ConditioningSettings) -> Record:
    """The best of both sides, score and verdict; or why there is none."""
    if correct is None or incorrect is None:
        fields = ("correct_logprob", "incorrect_logprob", "score", "verdict", "correct")
        return {**dict.fromkeys(fields), "skipped": NO_CUE}
    margin = margin_of(correct, incorrect)
    verdict = None if math.isnan(margin) else verdict_of(margin, settings.ties)
    return {
        "correct_logprob": finite_or_none(correct),
        "incorrect_logprob": finite_or_none(incorrect),
        "score": None if verdict is None else score_of(margin, settings.base),
        "verdict": verdict,
        "correct": None if verdict in (None, "tie") else verdict == "correct",
        "skipped": IMPOSSIBLE if verdict is None else None,
    }
