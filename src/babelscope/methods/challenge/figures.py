"""Rows of the challenge method: quality by phenomenon and distance, and how it goes with length (section 4.3)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import rankdata

from babelscope.core.results import Estimate, Record, Row
from babelscope.methods.challenge.sets import (
    Instance,
    Partition,
    Subset,
    greatest_distances,
    phenomena_and_sides,
)
from babelscope.methods.grouping import sources
from babelscope.methods.measuring import scale_of
from babelscope.metrics.base import find_metric
from babelscope.metrics.corpus import (
    FEWEST,
    bounds_of,
    grouped_difference,
    grouped_estimate,
    source_groups,
    sums_without,
)
from babelscope.stats.correlation import correlation
from babelscope.stats.intervals import Array, jackknife_bounds
from babelscope.stats.paired import Tested, count_wins, tested_rows
from babelscope.util.seeds import stream

Labels = dict[str, str | int]
Coefficient = Literal["pearson", "spearman"]
COEFFICIENTS: tuple[Coefficient, ...] = ("pearson", "spearman")


@dataclass(frozen=True)
class SystemScores:
    """One system's scores as arrays, whose statistics can be summed over any subset of sentences."""

    subsets: Sequence[Subset]
    """The first is all sentences."""
    instances: Sequence[Sequence[Instance]]
    """Of each sentence."""
    lengths: Array
    """Source tokens of each sentence."""
    statistics: Mapping[str, Array]
    """By metric, [sentences, columns]: what corpus scores are computed from."""
    sentence_scores: Mapping[str, Array]
    """By metric, [sentences]."""
    groups: Array
    """Of each sentence, the group that it is left out with: equal for equal sources."""
    sources: Sequence[str] = ()

    def corpus_score(self, metric: str, members: Array) -> float:
        """The corpus score of the sentences with these numbers."""
        return corpus_score(metric, self.statistics[metric][members].sum(axis=0))

    def left_out(self) -> list[dict[str, Array]]:
        """For each subset its score without each group of sentences, by metric, and as `length` its mean length."""
        columns = [*self.statistics.values(), self.lengths[:, None], np.ones_like(self.lengths)[:, None]]
        edges = np.cumsum([each.shape[1] for each in columns])[:-1]
        # Below the least distance that occurs, all minimum distances give the same sentences.
        once = {subset.members.tobytes(): subset.members for subset in self.subsets}
        rest = sums_without(np.hstack(columns), list(once.values()), self.groups)
        found = {}
        for (key, members), sums in zip(once.items(), rest, strict=True):
            *own, lengths, counts = np.split(sums, edges, axis=1)
            scores = {}
            for metric, some in zip(self.statistics, own, strict=True):
                # Without sentences of other subsets only, the score is the same.
                scores[str(metric)] = np.full(len(sums), self.corpus_score(metric, members))
                for group in np.unique(self.groups[members]):
                    scores[str(metric)][group] = corpus_score(metric, some[group])
            with np.errstate(invalid="ignore"):  # of one group nothing is left
                found[key] = {**scores, "length": (lengths / counts)[:, 0]}
        return [found[subset.members.tobytes()] for subset in self.subsets]

    def estimate(self, value: float, left_out: Array, members: Array, metric: str = "") -> Estimate:
        """A figure of a subset, from its values without each group; with a metric, one on its scale."""
        within = (-math.inf, math.inf)
        if metric and ":" not in metric:
            within = bounds_of(find_metric(metric).scale)
        return grouped_estimate(value, left_out, self.groups[members], within=within)


def corpus_score(metric: str, sums: Array) -> float:
    """A corpus score from summed sentence statistics; for an external metric (`:` in its name) the mean."""
    if ":" in metric:
        return float(sums[0] / sums[1]) if sums[1] else math.nan
    return find_metric(metric).corpus(sums)


