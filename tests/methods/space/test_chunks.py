"""A hypothesis space is the same in any chunk, up to the last bits of floats."""

from __future__ import annotations

from typing import Any

import pytest

from babelscope.core.results import Record
from babelscope.runs.execute import run_method
from babelscope.systems.opening import open_system
from babelscope.testsets import ParallelSentence
from tests.support.enumerated import Enumerated

TOLERANCE = 1e-4
"""Nats; batches of other sizes round otherwise."""


def answers(record: Record) -> list[dict[str, Any]]:
    return [record["best"], *record["beam"], *record["top"]["found"], *record["samples"]["hypotheses"]]


def test_listed_spaces_do_not_depend_on_the_chunk() -> None:
    items = [ParallelSentence(str(n), f"source {n}", ("ab",)) for n in range(6)]
    runs = [run_method("space", Enumerated(), items, k=3, samples=6, chunk=chunk) for chunk in (1, 4, 6)]
    assert runs[0].records == runs[1].records == runs[2].records
    assert [row.as_json() for row in runs[0].rows] == [row.as_json() for row in runs[2].rows]


def test_those_of_a_model_are_equal_but_for_the_last_bits() -> None:
    system = open_system("lab:student")
    sources = ("the dog sleeps .", "a woman sees the old house .", "he reads .")
    items = [ParallelSentence(str(n), source, ("ein Hund schläft .",)) for n, source in enumerate(sources)]
    small, large = (run_method("space", system, items, k=3, samples=6, chunk=chunk) for chunk in (1, 3))
    for one, other in zip(small.records, large.records, strict=True):
        assert [each["text"] for each in answers(one)] == [each["text"] for each in answers(other)]
        assert one["samples"]["drawn"] == other["samples"]["drawn"]
        expected = [each["logprob"] for each in answers(other)]
        assert [each["logprob"] for each in answers(one)] == pytest.approx(expected, abs=TOLERANCE)
