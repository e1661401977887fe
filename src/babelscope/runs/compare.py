"""Compares runs: figures side by side, and systems paired item by item."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from babelscope.core.comparison import (
    CAUTIONS,
    SEED,
    Comparison,
    Factor,
    Factors,
    FigureKey,
    StoredRun,
    SystemResult,
    but,
    distinguish_groups,
    in_words,
)
from babelscope.core.results import Estimate, PairedField, PartLabels, Record, Row, differences, grouped
from babelscope.core.tables import Cell, Table
from babelscope.methods.base import ANSWER_FILES, Method
from babelscope.methods.registry import method_names
from babelscope.metrics.base import METRICS, find_metric
from babelscope.metrics.corpus import bounds_of
from babelscope.runs.reading import Run, results_of_run
from babelscope.runs.regression import HISTOGRAMS, Labels, figure_of
from babelscope.stats.agreement import rank_agreement
from babelscope.stats.intervals import mean_and_sd, welch
from babelscope.stats.paired import Tested, count_wins, paired_difference, tested_rows
from babelscope.util.errors import BabelscopeError, explain_damage

# --- Compares many systems: over seeds, and between evaluators (paper: conditioning) -------------------------------

_SEED = re.compile(r"-([0-9]+)$")


Systems = Mapping[str, Factors]
"""Names of systems, with what is said of them."""


def seed_of(name: str, factors: Factors) -> Factor:
    """The seed of a system: its factor, or the number in its name, 1 for teacher, 2 for teacher-2."""
    found = _SEED.search(name)
    return factors.get(SEED, int(found[1]) if found else 1)


def seed_groups(systems: Systems, patterns: Sequence[str] = ()) -> dict[str, list[str]]:
    """Comparison -> systems that differ by seed only.

    They are what a `PATTERN` or `NAME=PATTERN` matches; without any, those that are alike in all factors but `seed`.
    """
    names = list(systems)
    groups: dict[str, list[str]] = {}
    for pattern in patterns:
        title, _, glob = pattern.rpartition("=")
        found = [name for name in names if fnmatchcase(name, glob)]
        if len(found) < 2:
            raise BabelscopeError(
                f"the group {pattern!r} needs at least two systems of such names; there are {', '.join(names)}"
            )
        groups[title or glob] = found
    return groups if patterns else _alike_but_for_seed(systems)


def _alike_but_for_seed(systems: Systems) -> dict[str, list[str]]:
    """Comparison -> systems of different seeds with the same other factors; without the factor `seed`, x, x-2, x-3.

    A group is named by the factors in which the groups differ; by all of them, where there are no others.
    """
    found = grouped(
        ((but(factors, SEED), "" if SEED in factors else _SEED.sub("", name)), name)
        for name, factors in systems.items()
    )
    # Two systems of one seed are no repeated training: the study does not say what they differ in.
    several = {
        key: names
        for key, names in found.items()
        if len(names) > 1 and (key[1] or len({systems[name][SEED] for name in names}) == len(names))
    }
    titles = distinguish_groups([rest for rest, _ in several])
    groups: dict[str, list[str]] = {}
    for ((rest, stem), names), told in zip(several.items(), titles, strict=True):
        title = stem or told or in_words(rest) or _SEED.sub("", names[0])
        title = f"{title}, {told}" if title in groups else title
        while title in groups:
            title = f"{title}*"
        groups[title] = names
    return groups


def seed_rows(group: Comparison, patterns: Sequence[str] = ()) -> list[Row]:
    """Mean and sd of every figure over systems that differ by seed only, and differences between such groups.

    Intervals are over seeds, by Student's t: they cover other training runs, not other test items.
    """
    rows: list[Row] = []
    for evaluator, columns in _by_evaluator(group):
        rows += _rows_of_seed_groups(group, columns, patterns, {"evaluator": evaluator} if evaluator else {})
    return rows


def _by_evaluator(group: Comparison) -> Iterator[tuple[str, dict[str, SystemResult]]]:
    """Each evaluator (empty for methods without one) with the columns that it judged, by name."""
    for evaluator in dict.fromkeys(column.evaluator for column in group.results):
        judged = [column for column in group.results if column.evaluator == evaluator]
        systems = [column.system for column in judged]
        # The system's own name shows its seed; use the column's name only where two runs share the system's.
        shared = [system for system in systems if systems.count(system) > 1]
        names = [each.name if each.system in shared else each.system for each in judged]
        yield evaluator, dict(zip(names, judged, strict=True))


def spread_table(rows: Sequence[Row]) -> Table:
    """Every figure over seeds or over prompts, one line each, with the labels that tell them apart."""
    over_prompts = rows[0].labels.get("over") == "prompts"
    lines = list(grouped((tuple(sorted(row.labels.items())), row) for row in rows).values())
    means = [own[0].labels for own in lines]
    labels = [
        name
        for name in dict.fromkeys(name for own in means for name in own if name != "over")
        if name in ("system", "of") or len({own.get(name) for own in means}) > 1
    ]
    cells: list[list[Cell]] = []
    for own in lines:
        mean, *others = (row.estimate for row in own)
        first: list[Cell] = [mean.value if over_prompts else mean, *(each.value for each in others)]
        told = [str(own[0].labels.get(name, "")) for name in labels]
        cells.append([*told, *first, *([mean.n] if over_prompts else [])])
    statistics = [row.name for row in lines[0]]
    if over_prompts:
        title = "Over prompts (chosen, not drawn: no interval)"
        return Table(title, [*labels, *statistics, "prompts"], cells, len(labels), "prompts")
    title = "Over seeds; n is the number of systems"
    return Table(title, [*labels, *statistics], cells, len(labels), "seeds")


def _rows_of_seed_groups(
    group: Comparison, columns: Mapping[str, SystemResult], patterns: Sequence[str], more: Labels
) -> Iterator[Row]:
    systems = {name: column.factors for name, column in columns.items()}
    groups = seed_groups(systems, patterns)
    values = {
        title: _values_by_figure({name: columns[name] for name in names}) for title, names in groups.items()
    }
    for title, figures in values.items():
        for figure, own in figures.items():
            labels = _labels(group, figure, {**more, "system": title})
            mean, sd = mean_and_sd(list(own.values()), "seeds", _scale_of(labels))
            yield from [Row("mean", mean, labels), Row("sd", sd, labels)]
    for one, other in itertools.combinations(values, 2):
        for figure in (each for each in values[one] if each in values[other]):
            labels = _labels(group, figure, {**more, "system": one, "against": other})
            if told := CAUTIONS.get(figure[0]):
                labels["note"] = told
            yield _difference(values[one][figure], values[other][figure], systems, labels)


def _scale_of(labels: Labels) -> tuple[float, float]:
    """The ends of a figure's scale, where they are known: those of accuracies and of metrics."""
    if labels.get("measure") == "accuracy":
        return 0.0, 1.0
    name = str(labels["of"])
    return bounds_of(find_metric(name).scale) if name in METRICS.names() else (-math.inf, math.inf)


