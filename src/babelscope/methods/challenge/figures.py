"""Figures of challenge sets: quality by phenomenon and distance, and of equally long sentences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from babelscope.core.results import Estimate, Record, Row
from babelscope.methods.challenge.sets import (
    ChallengeSettings,
    Labels,
    Subset,
    distances_by_phenomenon,
    sets_of_records,
)
from babelscope.methods.quality import CorpusScores, corpus_score, direction, mean_of_sums
from babelscope.metrics.corpus import FEWEST, grouped_estimate
from babelscope.stats.correlation import correlation
from babelscope.stats.intervals import (
    Array,
    jackknife_bounds,
    jackknife_estimate,
    kish,
    mean_and_sd,
    proportion,
)
from babelscope.stats.paired import Tested, tested_rows
from babelscope.util.seeds import stream

Coefficient = Literal["pearson", "spearman"]
COEFFICIENTS: tuple[Coefficient, ...] = ("pearson", "spearman")
_MOST_UNMATCHED = 0.05
"""Of a set's sentences; with more of them unmatched, its controls would have other lengths than it has."""


class SetScores(CorpusScores):
    """One system's scores on the sets of a test set."""

    def __init__(self, records: Sequence[Record], settings: ChallengeSettings, seed: int) -> None:
        super().__init__(records)
        self.settings, self.seed = settings, seed
        # The first set is all sentences.
        self.subsets, self.instances = sets_of_records(records, settings, seed)
        self.lengths = np.array([record["lengths"]["source"] for record in records], dtype=float)

    def quality_rows(self, counts: Mapping[str, int]) -> Iterator[Row]:
        """For every set: its scores, their difference from all sentences (`minus_all`), and the mean length."""
        everything = self.subsets[0].members
        sizes = np.stack([self.lengths, np.ones_like(self.lengths)], axis=1)
        for number, subset in enumerate(self.subsets):
            members, labels = subset.members, subset.name.labels
            shown = {"instances": subset.instances, **({} if number else counts)}
            if len(members) < len(subset.having):
                shown["drawn_from"] = len(subset.having)
            for metric in self.statistics:
                yield Row(metric, self.estimate(metric, members), labels, shown)
                if number:
                    value = self.score(metric, members) - self.score(metric, everything)
                    apart = self.left_out(metric, members) - self.left_out(metric, everything)
                    difference = grouped_estimate(value, apart, self.groups[members])
                    yield Row("minus_all", difference, {**labels, "metric": metric})
            left_out = self.without_groups(sizes, members, mean_of_sums)
            mean = float(self.lengths[members].mean())
            yield Row("length", grouped_estimate(mean, left_out, self.groups[members]), labels)

    def distance_rows(self) -> Iterator[Row]:
        """How quality goes with distance, over minimum distances (table 5's last column) and over sentences.

        Over sets: the score of each set of a phenomenon against its minimum distance. The sets are nested, so the
        interval is over sentences, not over independent points. Minimum distances that leave all of the phenomenon's
        sentences in are one set, and only the greatest of them counts. Over sentences: the sentence's score against
        the greatest distance in it.
        """
        for (phenomenon, side), own in distances_by_phenomenon(self.instances).items():
            greatest: dict[int, float] = {}
            for number, distance in own:
                greatest[number] = max(distance, greatest.get(number, 0.0))
            first: dict[str, str] = {}  # source -> place of its first sentence, which names its cluster
            clusters = [first.setdefault(self.sources[n], str(place)) for place, n in enumerate(greatest)]
            chosen = [
                subset
                for subset in self.subsets
                if subset.name[:2] == (phenomenon, side) and subset.name.min_distance is not None
            ]
            sizes = [len(subset.members) for subset in chosen]
            chosen = chosen[max(0, sizes.count(max(sizes, default=0)) - 1) :]
            distances = ",".join(f"{subset.name.min_distance:g}" for subset in chosen)
            for metric, coefficient in itertools.product(self.statistics, COEFFICIENTS):
                here: Labels = {"phenomenon": phenomenon, "side": side, "metric": metric}
                name = f"distance_{coefficient}"
                over_sets = self._over_sets(chosen, metric, coefficient)
                yield Row(name, over_sets, {**here, "over": "sets", "distances": distances})
                scores = self.sentence_scores[metric][list(greatest)].tolist()
                over = correlation([*greatest.values()], scores, coefficient, clusters, independent=True)
                yield Row(name, over, {**here, "over": "sentences"})

    def _over_sets(self, subsets: Sequence[Subset], metric: str, coefficient: Coefficient) -> Estimate:
        """Correlation of minimum distance and score over sets; by Fisher's z."""
        if len(subsets) < 3:  # two points always lie on a line
            return Estimate.empty()
        points = np.array([subset.name.min_distance for subset in subsets], dtype=float)
        values = np.array([self.score(metric, subset.members) for subset in subsets])
        value = float(coefficients(points, values[:, None], coefficient)[0])
        if math.isnan(value):
            return Estimate.empty()
        fewest = min((self.groups[subset.members] for subset in subsets), key=len)
        clusters = len(np.unique(fewest))
        if clusters < FEWEST:
            return Estimate.without_interval(value, len(subsets), f"a set of {len(fewest)}")
        rest = np.array([self.left_out(metric, subset.members) for subset in subsets])
        left_out = coefficients(points, rest, coefficient)
        if abs(value) >= 1 - 1e-12 or not (np.abs(left_out) < 1 - 1e-12).all() or not np.ptp(left_out):
            return Estimate.without_interval(value, len(subsets), f"{len(subsets)} sets")
        bounds = jackknife_bounds(math.atanh(value), np.arctanh(left_out), clusters)
        low, high = (math.tanh(end) for end in bounds)
        return Estimate(value, min(value, low), max(value, high), len(subsets))

    def length_rows(self) -> Iterator[Row]:
        """Correlation of mean length with score over random corpora (section 4.3); sizes too large are left out."""
        sentences = len(self.lengths)
        for size in (size for size in self.settings.length_sizes if size < sentences):
            rng = stream(self.seed, f"challenge/lengths/{size}")
            drawn = [rng.choice(sentences, size, replace=False) for _ in range(self.settings.length_corpora)]
            lengths = [float(self.lengths[corpus].mean()) for corpus in drawn]
            for metric in self.statistics:
                scores = [self.score(metric, corpus) for corpus in drawn]
                for coefficient in COEFFICIENTS:
                    labels: Labels = {"phenomenon": "all", "metric": metric, "sentences": size}
                    yield Row(f"length_{coefficient}", correlation(lengths, scores, coefficient), labels)

    def control_rows(self) -> Iterator[Row]:
        """Each set against random corpora of the same size, matched to its source lengths sentence by sentence.

        `control_mean` and `control_sd` are over the corpora. `minus_control` is score - mean, with an interval over
        the sentences of the set and over those that controls are drawn from, which has 95 % for all sets of the
        metric together (count `sets`). `control_z` is the same in units of sd, `control_rank` the share of corpora
        at or below the score. `unmatched` counts the sentences of the set for which no other is of that length;
        with too many, there is no figure.
        """
        # Several minimum distances may give the same sentences.
        keys = [(each.members.tobytes(), each.having.tobytes()) for each in self.subsets[1:]]
        once = dict(zip(keys, self.subsets[1:], strict=True))
        drawn, matched = {}, {}
        for key, subset in once.items():
            # The same corpora for every metric, and for every system on this test set.
            rng = stream(self.seed, "challenge/controls")
            drawn[key] = draw_controls(self.lengths, subset, self.settings, rng)
            if drawn[key][1] <= _MOST_UNMATCHED * len(subset.members):
                matched[key] = subset
        sets = sum(len(np.unique(self.groups[each.members])) >= FEWEST for each in matched.values())
        figures = {key: self._compare(subset, drawn[key][0], sets) for key, subset in matched.items()}
        nothing = {"control_mean": Estimate.empty()}
        for key, subset in zip(keys, self.subsets[1:], strict=True):
            unmatched = drawn[key][1]
            counts = {"unmatched": unmatched} if unmatched else {}
            for metric in self.statistics:
                labels: Labels = {**subset.name.labels, "metric": metric}
                for name, estimate in figures.get(key, {}).get(metric, nothing).items():
                    more = {"sets": sets} if name in ("minus_control", "control_z") else {}
                    if name == "control_rank":
                        more = {"at_or_below": round(estimate.value * estimate.n)}
                    yield Row(name, estimate, labels, {**more, **counts})

    def _compare(self, subset: Subset, corpora: Array, sets: int) -> dict[str, dict[str, Estimate]]:
        """A set and its controls: metric -> figures; intervals hold for so many sets at once (Bonferroni)."""
        columns = np.hstack(list(self.statistics.values()))
        edges = np.cumsum([each.shape[1] for each in self.statistics.values()])[:-1]
        total, without, worth = expected_controls(columns, self.lengths, subset, self.groups, self.settings)
        changed = (without != total).any(axis=1)
        mine, sizes = np.unique(self.groups[subset.members], return_counts=True)
        parts = np.split(total, edges), np.split(without, edges, axis=1)
        found = {}
        for metric, whole, some in zip(self.statistics, *parts, strict=True):
            value = self.score(metric, subset.members)
            scores = [self.score(metric, corpus) for corpus in corpora]
            expected = np.full(len(some), corpus_score(metric, whole))
            expected[changed] = [corpus_score(metric, sums) for sums in some[changed]]
            apart = self.left_out(metric, subset.members) - expected
            mean, sd = mean_and_sd(scores, "corpora")
            away = jackknife_estimate(
                value - mean.value,
                # Of too few sentences, others cannot make an interval.
                apart if len(mine) >= FEWEST else apart[mine],
                len(subset.members),
                fewest=FEWEST,
                clusters=min(float(kish(sizes.astype(float))), worth),
                outside=0.05 / max(sets, 1),
                noise=sd.value**2 / len(scores),
            )
            own = {"control_mean": mean, "control_sd": sd, "minus_control": away}
            if sd.value > 0:
                own["control_z"] = away.converted(lambda each: each / sd.value)  # noqa: B023 (called at once)
            own["control_rank"] = proportion(sum(each <= value for each in scores), len(scores))
            found[metric] = own
        return found