def system_scores(records: Sequence[Record], partition: Partition) -> SystemScores:
    """The judged records of one system on one test set, as arrays."""
    subsets, found = partition.of_records(records)
    names = list(records[0]["scores"]) if records else []
    scores = {name: np.array([record["scores"][name] for record in records]) for name in names}
    statistics = {
        name: (
            np.array([record["statistics"][name] for record in records], dtype=float)
            if name in records[0]["statistics"]
            else np.stack([own, np.ones(len(records))], axis=1)
        )
        for name, own in scores.items()
    }
    lengths = np.array([record["lengths"]["source"] for record in records], dtype=float)
    texts = sources(records)
    return SystemScores(subsets, found, lengths, statistics, scores, source_groups(texts), texts)


def quality_rows(
    own: SystemScores, left_out: Sequence[Mapping[str, Array]], counts: Mapping[str, int]
) -> list[Row]:
    """For every subset: its scores, their difference from all sentences (`minus_all`), and the mean source length."""
    rows = []
    for subset, rest in zip(own.subsets, left_out, strict=True):
        whole = subset is own.subsets[0]
        shown = {"instances": subset.instances, **(counts if whole else {})}
        if len(subset.members) < len(subset.having):
            shown["drawn_from"] = len(subset.having)
        for metric in own.statistics:
            value = own.corpus_score(metric, subset.members)
            estimate = own.estimate(value, rest[metric], subset.members, metric)
            rows.append(Row(metric, estimate, subset.labels, shown))
            if not whole:
                apart = value - own.corpus_score(metric, own.subsets[0].members)
                difference = own.estimate(apart, rest[metric] - left_out[0][metric], subset.members)
                rows.append(Row("minus_all", difference, {**subset.labels, "metric": metric}))
        mean = float(own.lengths[subset.members].mean())
        rows.append(Row("length", own.estimate(mean, rest["length"], subset.members), subset.labels))
    return rows


def distance_rows(own: SystemScores, left_out: Sequence[Mapping[str, Array]]) -> list[Row]:
    """How quality goes with distance, over minimum distances (table 5's last column) and over sentences.

    Over sets: the score of each subset of a phenomenon against its minimum distance. The subsets are nested, so
    the interval is over sentences, not over independent points. Minimum distances that leave
    all of the phenomenon's sentences in are one subset, and only the greatest of them counts. Over sentences:
    the sentence's score against the greatest distance in it.
    """
    rows = []
    for phenomenon, side in phenomena_and_sides(own.instances):
        numbers, greatest = greatest_distances(own.instances, phenomenon, side)
        first: dict[str, str] = {}  # source -> place of its first sentence, which names its cluster
        clusters = [first.setdefault(own.sources[n], str(place)) for place, n in enumerate(numbers)]
        chosen = [
            number
            for number, subset in enumerate(own.subsets)
            if (subset.phenomenon, subset.side) == (phenomenon, side) and subset.min_distance is not None
        ]
        sizes = [len(own.subsets[number].members) for number in chosen]
        chosen = chosen[max(0, sizes.count(max(sizes, default=0)) - 1) :]
        labels: Labels = {"phenomenon": phenomenon, "side": side}
        points = np.array([own.subsets[number].min_distance for number in chosen], dtype=float)
        distances = ",".join(f"{point:g}" for point in points)
        for metric, coefficient in itertools.product(own.statistics, COEFFICIENTS):
            estimate = Estimate.of_nothing()
            if len(chosen) > 2:  # two points always lie on a line
                values = np.array(
                    [own.corpus_score(metric, own.subsets[number].members) for number in chosen]
                )
                rest = np.array([left_out[number][metric] for number in chosen])
                value = float(_coefficients(points, values[:, None], coefficient)[0])
                fewest = min((own.groups[own.subsets[number].members] for number in chosen), key=len)
                estimate = _over_sets(value, _coefficients(points, rest, coefficient), len(chosen), fewest)
            here: Labels = {**labels, "metric": metric}
            name = f"distance_{coefficient}"
            rows.append(Row(name, estimate, {**here, "over": "sets", "distances": distances}))
            scores = own.sentence_scores[metric][numbers].tolist()
            over = correlation(greatest.tolist(), scores, coefficient, clusters, independent=True)
            rows.append(Row(name, over, {**here, "over": "sentences"}))
    return rows


