"""Hypothesis spaces of several systems: what correlates with MBR decoding (paper hypothesis-space, table 3)."""

from __future__ import annotations

from collections.abc import Iterable

from babelscope.core.columns import Group
from babelscope.core.results import Row
from babelscope.stats.correlation import Statistic, correlation

_STATISTICS: tuple[Statistic, ...] = ("pearson", "spearman", "kendall")


def mbr_correlations(group: Group, _settings: object, _seed: int) -> list[Row]:
    """Correlation over systems of MBR decoding's quality with other measures (section 5.2.2, table 3).

    `beam`: mean quality of beam search's 1-best; `sampling`: of the samples; `kqrg`: of the samples, and of the top
    region. Qualities are means of the sentence quality that was chosen, whatever MBR decoding's utility.
    """
    columns = {
        "mbr": _figure_by_system(group, "quality", decoding="mbr"),
        "beam": _figure_by_system(group, "quality", decoding="beam"),
        "sampling": _figure_by_system(group, "quality", decoding="samples"),
        "kqrg": _figure_by_system(group, "kqrg", region="samples", view="tokens"),
        "top_kqrg": _figure_by_system(group, "kqrg", region="top", view="tokens"),
    }
    mbr = columns.pop("mbr")
    if len(mbr) < 3:  # two points always lie on a line
        return []
    found = []
    for measure, column in columns.items():
        both = [system for system in mbr if system in column]
        for statistic in _STATISTICS:
            estimate = correlation([mbr[each] for each in both], [column[each] for each in both], statistic)
            found.append(Row("mbr_correlation", estimate, {"measure": measure, "statistic": statistic}))
    return found


def _figure_by_system(group: Group, name: str, **labels: str) -> dict[str, float]:
    """System -> value of a row; where there are several sizes of a region, the largest."""
    found: dict[str, float] = {}
    for column in group.columns:
        rows = [row for row in rows_named(column.cell.rows, name, **labels) if row.estimate.n]
        if rows:
            found[column.name] = max(rows, key=lambda row: int(row.labels.get("k", 0))).estimate.value
    return found


def rows_named(rows: Iterable[Row], name: str = "", **labels: str | float) -> list[Row]:
    """The rows of a name (of any, without one) that have at least these labels."""
    return [row for row in rows if name in ("", row.name) and labels.items() <= row.labels.items()]
