"""The tables of `babelscope challenge`: one line a set and system, one table a metric."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from babelscope.core.results import Estimate, Row
from babelscope.core.tables import Table, of_rows

_NAMES = {"bleu": "BLEU", "chrf": "chrF2", "ribes": "RIBES"}
_DIGITS = {"bleu": 2, "chrf": 2, "ribes": 4}

_Set = tuple[tuple[str, str | int], ...]
_SET = ("phenomenon", "side", "min_distance", "distance")


def tables(rows: Sequence[Row]) -> list[Table]:
    """All figures of a challenge."""
    shown = _short_names(rows)
    named = dict.fromkeys(str(row.labels["metric"]) for row in rows if "metric" in row.labels)
    metrics = [metric for metric in named if any(row.name == metric for row in rows)]
    parts = [_quality(rows, metric, shown) for metric in metrics]
    for title, names, labels in (
        (
            "Quality against distance",
            ("distance_pearson", "distance_spearman"),
            ("system", "phenomenon", "over", "distances"),
        ),
        (
            "Quality against mean length, over random corpora of so many sentences",
            ("length_pearson", "length_spearman"),
            ("system", "sentences"),
        ),
        (
            "Differences between systems, by paired bootstrap",
            ("difference",),
            ("phenomenon", "system", "against"),
        ),
    ):
        some = [row for row in rows if row.name in names and row.estimate.n]
        if names == ("difference",):  # those of narrower sets are left to --json
            some = [row for row in some if _set(row) in _widest(some)]
        if some:
            parts.append(_columns(title, some, labels, metrics, shown))
    return parts


def annotators_table(rows: Sequence[Row], said: Sequence[Row]) -> Table:
    """What annotators say, with systems named as in the tables of `rows`."""
    shown = _short_names(rows)
    return of_rows("What annotators say", [_briefly(row, shown) for row in said])


def _quality(rows: Sequence[Row], metric: str, shown: Mapping[str, str]) -> Table:
    """One line a set and system: the score, how far it is from the whole's, and its length-matched control."""
    scores = {(_set(row), str(row.labels["system"])): row for row in rows if row.name == metric}
    others = {
        (row.name, _set(row), str(row.labels["system"])): row.estimate
        for row in rows
        if row.labels.get("metric") == metric and "against" not in row.labels
    }
    lengths = {(_set(row), str(row.labels["system"])): row.estimate for row in rows if row.name == "length"}
    digits = _DIGITS.get(metric, 3)
    lines: dict[tuple[str, ...], tuple[str, ...]] = {}
    for (part, system), row in scores.items():
        labels = dict(part)
        mean, sd, z, rank = (
            others.get((f"control_{name}", part, system)) for name in ("mean", "sd", "z", "rank")
        )
        difference = others.get(("minus_all", part, system))
        between = (
            f"≥ {labels['min_distance']}" if "min_distance" in labels else str(labels.get("distance", ""))
        )
        # Minimum distances that give the same sentences are one line, the greatest of them.
        same = f"≥ n {row.estimate.n}" if "min_distance" in labels else between
        lines[system, _phenomenon(labels), same] = (
            shown[system],
            _phenomenon(labels),
            between,
            str(row.estimate.n),
            f"{lengths[part, system].value:.1f}",
            _with_interval(row.estimate, digits),
            _with_interval(difference, digits, sign="+") if difference else "",
            f"{mean.value:.{digits}f} ± {sd.value:.{digits}f}" if mean and sd else "",
            f"{z.value:+.1f}" if z else "",
            f"{rank.value:.0%} of {rank.n}" if rank else "",
        )
    name = _NAMES.get(metric, metric)
    words = ("system", "phenomenon", "words between")
    compared = ("n", "length", name, "minus all", "length-matched: mean ± sd", "z", "at or below")
    return Table(f"Quality by {name}", [*words, *compared], list(lines.values()), len(words))


def _columns(
    title: str, rows: Sequence[Row], labels: Sequence[str], metrics: Sequence[str], shown: Mapping[str, str]
) -> Table:
    """One line for rows that share labels, with a column a metric and figure."""
    figures = list(dict.fromkeys(row.name for row in rows))
    lines: dict[tuple[str, ...], dict[tuple[str, str], str]] = {}
    for row in rows:
        told = {**row.labels, "phenomenon": _phenomenon(row.labels)}
        key = tuple(shown.get(str(told.get(name)), str(told.get(name, ""))) for name in labels)
        metric = str(row.labels["metric"])
        digits = _DIGITS.get(metric, 3) if row.name == "difference" else 2
        lines.setdefault(key, {})[metric, row.name] = _with_interval(row.estimate, digits, sign="+")
    pairs = [(metric, figure) for metric in metrics for figure in figures]
    headings = [
        f"{_NAMES.get(metric, metric)} {figure.partition('_')[2]}".strip() for metric, figure in pairs
    ]
    cells = [(*key, *(own.get(pair, "") for pair in pairs)) for key, own in lines.items()]
    return Table(title, [*labels, *headings], cells, len(labels))


def _with_interval(estimate: Estimate, digits: int, sign: str = "") -> str:
    value, low, high = (f"{x:{sign}.{digits}f}" for x in (estimate.value, estimate.low, estimate.high))
    return f"{value} [{low}, {high}]"


def _phenomenon(labels: Mapping[str, str | int]) -> str:
    name = str(labels["phenomenon"])
    return f"{name} (target)" if labels.get("side") == "target" else name


def _set(row: Row) -> _Set:
    return tuple((name, row.labels[name]) for name in _SET if name in row.labels)


def _widest(rows: Iterable[Row]) -> set[_Set]:
    """The whole, and of each phenomenon the set of the least minimum distance."""
    first: dict[tuple[str, str], _Set] = {}
    for row in rows:
        if "distance" not in row.labels:
            # Minimum distances come in rising order.
            first.setdefault((str(row.labels["phenomenon"]), str(row.labels.get("side"))), _set(row))
    return set(first.values())


def _briefly(row: Row, shown: Mapping[str, str]) -> Row:
    """The same without what is the same for all rows, or zero."""
    labels = {
        name: shown.get(str(value), value) if name in ("system", "against") else value
        for name, value in row.labels.items()
        if name not in ("method", "tests", "side", "min_distance")
    }
    return Row(row.name, row.estimate, labels, {k: v for k, v in row.counts.items() if k != "skipped"})


def _short_names(rows: Iterable[Row]) -> dict[str, str]:
    """Systems by the ends of their names, where these tell them apart."""
    names = list(dict.fromkeys(str(row.labels["system"]) for row in rows if "system" in row.labels))
    short = [os.path.basename(name.partition("?")[0].partition(":")[2]) or name for name in names]
    return dict(zip(names, short if len(set(short)) == len(names) else names, strict=True))
