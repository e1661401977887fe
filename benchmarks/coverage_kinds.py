"""Every kind of interval that a command prints, with truths to try it on; see `benchmarks.coverage`.

A kind is a function of n and a list of points. A point has a label, and a function that draws many data sets at once
and says of each whether its interval covers the truth, whether it was refused, how wide it is, and, where the
truth is no difference, whether the test rejects it.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import kendalltau, rankdata

from babelscope.metrics.base import find_metric
from babelscope.metrics.chrf import _f_scores
from babelscope.stats.correlation import _pearson, fisher_test
from babelscope.stats.detection import corrected_bounds
from babelscope.stats.intervals import (
    difference_bounds,
    f1,
    jackknife_bounds,
    kish,
    leave_one_out,
    mean_and_sd,
    mean_of_counts,
    proportion_bounds,
    welch,
    wilson_bounds,
)
from babelscope.stats.paired import paired_bounds
from babelscope.stats.regression import regress
from babelscope.stats.reliability import interval_bounds, kappa_bounds, nominal_bounds
from babelscope.util.seeds import stream

Array = np.ndarray[Any, Any]
Rng = np.random.Generator

SHARES = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98)
ALIKE = (0.0, 0.2, 0.4, 0.6)
"""Intra-class correlations."""
KAPPAS = (0.0, 0.3, 0.6, 0.8, 0.9)
NAMES = {
    "2 even": (0.5, 0.5),
    "2 uneven": (0.8, 0.2),
    "3 even": (1 / 3,) * 3,
    "5 uneven": (0.5, 0.2, 0.15, 0.1, 0.05),
}
SIZES = ("4 each", "1 to 7")
TAILS = ("normal", "exponential")


@dataclass(frozen=True)
class Tried:
    """What came of many draws, an array each."""

    covers: Array
    width: Array
    refused: Array
    rejects: Array | None = None
    """Only where the truth is that there is no difference."""
    disagrees: Array | None = None
    """Whether the interval has 0 although p < 0.05, or the other way round."""


Point = tuple[str, Callable[[Rng, int], Tried]]


def tried(truth: Any, low: Array, high: Array, refused: Array | None = None, **more: Any) -> Tried:
    none = np.zeros(np.shape(low), dtype=bool) if refused is None else refused
    return Tried((low <= truth) & (truth <= high), high - low, none | ~np.isfinite(low + high), **more)


def sizes_of(rng: Rng, kind: str, shape: tuple[int, int]) -> Array:
    return np.full(shape, 4) if kind == SIZES[0] else rng.integers(1, 8, shape)


def shares_of(rng: Rng, shape: tuple[int, int], share: float, alike: float) -> Array:
    """The share of each cluster (beta-binomial)."""
    if not alike or share == 1:
        return np.full(shape, share)
    spread = (1 - alike) / alike
    return rng.beta(share * spread, (1 - share) * spread, shape)


def values_of(rng: Rng, tail: str, *shape: int) -> Array:
    """Mean 0, variance 1."""
    return rng.normal(size=shape) if tail == "normal" else rng.exponential(size=shape) - 1


def totals_of(rng: Rng, tail: str, sizes: Array, alike: float) -> Array:
    """Sums of clusters of values with mean 0 that are alike within each."""
    there = np.arange(sizes.max()) < sizes[..., None]
    inside = (values_of(rng, tail, *there.shape) * there).sum(axis=-1)
    found: Array = np.sqrt(alike) * values_of(rng, tail, *sizes.shape) * sizes + np.sqrt(1 - alike) * inside
    return found


def proportions(n: int) -> Iterator[Point]:
    for share in SHARES:

        def draw(rng: Rng, draws: int, share: float = share) -> Tried:
            return tried(share, *wilson_bounds(rng.binomial(n, share, draws) / n, n))

        yield f"p {share}", draw


def clustered_proportions(n: int) -> Iterator[Point]:
    for share, alike, kind in itertools.product(SHARES, ALIKE, SIZES):

        def draw(rng: Rng, draws: int, share: float = share, alike: float = alike, kind: str = kind) -> Tried:
            sizes = sizes_of(rng, kind, (draws, n))
            right = rng.binomial(sizes, shares_of(rng, sizes.shape, share, alike)).astype(float)
            return tried(share, *proportion_bounds(right, sizes.astype(float), sizes.sum(axis=-1)))

        yield f"p {share}, icc {alike}, {kind}", draw


def weighted_proportions(n: int) -> Iterator[Point]:
    """Weights n to 1, as those of conditioning."""
    for share in SHARES:

        def draw(rng: Rng, draws: int, share: float = share) -> Tried:
            weights = np.broadcast_to(np.arange(1.0, n + 1), (draws, n))
            return tried(
                share, *proportion_bounds(weights * (rng.random((draws, n)) < share), weights, kish(weights))
            )

        yield f"p {share}", draw


def minima(n: int) -> Iterator[Point]:
    """The smallest of three accuracies, n items each; as `methods.condition.figures.minimum`."""
    for shares in ((0.5,) * 3, (0.8,) * 3, (0.95,) * 3, (0.6, 0.7, 0.9), (0.9, 0.95, 0.98)):

        def draw(rng: Rng, draws: int, shares: tuple[float, ...] = shares) -> Tried:
            found = np.stack([rng.binomial(n, share, draws) / n for share in shares])
            low = wilson_bounds(found, n)[0].min(axis=0)
            return tried(min(shares), low, wilson_bounds(found, n, 0.05 / 3)[1].min(axis=0))

        yield f"p {', '.join(map(str, shares))}", draw


def differences(n: int) -> Iterator[Point]:
    """Of two proportions, n clusters of four each (excess errors)."""
    for (one, other), alike in itertools.product(
        ((0.1, 0.02), (0.5, 0.1), (0.3, 0.3), (0.9, 0.05)), (0.0, 0.4)
    ):

        def draw(rng: Rng, draws: int, one: float = one, other: float = other, alike: float = alike) -> Tried:
            found, ends = [], []
            for share in (one, other):
                right = rng.binomial(4, shares_of(rng, (draws, n), share, alike)).astype(float)
                found.append(right.mean(axis=-1) / 4)
                ends.append(proportion_bounds(right, np.full((draws, n), 4.0), 4 * n))
            return tried(one - other, *difference_bounds(found[0], ends[0], found[1], ends[1]))

        yield f"p {one} and {other}, icc {alike}", draw


def f1_scores(n: int) -> Iterator[Point]:
    for right, single, both in (
        (0.5, 0.5, 0.0),
        (0.8, 0.2, 0.0),
        (0.95, 0.05, 0.0),
        (0.6, 0.2, 0.2),
        (0.1, 0.8, 0.1),
    ):

        def draw(rng: Rng, draws: int, chances: tuple[float, float, float] = (right, single, both)) -> Tried:
            counts = rng.multinomial(n, chances, draws)
            known, where = np.unique(counts, axis=0, return_inverse=True)
            found = [f1(int(a), int(b), both=int(c)) for a, b, c in known]
            low, high = (
                np.array([getattr(each, end) for each in found])[where.ravel()] for end in ("low", "high")
            )
            return tried(chances[0] / (chances[0] + chances[1] / 2 + chances[2]), low, high)

        yield f"right {right}, single {single}, both {both}", draw


def corrected(n: int) -> Iterator[Point]:
    for share, (sensitivity, wrong, false_rate, right) in itertools.product(
        (0.02, 0.2, 0.5, 0.9), ((0.6, 33, 0.0, 33), (0.9, 100, 0.02, 100), (0.3, 50, 0.01, 100))
    ):

        def draw(
            rng: Rng,
            draws: int,
            share: float = share,
            known: tuple[float, int, float, int] = (sensitivity, wrong, false_rate, right),
        ) -> Tried:
            found, bad, false, good = known
            alarms = rng.binomial(n, share * found + (1 - share) * false, draws)
            samples = (
                (alarms, n),
                (rng.binomial(bad, found, draws), bad),
                (rng.binomial(good, false, draws), good),
            )
            value, (low, high) = corrected_bounds(*samples)
            # As `rogan_gladen` does: cut where the value is possible, and it is never denied.
            inside = (value >= 0) & (value <= 1)
            low, high = (np.where(inside, np.clip(end, 0, 1), end) for end in (low, high))
            return tried(share, np.fmin(low, value), np.fmax(high, value))

        yield f"share {share}, finds {sensitivity} of {wrong}, false {false_rate} of {right}", draw


def means(n: int) -> Iterator[Point]:
    for tail in TAILS:

        def draw(rng: Rng, draws: int, tail: str = tail) -> Tried:
            values = values_of(rng, tail, draws, n)
            return tried(
                0.0, *jackknife_bounds(values.mean(axis=-1), leave_one_out(values, np.ones((draws, n))))
            )

        yield tail, draw


def clustered_means(n: int) -> Iterator[Point]:
    for tail, alike, kind in itertools.product(TAILS, ALIKE, SIZES):

        def draw(rng: Rng, draws: int, tail: str = tail, alike: float = alike, kind: str = kind) -> Tried:
            sizes = sizes_of(rng, kind, (draws, n))
            totals = totals_of(rng, tail, sizes, alike)
            value = totals.sum(axis=-1) / sizes.sum(axis=-1)
            left_out = leave_one_out(totals, sizes.astype(float))
            return tried(0.0, *jackknife_bounds(value, left_out, kish(sizes.astype(float))))

        yield f"{tail}, icc {alike}, {kind}", draw


def means_of_counts(n: int) -> Iterator[Point]:
    for name, mean in (("poisson", 3.0), ("geometric", 2.0)):

        def draw(rng: Rng, draws: int, name: str = name, mean: float = mean) -> Tried:
            drawn = (
                rng.poisson(mean, (draws, n)) if name == "poisson" else rng.geometric(1 / mean, (draws, n))
            )
            found = [
                mean_of_counts(
                    dict(zip(*map(np.ndarray.tolist, np.unique(row, return_counts=True)), strict=True))
                )
                for row in drawn
            ]
            return tried(mean, *_ends(found))

        yield name, draw


def paired_verdicts(n: int) -> Iterator[Point]:
    pairs = (
        (0.02, 0.02),
        (0.1, 0.1),
        (0.25, 0.25),
        (0.5, 0.5),
        (0.1, 0.02),
        (0.3, 0.05),
        (0.5, 0.1),
        (0.8, 0.05),
    )
    for (won, lost), (alike, kind) in itertools.product(
        pairs, ((0.0, "1 each"), *itertools.product((0.0, 0.3, 0.6), SIZES))
    ):

        def draw(
            rng: Rng, draws: int, won: float = won, lost: float = lost, alike: float = alike, kind: str = kind
        ) -> Tried:
            sizes = np.ones((draws, n), dtype=int) if kind == "1 each" else sizes_of(rng, kind, (draws, n))
            # How often a pair differs is a cluster's own; which side wins, too.
            differs = rng.binomial(sizes, shares_of(rng, sizes.shape, won + lost, alike))
            wins = rng.binomial(differs, shares_of(rng, sizes.shape, won / (won + lost), alike))
            # Both are drawn apart, so the mean of their product is that of the means.
            return _paired((2.0 * wins - differs), sizes.astype(float), won - lost, verdicts=True)

        yield f"won {won}, lost {lost}, icc {alike}, {kind}", draw


def paired_scores(n: int) -> Iterator[Point]:
    for tail, alike, kind, shift in itertools.product(
        ("normal", "double exponential"), (0.0, 0.3, 0.6), SIZES, (0.0, 0.5)
    ):

        def draw(
            rng: Rng,
            draws: int,
            tail: str = tail,
            alike: float = alike,
            kind: str = kind,
            shift: float = shift,
        ) -> Tried:
            sizes = sizes_of(rng, kind, (draws, n))
            totals = totals_of(rng, "normal" if tail == "normal" else "exponential", sizes, alike)
            if tail != "normal":
                totals = totals - totals_of(rng, "exponential", sizes, alike)
            return _paired(totals + shift * sizes, sizes.astype(float), shift, verdicts=False)

        yield f"{tail}, shift {shift}, icc {alike}, {kind}", draw


def _paired(totals: Array, sizes: Array, truth: float, *, verdicts: bool) -> Tried:
    (low, high), p = paired_bounds(totals, sizes, verdicts=verdicts)
    # As `paired_difference` does: no interval denies its own value.
    value = totals.sum(axis=-1) / sizes.sum(axis=-1)
    low, high = np.minimum(low, value), np.maximum(high, value)
    rejects = p < 0.05
    apart = (low > 0) | (high < 0)
    return tried(truth, low, high, rejects=rejects if truth == 0 else None, disagrees=rejects != apart)


def kappas(n: int) -> Iterator[Point]:
    for (name, chances), kappa in itertools.product(NAMES.items(), KAPPAS):

        def draw(rng: Rng, draws: int, chances: tuple[float, ...] = chances, kappa: float = kappa) -> Tried:
            names = len(chances)
            cells = kappa * np.diag(chances) + (1 - kappa) * np.outer(chances, chances)
            tables = (
                rng.multinomial(n, cells.ravel() / cells.sum(), draws)
                .reshape(draws, names, names)
                .astype(float)
            )
            used = ((tables.sum(axis=-1) + tables.sum(axis=-2)) > 0).sum(axis=-1)
            # Labels that nobody used do not exist for `cohens_kappa`.
            low, high = np.full(draws, np.nan), np.full(draws, np.nan)
            for row in np.flatnonzero(used < names):
                seen = (tables[row].sum(axis=0) + tables[row].sum(axis=1)) > 0
                if used[row] > 1:
                    low[row], high[row] = kappa_bounds(tables[row][np.ix_(seen, seen)])
            whole = used == names
            low[whole], high[whole] = kappa_bounds(tables[whole])
            return tried(kappa, low, high)

        yield f"kappa {kappa}, labels {name}", draw


def nominal_alphas(n: int) -> Iterator[Point]:
    for (name, chances), alpha, people, model in itertools.product(
        NAMES.items(), KAPPAS, (3, 5), ("person", "item")
    ):

        def draw(
            rng: Rng,
            draws: int,
            chances: tuple[float, ...] = chances,
            alpha: float = alpha,
            people: int = people,
            model: str = model,
        ) -> Tried:
            edges = np.cumsum(chances)[:-1]
            said, truth = (np.searchsorted(edges, rng.random((draws, n, many))) for many in (people, 1))
            sure = (
                rng.random((draws, n, people)) < np.sqrt(alpha)
                if model == "person"
                else rng.random((draws, n, 1)) < alpha
            )
            said = np.where(sure, truth, said)
            counts = (said[..., None] == np.arange(len(chances))).sum(axis=-2).astype(float)
            used = (counts.sum(axis=-2) > 0).sum(axis=-1)
            low, high = np.full(draws, np.nan), np.full(draws, np.nan)
            for row in np.flatnonzero((used < len(chances)) & (used > 1)):
                low[row], high[row] = nominal_bounds(counts[row][:, counts[row].sum(axis=0) > 0])
            whole = used == len(chances)
            low[whole], high[whole] = nominal_bounds(counts[whole])
            return tried(alpha, low, high)

        yield f"alpha {alpha}, labels {name}, {people} people, unsure by {model}", draw


def interval_alphas(n: int) -> Iterator[Point]:
    for tail, alpha, people in itertools.product(TAILS, KAPPAS, (2, 3, 5)):

        def draw(rng: Rng, draws: int, tail: str = tail, alpha: float = alpha, people: int = people) -> Tried:
            items = values_of(rng, tail, draws, n, 1)
            said = np.sqrt(alpha) * items + np.sqrt(1 - alpha) * values_of(rng, tail, draws, n, people)
            said = said - said.mean(axis=(-1, -2), keepdims=True)
            means = said.mean(axis=-1)
            within = ((said - means[..., None]) ** 2).sum(axis=-1)
            return tried(alpha, *interval_bounds(means, within, np.full((draws, n), float(people))))

        yield f"alpha {alpha}, {tail}, {people} people", draw


def _related(rng: Rng, tail: str, r: float, alike: float, *shape: int) -> tuple[Array, Array]:
    """Pairs with correlation r, in clusters on the axis before the last."""

    def pair(*own: int) -> tuple[Array, Array]:
        common = values_of(rng, tail, *own)
        one, other = (np.sqrt(r) * common + np.sqrt(1 - r) * values_of(rng, tail, *own) for _ in range(2))
        return one, other

    inside, between = pair(*shape), pair(*shape[:-1], 1)
    one, other = (np.sqrt(alike) * b + np.sqrt(1 - alike) * i for b, i in zip(between, inside, strict=True))
    return one, other


@functools.cache
def _true_rank(statistic: str, tail: str, r: float, alike: float, size: int) -> float:
    """Of ranks, by two million draws."""
    one, other = (
        each.ravel()
        for each in _related(stream(0, "coverage/ranks"), tail, r, alike, 2_000_000 // size, size)
    )
    if statistic == "kendall":
        return float(kendalltau(one, other).statistic)
    return float(np.corrcoef(rankdata(one), rankdata(other))[0, 1])


def correlations(statistic: Any, clustered: bool, n: int) -> Iterator[Point]:
    shapes = itertools.product((0.3, 0.6), (4,)) if clustered else ((0.0, 1),)
    for (alike, size), tail, r in itertools.product(list(shapes), TAILS, (0.0, 0.3, 0.6, 0.9)):

        def draw(
            rng: Rng, draws: int, tail: str = tail, r: float = r, alike: float = alike, size: int = size
        ) -> Tried:
            if n * size < (5 if statistic == "kendall" else 4):
                none = np.full(draws, np.nan)
                return tried(0.0, none, none)
            truth = r if statistic == "pearson" else _true_rank(statistic, tail, r, alike, size)
            one, other = (
                each.reshape(draws, n * size) for each in _related(rng, tail, r, alike, draws, n, size)
            )
            if statistic == "kendall":
                value = np.array([kendalltau(a, b).statistic for a, b in zip(one, other, strict=True)])
                z, reach, p = fisher_test(value, None, n, statistic)
            else:
                if statistic == "spearman":
                    one, other = rankdata(one, axis=-1), rankdata(other, axis=-1)
                x, y = one - one.mean(axis=-1, keepdims=True), other - other.mean(axis=-1, keepdims=True)
                columns = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=-1)
                sums = columns.reshape(draws, n, size, 6).sum(axis=-2)
                whole = sums.sum(axis=1)
                value = _pearson(whole)
                z, reach, p = fisher_test(value, _pearson(whole[:, None] - sums), n * size, statistic)
            low, high = np.minimum(np.tanh(z - reach), value), np.maximum(np.tanh(z + reach), value)
            rejects = p < 0.05
            return tried(
                truth,
                low,
                high,
                rejects=rejects if r == 0 else None,
                disagrees=rejects != ((low > 0) | (high < 0)),
            )

        yield f"r {r}, {tail}, icc {alike}", draw


def regressions(n: int) -> Iterator[Point]:
    for tail in TAILS:

        def draw(rng: Rng, draws: int, tail: str = tail) -> Tried:
            if n < 4:
                none = np.full(draws, np.nan)
                return tried(0.0, none, none)
            found = []
            for _ in range(draws):
                bleu, distilled = rng.normal(30, 5, n), np.arange(n) % 2.0
                outcome = 0.5 * bleu + values_of(rng, tail, n)
                found.append(
                    regress(outcome, {"bleu": bleu, "distilled": distilled}).coefficients["distilled"]
                )
            low, high = _ends([each.estimate for each in found])
            rejects = np.array([each.p < 0.05 for each in found])
            return tried(0.0, low, high, rejects=rejects, disagrees=rejects != ((low > 0) | (high < 0)))

        yield tail, draw


def over_seeds(n: int) -> Iterator[Point]:
    def mean(rng: Rng, draws: int) -> Tried:
        return tried(0.0, *_ends([mean_and_sd(row)[0] for row in rng.normal(size=(draws, n)).tolist()]))

    def deviation(rng: Rng, draws: int) -> Tried:
        return tried(1.0, *_ends([mean_and_sd(row)[1] for row in rng.normal(size=(draws, n)).tolist()]))

    def groups(rng: Rng, draws: int) -> Tried:
        one, other = rng.normal(size=(draws, n)).tolist(), (2 * rng.normal(size=(draws, n))).tolist()
        return tried(0.0, *_ends([welch(a, b) for a, b in zip(one, other, strict=True)]))

    yield from (("mean", mean), ("standard deviation", deviation), ("Welch's difference", groups))


def _ends(found: list[Any]) -> tuple[Array, Array]:
    return np.array([each.low for each in found]), np.array([each.high for each in found])


@functools.cache
def _pool(metric: str, worse: bool) -> Array:
    """Statistics of 4,000 made-up sentences of all qualities; `worse`: with each ninth word lost."""
    rng = stream(0, "coverage/sentences")
    words = np.array([f"w{number}" for number in range(400)])
    chances = 1 / np.arange(1, 401)
    hypotheses, references = [], []
    for _ in range(4000):
        reference = rng.choice(words, int(np.clip(rng.gamma(4, 5), 4, 60)), p=chances / chances.sum())
        other = rng.choice(words, len(reference), p=chances / chances.sum())
        said = np.where(rng.random(len(reference)) < rng.beta(3, 2), reference, other)
        hypotheses.append(" ".join(word for place, word in enumerate(said) if not (worse and place % 9 == 8)))
        references.append([" ".join(reference)])
    found: Array = find_metric(metric).statistics(hypotheses, references)
    return found


def corpus_score(metric: str, sums: Array) -> Array:
    """`Metric.corpus` of many sums at once; a test holds one against the other."""
    if metric == "chrf":
        parts = sums.reshape(*sums.shape[:-1], -1, 3)
        return _f_scores(parts[..., 0], parts[..., 1], parts[..., 2])
    system, reference, right, all_of = sums[..., 0], sums[..., 1], sums[..., 2:6], sums[..., 6:10]
    with np.errstate(divide="ignore", invalid="ignore"):
        halved = 2.0 ** np.cumsum(right == 0, axis=-1)  # sacreBLEU's smoothing of orders without a match
        precision = np.where(right > 0, right / all_of, 1 / (halved * all_of))
        brevity = np.where(system < reference, np.exp(1 - reference / system), 1.0)
        found: Array = 100 * brevity * np.exp(np.log(precision).mean(axis=-1))
    return found


def corpora(n: int) -> Iterator[Point]:
    for metric, paired in itertools.product(("bleu", "chrf"), (False, True)):

        def draw(rng: Rng, draws: int, metric: str = metric, paired: bool = paired) -> Tried:
            good, bad = (_pool(metric, worse) for worse in (False, True))
            chosen = rng.integers(0, len(good), (draws, n))
            truth, value, left_out = 0.0, np.zeros(draws), np.zeros((draws, n))
            for sign, pool in ((1, good), (-1, bad)) if paired else ((1, good),):
                sums = pool[chosen]
                whole = sums.sum(axis=1)
                truth += sign * float(corpus_score(metric, pool.sum(axis=0)))
                value = value + sign * corpus_score(metric, whole)
                left_out = left_out + sign * corpus_score(metric, whole[:, None] - sums)
            low, high = jackknife_bounds(value, left_out)
            return (
                tried(truth, low, high) if paired else tried(truth, np.maximum(low, 0), np.minimum(high, 100))
            )

        yield f"{metric}{', difference of two systems' if paired else ''}", draw


KINDS: dict[str, Callable[[int], Iterator[Point]]] = {
    "proportion": proportions,
    "proportion, clustered": clustered_proportions,
    "proportion, weighted": weighted_proportions,
    "smallest of three proportions": minima,
    "difference of independent proportions": differences,
    "F1": f1_scores,
    "corrected rate": corrected,
    "mean": means,
    "mean, clustered": clustered_means,
    "mean of counts": means_of_counts,
    "paired difference of verdicts": paired_verdicts,
    "paired difference of scores": paired_scores,
    "kappa": kappas,
    "alpha, names": nominal_alphas,
    "alpha, numbers": interval_alphas,
    **{
        f"{statistic}{', clustered' if clustered else ''}": functools.partial(correlations, statistic, clustered)
        for statistic, clustered in (
            ("pearson", False), ("pearson", True), ("spearman", False), ("spearman", True), ("kendall", False)
        )
    },
    "regression": regressions,
    "over seeds": over_seeds,
    "corpus score": corpora,
}  # fmt: skip
