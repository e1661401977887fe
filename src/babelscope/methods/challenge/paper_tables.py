"""The layouts of the paper's tables 4 to 6: phenomena by system and corpus, and by minimum distance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from babelscope.core.results import Row
from babelscope.core.tables import Sized, Table, with_sizes
from babelscope.making.challenge.reordering import CROSSING, DIFFERENCE, NORMALISED, UNITS
from babelscope.methods.challenge.sets import ALL, WORDS_BETWEEN
from babelscope.methods.challenge.table import DIGITS, NAMES, phenomenon_of, short_names, with_interval

_LEAST = {WORDS_BETWEEN: 1, UNITS[DIFFERENCE]: 5, UNITS[NORMALISED]: 5, UNITS[CROSSING]: 0}
"""Unit -> table 4's minimum distance. A set of crossing links is made by tau, not by their number: all of it."""


def paper_tables(rows: Sequence[Row]) -> list[Table]:
    """For each metric: all sentences and every phenomenon by system and corpus, then dependencies by distance."""
    metrics = [name for name in _names(rows, "metric") if any(row.name == name for row in rows)]
    made = []
    for metric in metrics:
        own = [row for row in rows if row.name == metric and "distance" not in row.labels]
        made.append(_by_corpus(own, metric))
        if any(row.labels.get("unit") == WORDS_BETWEEN for row in own):
            made.append(_by_distance(own, rows, metric))
    return made


def _names(rows: Iterable[Row], label: str) -> list[str]:
    return list(dict.fromkeys(str(row.labels[label]) for row in rows if label in row.labels))


def _by_corpus(own: Sequence[Row], metric: str) -> Table:
    """Table 4, of RIBES table 6: a line a phenomenon, a column a system and corpus."""
    shown, tests = short_names(own), _names(own, "tests")
    lines: dict[str, dict[tuple[str, str], Row]] = {}
    for row in own:
        where = str(row.labels["system"]), str(row.labels.get("tests", ""))
        kept = lines.setdefault(phenomenon_of(row.labels), {})
        if where not in kept or _is_nearer(row, kept[where]):
            kept[where] = row
    columns = [(system, each) for system in shown for each in tests or [""]]
    cells = [
        ([name, _distance_of(kept.values())], [_cell(kept.get(where), metric) for where in columns])
        for name, kept in lines.items()
    ]
    headings = [f"{shown[system]}, {each}" if len(tests) > 1 else shown[system] for system, each in columns]
    labels = ["phenomenon", "distance"]
    made = with_sizes(labels, headings, cells)
    return Table(f"{NAMES.get(metric, metric)} by phenomenon", *made, len(labels))


def _is_nearer(row: Row, other: Row) -> bool:
    """Whether a set has a minimum distance nearer to that of table 4."""
    if row.labels["phenomenon"] == ALL:
        return False
    wanted = _LEAST[str(row.labels["unit"])]
    return abs(int(row.labels["min_distance"]) - wanted) < abs(int(other.labels["min_distance"]) - wanted)


def _distance_of(rows: Iterable[Row]) -> str:
    found = {
        f"≥ {row.labels['min_distance']} {row.labels['unit']}" for row in rows if "min_distance" in row.labels
    }
    return " or ".join(sorted(found))


def _cell(row: Row | None, metric: str) -> Sized:
    if row is None:
        return "", ""
    return with_interval(row.estimate, DIGITS.get(metric, 3)), f"{row.estimate.n:,}"


def _by_distance(own: Sequence[Row], rows: Sequence[Row], metric: str) -> Table:
    """Table 5: a line a system, corpus and phenomenon, a column a minimum number of words between."""
    shown, several = short_names(own), len(_names(own, "tests")) > 1
    lexical = [row for row in own if row.labels.get("unit") == WORDS_BETWEEN]
    distances = sorted({int(row.labels["min_distance"]) for row in lexical})
    names = ("tests", "system", "phenomenon", "side")

    def key(row: Row) -> tuple[str, ...]:
        return tuple(str(row.labels.get(name, "")) for name in names)

    by_line: dict[tuple[str, ...], dict[int, Row]] = {}
    for row in lexical:
        by_line.setdefault(key(row), {})[int(row.labels["min_distance"])] = row
    over_sets = {
        (row.name, key(row)): row
        for row in rows
        if row.labels.get("over") == "sets" and row.labels.get("metric") == metric
    }
    cells = []
    for line, kept in by_line.items():
        first = next(iter(kept.values()))
        told = [line[0]] if several else []
        figures = [_cell(kept.get(distance), metric) for distance in distances]
        for name in ("distance_pearson", "distance_spearman"):
            found = over_sets.get((name, line))
            sets = f"{found.estimate.n} sets" if found else ""
            figures.append((with_interval(found.estimate, 2, "+") if found else "", sets))
        cells.append(([*told, shown[line[1]], phenomenon_of(first.labels)], figures))
    labels = [*(["tests"] if several else []), "system", "phenomenon"]
    headings = ["all" if not distance else f"≥ {distance}" for distance in distances]
    made = with_sizes(labels, [*headings, "Pearson", "Spearman"], cells)
    return Table(f"{NAMES.get(metric, metric)} by words between", *made, len(labels))
