"""Hypothesis spaces of several systems: what goes together with MBR decoding (paper hypothesis-space, table 3)."""

from __future__ import annotations

from collections.abc import Iterable

from babelscope.core.results import Row
from babelscope.stats.correlation import Statistic, correlation

_STATISTICS: tuple[Statistic, ...] = ("pearson", "spearman", "kendall")


def mbr_correlations(rows: Iterable[Row]) -> list[Row]:
    """Over systems: the quality of MBR decoding against other figures of theirs (section 5.2.2, table 3).

    `beam`: mean quality of beam search's 1-best; `sampling`: of the samples; `kqrg`: of the samples, and of the top
    region. Qualities are means of the sentence quality that was chosen, whatever MBR decoding's utility.
    """
    rows = list(rows)
    runs = dict.fromkeys((row.labels.get("method"), row.labels.get("tests")) for row in rows)
    found = []
    for method, tests in runs:
        own = [row for row in rows if (row.labels.get("method"), row.labels.get("tests")) == (method, tests)]
        columns = {
            "mbr": _column(own, "quality", decoding="mbr"),
            "beam": _column(own, "quality", decoding="beam"),
            "sampling": _column(own, "quality", decoding="samples"),
            "kqrg": _column(own, "kqrg", region="samples", view="tokens"),
            "top_kqrg": _column(own, "kqrg", region="top", view="tokens"),
        }
        mbr = columns.pop("mbr")
        if len(mbr) < 3:  # two points are always on a line
            continue
        for measure, column in columns.items():
            both = [system for system in mbr if system in column]
            for statistic in _STATISTICS:
                estimate = correlation(
                    [mbr[each] for each in both], [column[each] for each in both], statistic
                )
                labels = {"measure": measure, "statistic": statistic}
                found.append(
                    Row("mbr_correlation", estimate, {"method": str(method), "tests": str(tests), **labels})
                )
    return found


def _column(rows: Iterable[Row], name: str, **labels: str) -> dict[str, float]:
    """A figure by system; where there are several sizes of a region, that of the largest."""
    found: dict[str, tuple[int, float]] = {}
    for row in rows_of(rows, name, **labels):
        if row.estimate.n:
            size = int(row.labels.get("k", 0))
            system = str(row.labels["system"])
            found[system] = max(
                found.get(system, (-1, 0.0)), (size, row.estimate.value), key=lambda one: one[0]
            )
    return {system: value for system, (_, value) in found.items()}


def rows_of(rows: Iterable[Row], name: str, **labels: str | int) -> list[Row]:
    """The rows of a name with these labels, among others."""
    return [row for row in rows if row.name == name and labels.items() <= row.labels.items()]
