"""How far scores go together: of systems, or of their translations with human judgements (table 4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from babelscope.core.results import Estimate, Row
from babelscope.stats.intervals import percentile_estimate
from babelscope.util.errors import BabelscopeError
from babelscope.util.json_lines import json_number
from babelscope.util.text import shorten

Statistic = Literal["pearson", "spearman", "kendall"]

Unit = tuple[str, str]
"""System and item: what was judged."""


def correlation(first: Sequence[float], second: Sequence[float], statistic: Statistic) -> Estimate:
    """The correlation of paired values, with Fisher's interval; of nothing if one side does not vary.

    The spread of Fisher's z is Bonett and Wright's (2000) for ranks. Ranks that agree perfectly have no finite z:
    theirs is that of the value half a step away. Too few pairs leave everything from -1 to 1 possible.
    """
    n = len(first)
    value = _value(np.asarray(first, dtype=float), np.asarray(second, dtype=float), statistic)
    if math.isnan(value):
        return Estimate.of_nothing()
    missing, variance, half_step = {
        "pearson": (3, 1.0, 0.0),
        "spearman": (3, 1 + value**2 / 2, 6 / (n**3 - n)),
        "kendall": (4, 0.437, 2 / (n**2 - n)),
    }[statistic]
    if n <= missing:
        return Estimate(value, -1.0, 1.0, n)
    inside = min(abs(value), 1 - half_step)
    z = math.copysign(math.atanh(inside) if inside < 1 else math.inf, value)
    reach = 1.959964 * math.sqrt(variance / (n - missing))
    return Estimate(value, min(value, math.tanh(z - reach)), max(value, math.tanh(z + reach)), n)


def _value(first: Any, second: Any, statistic: Statistic) -> float:
    from scipy.stats import kendalltau, rankdata

    # Equal up to rounding is equal: a correlation of rounding errors says nothing.
    if len(first) < 2 or any(np.ptp(each) <= 1e-12 * np.abs(each).max() for each in (first, second)):
        return math.nan
    if statistic == "kendall":
        return float(kendalltau(first, second).statistic)
    if statistic == "spearman":
        first, second = rankdata(first), rankdata(second)
    # Bootstrap resamples have no use for scipy's p-values, which take most of its time.
    return float(np.corrcoef(first, second)[0, 1])


def human_correlations(
    human: Mapping[Unit, float],
    metrics: Mapping[str, Mapping[Unit, float]],
    rng: Callable[[], np.random.Generator],
    *,
    resamples: int = 1000,
) -> list[Row]:
    """Pearson and Spearman of each metric with human scores, over sentences and over systems (table 4).

    A sentence is one system's answer to one item; its interval is bootstrapped over items. A system's score is
    the mean over its sentences; the interval is Fisher's. What only one side has is left out and counted.
    """
    rows = []
    for name, scores in metrics.items():
        both = sorted(human.keys() & scores.keys())
        if not both:
            raise BabelscopeError(f"{name} and the human scores have no system and item in common")
        pairs = np.array([[human[unit], scores[unit]] for unit in both])
        counts = {"only_human": len(human) - len(both), "only_metric": len(scores) - len(both)}
        means = _means(both, pairs)
        for statistic in ("pearson", "spearman"):
            sentence = _clustered(both, pairs, statistic, rng(), resamples)
            system = correlation(means[:, 0].tolist(), means[:, 1].tolist(), statistic)
            for level, estimate in (("sentence", sentence), ("system", system)):
                rows.append(Row(statistic, estimate, {"metric": name, "level": level}, counts))
    return rows


def _means(units: Sequence[Unit], pairs: Any) -> Any:
    """Mean scores of each system [systems, 2]."""
    systems = sorted({system for system, _ in units})
    return np.array(
        [
            pairs[[number for number, unit in enumerate(units) if unit[0] == own]].mean(axis=0)
            for own in systems
        ]
    )


def _clustered(
    units: Sequence[Unit], pairs: Any, statistic: Statistic, rng: np.random.Generator, resamples: int
) -> Estimate:
    """A correlation over all units, resampled by items: the answers to one item are not independent."""
    value = _value(pairs[:, 0], pairs[:, 1], statistic)
    if math.isnan(value):
        return Estimate.of_nothing()
    members: dict[str, list[int]] = {}
    for number, (_, item) in enumerate(units):
        members.setdefault(item, []).append(number)
    groups = [np.array(own) for own in members.values()]
    if len(groups) < 2:
        return Estimate(value, -1.0, 1.0, len(units))
    drawn = []
    for _ in range(resamples):
        chosen = pairs[np.concatenate([groups[i] for i in rng.integers(0, len(groups), len(groups))])]
        drawn.append(_value(chosen[:, 0], chosen[:, 1], statistic))
    return percentile_estimate(value, np.array(drawn), len(units))


def parse_scores(
    rows: Iterable[tuple[str, Mapping[str, Any]]], *, field: str = "score", average: bool = False
) -> dict[Unit, float]:
    """Scores by system and item, from JSON objects with `system`, `id` and a number in `field`.

    Several judgements of one answer are averaged where that is asked for (annotators), else refused; null is none.
    """
    found: dict[Unit, list[float]] = {}
    for place, record in rows:
        score = record.get(field, "")
        if score is None:  # not known, as where a search was not resolved
            continue
        if (number := json_number(score)) is None or not math.isfinite(number):
            raise BabelscopeError(
                f"{place}: field {field!r} must be a finite number, not {shorten(str(score))}"
            )
        if not all(isinstance(record.get(name), str | int) for name in ("system", "id")):
            raise BabelscopeError(f"{place} needs the fields 'system' and 'id'")
        unit = (str(record["system"]), str(record["id"]))
        if unit in found and not average:
            raise BabelscopeError(f"{place}: item {unit[1]} of {unit[0]} is scored twice")
        found.setdefault(unit, []).append(number)
    return {unit: math.fsum(scores) / len(scores) for unit, scores in found.items()}
