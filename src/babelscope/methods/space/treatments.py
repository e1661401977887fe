"""What depends on searches that ended with their budget: both treatments, and bounds that hold whatever is unseen.

`leave-out` counts only sentences whose search proved what is asked; `keep` counts the best that was found. `at-least`
and `at-most` hold over all sentences: where a search leaves a value open, the lowest and the highest it could have.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from babelscope.core.results import Record, Row, minus_inf_if_none
from babelscope.methods.space.regions import (
    SystemRecords,
    best_quality,
    has_region,
    is_empty,
    is_proven,
    nan_if_none,
    proven,
    ranking_gains,
    unresolved_in,
    with_region,
)
from babelscope.methods.space.settings import SpaceSettings
from babelscope.metrics.ranking import kqrg, krg

TREATMENTS: tuple[Literal["leave-out", "keep"], ...] = ("leave-out", "keep")
POINT = 0.01
"""Treatments that differ by more than this are warned of."""
MEASURES = {
    "empty_mode": "empty modes",
    "krg": "kRG top",
    "kqrg": "kQRG top",
    "krg_beam_minus_exact": "kRG beam - top",
    "kqrg_beam_minus_exact": "kQRG beam - top",
    "search_error": "search errors",
    "mode_quality": "quality of the mode",
}
_ROUNDING = 1e-4
"""Nats by which two searches may round one hypothesis differently."""
_Range = tuple[float, float]


def treatment_rows(cell: SystemRecords, rows_of: Callable[[SystemRecords], Iterable[Row]]) -> Iterator[Row]:
    """The rows `by_treatment`, where a search was left open: `rows_of` gives those of one treatment."""
    if not any(is_open(record) for record in cell.records):
        return
    found: dict[str, list[Row]] = {}
    for treatment in TREATMENTS:
        settings = cell.settings.model_copy(update={"unresolved": treatment})
        for row in rows_of(SystemRecords(cell.records, settings)):
            if name := _measure_of(row, cell.settings):
                labels = {"measure": name, "treatment": treatment}
                found.setdefault(name, []).append(Row("by_treatment", row.estimate, labels, row.counts))
    for name, rows in found.items():
        yield from rows
        yield from _bound_rows(cell, name)


def is_open(record: Record) -> bool:
    """Whether a search ended with its budget, or a list is not stated to be exact."""
    return has_region(record, "top") and not record["top"]["exact"]


def _measure_of(row: Row, settings: SpaceSettings) -> str:
    """The measure that a row has, if its treatments are shown."""
    labels = row.labels
    if row.name == "quality":
        return "mode_quality" if labels["decoding"] == "mode" else ""
    if row.name == "beam_minus_exact":
        return f"{labels['measure']}_beam_minus_exact"
    if row.name == "search_error":
        return "search_error" if labels["decoding"] == "beam" else ""
    if row.name not in MEASURES or (labels["region"], labels["view"]) != ("top", "tokens"):
        return ""
    return row.name if labels.get("k", settings.k) == settings.k else ""


def _bound_rows(cell: SystemRecords, measure: str) -> Iterator[Row]:
    """The lowest and the highest value over all sentences; nothing where a scale has no ends."""
    own, missing = with_region(cell, "top", *(("beam",) if "beam_minus" in measure else ()))
    ranges = [_range_of(record, measure, cell.settings) for record in own.records]
    ends = [end for each in ranges if each is not None for end in each]
    if any(math.isinf(end) for end in ends):
        return
    undecided = sum(each is not None and each[0] < each[1] for each in ranges)
    size = 1 if measure in ("empty_mode", "search_error", "mode_quality") else cell.settings.k
    counts = {"unresolved": unresolved_in(own, size), "undecided": undecided, **missing}
    for place, name in enumerate(("at-least", "at-most")):
        values = [math.nan if each is None else each[place] for each in ranges]
        labels = {"measure": measure, "treatment": name}
        share = measure in ("empty_mode", "search_error")
        yield own.mean("by_treatment", values, labels, counts, share=share)


def _range_of(record: Record, measure: str, settings: SpaceSettings) -> _Range | None:
    """The lowest and the highest value that a sentence can have; infinite without ends, None if undefined."""
    if measure == "empty_mode":
        return _empty_range(record)
    if measure == "search_error":
        return _search_error_range(record)
    if measure == "mode_quality":
        first = proven(record)[:1]
        return (first[0]["quality"],) * 2 if first else (_worst(record), best_quality(record))
    measure, _, minus = measure.partition("_")
    exact = _gain_range(record, measure, settings)
    if not minus or exact is None:
        return exact
    beam = ranking_gains(record, "beam", settings.k, "tokens", settings)
    value = math.nan if beam is None else getattr(beam, measure)
    return None if math.isnan(value) else (value - exact[1], value - exact[0])


def _empty_range(record: Record) -> _Range:
    """Whether the mode is empty, as a range from 0 to 1.

    The empty hypothesis is the end of sentence alone; other tokens without text are taken to be less probable.
    """
    if first := proven(record)[:1]:
        return (float(is_empty(first[0])),) * 2
    top = record["top"]
    known = [each["logprob"] for each in top["found"] if is_empty(each)]
    empty = max(known) if known else nan_if_none(top.get("empty"))
    others = [each["logprob"] for each in top["found"] if not is_empty(each)]
    # Not the mode if anything else is more probable; its own log-probability is needed to say so.
    return (0.0, 0.0) if others and empty < max(others) else (0.0, 1.0)


def _search_error_range(record: Record) -> _Range | None:
    """Whether beam search missed the mode, as a range from 0 to 1; None if its translation was not finished."""
    gap = record["missed_by"]["beam"]
    if gap is not None:
        return (float(gap > 0),) * 2
    below = record.get("below_known", {}).get("beam")
    if below is None:
        return None
    if below > _ROUNDING:
        return (1.0, 1.0)
    found = record["best"]["logprob"] >= minus_inf_if_none(record["top"]["bound"])
    return (0.0, 0.0 if found else 1.0)


def _gain_range(record: Record, measure: str, settings: SpaceSettings) -> _Range | None:
    """kRG or kQRG of the top region: what is proven counts as it is, the rest has any quality."""
    k = settings.k
    if is_proven(record, k):
        gains = ranking_gains(record, "top", k, "tokens", settings)
        value = math.nan if gains is None else getattr(gains, measure)
        return None if math.isnan(value) else (value, value)
    if measure == "krg":
        return min(krg(range(size), gains=settings.gains) for size in range(2, k + 1)), 1.0
    if settings.normalise != "bound" or math.isinf(_worst(record)):
        return -math.inf, math.inf
    qualities = [each["quality"] for each in proven(record)]
    best = best_quality(record)
    low, high = (
        kqrg([*qualities, *[end] * (k - len(qualities))], bound=best) for end in (_worst(record), best)
    )
    return low, high


def _worst(record: Record) -> float:
    """The lowest quality that the record's (first) metric can give, minus infinity if there is none."""
    first = next(iter(record["metrics"]))
    return minus_inf_if_none(record.get("lowest", {}).get(first))


