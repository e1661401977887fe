"""How far people's answers agree with each other, and automatic verdicts and scores with them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from babelscope.annotate.answers import Answered, is_complete
from babelscope.annotate.items import Task
from babelscope.core.results import Row
from babelscope.stats.agreement import compare, weight_of, weighted
from babelscope.stats.correlation import correlation, human_correlations
from babelscope.stats.labels import LABELS, REDUCTIONS, Annotator, Judgement, is_right
from babelscope.stats.labels import Task as Labelled
from babelscope.stats.reliability import cohens_kappa, krippendorffs_alpha
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import shorten

Answers = Mapping[str, Mapping[str, Answered]]
"""What each annotator said about each item, by name and by digest of the item."""
Labels = dict[str, str | int]

MOST_ANNOTATORS = 100

SCORED = {"assessment": ("score",), "ranking": ("scores", "overall")}
"""The numbers in an answer to a task."""
FIELDS = {"assessment": "score", "ranking": "top_kqrg"}
"""The number in a record that human scores are compared with, unless another is asked for."""


def between_people(answers: Answers, tasks: Mapping[str, Task]) -> list[Row]:
    """Kappa for every two annotators, alpha where there are more; correlations for scores. By task."""
    if len(answers) > MOST_ANNOTATORS:
        raise BabelscopeError(
            f"answers of {len(answers):,} annotators: every two are compared, so {MOST_ANNOTATORS} are the most"
        )
    rows: list[Row] = []
    for task in _tasks_of(answers):
        some, unfinished = _of_task(answers, task)
        if len(some) < 2:
            raise BabelscopeError(f"agreement on {task} needs the answers of two annotators")
        if task in SCORED:
            rows += _scores(task, some, unfinished)
            continue
        judged = {name: _judgements(own, task, tasks) for name, own in some.items()}
        labelled = cast(Labelled, task)
        rows += compare(judged, labelled)
        if len(judged) > 2:
            rows += _alphas(judged, labelled)
    return rows


def _tasks_of(answers: Answers) -> list[str]:
    return sorted({each.task for own in answers.values() for each in own.values()})


def _of_task(answers: Answers, task: str) -> tuple[dict[str, dict[str, Answered]], int]:
    """Complete answers to one task of those who have any, and how many were left unfinished."""
    here = {
        name: {item: each for item, each in own.items() if each.task == task} for name, own in answers.items()
    }
    done = {
        name: {item: each for item, each in own.items() if is_complete(each.answer)}
        for name, own in here.items()
        if own
    }
    return done, sum(len(own) for own in here.values()) - sum(len(own) for own in done.values())


def _judgements(own: Mapping[str, Answered], task: str, tasks: Mapping[str, Task]) -> dict[str, Judgement]:
    """Answers with labels as judgements; WinoMT's need to know the gender that was asked for."""
    found = {}
    for item, each in own.items():
        label = each.answer.get("label")
        if task not in LABELS or label not in LABELS[cast(Labelled, task)]:
            raise BabelscopeError(f"item {each.id}: {shorten(str(label))} is no label of {task}")
        gold = ""
        if task == "winomt":
            if item not in tasks:
                raise BabelscopeError(
                    f"item {each.id}: the file of items is needed for the gender that was asked for; "
                    "it must lie beside the answers, unchanged"
                )
            gold = str(tasks[item].get("gold") or "").title()
        found[item] = Judgement(item, str(label), gold=gold)
    return found


def _alphas(judged: Mapping[str, Annotator], task: Labelled) -> list[Row]:
    """Krippendorff's alpha of all annotators together, with raw labels and with two."""
    samples = dict.fromkeys(sample for own in judged.values() for sample in own)
    versions: dict[str, Callable[[Judgement], str | None]] = {
        "raw": lambda judgement: judgement.label,
        **REDUCTIONS[task],
    }
    rows = []
    for name, reduction in versions.items():
        units = [[reduction(own[sample]) for own in judged.values() if sample in own] for sample in samples]
        kept = [unit for unit in units if None not in unit]
        labels: Labels = {"task": task, "annotators": ", ".join(judged), "labels": name}
        counts = {"single": sum(len(unit) == 1 for unit in kept), "skipped": len(units) - len(kept)}
        rows.append(Row("alpha", krippendorffs_alpha(kept), labels, counts))
    return rows


