"""Quality of translations by metrics: corpus scores of any system."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np
from pydantic import Field, field_validator

from babelscope.core.charts import Bar, Chart, Forest, point
from babelscope.core.comparison import Comparison
from babelscope.core.results import Estimate, Record, Row, grouped
from babelscope.core.settings import Languages, Metavar, MethodSettings, Option, Rerun
from babelscope.core.tables import Table
from babelscope.methods.base import Items, Method
from babelscope.methods.measuring import (
    answer_counts,
    check_reference_words,
    known_metrics,
    known_tokenizer,
    language_identity,
    metric_identity,
    mismatch_notes,
    named_identity,
    require_references,
    scale_of,
    score_sentences,
    sources,
    translated_records,
    warn_of_pooled_languages,
)
from babelscope.methods.queue import entry
from babelscope.methods.reporting import Figure, ItemView, count_notes, summary_table, tooltip
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


class QualitySettings(MethodSettings):
    """By which metrics translations are measured, and how they are made."""

    metric: Option[Annotated[tuple[str, ...], Field(min_length=1), Metavar("METRIC")]] = ("chrf", "bleu")
    """bleu, chrf, chrf++, ter, ribes, one of a plug-in, `cmd:COMMAND` or `file:NUMBERS?source=SEGMENTS`."""
    tokenize: Option[Annotated[str, Metavar("TOKENIZER")]] = ""
    """Tokenizer of the metric: 13a, intl, zh, ja-mecab, ko-mecab, char, whitespace or spm:FILE. [default: by target
    language]"""
    beam: Option[Rerun[int]] = Field(default=5, ge=1)
    """Beam size of the systems' translations."""

    _known_tokenizer = field_validator("tokenize")(known_tokenizer)

    _known_metrics = field_validator("metric")(known_metrics)

    def identity(self) -> Mapping[str, Any]:
        """What metrics and the tokenizer are."""
        return {**metric_identity("metric", self.metric), **named_identity(tokenize=self.tokenize)}

    def identity_on(self, languages: Languages) -> Mapping[str, Any]:
        """The tokenizers that the target languages choose."""
        chosen = language_identity(self.tokenize, self.metric, [target for _, target in languages])
        return {"tokenize": chosen} if chosen else {}


class Quality(Method):
    """Quality: translations measured by metrics

    How good are the translations, by metrics?

    Each figure is a corpus score on the metric's own scale: BLEU, chrF and TER from 0 to 100, RIBES from 0 to 1.
    Metrics that read references measure how close translations are to these; none says what is wrong with them.

    Figures of different test sets, numbers of references or metrics cannot be compared.
    """

    name = "quality"
    items = (ParallelSentence, SourceSentence)
    Settings = QualitySettings
    settings: QualitySettings

    def check(self, items: Sequence[Any], systems: Mapping[str, Any] | None = None) -> None:
        """Refuse items without references that a metric reads or can split, and warn of several target languages."""
        super().check(items, systems)
        if systems is None:
            require_references(items, self.settings.metric)
            check_reference_words(items, self.settings.metric, self.settings.tokenize)
            warn_of_pooled_languages(items)

    def ask(self, systems: Mapping[str, Any], items: Items, seed: int) -> list[Record]:  # noqa: ARG002
        """One record per sentence, with its translation."""
        return translated_records(systems["system"], items, self.settings.beam)

    def judge(self, records: Sequence[Record]) -> list[Record]:
        """The records with the score of each sentence, and the statistics for corpus scores."""
        return measure(records, self.settings.metric, self.settings.tokenize)

    def summarize(self, records: Sequence[Record], seed: int) -> list[Row]:  # noqa: ARG002
        """One row per metric: the corpus score on the metric's own scale."""
        references = sum(len(record["references"]) for record in records)
        counts = {**answer_counts(records), "references": references}
        own = CorpusScores(records)
        return [
            Row(name, own.estimate(name, own.everything), direction(name), counts)
            for name in self.settings.metric
        ]

    def compare(self, comparison: Comparison, seed: int) -> list[Row]:  # noqa: ARG002
        """Differences of corpus scores between every two systems, over the sentences that both answered."""
        found: list[Tested] = []
        for first, second in itertools.combinations(comparison.results, 2):
            answered = [{record["item"]: record for record in each.records} for each in (first, second)]
            common = sorted(answered[0].keys() & answered[1].keys())
            own, other = (CorpusScores([each[number] for number in common]) for each in answered)
            for name in self.settings.metric if common else ():
                labels = {"system": first.name, "against": second.name, "measure": name, "of": name}
                tested = own.difference(other, name, own.everything)
                found.append(({**labels, **direction(name)}, *tested))
        return tested_rows("difference", found)

    def tables(self, comparison: Comparison) -> list[Table]:
        notes = {
            "empty": "have an empty translation",
            "truncated": "were too long and were cut",
            "unfinished": "have a translation that did not end",
        }
        mismatched = mismatch_notes(comparison, lambda record: record.get("translation"))
        return [
            summary_table(
                comparison,
                lambda result: [
                    Figure(
                        f"{row.name}{_direction_note(row)}", row.estimate, "plain", query={"sort": "least"}
                    )
                    for row in result.rows
                ],
                title=f"Corpus scores: {comparison.tests}",
                labels=["metric"],
                notes=[*mismatched, *count_notes(comparison, notes)],
            )
        ]

    def charts(self, comparison: Comparison) -> list[Chart]:
        """A forest plot for each metric, one line per system."""
        found = grouped(
            (row.name, (each.name, row)) for each in comparison.results for row in each.rows if row.estimate.n
        )
        return [
            Chart(
                f"{metric}: {comparison.tests}",
                Forest(
                    [
                        (system, [Bar(system, point(row.estimate), tooltip(system, row.estimate, "plain"))])
                        for system, row in rows
                    ],
                    f"{metric} of the corpus{_direction_note(rows[0][1])}",
                    unit="plain",
                ),
                "Lines are 95 % intervals over sentences.",
            )
            for metric, rows in found.items()
        ]

    def show(self, record: Record) -> ItemView:
        """Sorted by the first metric, and shown with all."""
        scores = list(record["scores"].items())
        text = record["translation"]
        return ItemView(
            record["source"],
            lines=[("reference", each) for each in record["references"]],
            value=scores[0][1] if scores else None,
            facts=", ".join(f"{name} {score:.3g}" for name, score in scores),
            answer=lambda: [("translation", text)],
            questions=[entry(record, "assessment", translation=text)] if text.strip() else (),
            value_name=f"{scores[0][0]} of the sentence" if scores else "score",
        )


