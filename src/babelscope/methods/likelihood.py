"""Likelihood of references under a system: log-probability per token, and perplexity."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from babelscope.core.charts import Bar, Chart, Forest, point
from babelscope.core.comparison import Comparison
from babelscope.core.results import Record, Row
from babelscope.core.settings import MethodSettings, Rerun
from babelscope.core.system import told_counts
from babelscope.core.tables import Table
from babelscope.methods.base import Items, Method, Needs
from babelscope.methods.reporting import (
    Figure,
    ItemView,
    TextLine,
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
        """Score every reference of an item, or its first only."""

    def ask(self, systems: Mapping[str, Any], items: Items, seed: int) -> list[Record]:  # noqa: ARG002
        """One record per item: its source, and each reference with its tokens and their log-probabilities."""
        first = self.settings.references == "first"
        chosen = [item.references[: 1 if first else None] for item in items]
        pairs = [
            (item.question, text)
            for item, references in zip(items, chosen, strict=True)
            for text in references
        ]
        answers = iter(ask_score(systems["system"], pairs))
        return [
            {"source": item.source, "references": [scored_as_json(next(answers)) for _ in references]}
            for item, references in zip(items, chosen, strict=True)
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
        totals: dict[str, list[float]] = {}  # by source: references of one source are not independent
        lengths: dict[str, int] = {}
        items = 0
        counts: Counter[str] = Counter()
        asked: Counter[str] = Counter()  # by item, however many references it has
        for record in records:
            finite = [each for each in record["references"] if None not in each["logprobs"]]
            counts["infinite"] += len(record["references"]) - len(finite)
            counts.update(note for each in record["references"] for note in each["notes"])
            asked.update({note for each in record["references"] for note in each["notes"]})
            if finite:
                items += 1
                logs = [x for each in finite for x in each["logprobs"]]
                totals.setdefault(record["source"], []).extend(logs)
                lengths[record["source"]] = lengths.get(record["source"], 0) + len(logs)
        mean = ratio_of_sums(
            [math.fsum(own) for own in totals.values()],
            list(lengths.values()),
            what="sentences" if len(totals) == items else "source sentences",
            n=items,
            within=(-math.inf, 0.0),  # no probability is above 1
        )
        shown = {
            "tokens": sum(lengths.values()),
            "infinite": counts["infinite"],
            "truncated": counts["truncated"],
            "changed": counts["changed"],
            **told_counts(asked),
        }
        return [Row("logprob", mean, counts=shown), Row("perplexity", perplexity(mean), counts=shown)]

    def compare(self, comparison: Comparison, seed: int) -> list[Row]:  # noqa: ARG002
        """Differences of `logprob` between every two systems, over the references that are possible under both."""
        found: list[Tested] = []
        for first, other in itertools.combinations(comparison.results, 2):
            theirs = {record["id"]: record for record in other.records}
            sums, sources = [], []
            for record in first.records:
                both = _sums_of_both(record, theirs[record["id"]]) if record["id"] in theirs else None
                if both:
                    sums.append(both)
                    sources.append(record["source"])
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
        if not bars:
            return []
        forest = Forest(bars, "perplexity (1: no surprise)", unit="plain", zero=1.0)
        caption = "The lower, the less surprised. Lines are 95 % intervals."
        return [Chart(f"Perplexity of the references: {comparison.tests}", forest, caption)]

    def show(self, record: Record) -> ItemView:
        mean = record["logprob"]
        return ItemView(
            record["source"],
            value=mean,
            facts="" if mean is not None else "impossible",
            answer=lambda: _lines(record),
            value_name="log-probability per token of the references",
            colors="surprise",
        )


def _lines(record: Record) -> list[TextLine]:
    return [
        (
            "reference",
            [
                (token, -100.0 if log is None else log)
                for token, log in zip(reference["tokens"], reference["logprobs"], strict=True)
            ],
        )
        for reference in record["references"]
    ]


def _sums_of_both(ours: Record, theirs: Record) -> tuple[float, float, float, float] | None:
    """Log-probability and tokens of an item's references under both systems; None if none is possible under both."""
    both = [
        (mine["logprobs"], its["logprobs"])
        for mine, its in zip(ours["references"], theirs["references"], strict=True)
        if None not in (*mine["logprobs"], *its["logprobs"])
    ]
    if not both:
        return None
    own, other = ([each for logs in side for each in logs] for side in zip(*both, strict=True))
    return math.fsum(own), float(len(own)), math.fsum(other), float(len(other))
