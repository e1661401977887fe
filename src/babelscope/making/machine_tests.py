"""A test set with machine references beside its human ones, and what became of each pair."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

from babelscope.core.results import Record, Row
from babelscope.making.machine_bias import bias_rows
from babelscope.making.machine_references import Outcome, machine_references
from babelscope.testsets.items import Item, MinimalPair
from babelscope.testsets.sets import TestSet
from babelscope.util.errors import BabelscopeError

FIELD = "machine_reference"
"""Field of a human pair that says what became of its machine reference."""
_Verdict = Literal["kept", "queued", "dropped"]


def with_machine_references(
    tests: TestSet, systems: Sequence[Any], *, seed: int, advance: Callable[[int], None] = lambda _n: None
) -> TestSet:
    """The human pairs of a test set, and the pairs made from the systems' translations of the same sources."""
    pairs = tests.items_of(MinimalPair, what_for="making machine references")
    if any(pair.reference == "machine" for pair in pairs):
        raise BabelscopeError(
            f"{tests.name} has machine references already: leave --machine-references out, or give its human pairs"
        )
    outcomes = []
    for outcome in machine_references(pairs, systems, seed=seed):
        outcomes.append(outcome)
        advance(1)
    made: list[Item] = [outcome.pair for outcome in outcomes if outcome.pair is not None]
    return TestSet(tests.name, (*map(marked, outcomes), *made), tests.skipped, tests.version)


def marked(outcome: Outcome) -> MinimalPair:
    """The human pair of an outcome, with what became of its machine reference in the field `machine_reference`."""
    told = {
        "verdict": outcome.verdict,
        "reason": outcome.reason,
        "system": outcome.system,
        "translation": outcome.translation,
    }
    return dataclasses.replace(outcome.human, extra={**outcome.human.extra, FIELD: told})


def rows_of_making(records: Sequence[Record]) -> list[Row]:
    """How many pairs got a machine reference, and the bias of these, from judged records of such a test set.

    `kept`, `queued` and `dropped` as in `making/machine_bias.py`; its shifts are named `bias_characters`...
    """
    outcomes = _outcomes(records)
    if not outcomes:
        return []
    distances = {
        record["id"]: record["discrepancy"] for record in records if record.get("discrepancy") is not None
    }
    found = bias_rows(outcomes, distances or None)
    # Of each error type what is left; reasons and shifts of all types together.
    shown = [row for row in found if row.labels["phenomenon"] == "all" or len(row.labels) == 1]
    return [row if row.name in get_args(_Verdict) else _renamed(row) for row in shown]


def _renamed(row: Row) -> Row:
    """A shift under a name of its own; in the rows of a run, `by` names a field of the items."""
    labels = {"shift" if name == "by" else name: value for name, value in row.labels.items()}
    return Row(f"bias_{row.name}", row.estimate, labels, row.counts)


def _outcomes(records: Iterable[Record]) -> list[Outcome]:
    """What became of the human pairs among the records, as their test set says."""
    records = list(records)
    machine = {
        str(record.get("extra", {}).get("human")): record
        for record in records
        if record["reference"] == "machine"
    }
    found = []
    for record in records:
        told = record.get("extra", {}).get(FIELD)
        if record["reference"] != "human" or not _is_outcome(told):
            continue
        other = machine.get(str(record["id"])) if told["verdict"] == "kept" else None
        pair = None if other is None else _pair(other)
        found.append(
            Outcome(_pair(record), told["system"], told["translation"], told["verdict"], told["reason"], pair)
        )
    return found


def _is_outcome(told: object) -> bool:
    """Whether a field is what `marked` wrote: a test set may be a stranger's."""
    fields = ("verdict", "reason", "system", "translation")
    return (
        isinstance(told, Mapping)
        and all(isinstance(told.get(name), str) for name in fields)
        and told["verdict"] in get_args(_Verdict)
    )


def _pair(record: Record) -> MinimalPair:
    texts = record.get("texts") or {
        "correct": record["correct"]["text"],
        "contrastive": [each["text"] for each in record["contrastive"]],
    }
    return MinimalPair(
        str(record["id"]),
        record["source"],
        texts["correct"],
        tuple(texts["contrastive"]),
        record["phenomenon"],
        record["reference"],
        for_scores=True,
    )
