"""Likelihood of references under a system: log-probability per token, and perplexity."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from babelscope.core.charts import Bar, Chart, Forest, point
from babelscope.core.comparison import Comparison
from babelscope.core.results import Record, Row, grouped
from babelscope.core.settings import MethodSettings, Rerun
from babelscope.core.system import count_flags
from babelscope.core.tables import Table
from babelscope.methods.base import Items, Method, Needs
from babelscope.methods.reporting import (
    Figure,
    ItemView,
    count_notes,
    find_row,
    summary_table,
    tooltip,
)
from babelscope.stats.intervals import cluster_sums, leave_one_out, perplexity, ratio_of_sums
from babelscope.stats.paired import Tested, count_wins, jackknife_difference, tested_rows
from babelscope.systems.contract import ask_score, scored_as_json
from babelscope.testsets.items import ParallelSentence


class Likelihood(Method):
    """Likelihood: how surprising references are

    How probable does the system find translations that a person wrote?

    The system reads each reference token by token. The score is the mean natural-log probability per token, end of
    sentence included, in nats. Perplexity is its exponential: the number of equally probable next tokens.

    Figures of systems with different vocabularies cannot be compared: their tokens differ.
    """

    name = "likelihood"
    items = (ParallelSentence,)
    requires: ClassVar[Needs] = {"system": ("score",)}

    class Settings(MethodSettings):
        """Which references are scored."""

        references: Rerun[Literal["all", "first"]] = "all"
        """Score all references of an item, or only the first."""

    def ask(self, systems: Mapping[str, Any], items: Items, seed: int) -> list[Record]:  # noqa: ARG002
        """One record per item: its source, and each reference with its tokens and their log-probabilities."""
        most = 1 if self.settings.references == "first" else None
        chosen = [(item, item.references[:most]) for item in items]
        pairs = [(item.question, text) for item, references in chosen for text in references]
        answers = iter(ask_score(systems["system"], pairs))
        return [
            {"source": item.source, "references": [scored_as_json(next(answers)) for _ in references]}
            for item, references in chosen
        ]

    def judge(self, records: Sequence[Record]) -> list[Record]:
        """Each record with `logprob`, nats per token over its references; null if one has an impossible token."""
        judged = []
        for record in records:
            logs = [each for reference in record["references"] for each in reference["logprobs"]]
            judged.append({**record, "logprob": None if None in logs else math.fsum(logs) / len(logs)})
        return judged

    def summarize(self, records: Sequence[Record], seed: int) -> list[Row]:  # noqa: ARG002
        """Log-probability per token over all references, in nats with EOS counted, and the perplexity it makes.

        A reference with an impossible token (probability 0) has no finite score: it is left out and counted
        as `infinite`, since with it every mean would be minus infinity.
        """
        every = [each for record in records for each in record["references"]]
        possible = [(record["source"], *_possible(record["references"])) for record in records]
        items = [(source, logs) for source, logs in possible if logs]
        # References of one source are not independent.
        by_source = grouped((source, log) for source, logs in items for log in logs)
        mean = ratio_of_sums(
            [math.fsum(own) for own in by_source.values()],
            [len(own) for own in by_source.values()],
            what="sentences" if len(by_source) == len(items) else "source sentences",
            n=len(items),
            within=(-math.inf, 0.0),  # no probability is above 1
        )
        notes = Counter(note for each in every for note in each["notes"])
        asked = Counter(  # by item, however many references it has
            note for record in records for note in {n for each in record["references"] for n in each["notes"]}
        )
        counts = {
            "tokens": sum(map(len, by_source.values())),
            "infinite": sum(None in each["logprobs"] for each in every),
            "truncated": notes["truncated"],
            "changed": notes["changed"],
            **count_flags(asked),
        }
        return [Row("logprob", mean, counts=counts), Row("perplexity", perplexity(mean), counts=counts)]

    def compare(self, comparison: Comparison, seed: int) -> list[Row]:  # noqa: ARG002
        """Differences of `logprob` between every two systems, over the references that are possible under both."""
        found: list[Tested] = []
        for first, other in itertools.combinations(comparison.results, 2):
            theirs = {record["id"]: record["references"] for record in other.records}
            known = [record for record in first.records if record["id"] in theirs]
            both = [_possible(record["references"], theirs[record["id"]]) for record in known]
            sources = [record["source"] for record, (logs, _) in zip(known, both, strict=True) if logs]
            sums = [(math.fsum(a), len(a), math.fsum(b), len(b)) for a, b in both if a]
            if not sums:
                continue
            total, tokens, their_total, their_tokens = cluster_sums(list(zip(*sums, strict=True)), sources).T
            value = total.sum() / tokens.sum() - their_total.sum() / their_tokens.sum()
            rest = leave_one_out(total, tokens) - leave_one_out(their_total, their_tokens)
            tested = jackknife_difference(float(value), rest, len(sums), what="source sentences")
            wins = count_wins([own / size - its / length for own, size, its, length in sums])
            labels = {"system": first.name, "against": other.name, "measure": "logprob", "of": "logprob"}
            found.append((labels, *tested, wins))
        return tested_rows("difference", found)

    def tables(self, comparison: Comparison) -> list[Table]:
        notes = {
            "infinite": "have a reference with a token of probability 0 and are left out",
            "truncated": "were too long and were cut",
            "changed": "have a reference that does not survive tokenization",
        }
        return [
            summary_table(
                comparison,
                lambda result: [
                    Figure(row.name, row.estimate, "plain", query={"sort": "least"})
                    for name in ("perplexity", "logprob")
                    if (row := find_row(result.rows, name))
                ],
                title=f"Likelihood of the references: {comparison.tests}",
                notes=count_notes(comparison, notes),
            )
        ]

    def charts(self, comparison: Comparison) -> list[Chart]:
        bars = [
            (each.name, [Bar(each.name, point(row.estimate), tooltip(each.name, row.estimate, "plain"))])
            for each in comparison.results
            if (row := find_row(each.rows, "perplexity")) and row.estimate.n
        ]
        forest = Forest(bars, "perplexity (1: no surprise)", unit="plain", zero=1.0)
        caption = "The lower, the less surprised. Lines are 95 % intervals."
        chart = Chart(f"Perplexity of the references: {comparison.tests}", forest, caption)
        return [chart] if bars else []

    def show(self, record: Record) -> ItemView:
        mean = record["logprob"]
        return ItemView(
            record["source"],
            value=mean,
            facts="" if mean is not None else "impossible",
            answer=lambda: [
                ("reference", [(token, -100.0 if log is None else log) for token, log in tokens])
                for each in record["references"]
                for tokens in [zip(each["tokens"], each["logprobs"], strict=True)]
            ],
            value_name="log-probability per token of the references",
            colors="surprise",
        )


def _possible(*systems: Sequence[Record]) -> list[list[float]]:
    """Log-probabilities of the tokens of an item's references under each system, of those possible under all."""
    kept = [each for each in zip(*systems, strict=True) if not any(None in one["logprobs"] for one in each)]
    return [[log for each in kept for log in each[place]["logprobs"]] for place in range(len(systems))]
