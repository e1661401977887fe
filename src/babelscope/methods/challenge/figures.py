"""Figures of challenge sets: quality by phenomenon and distance, and of equally long sentences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from babelscope.core.results import Estimate, Record, Row
from babelscope.methods.challenge.sets import (
    Instance,
    Partition,
    Subset,
    greatest_distances,
    phenomena_and_sides,
)
from babelscope.methods.measuring import scale_of, sources
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
from babelscope.stats.intervals import (
    Array,
    jackknife_bounds,
    jackknife_estimate,
    kish,
    mean_and_sd,
    proportion,
)
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

    @classmethod
    def of_records(cls, records: Sequence[Record], partition: Partition) -> SystemScores:
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
        return cls(subsets, found, lengths, statistics, scores, source_groups(texts), texts)

    def corpus_score(self, metric: str, members: Array) -> float:
        """The corpus score of the sentences with these numbers."""
        return corpus_score(metric, self.statistics[metric][members].sum(axis=0))

    @cached_property
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

    def quality_rows(self, counts: Mapping[str, int]) -> Iterator[Row]:
        """For every subset: its scores, their difference from all sentences (`minus_all`), and the mean length."""
        for subset, rest in zip(self.subsets, self.left_out, strict=True):
            whole = subset is self.subsets[0]
            shown = {"instances": subset.instances, **(counts if whole else {})}
            if len(subset.members) < len(subset.having):
                shown["drawn_from"] = len(subset.having)
            for metric in self.statistics:
                value = self.corpus_score(metric, subset.members)
                estimate = self.estimate(value, rest[metric], subset.members, metric)
                yield Row(metric, estimate, subset.labels, shown)
                if not whole:
                    apart = value - self.corpus_score(metric, self.subsets[0].members)
                    left_out = rest[metric] - self.left_out[0][metric]
                    difference = self.estimate(apart, left_out, subset.members)
                    yield Row("minus_all", difference, {**subset.labels, "metric": metric})
            mean = float(self.lengths[subset.members].mean())
            yield Row("length", self.estimate(mean, rest["length"], subset.members), subset.labels)

    def distance_rows(self) -> Iterator[Row]:
        """How quality goes with distance, over minimum distances (table 5's last column) and over sentences.

        Over sets: the score of each subset of a phenomenon against its minimum distance. The subsets are nested, so
        the interval is over sentences, not over independent points. Minimum distances that leave
        all of the phenomenon's sentences in are one subset, and only the greatest of them counts. Over sentences:
        the sentence's score against the greatest distance in it.
        """
        for phenomenon, side in phenomena_and_sides(self.instances):
            numbers, greatest = greatest_distances(self.instances, phenomenon, side)
            first: dict[str, str] = {}  # source -> place of its first sentence, which names its cluster
            clusters = [first.setdefault(self.sources[n], str(place)) for place, n in enumerate(numbers)]
            chosen = [
                number
                for number, subset in enumerate(self.subsets)
                if (subset.phenomenon, subset.side) == (phenomenon, side) and subset.min_distance is not None
            ]
            sizes = [len(self.subsets[number].members) for number in chosen]
            chosen = chosen[max(0, sizes.count(max(sizes, default=0)) - 1) :]
            distances = ",".join(f"{self.subsets[number].min_distance:g}" for number in chosen)
            for metric, coefficient in itertools.product(self.statistics, COEFFICIENTS):
                here: Labels = {"phenomenon": phenomenon, "side": side, "metric": metric}
                name = f"distance_{coefficient}"
                over_sets = self._over_sets(chosen, metric, coefficient)
                yield Row(name, over_sets, {**here, "over": "sets", "distances": distances})
                scores = self.sentence_scores[metric][numbers].tolist()
                over = correlation(greatest.tolist(), scores, coefficient, clusters, independent=True)
                yield Row(name, over, {**here, "over": "sentences"})

    def _over_sets(self, chosen: Sequence[int], metric: str, coefficient: Coefficient) -> Estimate:
        """Correlation of minimum distance and score over subsets with these numbers; by Fisher's z."""
        if len(chosen) < 3:  # two points always lie on a line
            return Estimate.empty()
        subsets = [self.subsets[number] for number in chosen]
        points = np.array([subset.min_distance for subset in subsets], dtype=float)
        values = np.array([self.corpus_score(metric, subset.members) for subset in subsets])
        value = float(_coefficients(points, values[:, None], coefficient)[0])
        if math.isnan(value):
            return Estimate.empty()
        fewest = min((self.groups[subset.members] for subset in subsets), key=len)
        clusters = len(np.unique(fewest))
        if clusters < FEWEST:
            return Estimate.without_interval(value, len(chosen), f"a set of {len(fewest)}")
        rest = np.array([self.left_out[number][metric] for number in chosen])
        left_out = _coefficients(points, rest, coefficient)
        if abs(value) >= 1 - 1e-12 or not (np.abs(left_out) < 1 - 1e-12).all() or not np.ptp(left_out):
            return Estimate.without_interval(value, len(chosen), f"{len(chosen)} sets")
        bounds = jackknife_bounds(math.atanh(value), np.arctanh(left_out), clusters)
        low, high = (math.tanh(end) for end in bounds)
        return Estimate(value, min(value, low), max(value, high), len(chosen))

    def length_rows(self, *, seed: int, corpora: int, sizes: Sequence[int]) -> Iterator[Row]:
        """Correlation of mean length with score over random corpora (section 4.3); sizes too large are left out."""
        sentences = len(self.lengths)
        for size in (size for size in sizes if size < sentences):
            rng = stream(seed, f"challenge/lengths/{size}")
            drawn = [rng.choice(sentences, size, replace=False) for _ in range(corpora)]
            lengths = [float(self.lengths[corpus].mean()) for corpus in drawn]
            for metric in self.statistics:
                scores = [self.corpus_score(metric, corpus) for corpus in drawn]
                for coefficient in COEFFICIENTS:
                    labels: Labels = {"phenomenon": "all", "metric": metric, "sentences": size}
                    yield Row(f"length_{coefficient}", correlation(lengths, scores, coefficient), labels)

    def control_rows(self, controls: Controls, *, seed: int) -> Iterator[Row]:
        """Each subset against random corpora of the same size, matched to its source lengths sentence by sentence.

        `control_mean` and `control_sd` are over the corpora. `minus_control` is score - mean, with an interval over
        the sentences of the set and over those that controls are drawn from, which has 95 % for all sets of the
        metric together (count `sets`). `control_z` is the same in units of sd, `control_rank` the share of corpora
        at or below the score. `unmatched` counts the sentences of the set for which no other is of that length;
        with too many, there is no figure.
        """
        compared: dict[tuple[bytes, bytes], tuple[int, dict[str, _Compared]]] = {}
        for subset, rest in zip(self.subsets[1:], self.left_out[1:], strict=True):
            if _key(subset) not in compared:
                # The same corpora for every metric, and for every system on this test set.
                rng = stream(seed, "challenge/controls")
                corpora, unmatched = controls.corpora(self.lengths, subset, rng)
                matched = unmatched <= _MOST_UNMATCHED * len(subset.members)
                found = self._compare(rest, subset, controls, corpora) if matched else {}
                compared[_key(subset)] = unmatched, found
        sets = sum(
            any(len(each.left_out) >= FEWEST for each in found.values()) for _, found in compared.values()
        )
        for subset in self.subsets[1:]:
            unmatched, found = compared[_key(subset)]
            counts = {"unmatched": unmatched} if unmatched else {}
            for metric in self.statistics:
                labels: Labels = {**subset.labels, "metric": metric}
                nothing = {"control_mean": Estimate.empty()}
                figures = found[metric].figures(sets) if metric in found else nothing
                for name, estimate in figures.items():
                    more = {"sets": sets} if name in ("minus_control", "control_z") else {}
                    if name == "control_rank":
                        more = {"at_or_below": round(estimate.value * estimate.n)}
                    yield Row(name, estimate, labels, {**more, **counts})

    def _compare(
        self, rest: Mapping[str, Array], subset: Subset, controls: Controls, corpora: Array
    ) -> dict[str, _Compared]:
        """A set and its controls by each metric; `rest` has its scores without each group of sentences."""
        columns = np.hstack(list(self.statistics.values()))
        edges = np.cumsum([each.shape[1] for each in self.statistics.values()])[:-1]
        total, without, worth = controls.expected(columns, self.lengths, subset, self.groups)
        changed = (without != total).any(axis=1)
        mine, sizes = np.unique(self.groups[subset.members], return_counts=True)
        found = {}
        for metric, whole, some in zip(
            self.statistics, np.split(total, edges), np.split(without, edges, axis=1), strict=True
        ):
            expected = np.full(len(some), corpus_score(metric, whole))
            expected[changed] = [corpus_score(metric, sums) for sums in some[changed]]
            apart = rest[metric] - expected
            found[str(metric)] = _Compared(
                self.corpus_score(metric, subset.members),
                [self.corpus_score(metric, corpus) for corpus in corpora],
                # Of too few sentences, others cannot make an interval.
                apart if len(mine) >= FEWEST else apart[mine],
                min(float(kish(sizes.astype(float))), worth),
                len(subset.members),
            )
        return found


def corpus_score(metric: str, sums: Array) -> float:
    """A corpus score from summed sentence statistics; for an external metric (`:` in its name) the mean."""
    if ":" in metric:
        return float(sums[0] / sums[1]) if sums[1] else math.nan
    return find_metric(metric).corpus(sums)


def _coefficients(points: Array, values: Array, coefficient: Coefficient) -> Array:
    """Correlation of points [k] with each column of values [k, columns]; NaN where all of a column are equal."""
    unknown = np.isnan(values).any(axis=0)
    if coefficient == "spearman":
        from scipy.stats import rankdata

        points, values = rankdata(points), rankdata(values, axis=0)
    x, y = points - points.mean(), values - values.mean(axis=0)
    scale = np.sqrt((x**2).sum() * (y**2).sum(axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.where(scale > 0, np.clip(x @ y / scale, -1.0, 1.0), math.nan)
    return np.where(unknown, math.nan, found)


def difference_rows(systems: Mapping[str, SystemScores]) -> list[Row]:
    """score(system) - score(against) of every two systems on every subset, paired by sentence.

    Holm's correction is over the tests on the whole test set, and over those on its parts by themselves.
    """
    found: dict[bool, list[Tested]] = {True: [], False: []}
    for (first, own), (second, other) in itertools.combinations(systems.items(), 2):
        for number, subset in enumerate(own.subsets):
            for metric in own.statistics:
                value = own.corpus_score(metric, subset.members) - other.corpus_score(metric, subset.members)
                apart = own.left_out[number][metric] - other.left_out[number][metric]
                tested = grouped_difference(value, apart, own.groups[subset.members])
                lower: Labels = {"better": "lower"} if scale_of(metric).better == "lower" else {}
                named = dict.fromkeys(("metric", "measure", "of"), metric)
                labels: Labels = {"system": first, "against": second, **subset.labels, **named, **lower}
                scores = (each.sentence_scores[metric][subset.members] for each in (own, other))
                better = np.subtract(*scores) * (-1 if lower else 1)
                found[number == 0].append((labels, *tested, count_wins(better.tolist())))
    return [*tested_rows("difference", found[True]), *tested_rows("difference", found[False])]


_MOST_UNMATCHED = 0.05
"""Of a set's sentences; with more of them unmatched, its controls would have other lengths than it has."""


@dataclass(frozen=True, slots=True)
class Controls:
    """How length-matched corpora are drawn."""

    draws: int
    apart: int
    """Tokens by which a sentence may be longer or shorter than the one it stands for."""
    pool: Literal["others", "all"]
    """Sentences that do not belong to the set, or all."""

    def candidates(self, sentences: int, subset: Subset) -> Array:
        """Numbers of the sentences that may be drawn."""
        pool = np.arange(sentences)
        return np.setdiff1d(pool, subset.having) if self.pool == "others" else pool

    def corpora(self, lengths: Array, subset: Subset, rng: np.random.Generator) -> tuple[Array, int]:
        """Sentence numbers [draws, matched members], and the number of members that have no match."""
        pool = self.candidates(len(lengths), subset)
        order = pool[np.argsort(lengths[pool], kind="stable")]
        ordered, wanted = lengths[order], lengths[subset.members]
        first = np.searchsorted(ordered, wanted - self.apart, side="left")
        last = np.searchsorted(ordered, wanted + self.apart, side="right")
        matched = first < last
        drawn = rng.integers(first[matched], last[matched], size=(self.draws, int(matched.sum())))
        return order[drawn], int((~matched).sum())

    def expected(
        self, columns: Array, lengths: Array, subset: Subset, groups: Array
    ) -> tuple[Array, Array, float]:
        """The sums [k] of a corpus on average, and without each group of sentences in turn [groups, k].

        A sentence of the set is represented by the mean of its candidates, so leaving out a group changes both whom
        controls stand for and what they are drawn from. The last value is how many equally weighted groups the
        candidates are worth (Kish).
        """
        pool, width = self.candidates(len(lengths), subset), columns.shape[1]
        wanted, own = np.unique(lengths[subset.members], return_inverse=True)
        first = np.searchsorted(wanted, lengths[pool] - self.apart, side="left")
        times = np.searchsorted(wanted, lengths[pool] + self.apart, side="right") - first
        # Each candidate once for each length that it may stand for.
        drawn = np.repeat(pool, times)
        length = np.repeat(first - np.cumsum(times) + times, times) + np.arange(len(drawn))
        members, candidates = (np.bincount(each, minlength=len(wanted)) for each in (own, length))
        sums = _sums_by(length, columns[drawn], len(wanted))
        whole = _represented(members, candidates, sums)
        # The same of each group and length, for the pairs that occur.
        keys = np.concatenate([groups[subset.members], groups[drawn]]) * len(wanted)
        pairs, place = np.unique(keys + np.concatenate([own, length]), return_inverse=True)
        group, at = np.divmod(pairs, len(wanted))
        mine, theirs = place[: len(own)], place[len(own) :]
        rest = _represented(
            members[at] - np.bincount(mine, minlength=len(pairs)),
            candidates[at] - np.bincount(theirs, minlength=len(pairs)),
            sums[at] - _sums_by(theirs, columns[drawn], len(pairs)),
        )
        total = whole.sum(axis=0)
        without = total + _sums_by(group, rest - whole[at], int(groups.max()) + 1)
        weights = np.bincount(groups[drawn], weights=(members / np.maximum(candidates, 1))[length])
        return total, without.reshape(-1, width), float(kish(weights))


def _sums_by(places: Array, rows: Array, count: int) -> Array:
    """Sums of rows [n, k] by place [count, k]."""
    found = np.zeros((count, rows.shape[1]))
    np.add.at(found, places, rows)
    return found


def _represented(members: Array, candidates: Array, sums: Array) -> Array:
    """For each length: the mean of candidates, as often as there are members; 0 without candidates."""
    found: Array = (members * (candidates > 0) / np.maximum(candidates, 1))[:, None] * sums
    return found


@dataclass(frozen=True, slots=True)
class _Compared:
    """A set and its controls by one metric."""

    value: float
    scores: Sequence[float]
    """Of the random corpora."""
    left_out: Array
    """The score minus that expected of controls, without each group of sentences."""
    clusters: float
    """How many groups they are worth."""
    n: int

    def figures(self, sets: int) -> dict[str, Estimate]:
        """Its figures by name; the interval of the difference holds for so many sets at once (Bonferroni)."""
        mean, sd = mean_and_sd(self.scores, "corpora")
        away = jackknife_estimate(
            self.value - mean.value,
            self.left_out,
            self.n,
            fewest=FEWEST,
            clusters=self.clusters,
            outside=0.05 / max(sets, 1),
            noise=sd.value**2 / len(self.scores),
        )
        found = {"control_mean": mean, "control_sd": sd, "minus_control": away}
        if sd.value > 0:
            found["control_z"] = away.converted(lambda each: each / sd.value)
        below = sum(each <= self.value for each in self.scores)
        return {**found, "control_rank": proportion(below, len(self.scores))}


def _key(subset: Subset) -> tuple[bytes, bytes]:
    """Equal for sets of the same sentences, as several minimum distances may give."""
    return subset.members.tobytes(), subset.having.tobytes()
