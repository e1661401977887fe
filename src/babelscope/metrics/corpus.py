"""Corpus scores with jackknife intervals, from statistics that are computed once for each sentence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import numpy as np

from babelscope.core.results import Estimate, Record
from babelscope.core.tokenizers import Tokenizer, chosen_tokenizer, find_tokenizer
from babelscope.metrics.base import (
    Array,
    Metric,
    References,
    Scale,
    Segment,
    Texts,
    find_metric,
    sentence_qualities,
)
from babelscope.stats.intervals import jackknife_estimate, kish
from babelscope.stats.paired import jackknife_difference
from babelscope.util.digests import digest_json
from babelscope.util.errors import BabelscopeError

Side = Literal["source", "target"]
Scored = TypeVar("Scored")


def tokenizers_of(
    records: Sequence[Mapping[str, Any]], named: str, side: Side = "target"
) -> list[Tokenizer | None]:
    """The tokenizer of each record: the one that is named, else its language's; None for a measure's own."""
    return [chosen_tokenizer(named, _language(record, f"{side}_language")) for record in records]


def _language(record: Mapping[str, Any], field: str) -> str | None:
    carried = record.get("extra")
    language = record.get(field) or (carried.get(field) if isinstance(carried, dict) else None)
    return language if isinstance(language, str) else None


def score_by_tokenizer(
    metric: Metric,
    records: Sequence[Mapping[str, Any]],
    named: str,
    score: Callable[[Metric, list[int]], Iterable[Scored]],
    *,
    checked: bool = True,
) -> list[Scored]:
    """What `score` gives for the numbers of all records, asked of the metric with each tokenizer in turn.

    `checked` says that words of the whole test set were seen to be split, as methods do before any system is asked.
    """
    tokenizers: Sequence[Tokenizer | None] = [None] * len(records)
    if metric.is_tokenized:  # others need no tokenizer to be there
        tokenizers = tokenizers_of(records, named)
    groups: dict[Tokenizer | None, list[int]] = {}
    for number, tokenizer in enumerate(tokenizers):
        groups.setdefault(tokenizer, []).append(number)
    found: dict[int, Scored] = {}
    for tokenizer, numbers in groups.items():
        found.update(zip(numbers, score(metric.tokenized(tokenizer, checked=checked), numbers), strict=True))
    return [found[number] for number in range(len(tokenizers))]


def record_statistics(metric: Metric, texts: Sequence[str], records: Sequence[Record], named: str) -> Array:
    """The statistics of a text for each record, [records, columns], against the record's references."""

    def statistics(by: Metric, numbers: list[int]) -> Array:
        some = [records[number] for number in numbers]
        return by.statistics(
            [texts[number] for number in numbers],
            [tuple(record["references"]) for record in some],
            [record["source"] for record in some],
        )

    return np.array(score_by_tokenizer(metric, records, named, statistics))


def score_records(
    metric: str | Metric, records: Sequence[tuple[str, Mapping[str, Any]]], named: str = ""
) -> list[tuple[str, dict[str, Any]]]:
    """Add to each (place, record) the quality of its `translation` as the field `score`.

    Words are split by the tokenizer that is named, or by that of each record's target language.
    """
    found = find_metric(metric)
    segments = []
    for place, record in records:
        texts = [record.get("source"), record.get("translation")]
        references = record.get("references")
        if not found.reads_references:
            references = []
        if (
            not isinstance(references, list)
            or (not references and found.reads_references)
            or not all(isinstance(text, str) for text in (*texts, *references))
        ):
            needed = ", and a list 'references'" if found.reads_references else ""
            raise BabelscopeError(f"{place} needs the texts 'source' and 'translation'{needed}")
        segments.append(Segment(record["source"], record["translation"], tuple(references)))

    def qualities_of(by: Metric, numbers: list[int]) -> list[float]:
        return sentence_qualities(by, [segments[number] for number in numbers])

    own = [record for _, record in records]
    qualities = score_by_tokenizer(found, own, named, qualities_of, checked=False)
    return [
        (place, {**record, "score": quality})
        for (place, record), quality in zip(records, qualities, strict=True)
    ]


# Groups of sentences that are left out in turn; beyond that more of them would not make an interval any surer.
MOST_GROUPS = 1000
FEWEST = 3
"""Sentences, below which the interval of a corpus score would cover the truth too seldom."""


