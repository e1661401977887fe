"""Agreement of annotators with each other, and of automatic verdicts and scores with annotators."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from babelscope.annotate.answers import Answered, is_complete, read_annotators
from babelscope.annotate.extraction import TASK as EXTRACTION
from babelscope.annotate.extraction import precision_rows
from babelscope.annotate.items import Task
from babelscope.core.results import Row
from babelscope.stats.agreement import (
    LABELS,
    REDUCTIONS,
    Annotator,
    Judgment,
    cohens_kappa,
    compare,
    is_right,
    krippendorffs_alpha,
    weight_of,
    weighted,
)
from babelscope.stats.agreement import Task as Labeled
from babelscope.stats.correlation import correlation, human_correlations
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import LocatedRecord, json_number, shorten

Judged = Mapping[str, Sequence[tuple[Answered, str | None, bool | None]]]
"""Annotator -> (answer, the translation it is about if known, whether that is right; None if that was left open)."""


@dataclass(frozen=True, slots=True)
class AutomaticJudgment:
    """A method's verdict or score on one item, and where it was read."""

    place: str
    value: bool | float | None
    """None where the method is undecided."""
    weight: float | None = None
    """None where verdicts have no weights."""
    listed: int | None = None
    """How many translations the score is of, where it is one of a list."""
    translation: str | None = None


class AutomaticJudgments:
    """A method's verdicts or scores, by item and system."""

    def __init__(self, rows: Iterable[tuple[str, Mapping[str, Any]]], field: str | None = None) -> None:
        """Read the number in `field` of each record; the verdict without `field`."""
        self.by_item: dict[str, dict[str, AutomaticJudgment]] = {}
        for place, record in rows:
            number, system = record.get("id"), str(record.get("system", ""))
            if not isinstance(number, str | int):
                raise BabelscopeError(f"{place} has no `id`, which tells the item it is about")
            own = self.by_item.setdefault(str(number), {})
            if system in own:
                raise BabelscopeError(f"{place}: item {number} has a verdict already, at {own[system].place}")
            own[system] = _read_score(place, record, field) if field else _read_verdict(place, record)

    def find(
        self, item: str, system: str, translation: str | None = None
    ) -> tuple[str, AutomaticJudgment] | None:
        """The system and the judgment of its translation of an item, or None.

        A system may have another name there: then it is found by the translation.
        """
        own = self.by_item.get(item, {})
        if system in own:
            self._require_same(item, own[system], translation)
            return system, own[system]
        if translation is not None:
            for name, found in own.items():
                if found.translation is not None and _alike(found.translation, translation):
                    return name, found
        if len(own) > 1 and not system:
            raise BabelscopeError(
                f"item {item} has verdicts on {len(own)} systems, and its line does not say by `system` "
                "whose translation was judged"
            )
        # If either side does not name its system, there is only one to match.
        return next(((name, found) for name, found in own.items() if "" in (name, system)), None)

    @staticmethod
    def _require_same(item: str, found: AutomaticJudgment, translation: str | None) -> None:
        """Refuse a verdict on another translation than people judged, such as that of another beam size."""
        if translation is None or found.translation is None or _alike(found.translation, translation):
            return
        raise BabelscopeError(
            f"item {item}: people judged {shorten(translation)}, but the verdict at {found.place} is on "
            f"{shorten(found.translation)}"
        )


def _alike(one: str, other: str) -> bool:
    """Whether two translations have the same words; pattern matching joins these by single spaces."""
    return one.split() == other.split()


def _read_verdict(place: str, record: Mapping[str, Any]) -> AutomaticJudgment:
    correct = record.get("correct")
    if "verdict" in record:
        correct = {"correct": True, "wrong": False}.get(str(record["verdict"]))
    elif "correct" not in record or not (correct is None or isinstance(correct, bool)):
        raise BabelscopeError(f"{place} has neither `verdict` nor `correct` (true, false or null)")
    if record.get("predicted") in ("neutral", "unknown"):
        correct = None  # WinoMT: no gender found is no decision
    weight = None if record.get("weight") is None else weight_of(record, place)
    text = record.get("translation")
    return AutomaticJudgment(place, correct, weight, translation=text if isinstance(text, str) else None)