def _scores(task: str, answers: Answers, unfinished: int) -> list[Row]:
    """Pearson and Spearman of every two annotators, and alpha (interval) of all, for each kind of number."""
    rows = []
    for field in SCORED[task]:
        numbers = {name: _numbers(own, field) for name, own in answers.items()}
        labels: Labels = {"task": task, "labels": field}
        for (one, first), (other, second) in itertools.combinations(numbers.items(), 2):
            both = [key for key in first if key in second]
            pair = [[own[key] for key in both] for own in (first, second)]
            for statistic in ("pearson", "spearman"):
                found = correlation(pair[0], pair[1], statistic)
                names = {**labels, "annotators": f"{one}, {other}"}
                rows.append(Row(statistic, found, names, {"common": len(both), "unfinished": unfinished}))
        keys = dict.fromkeys(key for own in numbers.values() for key in own)
        units = [[own[key] for own in numbers.values() if key in own] for key in keys]
        together = krippendorffs_alpha(units, level="interval")
        counts = {"single": sum(len(unit) == 1 for unit in units), "unfinished": unfinished}
        rows.append(Row("alpha", together, {**labels, "annotators": ", ".join(numbers)}, counts))
    return rows


def _numbers(own: Mapping[str, Answered], field: str) -> dict[tuple[str, int], float]:
    """The numbers of an annotator by item and place in its list."""
    return {
        (item, place): float(number)
        for item, each in own.items()
        for place, number in enumerate(_listed(each.answer[field]))
    }


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [value]


@dataclass(frozen=True, slots=True)
class Found:
    """An automatic verdict or score, and where it stands."""

    place: str
    value: bool | float | None
    """None where the method could not tell."""
    weight: float = 1.0


class Records:
    """What a method said, found by item and system."""

    def __init__(self, rows: Iterable[tuple[str, Mapping[str, Any]]], field: str | None) -> None:
        """`field` is the number wanted; without it, the verdict."""
        self._found: dict[str, dict[str, Found]] = {}
        for place, record in rows:
            number, system = record.get("id"), str(record.get("system", ""))
            if not isinstance(number, str | int):
                raise BabelscopeError(f"{place} has no `id`, which tells the item it is about")
            own = self._found.setdefault(str(number), {})
            if system in own:
                raise BabelscopeError(f"{place}: item {number} has a verdict already, at {own[system].place}")
            own[system] = _score(place, record, field) if field else _verdict(place, record)

    def of(self, answered: Answered) -> tuple[str, Found] | None:
        """The system and what was said about its translation, or None."""
        own = self._found.get(answered.id, {})
        if answered.system in own:
            return answered.system, own[answered.system]
        if len(own) > 1:
            raise BabelscopeError(
                f"item {answered.id} has verdicts on {len(own)} systems, and its line does not say by `system` "
                "whose translation was judged"
            )
        # Where one side does not name the system there is only one.
        return next(((name, found) for name, found in own.items() if "" in (name, answered.system)), None)


def _verdict(place: str, record: Mapping[str, Any]) -> Found:
    correct = record.get("correct")
    if "verdict" in record:
        correct = {"correct": True, "wrong": False}.get(str(record["verdict"]))
    elif "correct" not in record or not (correct is None or isinstance(correct, bool)):
        raise BabelscopeError(f"{place} has neither `verdict` nor `correct` (true, false or null)")
    if record.get("predicted") in ("neutral", "unknown"):
        correct = None  # neither gender is no decision (WinoMT)
    return Found(place, correct, weight_of(record, place))


