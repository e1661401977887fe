"""A hypothesis-space run judged again by another quality, from its run folder, without asking any system."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from babelscope.errors import BabelscopeError
from babelscope.methods.base import set_up
from babelscope.methods.hypothesis_space import (
    METHOD,
    SpaceSettings,
    segments_of,
    with_correlations,
    with_quality,
)
from babelscope.results import Record, Result, Row
from babelscope.runs import Run, cells_of_run, read_run

CHANGEABLE = ("quality", "normalise", "unresolved", "curves", "resamples")


def rejudge(folder: Path, **changed: Any) -> Result:
    """The figures of a finished run under another quality, or other settings for which no system must be asked."""
    for name in changed:
        if name not in CHANGEABLE:
            raise BabelscopeError(f"{name} cannot be changed after a run; these can: {', '.join(CHANGEABLE)}")
    run = _finished(folder)
    config: dict[str, Any] = run.manifest["config"]
    (method,) = config["methods"]
    setup = set_up(METHOD, {**method["settings"], **changed})
    settings = SpaceSettings.model_validate(setup.settings)
    method["settings"] = setup.config["settings"]
    rows: list[Row] = []
    for cell in run.manifest["cells"]:
        labels = {name: cell[name] for name in ("method", "system", "tests")}
        own = [record for record in run.records if labels.items() <= record.items()]
        skipped = sum(cell["skipped"].values())
        for row in METHOD.summarise(with_quality(own, settings), settings, config["seed"]):
            counts = {**row.counts, "skipped": skipped}
            rows.append(Row(row.name, row.estimate, {**labels, **row.labels}, counts))
    return with_correlations(Result(config, rows, run.records))


def segment_lines(records: Sequence[Record]) -> Iterator[str]:
    """Every segment of the records once, as a JSON line, for a metric to judge elsewhere."""
    yield from dict.fromkeys(segment.as_line() for record in records for segment in segments_of(record))


def _finished(folder: Path) -> Run:
    run = read_run(folder)
    cells_of_run(run)  # tells a damaged manifest
    names = [method["name"] for method in run.manifest["config"]["methods"]]
    if names != [METHOD.name]:
        raise BabelscopeError(f"{folder} is a run of {', '.join(names)}, not of {METHOD.name} alone")
    return run
