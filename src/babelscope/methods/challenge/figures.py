"""Rows of the challenge method: quality by phenomenon and distance, and whether length explains it (section 4.3)."""

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
    Subset,
    greatest_distances,
    instances_by_record,
    phenomena_and_sides,
    subsets_of,
)
from babelscope.metrics.base import find_metric
from babelscope.metrics.corpus import resampled_sums
from babelscope.stats.correlation import correlation
from babelscope.stats.intervals import Array, mean_and_sd, percentile_estimate, proportion
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

    def corpus_score(self, metric: str, members: Array) -> float:
        """The corpus score of the sentences with these numbers."""
        return corpus_score(metric, self.statistics[metric][members].sum(axis=0))

    def resampled(self, *, seed: int, resamples: int) -> list[dict[str, Array]]:
        """For each subset the scores [resamples] by metric, and as `length` the mean source length in tokens."""
        columns = [*self.statistics.values(), self.lengths[:, None], np.ones_like(self.lengths)[:, None]]
        edges = np.cumsum([each.shape[1] for each in columns])[:-1]
        rng = stream(seed, "challenge/bootstrap")
        # Several minimum distances can give the same sentences: resample them once.
        once = {subset.members.tobytes(): subset.members for subset in self.subsets}
        drawn = resampled_sums(np.hstack(columns), list(once.values()), rng, resamples=resamples)
        found = {}
        for key, sums in zip(once, drawn, strict=True):
            *own, lengths, counts = np.split(sums, edges, axis=1)
            scores = {
                str(metric): _score_each(metric, some)
                for metric, some in zip(self.statistics, own, strict=True)
            }
            with np.errstate(invalid="ignore"):  # a resample may miss a small subset
                found[key] = {**scores, "length": (lengths / counts)[:, 0]}
        return [found[subset.members.tobytes()] for subset in self.subsets]


def corpus_score(metric: str, sums: Array) -> float:
    """A corpus score from summed sentence statistics; for an external metric (`:` in its name) the mean."""
    if ":" in metric:
        return float(sums[0] / sums[1]) if sums[1] else math.nan
    return find_metric(metric).corpus(sums)


def system_scores(records: Sequence[Record], distances: Sequence[int], *, exact: bool) -> SystemScores:
    """The judged records of one system on one test set, as arrays."""
    found = instances_by_record(records)
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
    return SystemScores(subsets_of(found, distances, exact=exact), found, lengths, statistics, scores)


def quality_rows(
    own: SystemScores, resampled: Sequence[Mapping[str, Array]], counts: Mapping[str, int]
) -> list[Row]:
    """For every subset: its scores, their difference from all sentences (`minus_all`), and the mean source length."""
    rows = []
    for subset, drawn in zip(own.subsets, resampled, strict=True):
        n = len(subset.members)
        whole = subset is own.subsets[0]
        shown = {"instances": subset.instances, **(counts if whole else {})}
        for metric in own.statistics:
            value = own.corpus_score(metric, subset.members)
            rows.append(Row(metric, percentile_estimate(value, drawn[metric], n), subset.labels, shown))
            if not whole:
                difference = percentile_estimate(
                    value - own.corpus_score(metric, own.subsets[0].members),
                    drawn[metric] - resampled[0][metric],
                    n,
                )
                rows.append(Row("minus_all", difference, {**subset.labels, "metric": metric}))
        mean = float(own.lengths[subset.members].mean())
        rows.append(Row("length", percentile_estimate(mean, drawn["length"], n), subset.labels))
    return rows


def control_rows(
    own: SystemScores, resampled: Sequence[Mapping[str, Array]], *, seed: int, draws: int, apart: int
) -> list[Row]:
    """Each subset against random corpora of the same size, matched to its source lengths sentence by sentence.

    `control_mean` and `control_sd` are over `draws` corpora, `control_z` is (score - mean) / sd with the
    interval of the score, and `control_rank` the share of corpora at or below the score.
    """
    rows = []
    for subset, drawn in zip(own.subsets[1:], resampled[1:], strict=True):
        # The same corpora for every metric, and for every system on this test set.
        corpora = length_matched_corpora(
            own.lengths, subset.members, stream(seed, "challenge/controls"), draws=draws, apart=apart
        )
        for metric, statistics in own.statistics.items():
            scores = [corpus_score(metric, statistics[corpus].sum(axis=0)) for corpus in corpora]
            value = own.corpus_score(metric, subset.members)
            score = percentile_estimate(value, drawn[metric], len(subset.members))
            labels: Labels = {**subset.labels, "metric": metric}
            mean, sd = mean_and_sd(scores)
            rows += [Row("control_mean", mean, labels), Row("control_sd", sd, labels)]
            if sd.value > 0:
                z = [(each - mean.value) / sd.value for each in (score.value, score.low, score.high)]
                rows.append(Row("control_z", Estimate(z[0], z[1], z[2], len(subset.members)), labels))
            below = sum(each <= value for each in scores)
            rows.append(Row("control_rank", proportion(below, draws), labels, {"at_or_below": below}))
    return rows


def length_matched_corpora(
    lengths: Array, members: Array, rng: np.random.Generator, *, draws: int, apart: int
) -> Array:
    """Sentence numbers [draws, members]: for each member a random one at most `apart` tokens longer or shorter."""
    order = np.argsort(lengths, kind="stable")
    ordered = lengths[order]
    first = np.searchsorted(ordered, lengths[members] - apart, side="left")
    last = np.searchsorted(ordered, lengths[members] + apart, side="right")
    return order[rng.integers(first, last, size=(draws, len(members)))]


def distance_rows(own: SystemScores, resampled: Sequence[Mapping[str, Array]]) -> list[Row]:
    """Correlation of quality with distance, over minimum distances (last column of table 5) and over sentences.

    Over sets: the score of each subset of a phenomenon against its minimum distance. The subsets are nested, so
    the interval comes from resampled sentences, not from independent points. Of the minimum distances that keep
    all sentences of the phenomenon, only the greatest counts. Over sentences: the score of a sentence against
    the greatest distance in it.
    """
    rows = []
    for phenomenon, side in phenomena_and_sides(own.instances):
        numbers, greatest = greatest_distances(own.instances, phenomenon, side)
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
                drawn = np.array([resampled[number][metric] for number in chosen])
                value = float(_coefficients(points, values[:, None], coefficient)[0])
                estimate = percentile_estimate(value, _coefficients(points, drawn, coefficient), len(chosen))
            here: Labels = {**labels, "metric": metric}
            name = f"distance_{coefficient}"
            rows.append(Row(name, estimate, {**here, "over": "sets", "distances": distances}))
            over = correlation(greatest.tolist(), own.sentence_scores[metric][numbers].tolist(), coefficient)
            rows.append(Row(name, over, {**here, "over": "sentences"}))
    return rows


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
    """score(system) - score(against) for every two systems on every subset, by paired bootstrap."""
    rows = []
    for (first, (own, drawn)), (second, (other, others)) in itertools.combinations(systems.items(), 2):
        for number, subset in enumerate(own.subsets):
            for metric in own.statistics:
                value = own.corpus_score(metric, subset.members) - other.corpus_score(metric, subset.members)
                estimate = percentile_estimate(
                    value, drawn[number][metric] - others[number][metric], len(subset.members)
                )
                labels: Labels = {
                    **where,
                    "system": first,
                    "against": second,
                    **subset.labels,
                    "metric": metric,
                }
                rows.append(Row("difference", estimate, labels))
    return rows


def _score_each(metric: str, sums: Array) -> Array:
    return np.array([corpus_score(metric, each) for each in sums])
