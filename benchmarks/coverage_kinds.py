"""Every kind of interval that a command prints: `coverage_simple`, agreement, correlations, corpus scores."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.stats import kendalltau, rankdata

from babelscope.metrics.base import find_metric
from babelscope.metrics.chrf import f_scores
from babelscope.stats.agreement import interval_bounds, kappa_bounds, nominal_bounds
from babelscope.stats.correlation import _pearson, fisher_test
from babelscope.stats.intervals import (
    jackknife_bounds,
    mean_and_sd,
    welch,
)
from babelscope.stats.regression import regress
from babelscope.util.seeds import stream
from benchmarks.coverage_simple import (
    KAPPAS,
    NAMES,
    TAILS,
    Array,
    Point,
    Rng,
    Tried,
    clustered_means,
    clustered_proportions,
    corrected,
    differences,
    ends_of,
    f1_scores,
    means,
    means_of_counts,
    minima,
    paired_scores,
    paired_verdicts,
    proportions,
    tried,
    values_of,
    weighted_proportions,
)


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
                outcome = (0.5 * bleu + values_of(rng, tail, n)).tolist()
                variables = {"bleu": bleu.tolist(), "distilled": distilled.tolist()}
                found.append(regress(outcome, variables)[-1])
            low, high = ends_of([each.estimate for each in found])
            rejects = np.array([float(each.labels["p"]) < 0.05 for each in found])
            return tried(0.0, low, high, rejects=rejects, disagrees=rejects != ((low > 0) | (high < 0)))

        yield tail, draw


def over_seeds(n: int) -> Iterator[Point]:
    def mean(rng: Rng, draws: int) -> Tried:
        return tried(0.0, *ends_of([mean_and_sd(row)[0] for row in rng.normal(size=(draws, n)).tolist()]))

    def deviation(rng: Rng, draws: int) -> Tried:
        return tried(1.0, *ends_of([mean_and_sd(row)[1] for row in rng.normal(size=(draws, n)).tolist()]))

    def groups(rng: Rng, draws: int) -> Tried:
        one, other = rng.normal(size=(draws, n)).tolist(), (2 * rng.normal(size=(draws, n))).tolist()
        return tried(0.0, *ends_of([welch(a, b) for a, b in zip(one, other, strict=True)]))

    yield from (("mean", mean), ("standard deviation", deviation), ("Welch's difference", groups))


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
        return f_scores(parts[..., 0], parts[..., 1], parts[..., 2])
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
