"""Agreement of annotators with each other, and of automatic verdicts and scores with annotators."""

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
from babelscope.util.json_lines import json_number
from babelscope.util.text import shorten

Answers = Mapping[str, Mapping[str, Answered]]
"""Annotator name -> item digest -> answer."""
Labels = dict[str, str | int]

MOST_ANNOTATORS = 100

SCORED = {"assessment": ("score",), "ranking": ("scores", "overall")}
"""Task -> fields of its answers that are numbers; other tasks have labels."""
WITH_GOLD = ("winomt", "choice")
"""Tasks whose labels say what there is, and only the item says whether that is right."""
DEFAULT_FIELDS = {"assessment": "score", "ranking": "top_kqrg"}
"""Task -> field of a record that human scores are compared with by default."""


def agreement_between_people(answers: Answers, tasks: Mapping[str, Task]) -> list[Row]:
    """For each task: kappa of every two annotators, and alpha if there are more; for scores, correlations."""
    if len(answers) > MOST_ANNOTATORS:
        raise BabelscopeError(
            f"answers of {len(answers):,} annotators: every two are compared, so {MOST_ANNOTATORS} are the most"
        )
    rows: list[Row] = []
    for task in _task_names(answers):
        some, unfinished = _complete_answers(answers, task)
        if len(some) < 2:
            raise BabelscopeError(f"agreement on {task} needs the answers of two annotators")
        if task in SCORED:
            rows += _score_rows(task, some, unfinished)
            continue
        judged = {name: _judgements(own, task, tasks) for name, own in some.items()}
        labelled = cast(Labelled, task)
        rows += compare(judged, labelled)
        if len(judged) > 2:
            rows += _alpha_rows(judged, labelled)
    return rows


def _task_names(answers: Answers) -> list[str]:
    return sorted({each.task for own in answers.values() for each in own.values()})


def _complete_answers(answers: Answers, task: str) -> tuple[dict[str, dict[str, Answered]], int]:
    """The complete answers to one task by annotator, and the number of unfinished ones."""
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
    """Labelled answers as judgements; some also need what is right of the item."""
    found = {}
    for item, each in own.items():
        label = each.answer.get("label")
        if task not in LABELS or label not in LABELS[cast(Labelled, task)]:
            raise BabelscopeError(f"item {each.id}: {shorten(str(label))} is no label of {task}")
        gold = ""
        if task in WITH_GOLD:
            if item not in tasks:
                raise BabelscopeError(
                    f"item {each.id}: the file of items is needed, which says what is right; it must lie beside "
                    "the answers, unchanged"
                )
            gold = str(tasks[item].get("gold") or "").title()
        found[item] = Judgement(item, str(label), gold=gold)
    return found


def _alpha_rows(judged: Mapping[str, Annotator], task: Labelled) -> list[Row]:
    """Krippendorff's alpha of all annotators together, with raw and with binary labels."""
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


def _score_rows(task: str, answers: Answers, unfinished: int) -> list[Row]:
    """For each number: Pearson and Spearman of every two annotators, and interval alpha of all."""
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
    """An annotator's numbers by (item, index in the list)."""
    return {
        (item, place): float(number)
        for item, each in own.items()
        for place, number in enumerate(_as_list(each.answer[field]))
    }


def _as_list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [value]


@dataclass(frozen=True, slots=True)
class AutomaticJudgement:
    """A method's verdict or score on one item, and where it was read."""

    place: str
    value: bool | float | None
    """None where the method is undecided."""
    weight: float = 1.0
    listed: int | None = None
    """How many translations the score is of, where it is one of a list."""


class AutomaticJudgements:
    """A method's verdicts or scores, by item and system."""

    def __init__(self, rows: Iterable[tuple[str, Mapping[str, Any]]], field: str | None) -> None:
        """Read the number in `field` of each record; the verdict without `field`."""
        self._found: dict[str, dict[str, AutomaticJudgement]] = {}
        for place, record in rows:
            number, system = record.get("id"), str(record.get("system", ""))
            if not isinstance(number, str | int):
                raise BabelscopeError(f"{place} has no `id`, which tells the item it is about")
            own = self._found.setdefault(str(number), {})
            if system in own:
                raise BabelscopeError(f"{place}: item {number} has a verdict already, at {own[system].place}")
            own[system] = _read_score(place, record, field) if field else _read_verdict(place, record)

    def find(self, answered: Answered) -> tuple[str, AutomaticJudgement] | None:
        """The system that the answer is about and the method's judgement of it, or None."""
        own = self._found.get(answered.id, {})
        if answered.system in own:
            return answered.system, own[answered.system]
        if len(own) > 1:
            raise BabelscopeError(
                f"item {answered.id} has verdicts on {len(own)} systems, and its line does not say by `system` "
                "whose translation was judged"
            )
        # If either side does not name its system, there is only one to match.
        return next(((name, found) for name, found in own.items() if "" in (name, answered.system)), None)


def _read_verdict(place: str, record: Mapping[str, Any]) -> AutomaticJudgement:
    correct = record.get("correct")
    if "verdict" in record:
        correct = {"correct": True, "wrong": False}.get(str(record["verdict"]))
    elif "correct" not in record or not (correct is None or isinstance(correct, bool)):
        raise BabelscopeError(f"{place} has neither `verdict` nor `correct` (true, false or null)")
    if record.get("predicted") in ("neutral", "unknown"):
        correct = None  # WinoMT: no gender found is no decision
    return AutomaticJudgement(place, correct, weight_of(record, place))