def corpus_estimate(
    metric: str | Metric, hypotheses: Texts, references: References, *, sources: Texts = ()
) -> Estimate:
    """A corpus score on the metric's scale, with a jackknife's interval over sentences, or sources if given."""
    if not hypotheses and not references:
        return Estimate.empty()
    found = find_metric(metric)
    statistics = found.statistics(hypotheses, references, sources)
    groups = source_groups(sources) if sources else np.arange(len(statistics)) % MOST_GROUPS
    return estimate_of_statistics(found, statistics, groups)


def estimate_of_statistics(metric: Metric, statistics: Array, groups: Array) -> Estimate:
    """A corpus score from the statistics of its sentences [sentences, columns] and their groups."""
    rest = sums_without(statistics, [np.arange(len(statistics))], groups)[0]
    left_out = np.array([metric.corpus(sums) for sums in rest])
    value = metric.corpus(statistics.sum(axis=0))
    return grouped_estimate(value, left_out, groups, within=bounds_of(metric.scale))


def bounds_of(scale: Scale) -> tuple[float, float]:
    """The ends of a scale; what has none is unbounded."""
    return -math.inf if scale.low is None else scale.low, math.inf if scale.high is None else scale.high


def source_groups(sources: Sequence[str]) -> Array:
    """The group of each sentence, from 0: sentences of one source are not independent, and so in one group.

    A group is one source, or where there are over a thousand, each thousandth in the order of their digests.
    """
    distinct = list(dict.fromkeys(sources))
    if len(distinct) > MOST_GROUPS:
        distinct.sort(key=digest_json)
    group = {source: place % MOST_GROUPS for place, source in enumerate(distinct)}
    return np.array([group[source] for source in sources], dtype=np.int64)


def sums_without(columns: Array, parts: Sequence[Array], groups: Array) -> list[Array]:
    """Sums of columns [sentences, k] over each part without each group of sentences in turn: [groups, k] a part.

    Parts are numbers of sentences. All parts leave out the same groups, and so do calls with the same sources:
    differences between parts, or between systems, are paired.
    """
    found = []
    for part in parts:
        sums = np.zeros((int(groups.max(initial=-1)) + 1, columns.shape[1]))
        np.add.at(sums, groups[part], columns[part])
        found.append(columns[part].sum(axis=0) - sums)
    return found


def grouped_estimate(
    value: float, left_out: Array, groups: Array, *, within: tuple[float, float] = (-math.inf, math.inf)
) -> Estimate:
    """A figure of sentences from its values without each group in turn; `groups` are those of these sentences."""
    own, what, clusters = _clusters(groups)
    if len(own) < FEWEST:  # then sentences of other groups cannot make an interval
        left_out = left_out[own]
    return jackknife_estimate(
        value, left_out, len(groups), what=what, fewest=FEWEST, within=within, clusters=clusters
    )


def grouped_difference(value: float, left_out: Array, groups: Array) -> tuple[Estimate, float]:
    """As `grouped_estimate` for a difference between two figures of the same sentences, with its p."""
    own, what, clusters = _clusters(groups)
    return jackknife_difference(
        value, left_out[own], len(groups), fewest=FEWEST, what=what, clusters=clusters
    )


def _clusters(groups: Array) -> tuple[Array, str, float]:
    """The groups that occur, what they are called, and how many of equal size they are worth."""
    own, sizes = np.unique(groups, return_counts=True)
    repeated = len(own) < min(len(groups), MOST_GROUPS)
    return own, "source sentences" if repeated else "sentences", float(kish(sizes.astype(float)))


def prepare_metrics(names: Iterable[str], *, yes: bool = False, tokenize: str = "") -> list[Metric]:
    """The metrics of these names; one that runs in an environment of its own gets it, if the user agrees.

    With `yes` the user has agreed already. Words are split by the tokenizer `tokenize`, if one is named.
    """
    found = [find_metric(name) for name in dict.fromkeys(names)]
    if tokenize:
        tokenizer = find_tokenizer(tokenize)
        if not any(metric.is_tokenized for metric in found):
            told = f"{found[-1].name} takes none" if found else "there is no --metric"
            raise BabelscopeError(f"the tokenizer {tokenize} is for a metric that splits words, and {told}")
        found = [metric.tokenized(tokenizer) for metric in found]
    for metric in found:
        metric.prepare(yes=yes)
    return found
