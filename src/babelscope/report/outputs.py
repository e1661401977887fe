"""What the `[[outputs]]` of a study write: tables, figures, and all rows or records as a data frame."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from babelscope.core.results import Result
from babelscope.core.tables import Format
from babelscope.report import charts
from babelscope.report.page import find_chart
from babelscope.report.summary import tables_as
from babelscope.runs.study import FORMATS, OutputTable
from babelscope.util.errors import BabelscopeError


def as_bytes(result: Result, output: OutputTable) -> bytes:
    """The content of a file of `[[outputs]]`; the same bytes for the same result."""
    if output.show == "rows":
        return _as_csv(row.as_json() for row in result.rows)
    if output.show == "records":
        return _as_csv([*result.records, *result.unanswered])
    chosen = _chosen(result, output)
    form = FORMATS[output.show][output.file.suffix]
    if output.show == "figure":
        return charts.as_file(*find_chart(chosen, output.name), cast(charts.Format, form))
    names = [output.name] if output.name else []
    return f"{tables_as(chosen, cast(Format, form), names)}\n".encode()


def _chosen(result: Result, output: OutputTable) -> Result:
    """The result with the method and test set that the output names alone."""
    groups = [
        each
        for each in result.groups
        if output.method in ("", each.method) and output.tests in ("", each.tests)
    ]
    if not groups:
        known = ", ".join(f"{each.method} on {each.tests}" for each in result.groups)
        raise BabelscopeError(f"there is no {output.method} on {output.tests}; there are {known}")
    return dataclasses.replace(result, groups=groups)


def _as_csv(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """JSON objects as CSV: numbers in full, null as an empty cell, lists and objects as JSON."""
    found = list(rows)
    file = io.StringIO()
    columns = list(dict.fromkeys(name for row in found for name in row))
    writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in found)
    return file.getvalue().encode()


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict | bool) else value
