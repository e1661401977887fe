"""Corpus scores with intervals over sentences, and their differences between systems, paired by sentence."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from babelscope.core.columns import Group
from babelscope.core.results import Estimate, Record, Row
from babelscope.methods.grouping import sources
from babelscope.methods.measuring import answer_counts, scale_of
from babelscope.methods.quality.settings import QualitySettings
from babelscope.metrics.base import Array, find_metric
from babelscope.metrics.corpus import (
    bounds_of,
    grouped_difference,
    grouped_estimate,
    source_groups,
    sums_without,
)
from babelscope.stats.paired import Tested, count_wins, tested_rows


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
    """Differences of corpus scores between every two systems, over the sentences that both answered.

    Wins and losses are of single sentences, by their own scores.
    """
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
