"""Verdicts on dependencies held against what people say of the same translations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from babelscope.core.results import Record, Row
from babelscope.methods.challenge.annotation import cases_of
from babelscope.stats.intervals import proportion
from babelscope.stats.labels import TRANSLATED_RIGHT, TRANSLATED_WRONG, Annotator

_MEANT = {TRANSLATED_RIGHT: "kept", TRANSLATED_WRONG: "lost"}


def agreement_rows(records: Iterable[Record], annotators: Mapping[str, Annotator]) -> list[Row]:
    """Of the dependencies that a person calls right or wrong and a verdict was reached on, how many agree.

    By annotator and phenomenon, over all systems; `undecided` counts those without a verdict, which are not in n.
    """
    judged: dict[str, tuple[str, str]] = {}
    for record in records:
        if "verdicts" in record:
            for (_, case), verdict in zip(cases_of([record]), record["verdicts"], strict=True):
                judged[case.key] = case.instance.phenomenon, verdict["verdict"]
    rows = []
    for name, own in annotators.items():
        counts: dict[str, Counter[str]] = {}
        for key, answer in own.items():
            if key in judged and answer.label in _MEANT:
                phenomenon, verdict = judged[key]
                said = "undecided" if verdict == "undecided" else f"{verdict}, {_MEANT[answer.label]}"
                for group in ("all", phenomenon):
                    counts.setdefault(group, Counter())[said] += 1
        for phenomenon, found in sorted(counts.items()):
            agree = found["kept, kept"] + found["lost, lost"]
            wrong = found["kept, lost"] + found["lost, kept"]
            numbers = {
                "kept_but_wrong": found["kept, lost"],
                "lost_but_right": found["lost, kept"],
                "undecided": found["undecided"],
            }
            labels = {"annotator": name, "phenomenon": phenomenon}
            rows.append(Row("verdict_agreement", proportion(agree, agree + wrong), labels, numbers))
    return rows