def coefficients(points: Array, values: Array, coefficient: Coefficient) -> Array:
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


def difference_rows(systems: Mapping[str, SetScores]) -> list[Row]:
    """score(system) - score(against) of every two systems on every set, paired by sentence.

    Holm's correction is over the tests on the whole test set, and over those on its parts by themselves.
    """
    whole: list[Tested] = []
    parts: list[Tested] = []
    for (first, own), (second, other) in itertools.combinations(systems.items(), 2):
        for (number, subset), metric in itertools.product(enumerate(own.subsets), own.statistics):
            named: Labels = dict.fromkeys(("metric", "measure", "of"), metric)
            pair = {"system": first, "against": second}
            labels = {**pair, **subset.name.labels, **named, **direction(metric)}
            tested = labels, *own.difference(other, metric, subset.members)
            (parts if number else whole).append(tested)
    return [*tested_rows("difference", whole), *tested_rows("difference", parts)]


# --- Length-matched controls ---------------------------------------------------------------------------------------


def candidates(sentences: int, subset: Subset, settings: ChallengeSettings) -> Array:
    """Numbers of the sentences that controls may be drawn from: those outside of the set, or all."""
    pool = np.arange(sentences)
    return np.setdiff1d(pool, subset.having) if settings.controls == "others" else pool


