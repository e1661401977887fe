"""Tables and charts of challenge sets: quality by phenomenon and distance, compared with equally long sentences."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

from babelscope.core.charts import Band, Bar, Chart, Curve, Forest, Key, Lines, point
from babelscope.core.comparison import Comparison, SystemResult
from babelscope.core.results import Estimate, Row, grouped
from babelscope.core.tables import Cell, Column, Line, Note, Table, Verdict
from babelscope.making.challenge.reordering import CROSSING
from babelscope.methods.challenge.sets import ALL, WORDS_BETWEEN, SetName, unit_of
from babelscope.methods.measuring import mismatch_notes
from babelscope.methods.reporting import (
    Figure,
    Shown,
    complement,
    count_notes_of,
    find_row,
    pivot,
    summary_table,
    tooltip,
)

NAMES = {
    "chrf": "chrF2",
    "bleu": "BLEU",
    "ribes": "RIBES",
    "bleu-lc": "BLEU, case ignored",
    "multi-bleu": "multi-bleu",
    "multi-bleu-lc": "multi-bleu, case ignored",
}
"""What metrics are called; the first that was measured leads."""
_DIGITS = {**dict.fromkeys(NAMES, 2), "ribes": 4}
_MOST_CURVES = 6
_LOST = "dependencies lost (1 - dependency_kept)"


Sets = Mapping[SetName, Mapping[str, Row]]


def sets_of(rows: Iterable[Row], metric: str) -> Sets:
    """The rows of each set by name, those of scores as `score`; in the order of their minimum distances."""
    found: dict[SetName, dict[str, Row]] = {}
    for row in rows:
        is_score = row.name == metric
        if "over" in row.labels or "sentences" in row.labels or "phenomenon" not in row.labels:
            continue
        if is_score or row.name in ("length", "dependency_kept") or row.labels.get("metric") == metric:
            found.setdefault(SetName.of(row), {})["score" if is_score else row.name] = row
    return {each: own for each, own in found.items() if "score" in own}


def by_kind(sets: Sets) -> dict[SetName, list[SetName]]:
    """Phenomenon -> its sets by minimum distance; of several with the same sentences, the first."""
    found: dict[SetName, dict[tuple[int, float], SetName]] = {}
    for each, own in sets.items():
        if each.min_distance is not None:
            score = own["score"].estimate
            found.setdefault(each.kind, {}).setdefault((score.n, score.value), each)
    return {kind: list(distinct.values()) for kind, distinct in found.items()}


def metrics_of(comparison: Comparison) -> dict[str, str]:
    """The metrics that sentences were scored by, the best known first, with what they are called."""
    known = [each.measure for each in comparison.results[0].paired]
    return {name: NAMES.get(name, name) for name in (*NAMES, *known) if name in known}


# --- The first table -----------------------------------------------------------------------------------------------

_ORDER: Sequence[Verdict] = ("error", "", "unknown", "not significant", "too few items")


def summary(comparison: Comparison, *, needed: int, threshold: float) -> Table:
    """Each phenomenon compared with all and with equally long sentences; and which dependencies are lost.

    A set is weak where it is worse than equally long sentences in an interval that holds for all sets at once; a
    verdict needs as many sentences as `needed`. Of a phenomenon the widest set is shown, and the weakest one if only
    sets of greater distances are weak.
    """
    names = metrics_of(comparison)
    metric = next(iter(names))
    fields = comparison.results[0].paired
    sign = 1 if next(each.higher_is_better for each in fields if each.measure == metric) else -1

    def figures(result: SystemResult) -> Iterator[Figure]:
        for name, heading in names.items():
            if whole := find_row(result.rows, name, phenomenon=ALL):
                labels, query = ("all sentences", heading), {"sort": "least"}
                yield Figure(labels, whole.estimate, "plain", query=query, more=(None, None))
        sets = sets_of(result.rows, metric)
        for kind, own in by_kind(sets).items():
            verdicts = {each: _verdict(sets[each], needed, sign) for each in own}
            weak = [each for each in own if verdicts[each] == "error"]
            weakest = min(weak, key=lambda each: _least_away(sets[each], sign), default=own[0])
            for each in dict.fromkeys((own[0], own[0] if own[0] in weak else weakest)):
                rows = sets[each]
                away = rows.get("minus_control")
                yield Figure(
                    (each.group, names[metric]),
                    rows["score"].estimate,
                    "plain",
                    verdict=verdicts[each],
                    query={"group": each.group, "sort": "least"},
                    more=(away.estimate if away else None, rows["minus_all"].estimate),
                )
            kept = sets[own[0]].get("dependency_kept")
            if kept and kept.estimate.n:
                query = {"group": own[0].group, "verdict": "lost"}
                lost = complement(kept.estimate)
                yield Figure((kind.group, _LOST), lost, is_error=True, query=query, more=(None, None))

    has_lost = any(row.name == "dependency_kept" for result in comparison.results for row in result.rows)
    table = summary_table(
        comparison,
        figures,
        title=f"Quality by phenomenon: {comparison.tests} (error: worse than equally long sentences)",
        labels=("phenomenon", "figure"),
        more=(Column("vs. equally long", sign=True), Column("vs. all", sign=True)),
        notes=_notes(comparison, metric, needed),
        threshold=threshold if has_lost else None,
    )

    def severity(line: Line) -> tuple[int, float]:
        away = line.cells[-2]
        worse = sign * away.value if line.verdict and isinstance(away, Estimate) and away.n else 0.0
        return _ORDER.index(line.verdict), worse

    lines = sorted(table.lines, key=severity)
    return dataclasses.replace(table, rows=lines)


def _least_away(rows: Mapping[str, Row], sign: int) -> float:
    """The end of the interval of "vs. equally long" that is nearest to better; below 0 is worse."""
    away = rows["minus_control"].estimate
    return away.high if sign > 0 else -away.low


def _verdict(rows: Mapping[str, Row], needed: int, sign: int) -> Verdict:
    """Whether a set is worse than its controls; intervals are corrected for the number of sets already."""
    if rows["score"].estimate.n < needed:
        return "too few items"
    if "minus_control" not in rows or rows["minus_control"].estimate.no_interval:
        return "unknown"
    return "error" if _least_away(rows, sign) < 0 else "not significant"


def _notes(comparison: Comparison, metric: str, needed: int) -> Iterator[Note]:
    yield from mismatch_notes(comparison, lambda record: record.get("translation"))
    counted = {
        "empty": "have an empty translation",
        "unfinished": "have a translation that was not finished",
    }
    for result in comparison.results:
        sets = sets_of(result.rows, metric)
        sizes = [sets[each]["score"].estimate.n for own in by_kind(sets).values() for each in own]
        if small := [n for n in sizes if n < needed]:
            which = f"{len(small)} of {len(sizes)} sets"
            if len(small) == len(sizes):
                which = "The only set" if len(sizes) == 1 else f"All {len(sizes)} sets"
            has = "has" if len(small) == 1 else "have"
            yield Note(
                f"{which} {has} fewer than the {needed} sentences needed for a verdict (--min-sentences); the "
                f"largest has {max(small):,}.",
                result.name,
            )
        controls = ((each.kind, own["control_mean"]) for each, own in sets.items() if "control_mean" in own)
        if alone := {kind for kind, row in controls if not row.estimate.n}:
            lacking = "phenomena without length-matched controls, because no other sentences are as long"
            yield Note(f"{lacking}: {len(alone)} (--set controls=all).", result.name)
        whole = find_row(result.rows, "dependency_kept", phenomenon=ALL)
        if whole and (undecided := whole.counts["undecided"]):
            yield Note(f"{undecided:,} dependencies are undecided and not counted.", result.name)
        yield from count_notes_of(result.name, result.rows, counted)


# --- Further tables ------------------------------------------------------------------------------------------------


def further_tables(comparison: Comparison) -> list[Table]:
    """Quality of every set by each metric, the tables of the paper, correlations, and shares of dependencies kept."""
    per_metric = (_quality, _by_phenomenon, _by_distance)
    made = [make(comparison, metric) for metric in metrics_of(comparison) for make in per_metric]
    by_length = "Quality against mean length, over random corpora of so many sentences"
    return [
        *(table for table in (*made, _verdicts(comparison)) if table.rows),
        *_correlations(
            comparison, "distance", "Quality against distance", ("phenomenon", "side", "over", "distances")
        ),
        *_correlations(comparison, "length", by_length, ("sentences",)),
    ]


def _quality(comparison: Comparison, metric: str) -> Table:
    """One line per set and system: score, difference from all sentences, and length-matched controls."""
    lines: dict[tuple[object, ...], Line] = {}
    for result in comparison.results:
        for each, own in sets_of(result.rows, metric).items():
            estimates = {name: row.estimate for name, row in own.items()}
            score = estimates["score"]
            mean, sd, rank = (estimates.get(f"control_{name}") for name in ("mean", "sd", "rank"))
            cells: list[Cell] = [
                *(result.name, each.words, each.distances, estimates["length"].value),
                *(score, estimates.get("minus_all"), estimates.get("minus_control")),
                *(None if one is None or not one.n else one.value for one in (mean, sd, rank)),
            ]
            # Minimum distances that give the same sentences share one line, which shows the greatest.
            lines[result.name, each.kind, each.distance, score.n, score.value] = Line(cells, result.name)
    digits = _DIGITS.get(metric, 3)
    headings: list[str | Column] = [
        *("system", "phenomenon", "distance"),
        Column("length", digits=1),
        Column(NAMES.get(metric, metric), digits=digits),
        Column("vs. all", digits=digits, sign=True),
        Column("vs. equally long", digits=digits, sign=True),
        Column("equally long: mean", digits=digits),
        Column("equally long: sd", digits=digits),
        Column("equally long: at or below", "percent", digits=0),
    ]
    title = f"Quality by {NAMES.get(metric, metric)}: {comparison.tests}"
    return Table(title, headings, list(lines.values()), 3, f"quality-{metric}")


_PAPER = {"bleu": "paper-4", "ribes": "paper-6"}
_COEFFICIENTS = ("pearson", "spearman")


def _by_phenomenon(comparison: Comparison, metric: str) -> Table:
    """Table 4, of RIBES table 6: one line per phenomenon, one column per system."""
    every = [sets_of(result.rows, metric) for result in comparison.results]
    known = grouped((each.kind, each) for sets in every for each in sets if each.distance is None)
    lines: list[list[Cell]] = []
    for kind, own in known.items():
        chosen = min(own, key=lambda each: abs((each.min_distance or 0) - _least(kind)))
        scores = [sets[chosen]["score"].estimate if chosen in sets else None for sets in every]
        lines.append([kind.words, chosen.distances, *scores])
    heading, digits, several = NAMES.get(metric, metric), _DIGITS.get(metric, 3), len(every) > 1
    columns = [
        Column("", digits=digits, system=result.name) if several else Column(heading, digits=digits)
        for result in comparison.results
    ]
    title = f"{heading} by phenomenon: {comparison.tests}"
    return Table(
        title, ["phenomenon", "distance", *columns], lines, 2, _PAPER.get(metric, f"paper-4-{metric}")
    )


def _least(kind: SetName) -> int:
    """Table 4's minimum distance. A set of crossing links is made by tau, not by their number: all of it."""
    if kind.phenomenon in (ALL, CROSSING):
        return 0
    return 1 if unit_of(kind.phenomenon) == WORDS_BETWEEN else 5


