"""The figures of challenge sets: quality by phenomenon and distance, and whether length explains it (section 4.3)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import rankdata

from babelscope.core.results import Estimate, Record, Row
from babelscope.methods.challenge.sets import Instance, Part, farthest, found_in, kinds, parts_of
from babelscope.metrics.base import find_metric
from babelscope.metrics.corpus import FEWEST, MOST_GROUPS, bounds_of, sums_without
from babelscope.stats.correlation import correlation
from babelscope.stats.intervals import Array, jackknife_bounds, jackknife_estimate, mean_and_sd, proportion
from babelscope.util.seeds import stream

Labels = dict[str, str | int]
Coefficient = Literal["pearson", "spearman"]
COEFFICIENTS: tuple[Coefficient, ...] = ("pearson", "spearman")


@dataclass(frozen=True)
class Judged:
    """What one system's records hold, ready to be summed over any of its sentences."""

    parts: Sequence[Part]
    found: Sequence[Sequence[Instance]]
    lengths: Array
    """Source tokens of each sentence."""
    statistics: Mapping[str, Array]
    """[sentences, columns] each."""
    sentence_scores: Mapping[str, Array]

    def value(self, metric: str, members: Array) -> float:
        return corpus_score(metric, self.statistics[metric][members].sum(axis=0))

    def left_out(self) -> list[dict[str, Array]]:
        """For each part its score without each group of sentences, by metric, and as `length` its mean length."""
        columns = [*self.statistics.values(), self.lengths[:, None], np.ones_like(self.lengths)[:, None]]
        edges = np.cumsum([each.shape[1] for each in columns])[:-1]
        # Below the least distance that occurs, all minimum distances give the same sentences.
        once = {part.members.tobytes(): part.members for part in self.parts}
        rest = sums_without(np.hstack(columns), list(once.values()))
        found = {}
        for (key, members), sums in zip(once.items(), rest, strict=True):
            *own, lengths, counts = np.split(sums, edges, axis=1)
            scores = {}
            for metric, some in zip(self.statistics, own, strict=True):
                # Without sentences of other parts only, the score is the same.
                scores[str(metric)] = np.full(len(sums), self.value(metric, members))
                for group in _groups(members):
                    scores[str(metric)][group] = corpus_score(metric, some[group])
            with np.errstate(invalid="ignore"):  # of one group nothing is left
                found[key] = {**scores, "length": (lengths / counts)[:, 0]}
        return [found[part.members.tobytes()] for part in self.parts]


def _groups(members: Array) -> Array:
    """The groups that sentences are in."""
    found: Array = np.unique(members % MOST_GROUPS)
    return found


def _estimate(value: float, left_out: Array, members: Array, metric: str = "") -> Estimate:
    """A figure of a part, from its values without each group; with a metric, one on its scale."""
    own = _groups(members)
    within = (-math.inf, math.inf)
    if metric and ":" not in metric:
        within = bounds_of(find_metric(metric).scale)
    if len(own) < FEWEST:
        left_out = left_out[own]
    return jackknife_estimate(value, left_out, len(members), fewest=FEWEST, within=within, clusters=len(own))


def _names(records: Sequence[Record]) -> list[str]:
    return list(records[0]["scores"]) if records else []


def corpus_score(metric: str, sums: Array) -> float:
    """The score of a corpus from the sums of its sentences' statistics; of a metric from outside, the mean."""
    if ":" in metric:
        return float(sums[0] / sums[1]) if sums[1] else math.nan
    return find_metric(metric).corpus(sums)


def judged(records: Sequence[Record], distances: Sequence[int], *, exact: bool) -> Judged:
    """The records of one system on one test set, as arrays."""
    found = found_in(records)
    scores = {name: np.array([record["scores"][name] for record in records]) for name in _names(records)}
    statistics = {
        name: (
            np.array([record["statistics"][name] for record in records], dtype=float)
            if name in records[0]["statistics"]
            else np.stack([own, np.ones(len(records))], axis=1)
        )
        for name, own in scores.items()
    }
    lengths = np.array([record["lengths"]["source"] for record in records], dtype=float)
    return Judged(parts_of(found, distances, exact=exact), found, lengths, statistics, scores)


def quality_rows(
    own: Judged, left_out: Sequence[Mapping[str, Array]], counts: Mapping[str, int]
) -> list[Row]:
    """Of every part its scores, how far they are from the whole's, and the mean length of its sources."""
    rows = []
    for part, rest in zip(own.parts, left_out, strict=True):
        whole = part is own.parts[0]
        shown = {"instances": part.instances, **(counts if whole else {})}
        for metric in own.statistics:
            value = own.value(metric, part.members)
            estimate = _estimate(value, rest[metric], part.members, metric)
            rows.append(Row(metric, estimate, part.labels, shown))
            if not whole:
                apart = value - own.value(metric, own.parts[0].members)
                difference = _estimate(apart, rest[metric] - left_out[0][metric], part.members)
                rows.append(Row("minus_all", difference, {**part.labels, "metric": metric}))
        mean = float(own.lengths[part.members].mean())
        rows.append(Row("length", _estimate(mean, rest["length"], part.members), part.labels))
    return rows