def _values_by_figure(columns: Mapping[str, SystemResult]) -> dict[FigureKey, dict[str, float]]:
    """Figure -> system -> value, for figures that at least two systems have."""
    found: dict[FigureKey, dict[str, float]] = {}
    for name, column in columns.items():
        for figure, row in column.figures.items():
            if row.name not in HISTOGRAMS and row.estimate.n and math.isfinite(row.estimate.value):
                found.setdefault(figure, {})[name] = row.estimate.value
    return {figure: own for figure, own in found.items() if len(own) > 1}


def _difference(
    ours: Mapping[str, float], theirs: Mapping[str, float], systems: Systems, labels: Labels
) -> Row:
    """Mean difference of two groups: paired by seed if both have the same seeds, else Welch's interval."""
    mine, others = (
        {seed_of(name, systems[name]): value for name, value in own.items()} for own in (ours, theirs)
    )
    if mine.keys() == others.keys() and len(mine) == len(ours) == len(theirs):
        low, high = _scale_of(labels)
        apart = [mine[seed] - others[seed] for seed in mine]
        found, _ = mean_and_sd(apart, "seeds", (low - high, high - low))
        return Row("seed_difference", found, {**labels, "pairing": "by seed"})
    estimate = welch(list(ours.values()), list(theirs.values()), "seeds")
    return Row("seed_difference", estimate, {**labels, "pairing": "none (Welch)"})