def _by_distance(comparison: Comparison, metric: str) -> Table:
    """Table 5: one line per system and phenomenon, one column per minimum number of words between."""
    found = [
        (result, each, own["score"].estimate)
        for result in comparison.results
        for each, own in sets_of(result.rows, metric).items()
        if each.min_distance is not None and unit_of(each.phenomenon) == WORDS_BETWEEN
    ]
    known = sorted({each.min_distance or 0 for _, each, _ in found})
    lines = []
    for (system, kind), own in grouped(
        ((result.name, each.kind), (result, each, score)) for result, each, score in found
    ).items():
        scores = {each.min_distance: score for _, each, score in own}
        labels = {"phenomenon": kind.phenomenon, "side": kind.side, "over": "sets", "metric": metric}
        over = (find_row(own[0][0].rows, f"distance_{name}", **labels) for name in _COEFFICIENTS)
        correlations = (row.estimate if row else None for row in over)
        lines.append(Line([system, kind.words, *map(scores.get, known), *correlations], system))
    digits = _DIGITS.get(metric, 3)
    headings: list[str | Column] = [
        *("system", "phenomenon"),
        *(Column(f"≥ {distance}" if distance else "all", digits=digits) for distance in known),
        *(Column(name.capitalize(), digits=2, sign=True) for name in _COEFFICIENTS),
    ]
    title = f"{NAMES.get(metric, metric)} by words between: {comparison.tests}"
    return Table(title, headings, lines, 2, "paper-5" if metric == "bleu" else f"paper-5-{metric}")


