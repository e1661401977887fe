"""Likelihood of references under a system: log-probability per token, and perplexity."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from babelscope.core.comparison import Comparison
from babelscope.core.page import (
    About,
    Answer,
    Bar,
    Caveat,
    Finding,
    Forest,
    Line,
    Measure,
    Picture,
    Section,
    Token,
    View,
    point,
    tooltip,
)
from babelscope.core.results import Record, Row
from babelscope.core.settings import MethodSettings, Rerun
from babelscope.core.system import Scores, told_counts
from babelscope.methods.base import Items, Method, Needs
from babelscope.methods.command import JudgingCommand
from babelscope.methods.view import every_figure, figure_note, headlines, noted, one
from babelscope.stats.intervals import cluster_sums, leave_one_out, perplexity, ratio_of_sums
from babelscope.stats.paired import Tested, count_wins, jackknife_difference, tested_rows
from babelscope.systems.contract import ask_score, scored_as_json
from babelscope.testsets.items import ParallelSentence


class LikelihoodSettings(MethodSettings):
    """Which references are scored."""

    references: Rerun[Literal["all", "first"]] = "all"
    """Score every reference of an item, or its first only."""


def ask(
    systems: Mapping[str, Scores], items: Sequence[ParallelSentence], settings: LikelihoodSettings, _seed: int
) -> list[Record]:
    """One record per item: its source, and each reference with its tokens and their log-probabilities."""
    chosen = [item.references[: 1 if settings.references == "first" else None] for item in items]
    pairs = [
        (item.question, text) for item, references in zip(items, chosen, strict=True) for text in references
    ]
    answers = iter(ask_score(systems["system"], pairs))
    return [
        {"source": item.source, "references": [scored_as_json(next(answers)) for _ in references]}
        for item, references in zip(items, chosen, strict=True)
    ]


def judge(records: Sequence[Record], _settings: LikelihoodSettings) -> list[Record]:
    """Each record with `logprob`, nats per token over its references; null if one has an impossible token."""
    judged = []
    for record in records:
        logs = [each for reference in record["references"] for each in reference["logprobs"]]
        judged.append({**record, "logprob": None if None in logs else math.fsum(logs) / len(logs)})
    return judged


def summarize(records: Sequence[Record], _settings: LikelihoodSettings, _seed: int) -> list[Row]:
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


def system_differences(group: Comparison, _settings: LikelihoodSettings, _seed: int) -> list[Row]:
    """Differences of `logprob` between every two systems, over the references that are possible under both."""
    found: list[Tested] = []
    for first, other in itertools.combinations(group.results, 2):
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


class Likelihood(Method):
    """log-probability per token, and perplexity, of the references"""

    name = "likelihood"
    items = (ParallelSentence,)
    requires: ClassVar[Needs] = {"system": ("score",)}
    Settings = LikelihoodSettings

    def ask(self, systems: Mapping[str, Any], items: Items, seed: int) -> list[Record]:
        return ask(systems, items, self.settings, seed)

    def judge(self, records: Sequence[Record]) -> list[Record]:
        return judge(records, self.settings)

    def summarize(self, records: Sequence[Record], seed: int) -> list[Row]:
        return summarize(records, self.settings, seed)

    def compare(self, comparison: Comparison, seed: int) -> list[Row]:
        return system_differences(comparison, self.settings, seed)


# --- The report section of likelihoods: perplexity of the references, and their tokens -----------------------------


def findings(group: Comparison) -> list[Finding]:
    claim = "Perplexity of the references: it wavers at each step as if among so many equally good words"
    rows = {column.name: one(column.rows, "perplexity") for column in group.results}
    return [figure_note(group, name, claim, row) for name, row in rows.items() if row and row.estimate.n]


def caveats(group: Comparison) -> list[Caveat]:
    return noted(
        group,
        {
            "infinite": "have a reference that the system holds to be impossible and are left out",
            "truncated": "were too long and were cut",
            "changed": "have a reference that does not survive tokenization",
        },
    )


def pictures(group: Comparison) -> list[Picture]:
    bars = [
        (column.name, [Bar(column.name, point(row.estimate), tooltip(column.name, row.estimate, "plain"))])
        for column in group.results
        if (row := one(column.rows, "perplexity")) and row.estimate.n
    ]
    if not bars:
        return []
    return [
        Picture(
            f"Perplexity of the references: {group.tests}",
            Forest(bars, "perplexity, 1 is the least", unit="plain", zero=1.0),
            "The lower, the less surprised. Lines are 95 % intervals.",
        )
    ]


def about(record: Record) -> About:
    return About(record["source"])


def answer(record: Record, _settings: Mapping[str, Any]) -> Answer:
    mean = record["logprob"]
    return Answer("", "note", mean, "" if mean is not None else "impossible", lambda: _lines(record))


def _lines(record: Record) -> list[Line]:
    lines: list[Line] = []
    for reference in record["references"]:
        tokens: list[Token] = [
            (token, -100.0 if log is None else log)
            for token, log in zip(reference["tokens"], reference["logprobs"], strict=True)
        ]
        lines.append(("reference", tokens))
    return lines


_READING = (
    "The system is given the reference word by word and says how likely each next token (a word or a piece of "
    "one) is. Log-probability is the mean of the natural logarithms, in nats per token, end of sentence included. "
    "Perplexity is the same told as a number of equally good choices.",
    "Figures of systems with different vocabularies cannot be compared: their tokens differ.",
)


def section(group: Comparison) -> Section:
    """The report section of one test set."""
    return Section(
        title="Likelihood: how surprising references are",
        question="How likely does the system find translations that a person wrote?",
        reading=_READING,
        measure="log-probability per token of the references",
        colors="surprise",
        order=50,
        findings=findings(group),
        caveats=caveats(group),
        pictures=pictures(group),
        tables=every_figure(group),
        measures={"logprob": Measure("log-probability per token of the references", "nats per token")},
    )


VIEW = View(section, about, answer, lambda rows: headlines(("perplexity", one(rows, "perplexity"), "plain")))


COMMAND = JudgingCommand(
    "likelihood",
    "Measure how probable systems find the references of a test set. Log-probability per token, and perplexity.",
    "likelihood",
    LikelihoodSettings,
    changed={"tests": {"help": "Sentences with references."}},
)