def _over_sets(value: float, left_out: Array, sets: int, fewest: Array) -> Estimate:
    """A correlation over sets of sentences, from those without each group; Fisher's z, which has no ends.

    `fewest` are the groups of the sentences of the smallest set.
    """
    if math.isnan(value):
        return Estimate.of_nothing()
    clusters = len(np.unique(fewest))
    if clusters < FEWEST:
        return Estimate.without_interval(value, sets, f"a set of {len(fewest)}")
    if abs(value) >= 1 - 1e-12 or not (np.abs(left_out) < 1 - 1e-12).all() or not np.ptp(left_out):
        return Estimate.without_interval(value, sets, f"{sets} sets")
    z, rest = math.atanh(value), np.arctanh(left_out)
    low, high = (math.tanh(end) for end in jackknife_bounds(z, rest, clusters))
    return Estimate(value, min(value, low), max(value, high), sets)


def _coefficients(points: Array, values: Array, coefficient: Coefficient) -> Array:
    """Correlation of points [k] with each column of values [k, columns]; NaN where all of a column are equal."""
    unknown = np.isnan(values).any(axis=0)
    if coefficient == "spearman":
        points, values = rankdata(points), rankdata(values, axis=0)
    x, y = points - points.mean(), values - values.mean(axis=0)
    scale = np.sqrt((x**2).sum() * (y**2).sum(axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.where(scale > 0, np.clip(x @ y / scale, -1.0, 1.0), math.nan)
    return np.where(unknown, math.nan, found)


def length_rows(own: SystemScores, *, seed: int, corpora: int, sizes: Sequence[int]) -> list[Row]:
    """Correlation of mean length with score over random corpora (section 4.3); sizes too large are left out."""
    rows = []
    sentences = len(own.lengths)
    for size in (size for size in sizes if size < sentences):
        rng = stream(seed, f"challenge/lengths/{size}")
        drawn = [rng.choice(sentences, size, replace=False) for _ in range(corpora)]
        lengths = np.array([own.lengths[corpus].mean() for corpus in drawn])
        for metric, statistics in own.statistics.items():
            scores = np.array([corpus_score(metric, statistics[corpus].sum(axis=0)) for corpus in drawn])
            for coefficient in COEFFICIENTS:
                labels: Labels = {"phenomenon": "all", "metric": metric, "sentences": size}
                rows.append(
                    Row(
                        f"length_{coefficient}",
                        correlation(lengths.tolist(), scores.tolist(), coefficient),
                        labels,
                    )
                )
    return rows


def difference_rows(
    systems: Mapping[str, tuple[SystemScores, Sequence[Mapping[str, Array]]]], where: Labels
) -> list[Row]:
    """score(system) - score(against) of every two systems on every subset, paired by sentence.

    Holm's correction is over the tests on the whole test set, and over those on its parts by themselves.
    """
    found: dict[bool, list[Tested]] = {True: [], False: []}
    for (first, (own, rest)), (second, (other, others)) in itertools.combinations(systems.items(), 2):
        for number, subset in enumerate(own.subsets):
            for metric in own.statistics:
                value = own.corpus_score(metric, subset.members) - other.corpus_score(metric, subset.members)
                apart = rest[number][metric] - others[number][metric]
                tested = grouped_difference(value, apart, own.groups[subset.members])
                lower: Labels = {"better": "lower"} if scale_of(metric).better == "lower" else {}
                labels: Labels = {
                    **where,
                    "system": first,
                    "against": second,
                    **subset.labels,
                    "metric": metric,
                    "measure": metric,
                    "of": metric,
                    **lower,
                }
                scores = (each.sentence_scores[metric][subset.members] for each in (own, other))
                better = np.subtract(*scores) * (-1 if lower else 1)
                found[number == 0].append((labels, *tested, count_wins(better.tolist())))
    return [*tested_rows("difference", found[True]), *tested_rows("difference", found[False])]