def _labels(group: Comparison, figure: FigureKey, more: Labels) -> Labels:
    measure = _measure_of(group, figure)
    measured: Labels = {"measure": measure} if measure else {}
    return {**group.labels, **more, "of": figure[0], **measured, **dict(figure[1])}


def _measure_of(group: Comparison, figure: FigureKey) -> str:
    """What a figure measures; accuracies are named by their group of items."""
    name, labels = figure
    if name in ("discrepancy", "generated_errors"):
        return name
    verdicts = {each.of for each in group.results[0].paired if each.worth}
    is_group = name in ("all", dict(labels).get("phenomenon"))
    return "accuracy" if is_group and verdicts & {"all", "{phenomenon}"} else ""


def evaluator_agreement(group: Comparison, figure: str = "minimum") -> list[Row]:
    """Mean Spearman correlation over all pairs of evaluators, over systems and over items (section 3.5).

    Over systems: of a figure of the systems that all evaluators judged, if there are three. Over items: of the
    scores of each system's items. There is no interval, but the least and the greatest of all pairs are measured.
    """
    judged: dict[str, dict[str, SystemResult]] = {}
    for column in group.results:
        if column.evaluator:
            judged.setdefault(column.evaluator, {})[column.system] = column
    if len(judged) < 2:
        return []
    common = sorted(set.intersection(*(set(own) for own in judged.values())))
    labels: Labels = {**group.labels, "evaluators": ", ".join(judged)}
    rows = []
    of_systems = {
        name: {system: figure_of(own[system], figure).value for system in common}
        for name, own in judged.items()
    }
    if len(common) > 2 and _all_vary(of_systems):
        over: Labels = {**labels, "over": "systems", "of": figure}
        rows.append(Row("spearman", rank_agreement(of_systems), over, {"systems": len(common)}))
    for system in common:
        of_items = _item_scores({name: own[system] for name, own in judged.items()})
        if _all_vary(of_items):
            counts = {"items": len(next(iter(of_items.values())))}
            over = {**labels, "over": "items", "of": "score", "system": system}
            rows.append(Row("spearman", rank_agreement(of_items), over, counts))
    return rows


def _item_scores(columns: Mapping[str, SystemResult]) -> dict[str, dict[str, float]]:
    """Evaluator -> item -> score, for items that all evaluators scored."""
    scores = {
        name: {record["id"]: record["score"] for record in column.records if record.get("score") is not None}
        for name, column in columns.items()
    }
    common = set.intersection(*(set(own) for own in scores.values()))
    return {name: {item: own[item] for item in sorted(common)} for name, own in scores.items()}


def _all_vary(scores: Mapping[str, Mapping[str, float]]) -> bool:
    """Whether every evaluator has at least two different scores and no NaN; else ranks are undefined."""
    return all(
        len(set(own.values())) > 1 and not any(map(math.isnan, own.values())) for own in scores.values()
    )


# --- Figures over prompts: systems that differ by their prompt only, and how far their figures lie apart -----------

_OF_THE_PROMPT = frozenset({"prompt", "template", "end", "ends", "closing", "score_prompt", "noted"})
"""Settings in a fingerprint that follow from the prompt, a note that the model was not trained with it included."""
_NOT_DRAWN = "prompts are chosen, not drawn"


