"""Agreement of annotators with each other, and of automatic verdicts and scores with annotators."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np

from babelscope.annotate.answers import Answered, is_complete
from babelscope.annotate.extraction import TASK as EXTRACTION
from babelscope.annotate.extraction import precision_rows
from babelscope.annotate.items import Task
from babelscope.annotate.verdicts import AutomaticJudgements, Judged, agreement_rows
from babelscope.core.results import Row
from babelscope.stats.agreement import compare
from babelscope.stats.correlation import correlation, human_correlations
from babelscope.stats.labels import LABELS, REDUCTIONS, Annotator, Judgement, is_right
from babelscope.stats.labels import Task as Labelled
from babelscope.stats.reliability import krippendorffs_alpha
from babelscope.util.errors import BabelscopeError
from babelscope.util.json_lines import LocatedRecord
from babelscope.util.text import shorten

Answers = Mapping[str, Mapping[str, Answered]]
"""Annotator name -> item digest -> answer."""
Labels = dict[str, str | float]

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


def precision_of_extraction(answers: Answers, tasks: Mapping[str, Task]) -> list[Row]:
    """Rows of precision, if it was judged whether extracted items are real."""
    if EXTRACTION not in _task_names(answers):
        return []
    return precision_rows(_complete_answers(answers, EXTRACTION)[0], tasks)


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
        labels: Labels = {"task": task, "annotators": ", ".join(judged), "labels": name, "weighting": "none"}
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
        for place, number in enumerate(each.answer[field] if field == "scores" else [each.answer[field]])
    }


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
    rows: Sequence[LocatedRecord],
    *,
    name: str,
    field: str | None = None,
    patterns: Sequence[LocatedRecord] | None = None,
) -> list[Row]:
    """For each task: agreement of a method's verdicts with human labels, or correlation of scores.

    `patterns` are the verdicts of a matcher, by which a queue was drawn that takes what it decided for right.
    """
    found: list[Row] = []
    for task in _task_names(answers):
        some, _ = _complete_answers(answers, task)
        labels: Labels = {"task": task, "verdicts": name}
        if task in SCORED:
            records = AutomaticJudgements(rows, field or DEFAULT_FIELDS[task])
            found += _correlation_rows(some, records, labels, SCORED[task][-1], field or DEFAULT_FIELDS[task])
        else:
            assumed = _assumed(tasks, patterns) if patterns is not None else None
            right = right_or_not(some, task, tasks)
            # What is right of an item is judged once, and every system has a verdict of its own on it.
            for system, own_rows in _by_system(rows).items() if task == "choice" else [("", rows)]:
                own_labels: Labels = {**labels, "system": system} if system else labels
                found += agreement_rows(right, AutomaticJudgements(own_rows), own_labels, assumed=assumed)
    return found


def agreement_with_patterns(
    answers: Answers,
    tasks: Mapping[str, Task],
    rows: Sequence[LocatedRecord],
    *,
    name: str,
    as_published: bool = False,
) -> list[Row]:
    """Agreement of pattern matching with human labels, what it cannot decide counted (table 2 of conditioning).

    That is wrong for a sense (recall B, appendix E). For a gender the paper counts it as right, "to treat pattern
    matching as fairly as possible"; there are rows for both, unless only what is published is asked for.
    """
    found: list[Row] = []
    for task in _task_names(answers):
        if task not in ("mucow", "winomt"):
            raise BabelscopeError(f"--patterns is about senses and genders, and these are answers to {task}")
        right = right_or_not(_complete_answers(answers, task)[0], task, tasks)
        assumed = _assumed(tasks, rows)
        ways = ("wrong",) if task == "mucow" else ("right",) if as_published else ("wrong", "right")
        for counted in ways:
            labels: Labels = {"task": task, "verdicts": name, "undecided_as": counted}
            records = AutomaticJudgements(rows)
            found += agreement_rows(
                right, records, labels, assumed=assumed, if_undecided=counted == "right", kappas=False
            )
    return found


def right_or_not(answers: Answers, task: str, tasks: Mapping[str, Task]) -> Judged:
    """Annotator -> each answer with the translation it is about, and whether that is right."""
    found: dict[str, list[tuple[Answered, str | None, bool | None]]] = {}
    for who, own in answers.items():
        judgements = _judgements(own, task, tasks)
        found[who] = [
            (
                each,
                tasks[item].get("translation") if item in tasks else None,
                is_right(judgements[item], cast(Labelled, task)),
            )
            for item, each in own.items()
        ]
    return found


def _assumed(tasks: Mapping[str, Task], rows: Sequence[LocatedRecord]) -> AutomaticJudgements | None:
    """The matcher's verdicts where people judged only what it left undecided, and the others are taken for right."""
    designs = {str(task.record.get("decided", "judged")) for task in tasks.values()}
    if "assumed" not in designs:
        return None
    if len(designs) > 1:
        raise BabelscopeError(
            "some of these items were drawn with --assume-decided and some without; give one queue at a time"
        )
    return AutomaticJudgements(rows)


def _by_system(rows: Sequence[LocatedRecord]) -> dict[str, list[LocatedRecord]]:
    found: dict[str, list[LocatedRecord]] = {}
    for place, record in rows:
        found.setdefault(str(record.get("system", "")), []).append((place, record))
    return found


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
            found = records.find(each.id, each.system)
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
