"""MuCoW's rows: coverage, precision, recall and F1 of verdicts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from babelscope.core.results import Record, Row
from babelscope.methods.patterns.morphology import count_other_languages
from babelscope.methods.patterns.mucow.judge import rules_name
from babelscope.methods.patterns.mucow.settings import MucowSettings
from babelscope.stats.intervals import Array, proportion, resampled_counts
from babelscope.testsets.mucow import NO_CATEGORY
from babelscope.util.seeds import stream

GROUPINGS = ("category", "domain")
"""Frequent and infrequent senses, and senses in and out of the training data's domain."""

_VERDICTS: tuple[bool | None, ...] = (True, False, None)


def summarise(records: Sequence[Record], settings: MucowSettings, seed: int) -> list[Row]:
    """Coverage, precision, both recalls and F1s, over all and by group; agreement with earlier verdicts.

    Recall A is correct / (correct + unknown), which the suite's tables show; recall B is correct / all,
    which its papers define (comment in its evaluation script; Scherrer et al. 2020).
    """
    rows: list[Row] = []
    rules, rng = rules_name(records, settings), stream(seed, "patterns mucow")
    for labels, group in _groups(records):
        cells = [_VERDICTS.index(record["correct"]) for record in group]
        correct, wrong, unknown = (cells.count(kind) for kind in range(3))
        shown = {"correct": correct, "wrong": wrong, "unknown": unknown}
        known = correct + wrong
        plain = {
            "coverage": proportion(known, len(cells)),
            "precision": proportion(correct, known),
            "recall_a": proportion(correct, correct + unknown),
            "recall_b": proportion(correct, len(cells)),
        }
        f1 = dict(zip(("f1_a", "f1_b"), resampled_counts(cells, 3, _f1, rng), strict=True))
        rows += [Row(name, estimate, labels, shown) for name, estimate in (plain | f1).items()]
    if rules != "stored" and (compared := [record for record in records if "stored" in record]):
        same = sum(record["correct"] is record["stored"] for record in compared)
        estimate = proportion(same, len(compared))
        rows.append(Row("same_verdict", estimate, {"category": "all"}, {"same": same}))
    labelled = [Row(row.name, row.estimate, {"rules": rules, **row.labels}, row.counts) for row in rows]
    return count_other_languages(labelled, records)


def _groups(records: Sequence[Record]) -> list[tuple[dict[str, str | int], list[Record]]]:
    groups: list[tuple[dict[str, str | int], list[Record]]] = [({"category": "all"}, list(records))]
    for grouping in GROUPINGS:
        for name in sorted({str(r[grouping]) for r in records if r.get(grouping) not in (None, NO_CATEGORY)}):
            groups.append(({grouping: name}, [r for r in records if r.get(grouping) == name]))
    return groups


def _f1(counts: Array) -> Array:
    """F1 with recall A and with recall B, from counts [..., 3] of correct, wrong and unknown."""
    correct, wrong, unknown = (counts[..., kind].astype(float) for kind in range(3))
    sums = [2 * correct + wrong + unknown, 2 * correct + 2 * wrong + unknown]
    return np.stack(
        [np.divide(2 * correct, whole, out=np.zeros_like(whole), where=whole > 0) for whole in sums]
    )