def prompt_rows(group: Comparison) -> list[Row]:
    """Mean, standard deviation, minimum and maximum of every figure over systems that differ by prompt only.

    There is no interval: nobody drew the prompts from a population that other prompts are of.
    """
    rows: list[Row] = []
    for columns in _groups(group.results):
        evaluator = next(iter(columns.values())).evaluator
        told = {"system": common_name(list(columns)), "over": "prompts"}
        more: Labels = {"evaluator": evaluator, **told} if evaluator else {**told}
        for figure, own in _values_by_figure(columns).items():
            values = list(own.values())
            mean, sd = mean_and_sd(values)
            spread = {"mean": mean.value, "sd": sd.value, "min": min(values), "max": max(values)}
            labels = _labels(group, figure, more)
            for name, value in spread.items():
                rows.append(Row(name, Estimate.without_interval(value, len(values), _NOT_DRAWN), labels))
    return rows


def _groups(columns: Sequence[SystemResult]) -> list[dict[str, SystemResult]]:
    """The columns of one system under several prompts and one evaluator, by their names; for each such system."""
    alike: dict[str, dict[str, SystemResult]] = {}
    for column in columns:
        fingerprint = column.fingerprint
        settings = fingerprint.get("settings")
        if isinstance(settings, Mapping) and isinstance(settings.get("prompt"), Mapping):
            rest = {name: value for name, value in settings.items() if name not in _OF_THE_PROMPT}
            whole: Any = [{**fingerprint, "settings": rest}, column.evaluator]
            alike.setdefault(json.dumps(whole, sort_keys=True), {})[column.name] = column
    found = []
    for own in alike.values():
        digests = {str(each.fingerprint["settings"]["prompt"].get("digest")) for each in own.values()}
        if 1 < len(digests) == len(own):
            found.append(own)
    return found


def common_name(names: Sequence[str]) -> str:
    """What the names of a system under several prompts have in common: `llm:x?prompt=a`, `x [a]` -> `llm:x`, `x`."""
    first, last = min(names), max(names)
    alike = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    start = "".join(letter for letter, _ in alike)
    for mark in ("?prompt=", "&prompt=", " ["):
        if mark in start:
            return start[: start.rindex(mark)]
    return start.rstrip(" [?&=-:") or ", ".join(names)


# --- Two systems compared by the group of items in which each is worst (conditioning paper, section 4.2) -----------


@dataclass(frozen=True, slots=True)
class _Worst:
    """The group in which a system is worst."""

    name: str
    mean: float
    values: Mapping[str, float]
    """Value of each of its items by id."""
    pull: Mapping[str, float]
    """How far each item pulls the weighted mean: its weight times its distance from the mean, over all weights."""


def _worst_group(records: Sequence[Record], by: PairedField) -> _Worst | None:
    """The group with the lowest weighted mean; None if no item of a group has a value and a weight."""
    groups: dict[str, dict[str, tuple[float, float]]] = {}
    for record in records:
        value, weight = by.value(record), record.get(by.weight) if by.weight else 1.0
        name = str(record.get(by.worst_of, ""))
        if value is not None and isinstance(weight, int | float) and weight > 0 and name not in by.unranked:
            groups.setdefault(name, {})[str(record["id"])] = value, float(weight)
    found = []
    for name in sorted(groups):
        own = groups[name]
        whole = math.fsum(weight for _, weight in own.values())
        mean = math.fsum(value * weight for value, weight in own.values()) / whole
        pull = {item: weight * (value - mean) / whole for item, (value, weight) in own.items()}
        found.append(_Worst(name, mean, {item: value for item, (value, _) in own.items()}, pull))
    return min(found, key=lambda each: each.mean, default=None)


