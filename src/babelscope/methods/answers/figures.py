"""Rows of a forced choice by answer: accuracy, what is undecided, position bias, and questions without an answer.

They have names of their own: an answer in words is another measure than a likelihood, and neither predicts the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from babelscope.core.results import Record, Row
from babelscope.core.ties import Ties, credit
from babelscope.methods.answers.questions import letter_of
from babelscope.methods.grouping import group_records, sources
from babelscope.stats.intervals import clustered_mean, clustered_proportion

_BIAS = {"first": 1.0, "second": -1.0, "right": 0.0, "wrong": 0.0}
Labels = Mapping[str, str | int]


def worth_of(undecided: Ties) -> dict[str, float]:
    """What each verdict counts."""
    worth = credit(undecided)
    return {"correct": 1.0, "wrong": 0.0, "undecided": worth["tie"]}


def figures(
    records: Sequence[Record],
    undecided: Ties,
    groups: Callable[[Record], Iterable[tuple[tuple[str, str], ...]]],
) -> list[Row]:
    """The rows over all items, then over each group of them; `groups` names those of an item by their labels."""
    parts: dict[Any, list[Record]] = group_records((key, each) for each in records for key in groups(each))
    rows = list(_rows(records, undecided, {}))
    for labels, members in parts.items():
        rows += _rows(members, undecided, dict(labels))
    return rows


def _rows(records: Sequence[Record], undecided: Ties, labels: Labels) -> Iterator[Row]:
    worth = worth_of(undecided)
    verdicts = Counter(record["verdict"] for record in records)
    counts = {each: verdicts[each] for each in ("correct", "wrong", "undecided")}
    owners = sources(records)
    decided = [record for record in records if record["verdict"] != "undecided"]
    # Where nothing is decided, half of each item would be an accuracy of 50 % that nobody measured.
    counted = records if decided or undecided != "half" else []
    accuracy = clustered_proportion([worth[record["verdict"]] for record in counted], sources(counted))
    yield Row("answer_accuracy", accuracy, labels, counts)
    right = [float(record["verdict"] == "correct") for record in decided]
    yield Row("answer_accuracy_decided", clustered_proportion(right, sources(decided)), labels, counts)
    left = clustered_proportion([float(record["verdict"] == "undecided") for record in records], owners)
    yield Row("answer_undecided", left, labels, counts)
    yield _position_bias(records, labels)
    yield _answered(records, labels)


def _position_bias(records: Sequence[Record], labels: Labels) -> Row:
    """Share of pairs with the first chosen in both orders, minus that with the second; 0 if order does not matter."""
    pairs = [(record, choice) for record in records for choice in record["choices"]]
    known = [(record, choice) for record, choice in pairs if choice != "none"]
    mean = clustered_mean(
        [_BIAS[choice] for _, choice in known], sources(r for r, _ in known), within=(-1.0, 1.0)
    )
    found = Counter(choice for _, choice in known)
    counts = {"first": found["first"], "second": found["second"], "unanswered": len(pairs) - len(known)}
    return Row("position_bias", mean, labels, counts)


def _answered(records: Sequence[Record], labels: Labels) -> Row:
    """Share of questions whose answer is A or B and nothing else; the others by kind."""
    replies = [
        (record, reply) for record in records for asked in record["asked"] for reply in asked["replies"]
    ]
    given = [float(letter_of(reply) is not None) for _, reply in replies]
    ended = Counter(reply["ended"] for _, reply in replies)
    neither = len(replies) - int(sum(given)) - ended["cut"] - ended["refused"]
    counts = {"neither": neither, "cut": ended["cut"], "refused": ended["refused"]}
    return Row(
        "answer_given", clustered_proportion(given, sources(record for record, _ in replies)), labels, counts
    )