def _read_score(place: str, record: Mapping[str, Any], field: str) -> AutomaticJudgment:
    if field in record and record[field] is None:
        return AutomaticJudgment(place, None)
    number = json_number(record.get(field))
    if number is None or not math.isfinite(number):
        raise BabelscopeError(f"{place} has no number in `{field}`; name the right one with --field")
    return AutomaticJudgment(place, number, listed=listed(record, field))


def listed(record: Mapping[str, Any], field: str) -> int | None:
    """The length of the list that a score of `space` is of; None for other scores."""
    top = record.get("top")
    found = top.get("found") if isinstance(top, Mapping) and field.startswith("top_") else None
    return len(found) if isinstance(found, list) else None


@dataclass(frozen=True, slots=True)
class _Pair:
    """What a person and the method said of one translation."""

    item: str
    human: bool
    verdict: bool
    weight: float | None


def agreement_rows(
    judged: Judged,
    records: AutomaticJudgments,
    labels: Mapping[str, str | float],
    *,
    assumed: AutomaticJudgments | None = None,
    if_undecided: bool | None = None,
    kappas: bool = True,
) -> list[Row]:
    """Share of human judgments that a method agrees with, by annotator and over all; weighted too if verdicts are.

    Items that a person or the method left undecided are left out and counted; with `if_undecided` an undecided item
    has that verdict. `assumed` are a matcher's verdicts: those it decided are taken for right, and added in
    proportion to their number (appendix E of the conditioning paper).
    """
    together = {"all": [each for own in judged.values() for each in own]} if len(judged) > 1 else {}
    _require_some([each for own in judged.values() for each in own], records)
    rows: list[Row] = []
    for name, own in {**together, **judged}.items():
        pairs, counts = _pairs(own, records, if_undecided)
        named: dict[str, str | float] = {**labels, "annotators": name, "labels": "binary"}
        counts = {"judgments": len(pairs), "agreed": sum(p.human == p.verdict for p in pairs), **counts}
        with_weights = any(pair.weight is not None for pair in pairs)
        for weighting in ("none", *(("category",) if with_weights else ())):
            sums = _sums(pairs, weighted=weighting == "category")
            more: dict[str, int] = {}
            if assumed is not None:
                added = _added(records, assumed, len(pairs), if_undecided, weighted=weighting == "category")
                sums, more = [*sums, *added], {"covered": round(_covered(assumed, len(pairs)))}
            estimate = weighted(sums)
            rows.append(Row("agreement", estimate, {**named, "weighting": weighting}, {**counts, **more}))
        if kappas and name != "all":
            kappa = cohens_kappa([str(p.human) for p in pairs], [str(p.verdict) for p in pairs])
            rows.append(Row("kappa", kappa, {**named, "weighting": "none"}, counts))
    return rows


def _pairs(
    judged: Sequence[tuple[Answered, str | None, bool | None]],
    records: AutomaticJudgments,
    if_undecided: bool | None,
) -> tuple[list[_Pair], dict[str, int]]:
    counts = {"open": 0, "undecided": 0, "missing": 0}
    pairs = []
    for answered, translation, human in judged:
        found = records.find(answered.id, answered.system, translation)
        value = None if found is None else found[1].value
        if human is None:
            counts["open"] += 1
        elif found is None:
            counts["missing"] += 1
        elif value is None and if_undecided is None:
            counts["undecided"] += 1
        else:
            counts["undecided"] += value is None
            verdict = if_undecided if value is None else bool(value)
            pairs.append(_Pair(answered.item, human, bool(verdict), found[1].weight))
    return pairs, counts


