"""Accuracy on machine references compared with accuracy on human references."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from babelscope.core.columns import Group
from babelscope.core.results import Record, Row
from babelscope.core.ties import Ties
from babelscope.methods.contrast.figures import tie_credits
from babelscope.methods.grouping import by_phenomenon, sources
from babelscope.stats.paired import Tested, paired_difference, tested_rows

_Labels = dict[str, str | int]


def reference_differences(group: Group, settings: Any, _seed: int) -> list[Row]:
    """`machine_minus_human` of each system: accuracy on machine minus human references of the same sources.

    Tested over source sentences, and corrected by Holm for all tests on the test set.
    """
    by_system = {column.name: column.cell.records for column in group.columns}
    return tested_rows("machine_minus_human", _reference_tests(by_system, settings.ties))


def _reference_tests(by_system: Mapping[str, Sequence[Record]], ties: Ties) -> list[Tested]:
    """A test for each system and phenomenon, on sources with both kinds of references; each source counts once."""
    tests: list[Tested] = []
    for system, records in by_system.items():
        groups = by_phenomenon(records)
        for phenomenon in dict.fromkeys(name for name, _ in groups):
            human, machine = (
                _mean_credit_by_source(groups.get((phenomenon, kind), []), ties)
                for kind in ("human", "machine")
            )
            both = sorted(human.keys() & machine.keys())
            if both:
                values = [machine[source] - human[source] for source in both]
                labels: _Labels = {"system": system, "phenomenon": phenomenon}
                tests.append((labels, *paired_difference(values, both, verdicts=True), {}))
    return tests


def _mean_credit_by_source(records: Sequence[Record], ties: Ties) -> dict[str, float]:
    """Mean accuracy of each source's pairs."""
    found: dict[str, list[float]] = {}
    for source, worth in zip(sources(records), tie_credits(records, ties), strict=True):
        found.setdefault(source, []).append(worth)
    return {source: math.fsum(some) / len(some) for source, some in found.items()}