def draw_controls(
    lengths: Array, subset: Subset, settings: ChallengeSettings, rng: np.random.Generator
) -> tuple[Array, int]:
    """Random corpora as sentence numbers [corpora, matched members], and how many members have no match."""
    pool, apart = candidates(len(lengths), subset, settings), settings.length_tolerance
    order = pool[np.argsort(lengths[pool], kind="stable")]
    ordered, wanted = lengths[order], lengths[subset.members]
    first = np.searchsorted(ordered, wanted - apart, side="left")
    last = np.searchsorted(ordered, wanted + apart, side="right")
    matched = first < last
    size = settings.matched_corpora, int(matched.sum())
    return order[rng.integers(first[matched], last[matched], size=size)], int((~matched).sum())


def expected_controls(
    columns: Array, lengths: Array, subset: Subset, groups: Array, settings: ChallengeSettings
) -> tuple[Array, Array, float]:
    """The sums [k] of a random corpus on average, and without each group of sentences in turn [groups, k].

    A sentence of the set is represented by the mean of its candidates, so leaving out a group changes both whom
    controls stand for and what they are drawn from. The last value is how many equally weighted groups the
    candidates are worth (Kish).
    """
    pool, apart = candidates(len(lengths), subset, settings), settings.length_tolerance
    wanted, own = np.unique(lengths[subset.members], return_inverse=True)
    first = np.searchsorted(wanted, lengths[pool] - apart, side="left")
    times = np.searchsorted(wanted, lengths[pool] + apart, side="right") - first
    # Each candidate once for each length that it may stand for.
    drawn = np.repeat(pool, times)
    length = np.repeat(first - np.cumsum(times) + times, times) + np.arange(len(drawn))
    members, known = (np.bincount(each, minlength=len(wanted)) for each in (own, length))
    sums = _sums_by(length, columns[drawn], len(wanted))
    whole = _represented(members, known, sums)
    # The same of each group and length, for the pairs that occur.
    keys = np.concatenate([groups[subset.members], groups[drawn]]) * len(wanted)
    pairs, place = np.unique(keys + np.concatenate([own, length]), return_inverse=True)
    group, at = np.divmod(pairs, len(wanted))
    mine, theirs = place[: len(own)], place[len(own) :]
    rest = _represented(
        members[at] - np.bincount(mine, minlength=len(pairs)),
        known[at] - np.bincount(theirs, minlength=len(pairs)),
        sums[at] - _sums_by(theirs, columns[drawn], len(pairs)),
    )
    total = whole.sum(axis=0)
    without = total + _sums_by(group, rest - whole[at], int(groups.max()) + 1)
    weights = np.bincount(groups[drawn], weights=(members / np.maximum(known, 1))[length])
    return total, without.reshape(-1, columns.shape[1]), float(kish(weights))


def _sums_by(places: Array, rows: Array, count: int) -> Array:
    """Sums of rows [n, k] by place [count, k]."""
    found = np.zeros((count, rows.shape[1]))
    np.add.at(found, places, rows)
    return found


def _represented(members: Array, known: Array, sums: Array) -> Array:
    """For each length: the mean of candidates, as often as there are members; 0 without candidates."""
    found: Array = (members * (known > 0) / np.maximum(known, 1))[:, None] * sums
    return found
