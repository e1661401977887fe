"""MuCoW's rows: coverage, precision, recall and F1 of verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from babelscope.core.results import Record, Row
from babelscope.methods.patterns.morphology import count_other_languages
from babelscope.methods.patterns.mucow.judge import rules_name
from babelscope.methods.patterns.mucow.settings import MucowSettings
from babelscope.stats.intervals import f1, proportion
from babelscope.testsets.mucow import NO_CATEGORY

GROUPINGS = ("category", "domain")
"""Frequent and infrequent senses, and senses in and out of the training data's domain."""

_VERDICTS: tuple[bool | None, ...] = (True, False, None)


def summarise(records: Sequence[Record], settings: MucowSettings, _seed: int) -> list[Row]:
    """Coverage, precision, both recalls and F1s, over all and by group; agreement with earlier verdicts.

    Recall A is correct / (correct + unknown), which the suite's tables show; recall B is correct / all,
    which its papers define (comment in its evaluation script; Scherrer et al. 2020).
    """
    rows: list[Row] = []
    rules = rules_name(records, settings)
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
        # A wrong verdict is a false positive; with recall B it is a false negative too.
        scores = {"f1_a": f1(correct, wrong + unknown), "f1_b": f1(correct, unknown, both=wrong)}
        rows += [Row(name, estimate, labels, shown) for name, estimate in (plain | scores).items()]
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
