"""Figures of systems regressed on what is known of these (paper: conditioning, table 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from babelscope.core.columns import Column, Group, figure_key
from babelscope.core.results import Estimate, Row
from babelscope.runs.covariates import SystemTable, as_number, read_column, read_table
from babelscope.stats.regression import regress
from babelscope.util.errors import BabelscopeError

Labels = dict[str, str | float]

HISTOGRAMS = frozenset({"confidence"})
"""Names of rows that are bins of a histogram, not figures to average."""


def rows_of(column: Column, figure: str) -> list[Row]:
    """The rows that `NAME` or `NAME,LABEL=VALUE...` means: `kqrg`, or `kqrg,region=samples`."""
    rows = column.cell.rows
    # A name may have commas itself, such as an error type's.
    if whole := [row for row in rows if row.name == figure]:
        return whole
    name, *wanted = figure.split(",")
    labels = dict(each.partition("=")[::2] for each in wanted)
    return [
        row
        for row in rows
        if row.name == name and all(str(row.labels.get(key)) == value for key, value in labels.items())
    ]


def figure_of(column: Column, figure: str) -> Estimate:
    """A figure of a system, the first that `figure` means; of nothing (NaN) if it had no items."""
    return _first(column, figure).estimate


def _first(column: Column, figure: str) -> Row:
    found = rows_of(column, figure)
    if not found:
        known = dict.fromkeys(row.name for row in column.cell.rows if row.name not in HISTOGRAMS)
        raise BabelscopeError(
            f"{column.name} has no figure {figure!r} of {column.cell.tests}; it has {', '.join(known)}"
        )
    return found[0]


def whole_name(column: Column, figure: str) -> str:
    """The figure with the labels that tell it from others of its name: `kqrg,k=10,region=top,view=tokens`."""
    row = _first(column, figure)
    others = [dict(figure_key(each)[1]) for each in column.cell.rows if each.name == row.name]
    told = [
        f"{name}={value}"
        for name, value in figure_key(row)[1]
        if any(other.get(name) != value for other in others)
    ]
    return ",".join([row.name, *told])


def regress_figure(
    group: Group, known: SystemTable, variables: Sequence[str], figure: str = "minimum"
) -> list[Row]:
    """Linear regression of a figure on variables of the systems, one for each evaluator (table 3).

    Systems of which the study does not say one of these factors are left out, and named by the label `left_out`.
    """
    rows: list[Row] = []
    for evaluator in dict.fromkeys(column.cell.evaluator for column in group.columns):
        judged = [column for column in group.columns if column.cell.evaluator == evaluator]
        columns = [
            column
            for column in judged
            if not any(known.lacks(column.cell.system, name) for name in variables)
        ]
        left = [column.name for column in judged if column not in columns]
        if not columns:
            raise BabelscopeError(f"no system of {group.tests} has all of {', '.join(variables)}")
        values = [figure_of(column, figure).value for column in columns]
        factor, unit = scale_of(values)
        judge: Labels = {"evaluator": evaluator} if evaluator else {}
        told: Labels = {"outcome": whole_name(columns[0], figure), "unit": unit}
        own, against = _regressors(known, [column.cell.system for column in columns], variables)
        more: Labels = {"left_out": ", ".join(left)} if left else {}
        labels = {**group.labels, **judge, **told, **against, **more}
        rows += _regression_rows([factor * value for value in values], own, labels)
    return rows


def _regressors(
    known: SystemTable, systems: Sequence[str], variables: Sequence[str]
) -> tuple[dict[str, list[float]], Labels]:
    """Numbers as they are; of names, 1 for each but the first, which is told as `baseline`."""
    found: dict[str, list[float]] = {}
    baselines = []
    for name in variables:
        texts = [known.cell(system, name) for system in systems]
        # One text among numbers is a slip, which `number` refuses.
        if any(as_number(text) is not None for text in texts):
            found[name] = [known.number(system, name) for system in systems]
            continue
        first, *others = dict.fromkeys(texts)
        baselines.append(f"{name} {first}")
        found |= {f"{name} {value}": [float(text == value) for text in texts] for value in others}
    return found, {"baseline": ", ".join(baselines)} if baselines else {}


def scale_of(values: Sequence[float]) -> tuple[float, str]:
    """What a figure of systems is multiplied by, and the unit: what lies between 0 and 1 everywhere is in percent."""
    return (100.0, "percent") if all(0 <= value <= 1 for value in values) else (1.0, "its own")


def regress_column(path: str | Path, outcome: str, variables: Sequence[str]) -> list[Row]:
    """Linear regression of one column of a table on others."""
    table = read_table(path)
    own = {name: read_column(table, name, path) for name in variables}
    return _regression_rows(read_column(table, outcome, path), own, {"outcome": outcome})


def _regression_rows(
    outcome: Sequence[float], variables: Mapping[str, Sequence[float]], labels: Labels
) -> list[Row]:
    found = regress(outcome, variables)
    return found.rows({**labels, "r_squared": found.r_squared, "p_regression": found.p})
