"""How far scores go together: of systems, or of their translations with human judgments (table 4)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from babelscope.core.results import Estimate, Row
from babelscope.stats.intervals import Array, cluster_sums, jackknife_variance
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import json_number, shorten

Statistic = Literal["pearson", "spearman", "kendall"]

Unit = tuple[str, str]
"""System and item: what was judged."""


_MISSING: Mapping[Statistic, int] = {"pearson": 3, "spearman": 3, "kendall": 4}


def correlation(
    first: Sequence[float],
    second: Sequence[float],
    statistic: Statistic,
    clusters: Sequence[str] | None = None,
    *,
    what: str = "pairs",
    independent: bool = False,
) -> Estimate:
    """The correlation of paired values with the interval of `fisher_test`; of nothing if one side does not vary.

    `independent`: clusters are what is independent, so that normal values would vary as so many do.
    """
    return correlation_and_p(first, second, statistic, clusters, what=what, independent=independent)[0]


def correlation_and_p(
    first: Sequence[float],
    second: Sequence[float],
    statistic: Statistic,
    clusters: Sequence[str] | None = None,
    *,
    what: str = "pairs",
    independent: bool = False,
) -> tuple[Estimate, float]:
    """The same with the p of no correlation, by the test that the interval is made of; NaN without an interval."""
    n = len(first)
    one, other = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    value = _value(one, other, statistic)
    if math.isnan(value):
        return Estimate.empty(), math.nan
    names = [str(number) for number in range(n)] if clusters is None else clusters
    groups = len(set(names))
    worth = groups if independent else n
    if worth <= _MISSING[statistic] or groups < 3:
        return Estimate.without_interval(value, n, f"{groups} {what}"), math.nan
    if statistic != "kendall":
        sums = cluster_sums(_moments(one, other, statistic), names)
        left_out = _pearson(sums.sum(axis=0) - sums)
    else:
        left_out = None
    if statistic == "pearson" and abs(value) >= 1 - 1e-12:
        return Estimate.without_interval(value, n, "on one line"), math.nan
    z, reach, p = fisher_test(np.array(value), left_out, worth, statistic)
    low, high = float(np.tanh(z - reach)), float(np.tanh(z + reach))
    return Estimate.around(value, low, high, n), float(p)


def fisher_test(
    value: Array, left_out: Array | None, n: int, statistic: Statistic
) -> tuple[Array, Array, Array]:
    """Fisher's z of a correlation of n pairs, how far its 95 % interval reaches, and the p of no correlation.

    The wider of two intervals: with the spread of normal values, which for ranks is Bonett and Wright's (2000), and
    with that of the jackknife over clusters, which long tails do not mislead; the correlations without each of
    them are `left_out` [..., clusters]. Kendall's has the former only, with Student's quantile. Ranks that agree
    perfectly have no finite z: theirs is that of the value half a step away.
    """
    spreads: dict[Statistic, tuple[Any, float]] = {
        "pearson": (1.0, 0.0),
        "spearman": (1 + value**2 / 2, 6 / (n**3 - n)),
        "kendall": (0.437, 2 / (n**2 - n)),
    }
    variance, half_step = spreads[statistic]
    inside = np.minimum(np.abs(value), 1 - half_step)
    z = np.copysign(np.arctanh(np.minimum(inside, 1 - 1e-15)), value)
    spread = np.sqrt(variance / (n - _MISSING[statistic]))
    if left_out is None:
        return z, stdtrit(n - 1, 0.975) * spread, 2 * stdtr(n - 1, -np.abs(z) / spread)
    shortened = np.clip(np.nan_to_num(left_out), half_step - 1 + 1e-15, 1 - half_step - 1e-15)
    jackknife = np.sqrt(jackknife_variance(np.arctanh(shortened)))
    degrees = left_out.shape[-1] - 1
    reach = np.maximum(ndtri(0.975) * spread, stdtrit(degrees, 0.975) * jackknife)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.fmax(2 * ndtr(-np.abs(z) / spread), 2 * stdtr(degrees, -np.abs(z) / jackknife))
    return z, reach, p


def _moments(first: Array, second: Array, statistic: Statistic) -> list[list[float]]:
    """What Pearson's correlation is made of, of values or of their ranks, a column each."""
    if statistic == "spearman":
        first, second = _ranks(first), _ranks(second)
    x, y = first - first.mean(), second - second.mean()
    return [column.tolist() for column in (np.ones_like(x), x, y, x * x, y * y, x * y)]


def _ranks(values: Array) -> Array:
    from scipy.stats import rankdata  # takes longer to import than most commands to run

    found: Array = rankdata(values)
    return found


def _pearson(sums: Array) -> Array:
    """Pearson's correlation from sums of moments [..., 6]; NaN where a side does not vary."""
    n, x, y, xx, yy, xy = (sums[..., column] for column in range(6))
    with np.errstate(divide="ignore", invalid="ignore"):
        product = np.maximum(xx - x * x / n, 0.0) * np.maximum(yy - y * y / n, 0.0)
        found: Array = np.clip((xy - x * y / n) / np.sqrt(product), -1.0, 1.0)
    return found


def _value(first: Array, second: Array, statistic: Statistic) -> float:
    # Equal up to rounding is equal: a correlation of rounding errors says nothing.
    if len(first) < 2 or any(np.ptp(each) <= 1e-12 * np.abs(each).max() for each in (first, second)):
        return math.nan
    if statistic == "kendall":
        from scipy.stats import kendalltau

        return float(kendalltau(first, second).statistic)
    if statistic == "spearman":
        first, second = _ranks(first), _ranks(second)
    return float(np.corrcoef(first, second)[0, 1])


def human_correlations(
    human: Mapping[Unit, float],
    metrics: Mapping[str, Mapping[Unit, float]],
) -> list[Row]:
    """Pearson and Spearman of each metric with human scores, over sentences and over systems (table 4).

    A sentence is one system's answer to one item; its interval is over items. A system's score is the mean over its
    sentences, and its interval over systems. What only one side has is left out and counted.
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
            items = [item for _, item in both]
            sentence = correlation(pairs[:, 0].tolist(), pairs[:, 1].tolist(), statistic, items, what="items")
            system = correlation(means[:, 0].tolist(), means[:, 1].tolist(), statistic, what="systems")
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


def parse_scores(
    rows: Iterable[tuple[str, Mapping[str, Any]]], *, field: str = "score", average: bool = False
) -> dict[Unit, float]:
    """Scores by system and item, from JSON objects with `system`, `id` and a number in `field`.

    Several judgments of one answer are averaged where that is asked for (annotators), else refused; null is none.
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