def control_rows(
    own: Judged, left_out: Sequence[Mapping[str, Array]], *, seed: int, draws: int, apart: int
) -> list[Row]:
    """Where each part falls among random corpora whose sources are as long as its own, sentence by sentence.

    `control_mean` and `control_sd` are over `draws` corpora, `control_z` is (score - mean) / sd with the
    interval of the score, and `control_rank` the share of corpora at or below the score.
    """
    rows = []
    for part, rest in zip(own.parts[1:], left_out[1:], strict=True):
        # The same corpora for every metric, and for every system on this test set.
        corpora = matched(
            own.lengths, part.members, stream(seed, "challenge/controls"), draws=draws, apart=apart
        )
        for metric, statistics in own.statistics.items():
            scores = [corpus_score(metric, statistics[corpus].sum(axis=0)) for corpus in corpora]
            value = own.value(metric, part.members)
            score = _estimate(value, rest[metric], part.members, metric)
            labels: Labels = {**part.labels, "metric": metric}
            mean, sd = mean_and_sd(scores, "corpora")
            rows += [Row("control_mean", mean, labels), Row("control_sd", sd, labels)]
            if sd.value > 0:
                z = score.converted(lambda each, mid=mean.value, unit=sd.value: (each - mid) / unit)  # type: ignore[misc]
                rows.append(Row("control_z", z, labels))
            below = sum(each <= value for each in scores)
            rows.append(Row("control_rank", proportion(below, draws), labels, {"at_or_below": below}))
    return rows


def matched(lengths: Array, members: Array, rng: np.random.Generator, *, draws: int, apart: int) -> Array:
    """Random corpora [draws, members]: for each member any sentence at most `apart` tokens longer or shorter."""
    order = np.argsort(lengths, kind="stable")
    ordered = lengths[order]
    first = np.searchsorted(ordered, lengths[members] - apart, side="left")
    last = np.searchsorted(ordered, lengths[members] + apart, side="right")
    return order[rng.integers(first, last, size=(draws, len(members)))]


def distance_rows(own: Judged, left_out: Sequence[Mapping[str, Array]]) -> list[Row]:
    """How quality goes with distance, over minimum distances (table 5's last column) and over sentences.

    Over sets: the score of each part of a phenomenon against its minimum distance. The parts are nested, so
    the interval is over sentences, not over independent points. Minimum distances that leave
    all of the phenomenon's sentences in are one part, and only the greatest of them counts. Over sentences:
    the sentence's score against the greatest distance in it.
    """
    rows = []
    for phenomenon, side in kinds(own.found):
        numbers, greatest = farthest(own.found, phenomenon, side)
        chosen = [
            number
            for number, part in enumerate(own.parts)
            if (part.phenomenon, part.side) == (phenomenon, side) and part.least is not None
        ]
        sizes = [len(own.parts[number].members) for number in chosen]
        chosen = chosen[max(0, sizes.count(max(sizes, default=0)) - 1) :]
        labels: Labels = {"phenomenon": phenomenon, "side": side}
        points = np.array([own.parts[number].least for number in chosen], dtype=float)
        told = ",".join(f"{point:g}" for point in points)
        for metric, coefficient in itertools.product(own.statistics, COEFFICIENTS):
            estimate = Estimate.of_nothing()
            if len(chosen) > 2:  # two points always lie on a line
                values = np.array([own.value(metric, own.parts[number].members) for number in chosen])
                rest = np.array([left_out[number][metric] for number in chosen])
                value = float(_coefficients(points, values[:, None], coefficient)[0])
                fewest = min((own.parts[number].members for number in chosen), key=len)
                estimate = _over_sets(value, _coefficients(points, rest, coefficient), len(chosen), fewest)
            here: Labels = {**labels, "metric": metric}
            name = f"distance_{coefficient}"
            rows.append(Row(name, estimate, {**here, "over": "sets", "distances": told}))
            over = correlation(greatest.tolist(), own.sentence_scores[metric][numbers].tolist(), coefficient)
            rows.append(Row(name, over, {**here, "over": "sentences"}))
    return rows


def _over_sets(value: float, left_out: Array, sets: int, fewest: Array) -> Estimate:
    """A correlation over sets of sentences, from those without each group; Fisher's z, which has no ends."""
    if math.isnan(value):
        return Estimate.of_nothing()
    if len(_groups(fewest)) < FEWEST:
        return Estimate.without_interval(value, sets, f"a set of {len(fewest)}")
    if abs(value) >= 1 - 1e-12 or not (np.abs(left_out) < 1 - 1e-12).all() or not np.ptp(left_out):
        return Estimate.without_interval(value, sets, f"{sets} sets")
    z, rest = math.atanh(value), np.arctanh(left_out)
    low, high = (math.tanh(end) for end in jackknife_bounds(z, rest, len(_groups(fewest))))
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


def length_rows(own: Judged, *, seed: int, corpora: int, sizes: Sequence[int]) -> list[Row]:
    """The paper's check: does the mean length of random corpora go with their score? Sizes too large are left out."""
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
    systems: Mapping[str, tuple[Judged, Sequence[Mapping[str, Array]]]], where: Labels
) -> list[Row]:
    """score(system) - score(against) of every two systems on every part, paired by sentence."""
    rows = []
    for (first, (own, rest)), (second, (other, others)) in itertools.combinations(systems.items(), 2):
        for number, part in enumerate(own.parts):
            for metric in own.statistics:
                value = own.value(metric, part.members) - other.value(metric, part.members)
                apart = rest[number][metric] - others[number][metric]
                estimate = _estimate(value, apart, part.members)
                labels: Labels = {
                    **where,
                    "system": first,
                    "against": second,
                    **part.labels,
                    "metric": metric,
                }
                rows.append(Row("difference", estimate, labels))
    return rows