def _correlations(comparison: Comparison, what: str, title: str, labels: Sequence[str]) -> list[Table]:
    """Quality against distance or length: one column per metric and coefficient."""

    def shown(metric: str, coefficient: str) -> Shown:
        def fits(row: Row) -> bool:
            is_known = row.name == f"{what}_{coefficient}" and row.estimate.n > 0
            return is_known and row.labels["metric"] == metric

        return Shown(f"{NAMES.get(metric, metric)} {coefficient}", fits)

    figures = [shown(metric, each) for metric in metrics_of(comparison) for each in _COEFFICIENTS]
    return pivot(comparison, title, labels, figures, name=f"correlation-{what}")


def _verdicts(comparison: Comparison) -> Table:
    """Shares of dependencies kept, of those decided on, with their counts."""
    counts = ("kept", "lost", "undecided")
    lines = [
        Line(
            [result.name, each.words, each.distances, row.estimate, *(row.counts[name] for name in counts)],
            result.name,
        )
        for result in comparison.results
        for row in result.rows
        if row.name == "dependency_kept"
        for each in [SetName.of(row)]
    ]
    share = Column("dependency_kept", "percent")
    headings: list[str | Column] = ["system", "phenomenon", "distance", share, *counts]
    title = f"Dependencies kept, of those decided on: {comparison.tests}"
    return Table(title, headings, lines, 3, "verdicts")


