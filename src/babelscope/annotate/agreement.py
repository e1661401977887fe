"""Agreement of annotators with each other, and of verdicts and scores of methods with annotators."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from babelscope.annotate.answers import Answered, is_complete, read_annotators
from babelscope.annotate.queue import Task
from babelscope.annotate.verdicts import MethodVerdict, MethodVerdicts, list_length
from babelscope.core.results import Row, grouped
from babelscope.methods.challenge.sets import ALL, unit_of
from babelscope.stats import agreement as stats
from babelscope.stats.correlation import correlation, human_correlations
from babelscope.stats.intervals import proportion
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import LocatedRecord, shorten

Answers = Mapping[str, Mapping[str, Answered]]
"""Annotator name -> item digest -> answer."""
Labels = dict[str, str | float]
Matched = tuple[str, bool | None, MethodVerdict | None]
"""An item, whether its translation is right for a person (None if that was left open), and the method's verdict."""

MOST_ANNOTATORS = 100

SCORED = {"assessment": ("score",), "ranking": ("scores", "overall")}
"""Task -> fields of its answers that are numbers; other tasks have labels."""
WITH_GOLD = ("winomt", "choice")
"""Tasks whose labels are right or wrong only by the gold label of the item."""
DEFAULT_FIELDS = {"assessment": "score", "ranking": "top_kqrg"}
"""Task -> field of a record that human scores are compared with by default."""


def _by_task(answers: Answers) -> dict[str, dict[str, dict[str, Answered]]]:
    """Task -> its complete answers, by annotator and item."""
    found: dict[str, dict[str, dict[str, Answered]]] = {}
    for name, own in answers.items():
        for item, each in own.items():
            complete = found.setdefault(each.task, {}).setdefault(name, {})
            if is_complete(each.answer):
                complete[item] = each
    return dict(sorted(found.items()))


