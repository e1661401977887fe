"""Quality on challenge sets: phenomena and distances against the whole corpus (Choshen and Abend 2019)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from babelscope.core.answers import Translates
from babelscope.core.columns import Group
from babelscope.core.comparable import Comparable
from babelscope.core.results import Record, Row
from babelscope.core.tokenisers import DEFAULT, find_tokeniser
from babelscope.methods.base import Method
from babelscope.methods.challenge.annotation import entries
from babelscope.methods.challenge.checks import judge_dependencies, verdict_rows
from babelscope.methods.challenge.figures import (
    Controls,
    SystemScores,
    control_rows,
    difference_rows,
    distance_rows,
    length_rows,
    quality_rows,
    system_scores,
)
from babelscope.methods.challenge.sets import read_instances
from babelscope.methods.challenge.settings import ChallengeSettings, identity, identity_on
from babelscope.methods.measuring import (
    answer_counts,
    scale_of,
    score_sentences,
    translated_records,
)
from babelscope.methods.tokenising import check_reference_words, check_source_words
from babelscope.metrics.base import is_allowed
from babelscope.metrics.records import tokenisers_of
from babelscope.testsets.items import ParallelSentence

DEPENDENCIES = "dependencies"
_SENTENCES_AT_ONCE = 100  # sentences scored between two steps of the progress bar


def ask(
    systems: Mapping[str, Translates],
    items: Sequence[ParallelSentence],
    settings: ChallengeSettings,
    _seed: int,
) -> list[Record]:
    """A record a sentence with its translation; the dependencies stay in the field `extra`.

    That is filled in after `judge`, so `judge` finds them in a field of their own, if it needs them.
    """
    records = translated_records(systems["system"], items, settings.beam)
    if settings.target_parser is None:
        return records
    return [
        {**record, DEPENDENCIES: item.extra["dependencies"]}
        for record, item in zip(records, items, strict=True)
    ]


def judge(records: Sequence[Record], settings: ChallengeSettings) -> list[Record]:
    """The records with lengths in tokens, sentence scores, and the statistics for corpus scores."""
    judged: list[Record] = []
    for start in range(0, len(records), _SENTENCES_AT_ONCE):
        some = records[start : start + _SENTENCES_AT_ONCE]
        measured = {name: score_sentences(name, some, settings.tokenize) for name in settings.metrics}
        lengths = _lengths(some, settings)
        for number, record in enumerate(some):
            judged.append(
                {
                    **record,
                    "lengths": lengths[number],
                    "scores": {name: scores[number] for name, (scores, _) in measured.items()},
                    # A metric whose corpus score is the mean of sentence scores stores no statistics.
                    "statistics": {name: rows[number] for name, (_, rows) in measured.items() if rows},
                }
            )
    return with_verdicts(judged, settings)


def with_verdicts(records: list[Record], settings: ChallengeSettings) -> list[Record]:
    """The records with a verdict on each dependency, if a parser of the targets is given; else without any."""
    gone = {DEPENDENCIES} if settings.target_parser else {DEPENDENCIES, "verdicts"}
    bare = [{name: value for name, value in each.items() if name not in gone} for each in records]
    if settings.target_parser is None:
        return bare
    # A stored run may be a stranger's: the model that it names is not opened, the stored verdicts are kept.
    if not is_allowed(settings.target_parser) and all("verdicts" in each for each in records):
        return bare
    found = judge_dependencies(records, settings.target_parser, settings.target_language)
    return [{**record, "verdicts": own} for record, own in zip(bare, found, strict=True)]


def _lengths(records: Sequence[Record], settings: ChallengeSettings) -> list[dict[str, int]]:
    """Words of each source, first reference and translation."""
    sources = tokenisers_of(records, settings.source_tokenize, "source")
    targets = tokenisers_of(records, settings.tokenize)
    usual = find_tokeniser(DEFAULT)
    return [
        {
            "source": len((own or usual).split(record["source"])),
            "reference": len((other or usual).split(record["references"][0])),
            "translation": len((other or usual).split(record["translation"])),
        }
        for record, own, other in zip(records, sources, targets, strict=True)
    ]


def summarise(records: Sequence[Record], settings: ChallengeSettings, seed: int) -> list[Row]:
    """Rows for all sentences and every phenomenon and distance: quality, controls, correlations."""
    own = system_scores(records, settings.partition(seed))
    counts = answer_counts(records)
    left_out = own.left_out()
    controls = Controls(settings.matched_corpora, settings.length_tolerance, settings.controls)
    return [
        *quality_rows(own, left_out, counts),
        *control_rows(own, left_out, controls, seed=seed),
        *distance_rows(own, left_out),
        *length_rows(own, seed=seed, corpora=settings.length_corpora, sizes=settings.length_sizes),
        *verdict_rows(records, settings.distances),
    ]


def comparable(settings: ChallengeSettings) -> list[Comparable]:
    """The sentence score by each metric."""
    scales = {name: scale_of(name) for name in settings.metrics}
    return [
        Comparable(
            ("scores", name),
            "points" if scale.unit == "percent" else name,
            name,
            higher_is_better=scale.better == "higher",
        )
        for name, scale in scales.items()
    ]


def system_differences(group: Group, settings: ChallengeSettings, seed: int) -> list[Row]:
    """Differences of corpus scores between every two systems, over the sentences that all systems answered."""
    by_system = {column.name: column.cell.records for column in group.columns}
    if len(by_system) < 2:
        return []
    common = set.intersection(*({record["item"] for record in own} for own in by_system.values()))
    found: dict[str, tuple[SystemScores, Any]] = {}
    for system, records in by_system.items():
        both = [record for record in records if record["item"] in common]
        own = system_scores(both, settings.partition(seed))
        found[system] = own, own.left_out()
    return difference_rows(found, {})


def check_items(items: Sequence[ParallelSentence], settings: ChallengeSettings) -> None:
    """Refuse items without dependencies, those of a plain parallel test set, and texts that cannot be split."""
    for item in items:
        read_instances(item.extra, f"item {item.id}")
    # Lengths are in words of the same tokeniser, whatever the metric.
    check_reference_words(items, dict.fromkeys(("bleu", *settings.metrics)), settings.tokenize)
    check_source_words(items, settings.source_tokenize)


METHOD = Method(
    name="challenge",
    summary="BLEU, chrF and RIBES by phenomenon and distance, against the whole and length-matched corpora",
    kind=ParallelSentence,
    settings=ChallengeSettings,
    ask=ask,
    judge=judge,
    check_items=check_items,
    summarise=summarise,
    asks=frozenset({"beam"}),
    whole_if=lambda settings: settings.target_parser is not None,
    identity=identity,
    identity_on=identity_on,
    comparable=comparable,
    across=system_differences,
    part_labels=frozenset({"phenomenon"}),
    view="babelscope.methods.challenge.view:VIEW",
    queue=entries,
)