def _read_score(place: str, record: Mapping[str, Any], field: str) -> AutomaticJudgement:
    if field in record and record[field] is None:
        return AutomaticJudgement(place, None)
    number = json_number(record.get(field))
    if number is None or not math.isfinite(number):
        raise BabelscopeError(f"{place} has no number in `{field}`; name the right one with --field")
    return AutomaticJudgement(place, number, listed=listed(record, field))


def listed(record: Mapping[str, Any], field: str) -> int | None:
    """The length of the list that a score of `space` is of; None for other scores."""
    top = record.get("top")
    found = top.get("found") if isinstance(top, Mapping) and field.startswith("top_") else None
    return len(found) if isinstance(found, list) else None


def require_same_list(answered: Answered, length: int | None, place: str) -> None:
    """Refuse to compare what people said of one list with a score of a longer or shorter one."""
    scores = answered.answer.get("scores")
    if length is not None and isinstance(scores, list) and len(scores) != length:
        raise BabelscopeError(
            f"item {answered.id}: people judged a list of {len(scores)} translations, but the score at {place} is of "
            f"{length}; judge the run again with --k {len(scores)} (babelscope space --rejudge RUN --k {len(scores)} "
            "--out OTHER), or have its own lists judged"
        )


def agreement_with_method(
    answers: Answers,
    tasks: Mapping[str, Task],
    rows: Sequence[tuple[str, Mapping[str, Any]]],
    *,
    name: str,
    field: str | None = None,
) -> list[Row]:
    """For each task: agreement of a method's verdicts with human labels, or correlation of scores."""
    found: list[Row] = []
    for task in _task_names(answers):
        some, _ = _complete_answers(answers, task)
        labels: Labels = {"task": task, "verdicts": name}
        if task in SCORED:
            records = AutomaticJudgements(rows, field or DEFAULT_FIELDS[task])
            found += _correlation_rows(some, records, labels, SCORED[task][-1], field or DEFAULT_FIELDS[task])
        else:
            right = {
                who: [
                    (each, is_right(judgement, cast(Labelled, task)))
                    for each, judgement in zip(
                        own.values(), _judgements(own, task, tasks).values(), strict=True
                    )
                ]
                for who, own in some.items()
            }
            # What is right of an item is judged once, and every system has a verdict of its own on it.
            for system, own_rows in _by_system(rows).items() if task == "choice" else [("", rows)]:
                own_labels: Labels = {**labels, "system": system} if system else labels
                found += _agreement_rows(right, AutomaticJudgements(own_rows, None), own_labels)
    return found


def _by_system(
    rows: Sequence[tuple[str, Mapping[str, Any]]],
) -> dict[str, list[tuple[str, Mapping[str, Any]]]]:
    found: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for place, record in rows:
        found.setdefault(str(record.get("system", "")), []).append((place, record))
    return found


def _agreement_rows(
    right: Mapping[str, Sequence[tuple[Answered, bool | None]]],
    records: AutomaticJudgements,
    labels: Labels,
) -> list[Row]:
    """Share of human judgements that a method agrees with, by annotator and over all; weighted if verdicts are.

    Items that a person or the method left undecided are left out and counted.
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
            found = records.find(answered)
            if human is None or found is None or found[1].value is None:
                counts["open" if human is None else "missing" if found is None else "undecided"] += 1
                continue
            verdict, weight = bool(found[1].value), found[1].weight
            counts["agreed"] += verdict == human
            pairs.append((str(human), str(verdict)))
            own = sums.setdefault(answered.item, [0.0, 0.0])
            own[0] += weight * (verdict == human)
            own[1] += weight
        agreed = weighted(sums.values())
        names: Labels = {**labels, "annotators": name, "labels": "binary"}
        rows.append(Row("agreement", agreed, names, {"judgements": len(pairs), **counts}))
        if name != "all":
            kappa = cohens_kappa([pair[0] for pair in pairs], [pair[1] for pair in pairs])
            rows.append(Row("kappa", kappa, names, counts))
    return rows


def _correlation_rows(
    answers: Answers,
    records: AutomaticJudgements,
    labels: Labels,
    human_field: str,
    field: str,
) -> list[Row]:
    """Pearson and Spearman of human with automatic scores, for each annotator and for their mean (`all`)."""
    scores: dict[tuple[str, str], float] = {}
    people: dict[str, dict[tuple[str, str], float]] = {}
    missing = 0
    for name, own in answers.items():
        for each in own.values():
            found = records.find(each)
            if found is None or found[1].value is None:
                missing += 1
                continue
            require_same_list(each, found[1].listed, found[1].place)
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
        # Keep only this annotator's items: human_correlations would count the others as missing.
        some = {unit: score for unit, score in scores.items() if unit in human}
        for row in human_correlations(human, {field: some}):
            names: Labels = {**labels, "annotators": name, "labels": human_field, **row.labels}
            rows.append(Row(row.name, row.estimate, names, {"missing": missing}))
    return rows
