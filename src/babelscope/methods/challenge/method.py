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
    SystemScores,
    control_rows,
    difference_rows,
    distance_rows,
    length_rows,
    quality_rows,
    system_scores,
)
from babelscope.methods.challenge.sets import read_instances
from babelscope.methods.challenge.settings import ChallengeSettings, identity
from babelscope.metrics.base import Metric, Scale, find_metric, is_allowed, warn_stored_quality
from babelscope.metrics.sacre import tokens_13a
from babelscope.systems.asking import ask_translate
from babelscope.testsets.items import ParallelSentence

_SENTENCES_AT_ONCE = 100  # sentences scored between two steps of the progress bar
_NOTES = ("truncated", "unfinished")


def ask(
    systems: Mapping[str, Translates],
    items: Sequence[ParallelSentence],
    settings: ChallengeSettings,
    _seed: int,
) -> list[Record]:
    """A record a sentence with its translation; the dependencies stay in the field `extra`."""
    answers = ask_translate(systems["system"], [item.question for item in items], beam=settings.beam)
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
    """The records with lengths in tokens, sentence scores, and the statistics for corpus scores."""
    judged: list[Record] = []
    for start in range(0, len(records), _SENTENCES_AT_ONCE):
        some = records[start : start + _SENTENCES_AT_ONCE]
        measured = {name: _score_sentences(name, some) for name in settings.metrics}
        for number, record in enumerate(some):
            judged.append(
                {
                    **record,
                    "lengths": {
                        "source": len(tokens_13a(record["source"])),
                        "reference": len(tokens_13a(record["references"][0])),
                        "translation": len(tokens_13a(record["translation"])),
                    },
                    "scores": {name: scores[number] for name, (scores, _) in measured.items()},
                    # A metric whose corpus score is the mean of sentence scores stores no statistics.
                    "statistics": {name: rows[number] for name, (_, rows) in measured.items() if rows},
                }
            )
    return judged


def _score_sentences(name: str, records: Sequence[Record]) -> tuple[list[float], list[list[float]]]:
    """Sentence scores by one metric, and the statistics for its corpus score; none if that is the mean.

    A stored run that names an external program does not start it: the stored scores are used again.
    """
    if not is_allowed(name) and all(name in record.get("scores", ()) for record in records):
        warn_stored_quality(name)
        return [record["scores"][name] for record in records], []
    metric = find_metric(name)
    statistics = metric.statistics(
        [record["translation"] for record in records],
        [tuple(record["references"]) for record in records],
        [record["source"] for record in records],
    )
    scores = [metric.of_statistics(row) for row in statistics]
    if type(metric).corpus is Metric.corpus:
        return scores, []
    return scores, [[int(each) if each == int(each) else float(each) for each in row] for row in statistics]


def summarise(records: Sequence[Record], settings: ChallengeSettings, seed: int) -> list[Row]:
    """Rows for all sentences and every phenomenon and distance: quality, controls, correlations."""
    own = system_scores(records, settings.distances, exact=settings.exact)
    notes = Counter(note for record in records for note in record["notes"])
    counts = {
        "empty": sum(not record["translation"].strip() for record in records),
        **{note: notes[note] for note in _NOTES},
    }
    left_out = own.left_out()
    return [
        *quality_rows(own, left_out, counts),
        *control_rows(
            own, left_out, seed=seed, draws=settings.matched_corpora, apart=settings.length_tolerance
        ),
        *distance_rows(own, left_out),
        *length_rows(own, seed=seed, corpora=settings.length_corpora, sizes=settings.length_sizes),
    ]


def comparable(settings: ChallengeSettings) -> list[Comparable]:
    """The sentence score by each metric."""
    found = []
    for name in settings.metrics:
        # External scores are taken to be better if higher: their program is not started to ask for a scale.
        scale = Scale(None, None) if ":" in name else find_metric(name).scale
        unit = "points" if scale.unit == "percent" else name
        higher = scale.better == "higher"
        found.append(Comparable(("scores", name), unit, name, higher_is_better=higher))
    return found


def system_differences(group: Group, settings: ChallengeSettings, _seed: int) -> list[Row]:
    """Differences of corpus scores between every two systems, over the sentences that all systems answered."""
    by_system = {column.name: column.cell.records for column in group.columns}
    if len(by_system) < 2:
        return []
    common = set.intersection(*({record["item"] for record in own} for own in by_system.values()))
    found: dict[str, tuple[SystemScores, Any]] = {}
    for system, records in by_system.items():
        both = [record for record in records if record["item"] in common]
        own = system_scores(both, settings.distances, exact=settings.exact)
        found[system] = own, own.left_out()
    return difference_rows(found, {})


def check_items(items: Sequence[ParallelSentence], _settings: object) -> None:
    """Refuse items without dependencies: those of a plain parallel test set."""
    for item in items:
        read_instances(item.extra, f"item {item.id}")


METHOD = Method(
    name="challenge",
    version=2,
    summary="BLEU, chrF and RIBES by phenomenon and distance, against the whole and length-matched corpora",
    kind=ParallelSentence,
    settings=ChallengeSettings,
    ask=ask,
    judge=judge,
    check_items=check_items,
    summarise=summarise,
    asks=frozenset({"beam"}),
    identity=identity,
    comparable=comparable,
    across=system_differences,
    part_labels=frozenset({"phenomenon"}),
    view="babelscope.methods.challenge.view:VIEW",
    queue="babelscope.methods.challenge.annotation:entries",
)
