"""Contrastive evaluation compared: systems with each other, reference kinds, and seeds of one system."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from babelscope.core.results import Estimate, Record, Row
from babelscope.core.ties import Ties
from babelscope.methods.contrast.figures import by_phenomenon, sources, worths
from babelscope.stats.intervals import cluster_sums, clustered_mean, holm, mean_and_sd, paired_p
from babelscope.util.errors import BabelscopeError
from babelscope.util.seeds import stream

_Labels = dict[str, str | int]


@dataclass(frozen=True, slots=True)
class _Test:
    """One paired test: what is compared, the difference of accuracies, and the p of there being none."""

    labels: _Labels
    difference: Estimate
    p: float


def comparisons(
    records: Iterable[Record], *, ties: Ties = "half", seed: int = 0, resamples: int = 2000
) -> list[Row]:
    """Paired tests between systems, and between reference kinds, of all test sets the records are of.

    A `difference` is accuracy(system) - accuracy(against) on the same pairs. `machine_minus_human` is that of
    a system's accuracies on machine and on human references of the same sources. Both are tested by flipping
    signs of source sentences, and corrected by Holm, each for the tests of its kind on one test set.
    """
    runs: dict[tuple[str, str], dict[str, list[Record]]] = {}
    for record in records:
        by_system = runs.setdefault((record["method"], record["tests"]), {})
        by_system.setdefault(record["system"], []).append(record)
    rows: list[Row] = []
    for (method, tests), by_system in runs.items():
        where: _Labels = {"method": method, "tests": tests}
        asked = (ties, seed, resamples)
        rows += _rows("difference", where, _between_systems(by_system, *asked))
        rows += _rows("machine_minus_human", where, _between_references(by_system, *asked))
    return rows


def _rows(name: str, where: _Labels, tests: list[_Test]) -> list[Row]:
    adjusted = holm([test.p for test in tests])
    return [
        Row(
            name,
            test.difference,
            {**where, **test.labels, "p": f"{test.p:.4g}", "p_holm": f"{p:.4g}"},
        )
        for test, p in zip(tests, adjusted, strict=True)
    ]


def _between_systems(
    by_system: dict[str, list[Record]], ties: Ties, seed: int, resamples: int
) -> list[_Test]:
    """All pairs of systems, on each phenomenon and reference kind."""
    tests = []
    groups = {system: by_phenomenon(records) for system, records in by_system.items()}
    for first, second in itertools.combinations(groups, 2):
        for (phenomenon, reference), ours in groups[first].items():
            # By id, since one of two score files may leave out what no system can be asked.
            theirs = {record["id"]: record for record in groups[second].get((phenomenon, reference), [])}
            both = [record for record in ours if record["id"] in theirs]
            if not both:
                continue
            others = worths((theirs[record["id"]] for record in both), ties)
            values = [a - b for a, b in zip(worths(both, ties), others, strict=True)]
            labels: _Labels = {"phenomenon": phenomenon, "reference": reference}
            tests.append(
                _paired(
                    {"system": first, "against": second, **labels}, values, sources(both), seed, resamples
                )
            )
    return tests


def _between_references(
    by_system: dict[str, list[Record]], ties: Ties, seed: int, resamples: int
) -> list[_Test]:
    """Machine against human references, on sources that have both; each source counts once."""
    tests = []
    for system, records in by_system.items():
        groups = by_phenomenon(records)
        for phenomenon in dict.fromkeys(name for name, _ in groups):
            human, machine = (
                _means(groups.get((phenomenon, kind), []), ties) for kind in ("human", "machine")
            )
            both = sorted(human.keys() & machine.keys())
            if both:
                values = [machine[source] - human[source] for source in both]
                labels: _Labels = {"system": system, "phenomenon": phenomenon}
                tests.append(_paired(labels, values, both, seed, resamples))
    return tests


def _means(records: Sequence[Record], ties: Ties) -> dict[str, float]:
    """Mean accuracy of each source's pairs."""
    found: dict[str, list[float]] = {}
    for source, worth in zip(sources(records), worths(records, ties), strict=True):
        found.setdefault(source, []).append(worth)
    return {source: math.fsum(some) / len(some) for source, some in found.items()}


def _paired(
    labels: _Labels, values: Sequence[float], clusters: Sequence[str], seed: int, resamples: int
) -> _Test:
    rng = stream(seed, "contrast/difference")
    difference = clustered_mean(values, clusters, rng, resamples=resamples)
    a_source = cluster_sums([values], clusters)[:, 0].tolist()
    return _Test(labels, difference, paired_p(a_source, stream(seed, "contrast/p")))


def over_seeds(rows: Sequence[Row], patterns: Sequence[str]) -> list[Row]:
    """Mean and standard deviation of the figures of systems that differ by their seed.

    Each pattern (`lab:teacher-*`) names such systems. As in table 1, `sd` is over systems, not over items.
    """
    found: list[Row] = []
    for pattern in patterns:
        cells: dict[tuple[tuple[str, str | int], ...], list[float]] = {}
        for row in rows:
            system, measure = row.labels.get("system"), measure_of(row)
            known = measure and system is not None and row.estimate.n
            if known and fnmatchcase(str(system), pattern):
                labels = {**row.labels, "system": pattern, "measure": measure}
                labels.pop("note", None)  # one seed's errors may be measurable, another's not
                cells.setdefault(tuple(labels.items()), []).append(row.estimate.value)
        if not any(len(values) > 1 for values in cells.values()):
            raise BabelscopeError(f"the seed group {pattern!r} needs at least two systems with such names")
        for pairs, values in cells.items():
            if len(values) > 1:
                mean, sd = mean_and_sd(values)
                found += [Row("mean", mean, dict(pairs)), Row("sd", sd, dict(pairs))]
    return found


def measure_of(row: Row) -> str:
    """What a row is of, if it is averaged over seeds: rows named by their group are accuracies."""
    if row.name in ("discrepancy", "generated_errors"):
        return row.name
    return "accuracy" if row.name in ("all", row.labels.get("phenomenon")) else ""
