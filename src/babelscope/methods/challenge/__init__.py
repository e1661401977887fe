"""Quality on challenge sets: phenomena and distances against the whole corpus (Choshen and Abend 2019)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from babelscope.core.answers import Translates
from babelscope.core.columns import Group
from babelscope.core.comparable import Comparable
from babelscope.core.results import Record, Row
from babelscope.methods.base import Method
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
from babelscope.methods.challenge.settings import ChallengeSettings
from babelscope.metrics.corpus_bootstrap import sentence_score, sentence_statistics
from babelscope.metrics.quality import tokens
from babelscope.systems.asking import ask_translate
from babelscope.testsets.items import ParallelSentence

_AT_ONCE = 100  # sentences, between two steps of a progress bar
_NOTES = ("truncated", "unfinished")
_UNITS = {"bleu": "points", "chrf": "points", "ribes": "ribes"}


def ask(
    systems: Mapping[str, Translates],
    items: Sequence[ParallelSentence],
    settings: ChallengeSettings,
    _seed: int,
) -> list[Record]:
    """A record a sentence with its translation; its dependencies stand in the record's `extra`."""
    for item in items:
        instances(item.extra, f"item {item.id}")  # refused before anything is translated
    answers = ask_translate(systems["system"], [item.source for item in items], beam=settings.beam)
    return [
        {
            "source": item.source,
            "references": list(item.references),
            "translation": answer[0].text,
            "notes": list(answer[0].notes),
        }
        for item, answer in zip(items, answers, strict=True)
    ]


def judge(records: Sequence[Record], settings: ChallengeSettings) -> list[Record]:
    """The records with lengths in tokens, scores, and the statistics that corpus scores are made of."""
    judged: list[Record] = []
    for start in range(0, len(records), _AT_ONCE):
        some = records[start : start + _AT_ONCE]
        translations = [record["translation"] for record in some]
        references = [tuple(record["references"]) for record in some]
        statistics = {
            metric: sentence_statistics(metric, translations, references) for metric in settings.metrics
        }
        for number, record in enumerate(some):
            own = {metric: rows[number] for metric, rows in statistics.items()}
            judged.append(
                {
                    **record,
                    "lengths": {
                        "source": len(tokens(record["source"])),
                        "reference": len(tokens(record["references"][0])),
                        "translation": len(tokens(record["translation"])),
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
    return judged


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


def comparable(settings: ChallengeSettings) -> list[Comparable]:
    """Scores of sentences."""
    return [Comparable(f"scores.{metric}", _UNITS[metric], metric) for metric in settings.metrics]


def differences(group: Group, settings: ChallengeSettings, seed: int) -> list[Row]:
    """Differences of corpus scores between every two systems, over the sentences that all of them answered."""
    by_system = {column.name: column.cell.records for column in group.columns}
    if len(by_system) < 2:
        return []
    common = set.intersection(*({record["item"] for record in own} for own in by_system.values()))
    found: dict[str, tuple[Judged, Any]] = {}
    for system, records in by_system.items():
        both = [record for record in records if record["item"] in common]
        own = judged(both, settings.distances, exact=settings.exact)
        found[system] = own, own.resampled(seed=seed, resamples=settings.resamples)
    return difference_rows(found, {})


METHOD = Method(
    name="challenge",
    summary="BLEU, chrF and RIBES by phenomenon and distance, against the whole and length-matched corpora",
    kind=ParallelSentence,
    settings=ChallengeSettings,
    ask=ask,
    judge=judge,
    summarise=summarise,
    asks=frozenset({"beam"}),
    comparable=comparable,
    across=differences,
    view="babelscope.methods.challenge.view:VIEW",
)
