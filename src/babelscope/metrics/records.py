"""Records scored by metrics, each with the tokeniser that is named or that its language has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import numpy as np

from babelscope.core.results import Record
from babelscope.core.tokenisers import Tokeniser, chosen_tokeniser
from babelscope.metrics.base import Array, Metric, Segment, find_metric, sentence_qualities
from babelscope.util.errors import BabelscopeError

Side = Literal["source", "target"]
Scored = TypeVar("Scored")


def tokenisers_of(
    records: Sequence[Mapping[str, Any]], named: str, side: Side = "target"
) -> list[Tokeniser | None]:
    """The tokeniser of each record: the one that is named, else its language's; None for a measure's own."""
    return [chosen_tokeniser(named, _language(record, f"{side}_language")) for record in records]


def _language(record: Mapping[str, Any], field: str) -> str | None:
    carried = record.get("extra")
    language = record.get(field) or (carried.get(field) if isinstance(carried, dict) else None)
    return language if isinstance(language, str) else None


def score_by_tokeniser(
    metric: Metric,
    records: Sequence[Mapping[str, Any]],
    named: str,
    score: Callable[[Metric, list[int]], Iterable[Scored]],
    *,
    checked: bool = True,
) -> list[Scored]:
    """What `score` gives for the numbers of all records, asked of the metric with each tokeniser in turn.

    `checked` says that words of the whole test set were seen to be split, as methods do before any system is asked.
    """
    tokenisers: Sequence[Tokeniser | None] = [None] * len(records)
    if metric.is_tokenised:  # others need no tokeniser to be there
        tokenisers = tokenisers_of(records, named)
    groups: dict[Tokeniser | None, list[int]] = {}
    for number, tokeniser in enumerate(tokenisers):
        groups.setdefault(tokeniser, []).append(number)
    found: dict[int, Scored] = {}
    for tokeniser, numbers in groups.items():
        found.update(zip(numbers, score(metric.tokenised(tokeniser, checked=checked), numbers), strict=True))
    return [found[number] for number in range(len(tokenisers))]


def record_statistics(metric: Metric, texts: Sequence[str], records: Sequence[Record], named: str) -> Array:
    """The statistics of a text for each record, [records, columns], against the record's references."""

    def statistics(by: Metric, numbers: list[int]) -> Array:
        some = [records[number] for number in numbers]
        return by.statistics(
            [texts[number] for number in numbers],
            [tuple(record["references"]) for record in some],
            [record["source"] for record in some],
        )

    return np.array(score_by_tokeniser(metric, records, named, statistics))


def score_records(
    metric: str | Metric, records: Sequence[tuple[str, Mapping[str, Any]]], named: str = ""
) -> list[tuple[str, dict[str, Any]]]:
    """Add to each (place, record) the quality of its `translation` as the field `score`.

    Words are split by the tokeniser that is named, or by that of each record's target language.
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
    qualities = score_by_tokeniser(found, own, named, qualities_of, checked=False)
    return [
        (place, {**record, "score": quality})
        for (place, record), quality in zip(records, qualities, strict=True)
    ]
