"""Verdicts on dependencies held against what people say of the same translations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from babelscope.core.results import Record, Row
from babelscope.methods.challenge.annotation import cases_of
from babelscope.stats.intervals import clustered_proportion
from babelscope.stats.labels import TRANSLATED_RIGHT, TRANSLATED_WRONG, Annotator

_MEANT = {TRANSLATED_RIGHT: "kept", TRANSLATED_WRONG: "lost"}
_AGREE = ("kept, kept", "lost, lost")


def agreement_rows(records: Iterable[Record], annotators: Mapping[str, Annotator]) -> list[Row]:
    """Of the dependencies that a person calls right or wrong and a verdict was reached on, how many agree.

    By annotator and phenomenon, over all systems; `undecided` counts those without a verdict, which are not in n.
    """
    judged: dict[str, tuple[str, str, str]] = {}
    for record in records:
        if "verdicts" in record:
            for (_, case), verdict in zip(cases_of([record]), record["verdicts"], strict=True):
                judged[case.key] = case.instance.phenomenon, verdict["verdict"], record["source"]
    rows = []
    for name, own in annotators.items():
        compared: dict[str, list[tuple[str, str]]] = {}
        for key, answer in own.items():
            if key in judged and answer.label in _MEANT:
                phenomenon, verdict, source = judged[key]
                said = "undecided" if verdict == "undecided" else f"{verdict}, {_MEANT[answer.label]}"
                for group in ("all", phenomenon):
                    compared.setdefault(group, []).append((said, source))
        for phenomenon, pairs in sorted(compared.items()):
            found = Counter(said for said, _ in pairs)
            decided = [(said in _AGREE, source) for said, source in pairs if said != "undecided"]
            agree = clustered_proportion([float(same) for same, _ in decided], [each for _, each in decided])
            numbers = {
                "kept_but_wrong": found["kept, lost"],
                "lost_but_right": found["lost, kept"],
                "undecided": found["undecided"],
            }
            labels = {"annotator": name, "phenomenon": phenomenon}
            rows.append(Row("verdict_agreement", agree, labels, numbers))
    return rows
