"""Quality of translations by metrics: corpus scores of any system."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field, field_validator

from babelscope.core.charts import Bar, Chart, Forest, point
from babelscope.core.comparison import Comparison
from babelscope.core.results import Estimate, Record, Row
from babelscope.core.settings import Languages, MethodSettings, Rerun
from babelscope.core.tables import Table
from babelscope.methods.base import Items, Method
from babelscope.methods.command import JudgingCommand
from babelscope.methods.measuring import (
    answer_counts,
    check_reference_words,
    grouped,
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

    metric: Annotated[tuple[str, ...], Field(min_length=1)] = ("chrf", "bleu")
    """bleu, chrf, chrf++, ter, ribes, one of a plug-in, `cmd:COMMAND` or `file:NUMBERS?source=SEGMENTS`."""
    tokenize: str = ""
    """How words are split: 13a, intl, zh, ja-mecab, ko-mecab, char, whitespace or spm:FILE; if not given, as the
    item's target language needs it."""
    beam: Rerun[int] = Field(default=5, ge=1)
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
    asks_people = True

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
        measured = (
            {name: score_sentences(name, records, self.settings.tokenize) for name in self.settings.metric}
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

    def summarize(self, records: Sequence[Record], seed: int) -> list[Row]:  # noqa: ARG002
        """One row per metric: the corpus score on the metric's own scale."""
        counts = {
            **answer_counts(records),
            "references": sum(len(record["references"]) for record in records),
        }
        return [
            Row(name, _corpus_score(name, records), _direction(name), counts) for name in self.settings.metric
        ]

    def compare(self, comparison: Comparison, seed: int) -> list[Row]:  # noqa: ARG002
        """Differences of corpus scores between every two systems, over the sentences that both answered."""
        by_system: Mapping[str, Mapping[int, Record]] = {
            column.name: {record["item"]: record for record in column.records}
            for column in comparison.results
        }
        found: list[Tested] = []
        for (first, own), (second, other) in itertools.combinations(by_system.items(), 2):
            common = sorted(own.keys() & other.keys())
            groups = source_groups(sources(own[n] for n in common))
            for name in self.settings.metric if common else ():
                (one, rest), (two, others) = (
                    _scores(name, [each[n] for n in common], groups) for each in (own, other)
                )
                tested = grouped_difference(one - two, rest - others, groups)
                labels = {"system": first, "against": second, "measure": name, "of": name, **_direction(name)}
                apart = [own[n]["scores"][name] - other[n]["scores"][name] for n in common]
                better = [-each for each in apart] if _direction(name) else apart
                found.append((labels, *tested, count_wins(better)))
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


def _direction(name: str) -> dict[str, str]:
    return {"better": "lower"} if scale_of(name).better == "lower" else {}


def _direction_note(row: Row) -> str:
    return " (lower is better)" if row.labels.get("better") == "lower" else ""


COMMAND = JudgingCommand(
    "quality",
    "Measure translations of any system by BLEU, chrF or other metrics. Files, programs and servers too; `compare "
    "--factors RUN` reads the figures of a run.",
    "quality",
    QualitySettings,
    changed={
        "tests": {"help": "Sentences with references."},
        "tokenize": {"metavar": "TOKENIZER", "role": "read"},
        "metric": {
            "metavar": "METRIC",
            "help": "bleu, chrf, chrf++, ter, ribes, cmd:COMMAND or file:NUMBERS; may be repeated (chrf, bleu).",
        },
    },
)
