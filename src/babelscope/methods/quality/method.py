"""Quality of translations by metrics: corpus scores of any system, black boxes and files included."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from babelscope.core.answers import Translates
from babelscope.core.columns import Group
from babelscope.core.results import Estimate, Record, Row
from babelscope.methods.base import Method
from babelscope.methods.grouping import sources
from babelscope.methods.measuring import answer_counts, scale_of, score_sentences, translated_records
from babelscope.methods.quality.settings import QualitySettings, check_items, identity, identity_on
from babelscope.methods.queue import Entry, entry
from babelscope.metrics.base import Array, find_metric
from babelscope.metrics.corpus import (
    bounds_of,
    grouped_difference,
    grouped_estimate,
    source_groups,
    sums_without,
)
from babelscope.stats.paired import Tested, count_wins, tested_rows
from babelscope.testsets.items import ParallelSentence, SourceSentence


def summarise(records: Sequence[Record], settings: QualitySettings, _seed: int) -> list[Row]:
    """A row a metric: the corpus score on the metric's own scale."""
    counts = {**answer_counts(records), "references": sum(len(record["references"]) for record in records)}
    rows = []
    for name in settings.metric:
        rows.append(Row(name, _corpus_score(name, records), _direction(name), counts))
    return rows


def _corpus_score(name: str, records: Sequence[Record]) -> Estimate:
    if not records:
        return Estimate.of_nothing()
    groups = source_groups(sources(records))
    value, left_out = _scores(name, records, groups)
    return grouped_estimate(value, left_out, groups, within=bounds_of(scale_of(name)))


def _scores(name: str, records: Sequence[Record], groups: Array) -> tuple[float, Array]:
    """The corpus score, and the scores without each group of sentences in turn."""
    if all(name in record["statistics"] for record in records):
        columns = np.array([record["statistics"][name] for record in records], dtype=float)
        corpus = find_metric(name).corpus
    else:  # the mean of the sentence scores
        columns = np.array([[record["scores"][name], 1.0] for record in records])
        corpus = _mean
    rest = sums_without(columns, [np.arange(len(columns))], groups)[0]
    return corpus(columns.sum(axis=0)), np.array([corpus(sums) for sums in rest])


def _mean(sums: Array) -> float:
    return float(sums[0] / sums[1]) if sums[1] else float("nan")


def system_differences(group: Group, settings: QualitySettings, _seed: int) -> list[Row]:
    """Differences of corpus scores between every two systems, over the sentences that both answered."""
    by_system: Mapping[str, Mapping[int, Record]] = {
        column.name: {record["item"]: record for record in column.cell.records} for column in group.columns
    }
    found: list[Tested] = []
    for (first, own), (second, other) in itertools.combinations(by_system.items(), 2):
        common = sorted(own.keys() & other.keys())
        groups = source_groups(sources(own[n] for n in common))
        for name in settings.metric if common else ():
            (one, rest), (two, others) = (
                _scores(name, [each[n] for n in common], groups) for each in (own, other)
            )
            tested = grouped_difference(one - two, rest - others, groups)
            labels = {"system": first, "against": second, "measure": name, "of": name, **_direction(name)}
            apart = [own[n]["scores"][name] - other[n]["scores"][name] for n in common]
            better = [-each for each in apart] if _direction(name) else apart
            found.append((labels, *tested, count_wins(better)))
    return tested_rows("difference", found)


def _direction(name: str) -> dict[str, str]:
    return {"better": "lower"} if scale_of(name).better == "lower" else {}


def ask(
    systems: Mapping[str, Translates],
    items: Sequence[ParallelSentence | SourceSentence],
    settings: QualitySettings,
    _seed: int,
) -> list[Record]:
    """A record a sentence, with its translation."""
    return translated_records(systems["system"], items, settings.beam)


def judge(records: Sequence[Record], settings: QualitySettings) -> list[Record]:
    """The records with the score of each sentence, and the statistics for corpus scores."""
    measured = (
        {name: score_sentences(name, records, settings.tokenize) for name in settings.metric}
        if records
        else {}
    )
    return [
        {
            **record,
            "scores": {name: scores[number] for name, (scores, _) in measured.items()},
            "statistics": {name: rows[number] for name, (_, rows) in measured.items() if rows},
        }
        for number, record in enumerate(records)
    ]


def queue(records: Sequence[Record], _settings: QualitySettings) -> list[Entry]:
    """Every translation that is not empty, to be scored without its reference."""
    return [
        entry(record, "assessment", translation=record["translation"])
        for record in records
        if record["translation"].strip()
    ]


METHOD = Method(
    name="quality",
    summary="corpus scores by BLEU, chrF or any other metric",
    kind=ParallelSentence,
    also=(SourceSentence,),
    settings=QualitySettings,
    ask=ask,
    judge=judge,
    summarise=summarise,
    asks=frozenset({"beam"}),
    identity=identity,
    identity_on=identity_on,
    check_items=check_items,
    across=system_differences,
    view="babelscope.methods.quality.view:VIEW",
    queue=queue,
)