def worst_difference(
    ours: Sequence[Record], theirs: Sequence[Record], by: PairedField
) -> tuple[str, Estimate, float, dict[str, int]] | None:
    """The groups compared, the difference of their weighted means with its interval, p, and wins, losses, ties.

    Each system has its own worst group and its own weights, so the difference is that of the two printed figures.
    Its error is that of the items' pulls on either mean, paired by item, over source sentences. Which group is the
    worst is taken as given.
    """
    one, other = _worst_group(ours, by), _worst_group(theirs, by)
    if one is None or other is None:
        return None
    clusters = {str(record["id"]): str(record.get(by.cluster, record["id"])) for record in (*ours, *theirs)}
    items = [item for item in clusters if item in one.pull or item in other.pull]
    apart = one.mean - other.mean
    values = [apart + len(items) * (one.pull.get(item, 0.0) - other.pull.get(item, 0.0)) for item in items]
    estimate, p = paired_difference(values, [clusters[item] for item in items], verdicts=by.is_verdict)
    both = [
        one.values[item] - other.values[item] for item in items if item in one.values and item in other.values
    ]
    groups = one.name if one.name == other.name else f"{one.name} against {other.name}"
    return groups, estimate, p, count_wins(both)


# --- Compares runs: figures side by side, and systems paired item by item ------------------------------------------


class NotComparable(BabelscopeError):
    """Runs differ in settings or test sets; `reason` says what differs, without the hint."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason}; with --summary only their figures are shown side by side")
        self.reason = str(BabelscopeError(reason))  # BabelscopeError escapes what could steer a terminal


def group_runs(runs: Sequence[Run], *, summary_only: bool = False) -> list[Comparison]:
    """Comparison the results of runs by method and test set; refuses runs with different settings or test sets.

    With `summary_only` nothing is refused and results are grouped by the name of the test set: their figures can
    stand side by side, but their items cannot be paired.
    """
    results = [each for run in runs for each in results_of_run(run)]
    found = grouped(((each.method, each.tests if summary_only else each.digest), each) for each in results)
    if not summary_only:
        for method in dict.fromkeys(each.method for each in results):
            _refuse_incomparable([each for each in results if each.method == method])
    return [Comparison(own[0].method, own[0].tests, tuple(_renamed(own))) for own in found.values()]


def _refuse_incomparable(results: Sequence[SystemResult]) -> None:
    """Refuse results of one method whose runs differ in settings or test sets, saying what differs."""
    (first, ours), *others = grouped((str(each.run.path), each) for each in results).items()
    for path, theirs in others:
        mine, yours = (
            {"version": each[0].version, **each[0].settings, ANSWER_FILES: None} for each in (ours, theirs)
        )
        changes = differences(mine, yours)
        if changes:
            raise NotComparable(
                f"{first} and {path} have other settings of {ours[0].method} ({'; '.join(changes[:3])})"
            )
        if {result.digest for result in ours} != {result.digest for result in theirs}:
            raise NotComparable(
                f"{first} and {path} have other test sets: {_describe_test_difference(ours, theirs)}"
            )


def _describe_test_difference(ours: Sequence[SystemResult], theirs: Sequence[SystemResult]) -> str:
    """The first difference: a test set that one side lacks, its size, or an item."""
    known = {result.digest for result in (*ours, *theirs)}
    both = {result.digest for result in ours} & {result.digest for result in theirs}
    for result in ours:
        other = next(
            (each for each in theirs if each.tests == result.tests and each.digest != result.digest), None
        )
        if result.digest in both or other is None:
            continue
        if len(result.records) != len(other.records):
            return f"{result.tests} has {len(result.records)} items there, {len(other.records)} here"
        for one, another in zip(result.records, other.records, strict=True):
            if (one["id"], one.get("source")) != (another["id"], another.get("source")):
                return f"{result.tests} has other items from {one['id']} there, {another['id']} here"
        return f"{result.tests} has items of the same sources that differ in something else"
    lacking = next(result for result in (*ours, *theirs) if result.digest in known - both)
    return f"only {lacking.run.path} has {lacking.tests}"


def run_names(runs: Iterable[StoredRun]) -> dict[str, str]:
    """Path -> name of a run: the name of its folder, or the whole path if two folders have the same name."""
    paths = {str(run.path): run.name for run in runs}
    shared = Counter(paths.values())
    return {path: name if shared[name] == 1 else path for path, name in paths.items()}


def _renamed(results: Sequence[SystemResult]) -> Iterable[SystemResult]:
    """The results under unique names: the system's, with evaluator or run added where several have the same."""
    evaluators = {result.evaluator for result in results}
    names = [
        result.system if len(evaluators) < 2 else f"{result.system} by {result.evaluator}"
        for result in results
    ]
    runs = run_names(result.run for result in results)
    used: set[str] = set()
    for place, (result, name) in enumerate(zip(results, names, strict=True)):
        twins = [number for number, other in enumerate(names) if other == name]
        if len(twins) > 1:
            for twin in (results[number] for number in twins if number < place):
                if twin.asked == result.asked:
                    raise BabelscopeError(
                        f"{name} stands in {twin.run.path} and in {result.run.path}; leave one of them out"
                    )
            name = f"{name} ({runs[str(result.run.path)]})"
        while name in used:
            name = f"{name}*"  # another system has this very name
        used.add(name)
        yield dataclasses.replace(result, name=name)


