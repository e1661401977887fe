"""Compares many systems: over seeds, and between evaluators (paper: conditioning)."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from babelscope.core.columns import Column, FigureKey, Group
from babelscope.core.factors import SEED, Factor, Factors, Rest, but, in_words, told_apart
from babelscope.core.page import FORMATS, Headline, Unit
from babelscope.core.results import Estimate, Row
from babelscope.core.tables import Table
from babelscope.methods.base import find_method, method_names
from babelscope.methods.over_factors import mean_over_seeds
from babelscope.metrics.base import METRICS, find_metric
from babelscope.metrics.corpus import bounds_of
from babelscope.runs.regressing import HISTOGRAMS, Labels, figure_of
from babelscope.stats.agreement import rank_agreement
from babelscope.stats.intervals import mean_and_sd, welch
from babelscope.util.errors import BabelscopeError

_SEED = re.compile(r"-([0-9]+)$")


Systems = Mapping[str, Factors]
"""Names of systems, with what is said of them."""


def seed_of(name: str, factors: Factors) -> Factor:
    """The seed of a system: its factor, or the number in its name, 1 for teacher, 2 for teacher-2."""
    found = _SEED.search(name)
    return factors.get(SEED, int(found[1]) if found else 1)


def seed_groups(systems: Systems, patterns: Sequence[str] = ()) -> dict[str, list[str]]:
    """Group -> systems that differ by seed only.

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
    """Group -> systems of different seeds with the same other factors; without the factor `seed`, x, x-2, x-3.

    A group is named by the factors in which the groups differ; by all of them, where there are no others.
    """
    found: dict[tuple[Rest, str], list[str]] = {}
    for name, factors in systems.items():
        stem = "" if SEED in factors else _SEED.sub("", name)
        found.setdefault((but(factors, SEED), stem), []).append(name)
    # Two systems of one seed are no repeated training: the study does not say what they differ in.
    several = {
        key: names
        for key, names in found.items()
        if len(names) > 1 and (key[1] or len({systems[name][SEED] for name in names}) == len(names))
    }
    titles = told_apart([rest for rest, _ in several])
    groups: dict[str, list[str]] = {}
    for ((rest, stem), names), told in zip(several.items(), titles, strict=True):
        title = stem or told or in_words(rest) or _SEED.sub("", names[0])
        title = f"{title}, {told}" if title in groups else title
        while title in groups:
            title = f"{title}*"
        groups[title] = names
    return groups


def seed_rows(group: Group, patterns: Sequence[str] = ()) -> list[Row]:
    """Mean and sd of every figure over systems that differ by seed only, and differences between such groups.

    Intervals are over seeds, by Student's t: they cover other training runs, not other test items.
    """
    rows: list[Row] = []
    for evaluator, columns in _by_evaluator(group):
        rows += _rows_of_seed_groups(group, columns, patterns, {"evaluator": evaluator} if evaluator else {})
    return rows


def _by_evaluator(group: Group) -> Iterator[tuple[str, dict[str, Column]]]:
    """Each evaluator (empty for methods without one) with the columns that it judged, by name."""
    for evaluator in dict.fromkeys(column.cell.evaluator for column in group.columns):
        judged = [column for column in group.columns if column.cell.evaluator == evaluator]
        systems = [column.cell.system for column in judged]
        # The system's own name shows its seed; use the column's name only where two runs share the system's.
        yield (
            evaluator,
            {
                column.cell.system if systems.count(column.cell.system) == 1 else column.name: column
                for column in judged
            },
        )


def seeds_table(
    group: Group, headlines: Callable[[Column], Sequence[Headline]], patterns: Sequence[str] = ()
) -> Table | None:
    """Mean and sd over seeds of the figures that matter most, a line a figure and group; None without such groups."""
    found: dict[str, list[list[str]]] = {}
    several = len({column.cell.evaluator for column in group.columns}) > 1
    for evaluator, columns in _by_evaluator(group):
        groups = seed_groups({name: column.cell.factors for name, column in columns.items()}, patterns)
        for title, names in groups.items():
            values: dict[tuple[str, Unit], list[float]] = {}
            for each in (each for name in names for each in headlines(columns[name])):
                if each.row.estimate.n and math.isfinite(each.row.estimate.value):
                    told = ", ".join(filter(None, (each.name, each.part)))
                    values.setdefault((told, each.unit), []).append(each.row.estimate.value)
            for (told, unit), own in values.items():
                mean, (_, sd), form = mean_over_seeds(own, unit), mean_and_sd(own, "seeds"), FORMATS[unit]
                shown = [form(mean.value), form(sd.value), mean.interval(form), str(mean.n)]
                whose = f"{title} by {evaluator}" if several else title
                found.setdefault(told, []).append([told, whose, *shown])
    rows = [row for own in found.values() for row in own]
    headings = ["figure", "systems", "mean", "sd", "95 % interval", "seeds"]
    return Table(f"Over seeds: {group.tests}", headings, rows, 2) if rows else None