def _sums(pairs: Sequence[_Pair], *, weighted: bool) -> list[Sequence[float]]:
    """What agreed and what was judged of each item; a verdict without a weight weighs nothing if others have one."""
    found: dict[str, list[float]] = {}
    for pair in pairs:
        weight = (pair.weight or 0.0) if weighted else 1.0
        own = found.setdefault(pair.item, [0.0, 0.0])
        own[0] += weight * (pair.verdict == pair.human)
        own[1] += weight
    return list(found.values())


def _covered(assumed: AutomaticJudgments, judgments: int) -> float:
    """How many judgments stand for what the matcher decided: as many for each as there are for an undecided one."""
    every = [each for own in assumed.by_item.values() for each in own.values()]
    undecided = sum(each.value is None for each in every)
    if not undecided:
        raise BabelscopeError(
            "the matcher of --patterns decided everything, though people judged what it did not"
        )
    return judgments * (len(every) - undecided) / undecided


def _added(
    records: AutomaticJudgments,
    assumed: AutomaticJudgments,
    judgments: int,
    if_undecided: bool | None,
    *,
    weighted: bool,
) -> list[Sequence[float]]:
    """What agreed and what was judged of each translation that the matcher decided, and so was taken for right."""
    decided = [
        (item, system, each)
        for item, own in assumed.by_item.items()
        for system, each in own.items()
        if each.value is not None
    ]
    scale = _covered(assumed, judgments) / max(len(decided), 1)
    found: list[Sequence[float]] = []
    for item, system, each in decided:
        said = records.find(item, system, each.translation)
        if said is None:
            continue
        value = if_undecided if said[1].value is None else said[1].value
        if value is not None:
            weight = scale * ((said[1].weight or 0.0) if weighted else 1.0)
            found.append((weight * (bool(value) == bool(each.value)), weight))
    return found


def _require_some(
    judged: Sequence[tuple[Answered, str | None, bool | None]], records: AutomaticJudgments
) -> None:
    """Refuse verdicts on none of the items that were judged: a figure of nothing would look like one."""
    if not judged or any(records.find(each.id, each.system, text) for each, text, _ in judged):
        return
    first = judged[0][0]
    systems = sorted({system for own in records.by_item.values() for system in own})
    about = (
        f"on other items (such as {shorten(next(iter(records.by_item), 'none'))}, not {shorten(first.id)})"
    )
    if first.id in records.by_item:
        named = ", ".join(map(repr, systems[:3]))
        about = f"on translations of other systems ({named}, not {first.system!r}), which differ"
    raise BabelscopeError(f"none of the {len(judged)} judgments has a verdict here: the verdicts are {about}")


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
        judged = {name: _judgments(own, task, tasks) for name, own in some.items()}
        labeled = cast(Labeled, task)
        rows += compare(judged, labeled)
        if len(judged) > 2:
            rows += _alpha_rows(judged, labeled)
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


def _judgments(own: Mapping[str, Answered], task: str, tasks: Mapping[str, Task]) -> dict[str, Judgment]:
    """Labeled answers as judgments; some also need what is right of the item."""
    found = {}
    for item, each in own.items():
        label = each.answer.get("label")
        if task not in LABELS or label not in LABELS[cast(Labeled, task)]:
            raise BabelscopeError(f"item {each.id}: {shorten(str(label))} is no label of {task}")
        gold = ""
        if task in WITH_GOLD:
            if item not in tasks:
                raise BabelscopeError(
                    f"item {each.id}: the file of items is needed, which says what is right; it must lie beside "
                    "the answers, unchanged"
                )
            gold = str(tasks[item].get("gold") or "").title()
        found[item] = Judgment(item, str(label), gold=gold)
    return found


