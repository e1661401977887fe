"""A hypothesis-space run judged again by another quality, from its run folder, without asking any system."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

from babelscope.core.results import Result, Row
from babelscope.methods.base import set_up
from babelscope.methods.space import (
    METHOD,
    SpaceSettings,
    hypotheses_of,
    with_correlations,
    with_gains,
    with_quality,
)
from babelscope.metrics.quality import METRICS
from babelscope.runs.reading import Run, cells_of_run, read_run
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import shorten

CHANGEABLE = ("quality", "normalise", "unresolved", "curves", "resamples")


def rejudge(folder: Path, **changed: Any) -> Result:
    """The figures of a finished run under another quality, or other settings for which no system must be asked."""
    for name in changed:
        if name not in CHANGEABLE:
            raise BabelscopeError(f"{name} cannot be changed after a run; these can: {', '.join(CHANGEABLE)}")
    run = _finished(folder)
    config: dict[str, Any] = run.manifest["config"]
    (method,) = config["methods"]
    stored = _stored_quality(run, method)
    # Who judged from outside is asked again only if the caller says who: a run folder may be a stranger's.
    kept = "quality" not in changed and stored not in METRICS
    if kept:
        _check_qualities(run, stored)
    given = {**method["settings"], **({"quality": METRICS[0]} if kept else {}), **changed}
    settings = SpaceSettings.model_validate(set_up(METHOD, given).settings)
    judged = with_gains if kept else with_quality
    method["settings"] = {**settings.model_dump(mode="json"), **({"quality": stored} if kept else {})}
    rows: list[Row] = []
    for cell in run.manifest["cells"]:
        labels = {name: cell[name] for name in ("method", "system", "tests")}
        own = [record for record in run.records if labels.items() <= record.items()]
        skipped = sum(cell["skipped"].values())
        for row in METHOD.summarise(judged(own, settings), settings, config["seed"]):
            counts = {**row.counts, "skipped": skipped}
            rows.append(Row(row.name, row.estimate, {**labels, **row.labels}, counts))
    return with_correlations(Result(config, rows, run.records))


def _stored_quality(run: Run, method: Any) -> str:
    try:
        return str(method["settings"]["quality"])
    except (KeyError, TypeError) as error:
        raise BabelscopeError(f"{run.path / 'manifest.json'} is damaged: {error!r}") from None


def _check_qualities(run: Run, stored: str) -> None:
    """Refuse a run judged from outside whose records do not have all qualities; say that they are not made anew."""
    by, again = shorten(stored, 300), "say --quality to have them judged again"
    for record in run.records:
        for hypothesis in hypotheses_of(record):
            value = hypothesis.get("quality")
            if not isinstance(value, int | float) or not math.isfinite(value):
                raise BabelscopeError(
                    f"{run.path}: a hypothesis of item {shorten(str(record.get('id')))} has no quality, and {by}, "
                    f"by which the run was judged, is not asked because a run folder names it; {again}"
                )
    warnings.warn(
        f"the qualities in {run.path}, by {by}, are used as they stand there; {again}",
        RuntimeWarning,
        stacklevel=3,
    )


def _finished(folder: Path) -> Run:
    run = read_run(folder)
    cells_of_run(run)  # tells a damaged manifest
    names = [method["name"] for method in run.manifest["config"]["methods"]]
    if names != [METHOD.name]:
        raise BabelscopeError(f"{folder} is a run of {', '.join(names)}, not of {METHOD.name} alone")
    return run