def _with_all(people: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """What each annotator has, and before it, if there are several, what they have together."""
    together = {ALL: [each for own in people.values() for each in own]} if len(people) > 1 else {}
    return {**together, **people}


def _weighted_by_item(judgments: Iterable[tuple[str, bool, float]]) -> list[Sequence[float]]:
    """What agreed and what was judged, per item, from (item, whether it agreed, weight) per judgment."""
    found: dict[str, list[float]] = {}
    for item, agreed, weight in judgments:
        own = found.setdefault(item, [0.0, 0.0])
        own[0] += weight * agreed
        own[1] += weight
    return list(found.values())


# --- Annotators with each other ------------------------------------------------------------------------------------


def agreement_between_people(answers: Answers, tasks: Mapping[str, Task]) -> list[Row]:
    """Per task: kappa of every two annotators, and alpha if there are more; for scores, correlations."""
    if len(answers) > MOST_ANNOTATORS:
        raise BabelscopeError(
            f"answers of {len(answers):,} annotators: every two are compared, so {MOST_ANNOTATORS} are the most"
        )
    rows: list[Row] = []
    for task, some in _by_task(answers).items():
        if len(some) < 2:
            raise BabelscopeError(f"agreement on {task} needs the answers of two annotators")
        if task in SCORED:
            given = [each for own in answers.values() for each in own.values() if each.task == task]
            rows += _score_rows(task, some, len(given) - sum(map(len, some.values())))
            continue
        judged = {name: _judgments(own, task, tasks) for name, own in some.items()}
        labeled = cast(stats.Task, task)
        rows += stats.compare(judged, labeled)
        if len(judged) > 2:
            rows += _alpha_rows(judged, labeled)
    return rows


def _judgments(
    own: Mapping[str, Answered], task: str, tasks: Mapping[str, Task]
) -> dict[str, stats.Judgment]:
    """Labeled answers as judgments, with the gold label of the item where they need it."""
    found = {}
    for item, each in own.items():
        label = each.answer.get("label")
        if task not in stats.LABELS or label not in stats.LABELS[cast(stats.Task, task)]:
            raise BabelscopeError(f"item {each.id}: {shorten(str(label))} is no label of {task}")
        gold = ""
        if task in WITH_GOLD:
            gold = str(_task_of(each, tasks, "what is right").get("gold") or "").title()
        found[item] = stats.Judgment(item, str(label), gold=gold)
    return found


def _task_of(answered: Answered, tasks: Mapping[str, Task], what: str) -> Task:
    """The item that was judged; refused if its file is not there."""
    if answered.item not in tasks:
        raise BabelscopeError(
            f"item {answered.id}: the file of items is needed, which says {what}; it must lie beside the answers, "
            "unchanged"
        )
    return tasks[answered.item]


def _alpha_rows(judged: Mapping[str, stats.Annotator], task: stats.Task) -> list[Row]:
    """Krippendorff's alpha of all annotators together, with raw and with binary labels."""
    samples = dict.fromkeys(sample for own in judged.values() for sample in own)
    versions: dict[str, Callable[[stats.Judgment], str | None]] = {
        "raw": lambda judgment: judgment.label,
        **stats.REDUCTIONS[task],
    }
    rows = []
    for name, reduction in versions.items():
        units = [[reduction(own[sample]) for own in judged.values() if sample in own] for sample in samples]
        kept = [unit for unit in units if None not in unit]
        labels: Labels = {"task": task, "annotators": ", ".join(judged), "labels": name, "weighting": "none"}
        counts = {"single": sum(len(unit) == 1 for unit in kept), "skipped": len(units) - len(kept)}
        rows.append(Row("alpha", stats.krippendorffs_alpha(kept), labels, counts))
    return rows


def _score_rows(task: str, answers: Answers, unfinished: int) -> list[Row]:
    """Per field with numbers: Pearson and Spearman of every two annotators, and interval alpha of all."""
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
        together = stats.krippendorffs_alpha(units, level="interval")
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


# --- Precision of an extraction ------------------------------------------------------------------------------------


def precision_of_extraction(answers: Answers, tasks: Mapping[str, Task]) -> list[Row]:
    """The share of extracted items that are real: in all, by phenomenon, and by phenomenon and distance.

    Per annotator, of what they decided; with several also together (`all`), where the interval is over items.
    """
    some = _by_task(answers).get("extraction", {})
    rows = []
    for who, own in _with_all({name: list(each.values()) for name, each in some.items()}).items():
        groups = grouped(
            (labels, each)
            for each in own
            for labels in _groups_of(_task_of(each, tasks, "what was extracted"))
        )
        for labels, judged in sorted(groups.items(), key=lambda group: str(group[0])):
            decided = [
                (each.item, label == stats.REAL, 1.0)
                for each in judged
                if (label := each.answer.get("label")) != stats.CANNOT_TELL
            ]
            real = sum(yes for _, yes, _ in decided)
            pooled = who == ALL and len(some) > 1
            share = stats.weighted(_weighted_by_item(decided)) if pooled else proportion(real, len(decided))
            counts = {"real": real, "answered": len(judged), "cannot_tell": len(judged) - len(decided)}
            rows.append(
                Row("precision", share, {"task": "extraction", "annotators": who, **dict(labels)}, counts)
            )
    return rows


def _groups_of(task: Task) -> Iterable[tuple[tuple[str, str | int], ...]]:
    """The groups that an item belongs to, as labels of their rows."""
    phenomenon = ("phenomenon", str(task.get("phenomenon") or "unnamed"))
    side = ("side", str(task.get("side") or "source"))
    yield (("phenomenon", ALL),)
    yield phenomenon, side
    distance = task.get("distance")
    if isinstance(distance, int | float) and math.isfinite(distance):
        whole = int(distance) if distance == int(distance) else str(distance)
        yield phenomenon, side, ("distance", whole), ("unit", unit_of(phenomenon[1]))


# --- A method with annotators --------------------------------------------------------------------------------------


def agreement_with_method(
    answers: Answers,
    tasks: Mapping[str, Task],
    rows: Sequence[LocatedRecord],
    *,
    name: str,
    field: str | None = None,
    patterns: Sequence[LocatedRecord] | None = None,
) -> list[Row]:
    """Per task: agreement of a method's verdicts with human labels, or correlation of scores.

    `patterns` are the verdicts of the matcher by which a queue was drawn that takes what it decided for right.
    """
    found: list[Row] = []
    for task, some in _by_task(answers).items():
        labels: Labels = {"task": task, "verdicts": name}
        if task in SCORED:
            found += _correlation_rows(some, rows, labels, SCORED[task][-1], field or DEFAULT_FIELDS[task])
            continue
        assumed = _assumed(tasks, patterns) if patterns is not None else None
        # A choice is judged once per item, and every system has its own verdict on it.
        by_system = grouped((str(row[1].get("system", "")) if task == "choice" else "", row) for row in rows)
        for system, own in (by_system or {"": []}).items():
            own_labels: Labels = {**labels, "system": system} if system else labels
            verdicts = MethodVerdicts(own)
            matched = _match(some, task, tasks, verdicts)
            found += _agreement_rows(matched, verdicts, own_labels, assumed)
    return found


def agreement_with_patterns(
    answers: Answers,
    tasks: Mapping[str, Task],
    rows: Sequence[LocatedRecord],
    *,
    name: str,
    as_published: bool = False,
) -> list[Row]:
    """Agreement of pattern matching with human labels, including what it cannot decide (table 2 of conditioning).

    That is wrong for a sense (recall B, appendix E). For a gender the paper counts it as right, "to treat pattern
    matching as fairly as possible"; there are rows for both, unless only what is published is asked for.
    """
    found: list[Row] = []
    verdicts, assumed = MethodVerdicts(rows), _assumed(tasks, rows)
    for task, some in _by_task(answers).items():
        if task not in ("mucow", "winomt"):
            raise BabelscopeError(
                f"--patterns only applies to senses and genders, and these are answers to {task}"
            )
        matched = _match(some, task, tasks, verdicts)
        for counted in ("wrong",) if task == "mucow" else ("right",) if as_published else ("wrong", "right"):
            labels: Labels = {"task": task, "verdicts": name, "undecided_as": counted}
            found += _agreement_rows(matched, verdicts, labels, assumed, counted == "right")
    return found


def _match(
    answers: Answers, task: str, tasks: Mapping[str, Task], verdicts: MethodVerdicts
) -> dict[str, list[Matched]]:
    """Annotator -> answers with verdicts; refused if there is no verdict on anything that was judged."""
    found: dict[str, list[Matched]] = {}
    for who, own in answers.items():
        judgments = _judgments(own, task, tasks)
        found[who] = []
        for item, each in own.items():
            text = tasks[item].get("translation") if item in tasks else None
            right = stats.is_right(judgments[item], cast(stats.Task, task))
            found[who].append((item, right, verdicts.find(each.id, each.system, text)))
    count = sum(map(len, found.values()))
    if not count or any(verdict for own in found.values() for *_, verdict in own):
        return found
    first = next(each for own in answers.values() for each in own.values())
    if first.id in verdicts.by_item:
        systems = sorted({system for own in verdicts.by_item.values() for system in own})
        named = ", ".join(map(repr, systems[:3]))
        about = f"on translations of other systems ({named}, not {first.system!r}), which differ"
    else:
        other = next(iter(verdicts.by_item), "none")
        about = f"on other items (such as {shorten(other)}, not {shorten(first.id)})"
    raise BabelscopeError(f"none of the {count} judgments has a verdict here: the verdicts are {about}")


def _assumed(tasks: Mapping[str, Task], rows: Sequence[LocatedRecord]) -> MethodVerdicts | None:
    """The matcher's verdicts if people judged only what it left undecided, and the others are taken for right."""
    designs = {str(task.record.get("decided", "judged")) for task in tasks.values()}
    if "assumed" not in designs:
        return None
    if len(designs) > 1:
        raise BabelscopeError(
            "some of these items were drawn with --set assume_decided=yes and some without; give one queue at a time"
        )
    return MethodVerdicts(rows)


def _agreement_rows(
    matched: Mapping[str, list[Matched]],
    verdicts: MethodVerdicts,
    labels: Labels,
    assumed: MethodVerdicts | None,
    if_undecided: bool | None = None,
) -> list[Row]:
    """Share of human judgments that a method agrees with, per annotator and over all; weighted too if verdicts are.

    Items that a person or the method left undecided are left out and counted; with `if_undecided` an undecided item
    has that verdict, and there is no kappa. `assumed` are a matcher's verdicts: those it decided are taken for right,
    and added in proportion to their number (appendix E of the conditioning paper).
    """
    rows: list[Row] = []
    for name, own in _with_all(matched).items():
        pairs, counts = _pairs(own, if_undecided)
        agreed = sum(human == verdict for _, human, verdict, _ in pairs)
        counts = {"judgments": len(pairs), "agreed": agreed, **counts}
        named: Labels = {**labels, "annotators": name, "labels": "binary"}
        has_weights = any(weight is not None for *_, weight in pairs)
        for weighting in ("none", "category") if has_weights else ("none",):
            by_weight = weighting == "category"
            # A verdict without a weight counts nothing if others have one.
            sums = _weighted_by_item(
                (item, human == verdict, (weight or 0.0) if by_weight else 1.0)
                for item, human, verdict, weight in pairs
            )
            more: dict[str, int] = {}
            if assumed is not None:
                covered, added = _added(verdicts, assumed, len(pairs), if_undecided, by_weight=by_weight)
                sums, more = [*sums, *added], {"covered": round(covered)}
            rows.append(
                Row("agreement", stats.weighted(sums), {**named, "weighting": weighting}, {**counts, **more})
            )
        if if_undecided is None and name != ALL:
            kappa = stats.cohens_kappa(
                [str(human) for _, human, *_ in pairs], [str(verdict) for *_, verdict, _ in pairs]
            )
            rows.append(Row("kappa", kappa, {**named, "weighting": "none"}, counts))
    return rows


def _pairs(
    matched: Sequence[Matched], if_undecided: bool | None
) -> tuple[list[tuple[str, bool, bool, float | None]], dict[str, int]]:
    """(item, right for the annotator, right for the method, weight) per judgment, and counts of what is left out."""
    counts = {"open": 0, "undecided": 0, "missing": 0}
    pairs = []
    for item, human, found in matched:
        if human is None:
            counts["open"] += 1
        elif found is None:
            counts["missing"] += 1
        else:
            counts["undecided"] += found.value is None
            verdict = if_undecided if found.value is None else bool(found.value)
            if verdict is not None:
                pairs.append((item, human, verdict, found.weight))
    return pairs, counts


def _added(
    verdicts: MethodVerdicts,
    assumed: MethodVerdicts,
    judgments: int,
    if_undecided: bool | None,
    *,
    by_weight: bool,
) -> tuple[float, list[Sequence[float]]]:
    """What is added for translations that the matcher decided, and so were taken for right.

    The number of judgments that they count as, as many per translation as there are per undecided one; and what
    agreed and what was judged, per translation.
    """
    every = [(item, each) for item, own in assumed.by_item.items() for each in own.values()]
    decided = [(item, each) for item, each in every if each.value is not None]
    if len(decided) == len(every):
        raise BabelscopeError(
            "the matcher of --patterns decided everything, though people judged what it did not"
        )
    covered = judgments * len(decided) / (len(every) - len(decided))
    scale = covered / max(len(decided), 1)
    found: list[Sequence[float]] = []
    for item, each in decided:
        own = verdicts.find(item, each.system, each.translation)
        if own is not None and (value := if_undecided if own.value is None else own.value) is not None:
            weight = scale * ((own.weight or 0.0) if by_weight else 1.0)
            found.append((weight * (bool(value) == bool(each.value)), weight))
    return covered, found


# --- Human scores with scores of a method --------------------------------------------------------------------------


def _correlation_rows(
    answers: Answers, rows: Sequence[LocatedRecord], labels: Labels, human_field: str, field: str
) -> list[Row]:
    """Pearson and Spearman of human with automatic scores, per annotator and for their mean (`all`)."""
    automatic = MethodVerdicts(rows, field)
    scores: dict[tuple[str, str], float] = {}
    people: dict[str, dict[tuple[str, str], float]] = {}
    missing = 0
    for name, own in answers.items():
        for each in own.values():
            found = automatic.find(each.id, each.system)
            if found is None or found.value is None:
                missing += 1
                continue
            _require_same_length(each.id, _length(each), found.listed, found.place)
            unit = (found.system, each.id)
            scores[unit] = float(found.value)
            people.setdefault(name, {})[unit] = float(each.answer[human_field])
    if not scores:
        raise BabelscopeError("none of the judged items has a score in these records")
    if len(people) > 1:
        people[ALL] = {
            unit: float(np.mean([own[unit] for own in people.values() if unit in own])) for unit in scores
        }
    found_rows = []
    for name, human in people.items():
        # Only this annotator's items: human_correlations would count the others as missing.
        some = {unit: score for unit, score in scores.items() if unit in human}
        names: Labels = {**labels, "annotators": name, "labels": human_field}
        for row in human_correlations(human, {field: some}):
            found_rows.append(replace(row, labels={**names, **row.labels}, counts={"missing": missing}))
    return found_rows


def _require_same_length(item: str, judged: int | None, length: int | None, place: str) -> None:
    """Refuse to compare human scores of one list with a score of a longer or shorter one."""
    if None not in (judged, length) and judged != length:
        raise BabelscopeError(
            f"item {item}: people judged a list of {judged} translations, but the score at {place} is of {length}; "
            f"judge the run again with --k {judged} (babelscope space --rejudge RUN --k {judged} --out OTHER), or "
            "have its own lists judged"
        )


def read_scores(paths: Sequence[Path]) -> tuple[list[LocatedRecord], int]:
    """Complete answers of all annotators as `system`, `id`, `score`, and the number of unfinished ones.

    The score of a list is the rating of the whole, and `listed` its length. Labels are refused.
    """
    found = [each for own in read_annotators(paths).values() for each in own.values()]
    if labeled := [each for each in found if each.task not in SCORED]:
        raise BabelscopeError(
            f"{paths[0]}: {labeled[0].task} is answered with labels, not with scores; see `babelscope agreement`"
        )
    rows: list[LocatedRecord] = []
    for each in found:
        if is_complete(each.answer):
            score = each.answer[SCORED[each.task][-1]]
            row = {"system": each.system, "id": each.id, "score": score, "listed": _length(each)}
            rows.append((f"the answer of {each.annotator} to item {each.id}", row))
    if not rows:
        raise BabelscopeError(f"{paths[0]} has no complete answer yet")
    return rows, len(found) - len(rows)


def _length(answered: Answered) -> int | None:
    """Length of the list that was judged, if it was a list."""
    return len(answered.answer["scores"]) if "scores" in answered.answer else None


def check_lists(human: Sequence[LocatedRecord], rows: Sequence[LocatedRecord], field: str) -> None:
    """Refuse scores of lists that are longer or shorter than those which people judged."""
    judged = {(row["system"], row["id"]): row["listed"] for _, row in human}
    for place, record in rows:
        item = str(record.get("id"))
        if record.get(field) is not None:
            length = judged.get((str(record.get("system")), item))
            _require_same_length(item, length, list_length(record, field), place)