def measure(records: Sequence[Record], metrics: Sequence[str], tokenize: str) -> list[Record]:
    """The records with the score of each sentence, and the statistics for corpus scores, by each metric."""
    measured = {name: score_sentences(name, records, tokenize) for name in metrics} if records else {}
    return [
        {
            **record,
            "scores": {name: scores[number] for name, (scores, _) in measured.items()},
            # A metric whose corpus score is the mean of sentence scores stores no statistics.
            "statistics": {name: rows[number] for name, (_, rows) in measured.items() if rows},
        }
        for number, record in enumerate(records)
    ]


def corpus_score(metric: str, sums: Array) -> float:
    """A corpus score from summed sentence statistics; for an external metric (`:` in its name) the mean."""
    return mean_of_sums(sums) if ":" in metric else find_metric(metric).corpus(sums)


def mean_of_sums(sums: Array) -> float:
    """The mean from the sum of values and their number; NaN if there are none."""
    return float(sums[0] / sums[1]) if sums[1] else float("nan")


class CorpusScores:
    """One system's judged sentences as arrays, whose statistics can be summed over any set of sentences."""

    def __init__(self, records: Sequence[Record]) -> None:
        names = list(records[0]["scores"]) if records else []
        self.sentence_scores = {
            name: np.array([record["scores"][name] for record in records]) for name in names
        }
        self.statistics: dict[str, Array] = {
            name: np.array([record["statistics"][name] for record in records], dtype=float)
            if name in records[0]["statistics"]
            else np.stack([own, np.ones(len(own))], axis=1)
            for name, own in self.sentence_scores.items()
        }
        self.sources = sources(records)
        # Of each sentence, the group that it is left out with: equal for equal sources.
        self.groups = source_groups(self.sources)
        self.everything = np.arange(len(records))
        self._left_out: dict[tuple[str, bytes], Array] = {}

    def score(self, metric: str, members: Array) -> float:
        """The corpus score of the sentences with these numbers."""
        return corpus_score(metric, self.statistics[metric][members].sum(axis=0))

    def left_out(self, metric: str, members: Array) -> Array:
        """The same without each group of sentences in turn."""
        key = metric, members.tobytes()
        if key not in self._left_out:
            corpus = partial(corpus_score, metric)
            self._left_out[key] = self.without_groups(self.statistics[metric], members, corpus)
        return self._left_out[key]

    def without_groups(self, columns: Array, members: Array, corpus: Callable[[Array], float]) -> Array:
        """A figure of summed columns without each group; without groups of other sentences it is the same."""
        (rest,) = sums_without(columns, [members], self.groups)
        found = np.full(len(rest), corpus(columns[members].sum(axis=0)))
        for group in np.unique(self.groups[members]):
            found[group] = corpus(rest[group])
        return found

    def estimate(self, metric: str, members: Array) -> Estimate:
        """The corpus score of some sentences with its interval."""
        if not len(members):
            return Estimate.empty()
        score, left_out = self.score(metric, members), self.left_out(metric, members)
        return grouped_estimate(score, left_out, self.groups[members], within=bounds_of(scale_of(metric)))

    def difference(
        self, other: CorpusScores, metric: str, members: Array
    ) -> tuple[Estimate, float, dict[str, int]]:
        """The corpus score minus that of another system on the same sentences, its p, and wins by sentence."""
        value = self.score(metric, members) - other.score(metric, members)
        apart = self.left_out(metric, members) - other.left_out(metric, members)
        scores = (each.sentence_scores[metric][members] for each in (self, other))
        better = np.subtract(*scores) * (-1 if direction(metric) else 1)
        wins = count_wins(better.tolist())
        return *grouped_difference(value, apart, self.groups[members]), wins


def direction(name: str) -> dict[str, str]:
    """The label of figures by a metric of which lower values are better."""
    return {"better": "lower"} if scale_of(name).better == "lower" else {}


def _direction_note(row: Row) -> str:
    return " (lower is better)" if row.labels.get("better") == "lower" else ""
