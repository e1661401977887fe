"""Figures over prompts: systems that differ by their prompt only, and how far their figures lie apart."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from babelscope.core.columns import Column, Group
from babelscope.core.page import Headline, Unit
from babelscope.core.results import Estimate, Row, number
from babelscope.core.tables import Table
from babelscope.runs.comparing_groups import spread_over
from babelscope.runs.regressing import Labels
from babelscope.stats.intervals import mean_and_sd

_OF_THE_PROMPT = frozenset({"prompt", "template", "end", "ends", "closing", "score_prompt", "noted"})
"""Settings in a fingerprint that follow from the prompt, a note that the model was not trained with it included."""
_NOT_DRAWN = "prompts are chosen, not drawn"
_SPREAD = ("mean", "sd", "min", "max")


def prompt_rows(group: Group) -> list[Row]:
    """Mean, standard deviation, minimum and maximum of every figure over systems that differ by prompt only.

    There is no interval: nobody drew the prompts from a population that other prompts are of.
    """
    rows: list[Row] = []
    for columns in _groups(group.columns):
        evaluator = next(iter(columns.values())).cell.evaluator
        told = {"system": common_name(list(columns)), "over": "prompts"}
        more: Labels = {"evaluator": evaluator, **told} if evaluator else {**told}
        for labels, values in spread_over(group, columns, more):
            for name, value in zip(_SPREAD, _spread(values), strict=True):
                rows.append(Row(name, Estimate.without_interval(value, len(values), _NOT_DRAWN), labels))
    return rows


def prompts_table(rows: Sequence[Row]) -> Table:
    """All figures over prompts, a line each, with the labels that tell them apart."""
    lines = _lines(rows)
    labels = [
        name
        for name in dict.fromkeys(name for line in lines for name in line["mean"].labels if name != "over")
        if name in ("system", "of") or len({line["mean"].labels.get(name) for line in lines}) > 1
    ]
    cells = [
        [
            *(str(line["mean"].labels.get(name, "")) for name in labels),
            *(number(line[name].estimate.value) for name in _SPREAD),
            str(line["mean"].estimate.n),
        ]
        for line in lines
    ]
    return Table("over prompts", [*labels, *_SPREAD, "prompts"], cells, len(labels))


def headlines_table(
    groups: Iterable[tuple[Group, Callable[[Column], Sequence[Headline]]]],
) -> Table | None:
    """The same of the figures that a summary shows, in its own words and units; None if there are none."""
    rows = []
    for group, headlines in groups:
        for columns in _groups(group.columns):
            values: dict[tuple[str, Unit], list[float]] = {}
            for column in columns.values():
                for each in headlines(column):
                    if each.row.estimate.n and math.isfinite(each.row.estimate.value):
                        values.setdefault((each.name, each.unit), []).append(each.row.estimate.value)
            for (name, unit), own in values.items():
                if len(own) > 1:
                    told = [_in_unit(value, unit) for value in _spread(own)]
                    rows.append([common_name(list(columns)), name, *told, str(len(own))])
    return Table("over prompts", ["system", "figure", *_SPREAD, "prompts"], rows, 2) if rows else None


def _spread(values: Sequence[float]) -> tuple[float, float, float, float]:
    mean, sd = mean_and_sd(values)
    return mean.value, sd.value, min(values), max(values)


def _in_unit(value: float, unit: Unit) -> str:
    return f"{100 * value:.1f} %" if unit == "percent" else number(value)


def _lines(rows: Sequence[Row]) -> list[dict[str, Row]]:
    """The rows of each figure by their names."""
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        found.setdefault(str(sorted(row.labels.items())), {})[row.name] = row
    return list(found.values())


def _groups(columns: Sequence[Column]) -> list[dict[str, Column]]:
    """The columns of one system under several prompts and one evaluator, by their names; for each such system."""
    alike: dict[str, dict[str, Column]] = {}
    for column in columns:
        fingerprint = column.cell.fingerprint
        settings = fingerprint.get("settings")
        if isinstance(settings, Mapping) and isinstance(settings.get("prompt"), Mapping):
            rest = {name: value for name, value in settings.items() if name not in _OF_THE_PROMPT}
            whole: Any = [{**fingerprint, "settings": rest}, column.cell.evaluator]
            alike.setdefault(json.dumps(whole, sort_keys=True), {})[column.name] = column
    return [own for own in alike.values() if 1 < len(set(map(_digest, own.values()))) == len(own)]


def _digest(column: Column) -> str:
    return str(column.cell.fingerprint["settings"]["prompt"].get("digest"))


def common_name(names: Sequence[str]) -> str:
    """What the names of a system under several prompts have in common: `llm:x?prompt=a`, `x [a]` -> `llm:x`, `x`."""
    first, last = min(names), max(names)
    alike = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    start = "".join(letter for letter, _ in alike)
    for mark in ("?prompt=", "&prompt=", " ["):
        if mark in start:
            return start[: start.rindex(mark)]
    return start.rstrip(" [?&=-:") or names[0]