def _alpha_rows(judged: Mapping[str, Annotator], task: Labeled) -> list[Row]:
    """Krippendorff's alpha of all annotators together, with raw and with binary labels."""
    samples = dict.fromkeys(sample for own in judged.values() for sample in own)
    versions: dict[str, Callable[[Judgment], str | None]] = {
        "raw": lambda judgment: judgment.label,
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
            records = AutomaticJudgments(rows, field or DEFAULT_FIELDS[task])
            found += _correlation_rows(some, records, labels, SCORED[task][-1], field or DEFAULT_FIELDS[task])
        else:
            assumed = _assumed(tasks, patterns) if patterns is not None else None
            right = right_or_not(some, task, tasks)
            # What is right of an item is judged once, and every system has a verdict of its own on it.
            for system, own_rows in _by_system(rows).items() if task == "choice" else [("", rows)]:
                own_labels: Labels = {**labels, "system": system} if system else labels
                found += agreement_rows(right, AutomaticJudgments(own_rows), own_labels, assumed=assumed)
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
            records = AutomaticJudgments(rows)
            found += agreement_rows(
                right, records, labels, assumed=assumed, if_undecided=counted == "right", kappas=False
            )
    return found


def right_or_not(answers: Answers, task: str, tasks: Mapping[str, Task]) -> Judged:
    """Annotator -> each answer with the translation it is about, and whether that is right."""
    found: dict[str, list[tuple[Answered, str | None, bool | None]]] = {}
    for who, own in answers.items():
        judgments = _judgments(own, task, tasks)
        found[who] = [
            (
                each,
                tasks[item].get("translation") if item in tasks else None,
                is_right(judgments[item], cast(Labeled, task)),
            )
            for item, each in own.items()
        ]
    return found


def _assumed(tasks: Mapping[str, Task], rows: Sequence[LocatedRecord]) -> AutomaticJudgments | None:
    """The matcher's verdicts where people judged only what it left undecided, and the others are taken for right."""
    designs = {str(task.record.get("decided", "judged")) for task in tasks.values()}
    if "assumed" not in designs:
        return None
    if len(designs) > 1:
        raise BabelscopeError(
            "some of these items were drawn with --assume-decided and some without; give one queue at a time"
        )
    return AutomaticJudgments(rows)


def _by_system(rows: Sequence[LocatedRecord]) -> dict[str, list[LocatedRecord]]:
    found: dict[str, list[LocatedRecord]] = {}
    for place, record in rows:
        found.setdefault(str(record.get("system", "")), []).append((place, record))
    return found


def _correlation_rows(
    answers: Answers,
    records: AutomaticJudgments,
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


@dataclass(frozen=True, slots=True)
class HumanScores:
    """Complete answers with scores: of a list the rating of the whole, else the score."""

    answers: Sequence[Answered]
    unfinished: int

    def rows(self) -> list[tuple[str, Mapping[str, Any]]]:
        """A JSON object an answer, with its place: `system`, `id`, `score`."""
        return [
            (
                f"the answer of {each.annotator} to item {each.id}",
                {"system": each.system, "id": each.id, "score": each.answer[SCORED[each.task][-1]]},
            )
            for each in self.answers
        ]

    def check_lists(self, rows: Sequence[tuple[str, Mapping[str, Any]]], field: str) -> None:
        """Refuse scores of lists that are longer or shorter than those which people judged."""
        judged = {(each.system, each.id): each for each in self.answers}
        for place, record in rows:
            answered = judged.get((str(record.get("system")), str(record.get("id"))))
            if answered is not None and record.get(field) is not None:
                require_same_list(answered, listed(record, field), place)


def read_scores(paths: Sequence[Path]) -> HumanScores:
    """The last answers of all annotators in these files; labels are refused."""
    found = [each for own in read_annotators(paths).values() for each in own.values()]
    if strange := [each for each in found if each.task not in SCORED]:
        raise BabelscopeError(
            f"{paths[0]}: {strange[0].task} is answered with labels, not with scores; see `babelscope agreement`"
        )
    complete = [each for each in found if is_complete(each.answer)]
    if not complete:
        raise BabelscopeError(f"{paths[0]} has no complete answer yet")
    return HumanScores(complete, len(found) - len(complete))