def _score(place: str, record: Mapping[str, Any], field: str) -> Found:
    number = record.get(field)
    if number is None and field in record:
        return Found(place, None)
    if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
        raise BabelscopeError(f"{place} has no number in `{field}`; name the right one with --field")
    return Found(place, float(number))


def with_verdicts(
    answers: Answers,
    tasks: Mapping[str, Task],
    rows: Sequence[tuple[str, Mapping[str, Any]]],
    *,
    name: str,
    field: str | None = None,
) -> list[Row]:
    """Agreement of a method's verdicts with people's labels, correlation of its scores with their scores."""
    found: list[Row] = []
    for task in _tasks_of(answers):
        some, _ = _of_task(answers, task)
        labels: Labels = {"task": task, "verdicts": name}
        if task in SCORED:
            records = Records(rows, field or FIELDS[task])
            found += _correlations(some, records, labels, SCORED[task][-1], field or FIELDS[task])
        else:
            records = Records(rows, None)
            right = {
                who: [
                    (each, is_right(judgement, cast(Labelled, task)))
                    for each, judgement in zip(
                        own.values(), _judgements(own, task, tasks).values(), strict=True
                    )
                ]
                for who, own in some.items()
            }
            found += _agreements(right, records, labels)
    return found


def _agreements(
    right: Mapping[str, Sequence[tuple[Answered, bool | None]]],
    records: Records,
    labels: Labels,
) -> list[Row]:
    """Share of judgements that a method agrees with, by annotator and over all; weighted where verdicts are.

    What a person or the method left open is no judgement and is counted.
    """
    groups = {
        **({"all": [each for own in right.values() for each in own]} if len(right) > 1 else {}),
        **right,
    }
    rows = []
    for name, judged in groups.items():
        counts = {"agreed": 0, "open": 0, "undecided": 0, "missing": 0}
        sums: dict[str, list[float]] = {}
        pairs: list[tuple[str, str]] = []
        for answered, human in judged:
            found = records.of(answered)
            if human is None or found is None or found[1].value is None:
                counts["open" if human is None else "missing" if found is None else "undecided"] += 1
                continue
            said, weight = bool(found[1].value), found[1].weight
            counts["agreed"] += said == human
            pairs.append((str(human), str(said)))
            own = sums.setdefault(answered.item, [0.0, 0.0])
            own[0] += weight * (said == human)
            own[1] += weight
        agreed = weighted(sums.values())
        names: Labels = {**labels, "annotators": name, "labels": "binary"}
        rows.append(Row("agreement", agreed, names, {"judgements": len(pairs), **counts}))
        if name != "all":
            kappa = cohens_kappa([pair[0] for pair in pairs], [pair[1] for pair in pairs])
            rows.append(Row("kappa", kappa, names, counts))
    return rows


def _correlations(
    answers: Answers, records: Records, labels: Labels, human_field: str, field: str
) -> list[Row]:
    """Pearson and Spearman of human scores with automatic ones, for each annotator and for their mean."""
    scores: dict[tuple[str, str], float] = {}
    people: dict[str, dict[tuple[str, str], float]] = {}
    missing = 0
    for name, own in answers.items():
        for each in own.values():
            found = records.of(each)
            if found is None or found[1].value is None:
                missing += 1
                continue
            unit = (found[0], each.id)
            scores[unit] = float(found[1].value)
            people.setdefault(name, {})[unit] = float(each.answer[human_field])
    if not scores:
        raise BabelscopeError("none of the items that were judged has a score in these records")
    if len(people) > 1:
        people["all"] = {
            unit: float(np.mean([own[unit] for own in people.values() if unit in own])) for unit in scores
        }
    rows = []
    for name, human in people.items():
        # human_correlations asks for what both have; here scores of others' items are not missing.
        some = {unit: score for unit, score in scores.items() if unit in human}
        for row in human_correlations(human, {field: some}):
            names: Labels = {**labels, "annotators": name, "labels": human_field, **row.labels}
            rows.append(Row(row.name, row.estimate, names, {"missing": missing}))
    return rows
