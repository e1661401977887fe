"""Hypothesis spaces for reading: the layouts of the paper's tables 1 to 3, and cases as in appendix E."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from babelscope.core.results import Record, Row
from babelscope.core.tables import Table
from babelscope.methods.space.compare import rows_named
from babelscope.metrics.base import find_metric
from babelscope.util.tables import draw, wrap
from babelscope.util.terminal import visible
from babelscope.util.text import quoted

_Labels = dict[str, str | int]
_OUTSIDE = "its own, as the program or file gives it; higher is better"
_TOKENS: _Labels = {"view": "tokens"}
_COLUMNS: dict[str, tuple[str, _Labels, float]] = {
    "BLEU": ("bleu", {"decoding": "beam"}, 1),
    "chrF": ("chrf", {"decoding": "beam"}, 1),
    "empty modes, %": ("empty_mode", _TOKENS, 100),
    "kRG top": ("krg", {"region": "top", **_TOKENS}, 100),
    "kQRG top": ("kqrg", {"region": "top", **_TOKENS}, 100),
    "kRG samples": ("krg", {"region": "samples", **_TOKENS}, 100),
    "kQRG samples": ("kqrg", {"region": "samples", **_TOKENS}, 100),
    "kRG beam": ("krg", {"region": "beam", **_TOKENS}, 100),
    "kQRG beam": ("kqrg", {"region": "beam", **_TOKENS}, 100),
    "kRG beam - top": ("beam_minus_exact", {"measure": "krg"}, 100),
    "kQRG beam - top": ("beam_minus_exact", {"measure": "kqrg"}, 100),
}
"""Heading -> the row it shows, its labels, and what it is multiplied by."""
_MODEL_HEADINGS = ("BLEU", "chrF", "empty modes, %", "kRG top", "kQRG top", "kRG samples", "kQRG samples")
_BIAS_HEADINGS = ("kRG top", "kQRG top", "kRG beam", "kQRG beam", "kRG beam - top", "kQRG beam - top")


def tables(rows: Sequence[Row]) -> list[Table]:
    """Tables 1 (errors of models), 2 (beam against exact search) and 3 (correlation with MBR decoding)."""
    parts = []
    for tests in dict.fromkeys(row.labels.get("tests", "") for row in rows):
        own = [row for row in rows if row.labels.get("tests", "") == tests]
        systems = list(dict.fromkeys(str(row.labels["system"]) for row in own if "system" in row.labels))
        for title, headings in (
            ("Errors of models", _MODEL_HEADINGS),
            ("Beam against exact search", _BIAS_HEADINGS),
        ):
            lines = [
                [system, *(_table_cell(own, system, heading) for heading in headings)] for system in systems
            ]
            parts.append(Table(f"{title}: {tests}", ["system", *headings], lines))
        if correlated := rows_named(own, "mbr_correlation"):
            statistics = list(dict.fromkeys(str(row.labels["statistic"]) for row in correlated))
            lines = []
            for measure in dict.fromkeys(row.labels["measure"] for row in correlated):
                found = {
                    r.labels["statistic"]: r
                    for r in rows_named(correlated, "mbr_correlation", measure=measure)
                }
                lines.append([str(measure), *(_estimate(found[each], 1, 3) for each in statistics)])
            parts.append(Table(f"Correlation with MBR decoding: {tests}", ["measure", *statistics], lines))
    return parts


def scales(settings: Iterable[Any]) -> Table:
    """The scale of each metric, so that its numbers are not taken for those of another."""
    lines = []
    for name in dict.fromkeys(name for each in settings for name in each.metric):
        # A program that a run names is not opened, only to be described.
        told = _OUTSIDE if ":" in name else find_metric(name).scale.describe()
        lines.append([name, told])
    return Table("Scales of the metrics", ["metric", "scale"], lines, labels=2)


def _table_cell(rows: Iterable[Row], system: str, heading: str) -> str:
    name, labels, scale = _COLUMNS[heading]
    found = rows_named(rows, name, system=system, **labels)
    # Curves add rows of smaller regions; the table shows the largest.
    return _estimate(max(found, key=lambda row: int(row.labels.get("k", 0))), scale) if found else "–"


def _estimate(row: Row, scale: float, digits: int = 2) -> str:
    return row.estimate.text(lambda each: f"{scale * each:.{digits}f}")


def worst_ranked(records: Sequence[Record], count: int) -> list[Record]:
    """The sentences whose top region has the lowest kRG, worst first; unresolved ones are left out."""
    known = [record for record in records if record["top_krg"] is not None]
    return sorted(known, key=lambda record: record["top_krg"])[:count]


def case(record: Record, width: int) -> str:
    """A sentence's top region as in appendix E: rank, log-probability, quality and text of each hypothesis."""
    shown = [(str(rank), each) for rank, each in enumerate(record["top"]["found"], 1)]
    shown += [(name, record[key]) for name, key in (("beam", "best"), ("mbr", "mbr")) if record[key]]
    reference = _figure(record["reference_logprob"])
    lines = [["ref", reference, "", quoted(text)] for text in record["references"][:1]]
    for rank, each in shown:
        figures = _figure(each["logprob"]), _figure(each["quality"])
        lines.append([rank, *figures, quoted(each["text"])])
    title = wrap(f"item {visible(str(record['id']))}: {quoted(record['source'])}", width)
    gains = f"kRG {_figure(record['top_krg'])}, kQRG {_figure(record['top_kqrg'])}"
    table = draw(["rank", "log-prob.", "quality", "hypothesis"], lines, right=(1, 2), width=width)
    return "\n".join([*title, gains, table])


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