def warnings_of(rows: Sequence[Row]) -> list[str]:
    """For each measure whose treatments differ by more than a point, both, and what holds whatever is unseen."""
    found = []
    for measure, own in by_measure(rows).items():
        left_out, kept = (own.get(name) for name in TREATMENTS)
        if left_out is None or kept is None or not kept.estimate.n:
            continue
        if left_out.estimate.n and abs(left_out.estimate.value - kept.estimate.value) <= POINT:
            continue
        one = f"{_points(left_out)} (n = {left_out.estimate.n})" if left_out.estimate.n else "nothing"
        ends = [_points(own[name]) for name in ("at-least", "at-most") if name in own]
        held = f", {ends[0]} to {ends[1]} whatever they would have found" if ends else ""
        said = f"{MEASURES[measure]} {one} left out, {_points(kept)} (n = {kept.estimate.n}) kept{held}"
        found.append(said)
    return found


def by_measure(rows: Iterable[Row]) -> dict[str, dict[str, Row]]:
    """Measure -> treatment -> row; by the first metric, where there are several."""
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row.name == "by_treatment":
            own = found.setdefault(str(row.labels["measure"]), {})
            own.setdefault(str(row.labels["treatment"]), row)
    return found


def _points(row: Row) -> str:
    return f"{100 * row.estimate.value:.1f}"
