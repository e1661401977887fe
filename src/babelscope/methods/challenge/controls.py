"""Sets of sentences compared with equally long sentences (section 4.3), and how sure the difference is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from babelscope.core.results import Estimate, Row
from babelscope.methods.challenge.figures import Labels, SystemScores, corpus_score
from babelscope.methods.challenge.sets import Subset
from babelscope.metrics.corpus import FEWEST
from babelscope.stats.intervals import Array, jackknife_estimate, kish, mean_and_sd, proportion
from babelscope.util.seeds import stream

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


def control_rows(
    own: SystemScores, left_out: Sequence[Mapping[str, Array]], controls: Controls, *, seed: int
) -> list[Row]:
    """Each subset against random corpora of the same size, matched to its source lengths sentence by sentence.

    `control_mean` and `control_sd` are over the corpora. `minus_control` is score - mean, with an interval over the
    sentences of the set and over those that controls are drawn from, which has 95 % for all sets of the metric
    together (count `sets`). `control_z` is the same in units of sd, `control_rank` the share of corpora at or below
    the score. `unmatched` counts the sentences of the set for which no other is of that length; with too many, there
    is no figure.
    """
    compared: dict[tuple[bytes, bytes], tuple[int, dict[str, _Compared]]] = {}
    for subset, rest in zip(own.subsets[1:], left_out[1:], strict=True):
        if _key(subset) not in compared:
            # The same corpora for every metric, and for every system on this test set.
            corpora, unmatched = controls.corpora(own.lengths, subset, stream(seed, "challenge/controls"))
            matched = unmatched <= _MOST_UNMATCHED * len(subset.members)
            found = _compare(own, rest, subset, controls, corpora) if matched else {}
            compared[_key(subset)] = unmatched, found
    sets = sum(any(len(each.left_out) >= FEWEST for each in found.values()) for _, found in compared.values())
    rows = []
    for subset in own.subsets[1:]:
        unmatched, found = compared[_key(subset)]
        counts = {"unmatched": unmatched} if unmatched else {}
        for metric in own.statistics:
            labels: Labels = {**subset.labels, "metric": metric}
            figures = (
                found[metric].figures(sets) if metric in found else {"control_mean": Estimate.of_nothing()}
            )
            for name, estimate in figures.items():
                more = {"sets": sets} if name in ("minus_control", "control_z") else {}
                if name == "control_rank":
                    more = {"at_or_below": round(estimate.value * estimate.n)}
                rows.append(Row(name, estimate, labels, {**more, **counts}))
    return rows


def _key(subset: Subset) -> tuple[bytes, bytes]:
    """Equal for sets of the same sentences, as several minimum distances may give."""
    return subset.members.tobytes(), subset.having.tobytes()


def _compare(
    own: SystemScores, rest: Mapping[str, Array], subset: Subset, controls: Controls, corpora: Array
) -> dict[str, _Compared]:
    """A set and its controls by each metric; `rest` has its scores without each group of sentences."""
    columns = np.hstack(list(own.statistics.values()))
    edges = np.cumsum([each.shape[1] for each in own.statistics.values()])[:-1]
    total, without, worth = controls.expected(columns, own.lengths, subset, own.groups)
    changed = (without != total).any(axis=1)
    mine, sizes = np.unique(own.groups[subset.members], return_counts=True)
    found = {}
    for metric, whole, some in zip(
        own.statistics, np.split(total, edges), np.split(without, edges, axis=1), strict=True
    ):
        expected = np.full(len(some), corpus_score(metric, whole))
        expected[changed] = [corpus_score(metric, sums) for sums in some[changed]]
        apart = rest[metric] - expected
        found[str(metric)] = _Compared(
            own.corpus_score(metric, subset.members),
            [corpus_score(metric, own.statistics[metric][corpus].sum(axis=0)) for corpus in corpora],
            # Of too few sentences, others cannot make an interval.
            apart if len(mine) >= FEWEST else apart[mine],
            min(float(kish(sizes.astype(float))), worth),
            len(subset.members),
        )
    return found