def _rows_of_seed_groups(
    group: Group, columns: Mapping[str, Column], patterns: Sequence[str], more: Labels
) -> list[Row]:
    systems = {name: column.cell.factors for name, column in columns.items()}
    groups = seed_groups(systems, patterns)
    values = {
        title: _values_by_figure({name: columns[name] for name in names}) for title, names in groups.items()
    }
    rows: list[Row] = []
    for title, names in groups.items():
        own = {name: columns[name] for name in names}
        for labels, found in spread_over(group, own, {**more, "system": title}):
            mean, sd = mean_and_sd(found, "seeds", _scale_of(labels))
            rows += [Row("mean", mean, labels), Row("sd", sd, labels)]
    for one, other in itertools.combinations(values, 2):
        for figure in (each for each in values[one] if each in values[other]):
            labels = _labels(group, figure, {**more, "system": one, "against": other})
            if told := _caution(group, figure[0]):
                labels["note"] = told
            rows.append(_difference(values[one][figure], values[other][figure], systems, labels))
    return rows


def _scale_of(labels: Labels) -> tuple[float, float]:
    """The ends of a figure's scale, where they are known: those of accuracies and of metrics."""
    if labels.get("measure") == "accuracy":
        return 0.0, 1.0
    name = str(labels["of"])
    return bounds_of(find_metric(name).scale) if name in METRICS.names() else (-math.inf, math.inf)


def spread_over(
    group: Group, columns: Mapping[str, Column], labels: Labels
) -> Iterator[tuple[Labels, list[float]]]:
    """The labels and the values of every figure that at least two of these systems have."""
    for figure, own in _values_by_figure(columns).items():
        yield _labels(group, figure, labels), list(own.values())


def _caution(group: Group, figure: str) -> str:
    """What the method says against comparing a figure between systems; empty if nothing."""
    kind = group.columns[0].cell.kind
    return find_method(kind).cautions.get(figure, "") if kind in method_names() else ""


def _values_by_figure(columns: Mapping[str, Column]) -> dict[FigureKey, dict[str, float]]:
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


def _labels(group: Group, figure: FigureKey, more: Labels) -> Labels:
    kind = group.columns[0].cell.kind
    row = Row(figure[0], Estimate.of_nothing(), dict(figure[1]))
    # A run can be compared where its method is not installed.
    measure = find_method(kind).measure_of(row) if kind in method_names() else ""
    measured: Labels = {"measure": measure} if measure else {}
    return {**group.labels, **more, "of": figure[0], **measured, **dict(figure[1])}


def evaluator_agreement(group: Group, figure: str = "minimum") -> list[Row]:
    """Mean Spearman correlation over all pairs of evaluators, over systems and over items (section 3.5).

    Over systems: of a figure of the systems that all evaluators judged, if there are three. Over items: of the
    scores of each system's items. There is no interval, but the least and the greatest of all pairs are measured.
    """
    judged: dict[str, dict[str, Column]] = {}
    for column in group.columns:
        if column.cell.evaluator:
            judged.setdefault(column.cell.evaluator, {})[column.cell.system] = column
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
        estimate = rank_agreement(of_systems)
        rows.append(
            Row(
                "spearman",
                estimate,
                {**labels, "over": "systems", "of": figure},
                {"systems": len(common)},
            )
        )
    for system in common:
        of_items = _item_scores({name: own[system] for name, own in judged.items()})
        if _all_vary(of_items):
            counts = {"items": len(next(iter(of_items.values())))}
            rows.append(
                Row(
                    "spearman",
                    rank_agreement(of_items),
                    {**labels, "over": "items", "of": "score", "system": system},
                    counts,
                )
            )
    return rows


def _item_scores(columns: Mapping[str, Column]) -> dict[str, dict[str, float]]:
    """Evaluator -> item -> score, for items that all evaluators scored."""
    scores = {
        name: {
            record["id"]: record["score"] for record in column.cell.records if record.get("score") is not None
        }
        for name, column in columns.items()
    }
    common = set.intersection(*(set(own) for own in scores.values()))
    return {name: {item: own[item] for item in sorted(common)} for name, own in scores.items()}


def _all_vary(scores: Mapping[str, Mapping[str, float]]) -> bool:
    """Whether every evaluator has at least two different scores and no NaN; else ranks are undefined."""
    return all(
        len(set(own.values())) > 1 and not any(map(math.isnan, own.values())) for own in scores.values()
    )
