"""The report section of likelihoods: perplexity of the references, and their tokens."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from babelscope.core.columns import Group
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
from babelscope.core.results import Record
from babelscope.methods.view import every_figure, figure_note, headlines, noted, one


def findings(group: Group) -> list[Finding]:
    claim = "Perplexity of the references: it wavers at each step as if among so many equally good words"
    rows = {column.name: one(column.cell.rows, "perplexity") for column in group.columns}
    return [figure_note(group, name, claim, row) for name, row in rows.items() if row and row.estimate.n]


def caveats(group: Group) -> list[Caveat]:
    return noted(
        group,
        {
            "infinite": "have a reference that the system holds to be impossible and are left out",
            "truncated": "were too long and were cut",
            "changed": "have a reference that does not survive tokenisation",
        },
    )


def pictures(group: Group) -> list[Picture]:
    bars = [
        (column.name, [Bar(column.name, point(row.estimate), tooltip(column.name, row.estimate, "plain"))])
        for column in group.columns
        if (row := one(column.cell.rows, "perplexity")) and row.estimate.n
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
    logs = [each for reference in record["references"] for each in reference["logprobs"]]
    mean = None if None in logs or not logs else math.fsum(logs) / len(logs)
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
    "one) is. Log-probability is the mean of the natural logarithms, in nats a token, end of sentence included. "
    "Perplexity is the same told as a number of equally good choices.",
    "Figures of systems with different vocabularies cannot be compared: their tokens differ.",
)


def section(group: Group) -> Section:
    """The report section of one test set."""
    return Section(
        title="Likelihood: how surprising references are",
        question="How likely does the system find translations that a person wrote?",
        reading=_READING,
        measure="log-probability a token of the references",
        colours="surprise",
        order=50,
        findings=findings(group),
        caveats=caveats(group),
        pictures=pictures(group),
        tables=every_figure(group),
        measures={"logprob": Measure("log-probability a token of the references", "nats a token")},
    )


VIEW = View(section, about, answer, lambda rows: headlines(("perplexity", one(rows, "perplexity"), "plain")))