# --- Charts --------------------------------------------------------------------------------------------------------


def make_charts(comparison: Comparison) -> list[Chart]:
    """Scores by phenomenon, and of phenomena by distance; by the metric that leads."""
    metric, name = next(iter(metrics_of(comparison).items()))
    every = {result.name: sets_of(result.rows, metric) for result in comparison.results}
    bars = grouped(
        (label, Bar(system, point(score), tooltip(f"{system}, {label}", score, "plain")))
        for system, sets in every.items()
        for each in (SetName(ALL), *(own[0] for own in by_kind(sets).values()))
        if each in sets
        for label, score in [(each.kind.label, sets[each]["score"].estimate)]
    )
    if not bars:
        return []
    keys = [Key(system, system) for system in every]
    by_phenomenon = Chart(
        "Quality by phenomenon",
        Forest(list(bars.items()), f"{name} of the sentences that have it", keys, "plain"),
        "Scores of all sentences, and of those in which a phenomenon occurs. Lines are 95 % intervals.",
    )
    curved = dict.fromkeys(
        kind for sets in every.values() for kind, own in by_kind(sets).items() if len(own) > 1
    )
    return [by_phenomenon, *(_over_distance(kind, every, name) for kind in list(curved)[:_MOST_CURVES])]


def _over_distance(kind: SetName, every: Mapping[str, Sets], name: str) -> Chart:
    """Curves, each with the band of its own controls."""
    curves, bands, sizes = [], [], ""
    for system, sets in every.items():
        points, band, counts = [], [], []
        for each, rows in sets.items():
            if each.kind != kind or each.min_distance is None:
                continue
            distance, score = float(each.min_distance), rows["score"].estimate
            points.append((distance, point(score)))
            counts.append(f"{distance:g}: {score.n}")
            if "control_sd" in rows and (mean := rows["control_mean"].estimate).n:
                spread = 1.96 * rows["control_sd"].estimate.value
                band.append((distance, mean.value - spread, mean.value + spread))
        curves.append(Curve(system, system, points))
        bands += [Band(system, f"{system}, equally long", band)] if band else []
        sizes = ", ".join(counts)
    unit = unit_of(kind.phenomenon)
    return Chart(
        f"Quality by distance: {kind.words}",
        Lines(curves, f"at least so many {unit}", name, bands=bands),
        f"{kind.label.capitalize()}: scores of the sentences with at least so many {unit}. Bands have 95 % of random "
        f"sets of equally long sentences. Sentences in each set: {sizes}.",
    )