# -- item by item ----------------------------------------------------------------------------------


def rows_of_method(group: Comparison, method: Method, seed: int) -> list[Row]:
    """A method's rows about several systems; if it has no differences of its own, after those item by item."""
    made = method.compare(group, seed)
    own = [dataclasses.replace(row, labels={**group.labels, **row.labels}) for row in made]
    has_differences = any(row.name == "difference" for row in own)
    return own if has_differences else [*item_differences(group), *own]


def paired_differences(group: Comparison) -> list[Row]:
    """Differences between every two systems: those that the method makes itself, else item by item."""
    first = group.results[0]
    if len(group.results) < 2 or first.kind not in method_names():
        return item_differences(group)
    manifest = first.run.manifest
    with explain_damage(str(first.run.path)):
        made = rows_of_method(group, manifest.method_of(first.method), manifest.seed)
    return [row for row in made if row.name == "difference"]


def item_differences(group: Comparison) -> list[Row]:
    """Mean difference of every two systems on their common items, with wins, losses, ties, p and Holm's p.

    Intervals and tests are over source sentences; Holm corrects for all tests of the method on the test set.
    Systems judged by different evaluators are not compared.
    """
    found: list[Tested] = []
    for one, other in itertools.combinations(group.results, 2):
        if one.roles != other.roles:
            continue
        systems = {**group.labels, "system": one.name, "against": other.name}
        for by in one.paired:
            worst = worst_difference(one.records, other.records, by) if by.worst_of else None
            if worst is not None:
                groups, apart, p, counts = worst
                over = {"over": f"worst {by.worst_of}: {groups}", **({"of": by.of} if by.of else {})}
                found.append(({**systems, **over}, apart, p, counts))
        for part, members in _differences_by_part(one, other).items():
            sources, values, signs, worth = zip(*members, strict=True)
            better = [value * sign for value, sign in zip(values, signs, strict=True)]
            apart, p = paired_difference(values, sources, verdicts=worth[0])
            lower = {"better": "lower"} if signs[0] < 0 else {}
            found.append(({**systems, **dict(part), **lower}, apart, p, count_wins(better)))
    return tested_rows("difference", found)


def _differences_by_part(
    one: SystemResult, other: SystemResult
) -> dict[PartLabels, list[tuple[str, float, int, bool]]]:
    """(cluster, difference, 1 if higher is better, else -1, whether of verdicts) of all common items, by part."""
    theirs = {record["id"]: record for record in other.records}
    parts: dict[PartLabels, list[tuple[str, float, int, bool]]] = {}
    for record in one.records:
        against = theirs.get(record["id"])
        for each in one.paired if against is not None else ():
            if each.worst_of or any(record.get(name) in (None, *each.unranked) for name in each.by):
                continue
            value, its = each.value(record), each.value(against or {})
            if value is not None and its is not None and each.part(record) == each.part(against or {}):
                sign = 1 if each.higher_is_better else -1
                part = parts.setdefault(each.part(record), [])
                cluster = str(record.get(each.cluster, record["id"]))
                part.append((cluster, value - its, sign, each.is_verdict))
    in_order = sorted(parts, key=lambda part: [label for label in part if label[0] != "of"])
    return {part: parts[part] for part in in_order}
