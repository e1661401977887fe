"""Stochastic beam search against full enumeration: what it draws, how often, and what its estimators estimate."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from babelscope.core.system import Drawing
from babelscope.decoding.model import OpenModel, score_targets
from babelscope.decoding.sampling import Distinct, draw_distinct, estimated_mean, importance_weights
from babelscope.util.errors import BabelscopeError
from tests.support.open_toys import Table, enumerated, toy

LIMIT = 3
SOURCE = [2, 3, 0]


def table() -> OpenModel:
    """Nothing to compute, so that thousands of seeds are quick."""
    logits = np.random.default_rng(1).normal(0, 1.5, (5, 5))
    return Table(logits.tolist())


def drawn_often(model: OpenModel, n: int, times: int) -> list[Distinct]:
    """Draws with many seeds."""
    return [draw_distinct(model, [SOURCE], n=n, seed=seed, limit=LIMIT)[0] for seed in range(times)]


def totals(drawn: Distinct) -> list[float]:
    return [math.fsum(each.logprobs) for each in drawn.samples]


def test_all_are_different_and_scored_by_the_model() -> None:
    model = toy()
    sources = [[2, 0], [3, 2, 0], [3, 3, 2, 0]]
    together = draw_distinct(model, sources, n=25, seed=4, limit=5)
    for source, drawn in zip(sources, together, strict=True):
        targets = [each.ids for each in drawn.samples]
        assert len(set(map(tuple, targets))) == 25
        [(_, scores)] = score_targets(model, [source], [targets], budget=4096)
        for each, right in zip(drawn.samples, scores, strict=True):
            assert each.logprobs == pytest.approx(right, abs=1e-4)
            assert len(each.ids) <= 5
            assert (each.ids[-1] == 0) or len(each.ids) == 5
    # Neither other sources nor their order matter.
    assert draw_distinct(model, sources[::-1], n=25, seed=4, limit=5) == together[::-1]
    assert draw_distinct(model, sources[1:2], n=25, seed=4, limit=5) == together[1:2]
    assert draw_distinct(model, sources[:1], n=25, seed=5, limit=5) != together[:1]


def test_a_space_that_is_too_small_is_drawn_whole() -> None:
    model = toy()
    right = enumerated(model, SOURCE, LIMIT, Drawing())
    [drawn] = draw_distinct(model, [SOURCE], n=len(right) + 5, seed=1, limit=LIMIT)
    assert {tuple(each.ids) for each in drawn.samples} == right.keys()
    assert drawn.threshold == -math.inf
    lengths = [len(each.ids) for each in drawn.samples]
    exact = sum(share * len(ids) for ids, share in right.items())
    assert importance_weights(totals(drawn), drawn.threshold).sum() == pytest.approx(1, abs=1e-6)
    assert estimated_mean(lengths, totals(drawn), drawn.threshold) == pytest.approx(exact, abs=1e-5)
    # One fewer than there are: the threshold is that of the one left out.
    [most] = draw_distinct(model, [SOURCE], n=len(right) - 1, seed=1, limit=LIMIT)
    assert most.samples == drawn.samples[:-1]
    assert -math.inf < most.threshold < 10


def test_the_order_is_that_of_drawing_without_replacement() -> None:
    """P(first, second) = p(first) p(second) / (1 - p(first))."""
    model = table()
    right = enumerated(model, SOURCE, 2, Drawing())
    times = 1500
    pairs = Counter(
        tuple(tuple(each.ids) for each in draw_distinct(model, [SOURCE], n=2, seed=seed, limit=2)[0].samples)
        for seed in range(times)
    )
    expected = {
        (a, b): right[a] * right[b] / (1 - right[a]) * times for a, b in itertools.permutations(right, 2)
    }
    assert not pairs.keys() - expected.keys()
    often = [pair for pair, count in expected.items() if count >= 5]
    seen = [pairs[pair] for pair in often]
    wanted = [expected[pair] for pair in often]
    seen.append(times - sum(seen))
    wanted.append(times - sum(wanted))
    assert chisquare(seen, wanted).pvalue > 1e-3
    # With replacement, as a check of the check: P(first, second) = p(first) p(second).
    replaced = [right[a] * right[b] * times for a, b in often]
    assert chisquare(seen, [*replaced, times - sum(replaced)]).pvalue < 1e-6


@pytest.mark.parametrize("n", [2, 8])
def test_the_estimator_is_unbiased(n: int) -> None:
    """Means over many seeds are within four standard errors of the enumerated expectation."""
    model = table()
    right = enumerated(model, SOURCE, LIMIT, Drawing())
    values = {ids: math.log(share) for ids, share in right.items()}
    exact = sum(share * values[ids] for ids, share in right.items())  # minus the entropy
    draws = drawn_often(model, n, 1000)
    plain, estimates, normalized, ones = (np.empty(len(draws)) for _ in range(4))
    for number, drawn in enumerate(draws):
        logs, here = totals(drawn), [values[tuple(each.ids)] for each in drawn.samples]
        plain[number] = np.mean(here)
        estimates[number] = estimated_mean(here, logs, drawn.threshold)
        normalized[number] = estimated_mean(here, logs, drawn.threshold, normalized=True)
        ones[number] = estimated_mean([1.0] * n, logs, drawn.threshold)

    def error(of: np.ndarray) -> float:
        return float(of.std(ddof=1)) / math.sqrt(len(of))

    assert estimates.mean() == pytest.approx(exact, abs=4 * error(estimates))
    assert ones.mean() == pytest.approx(1, abs=4 * error(ones))
    # The normalized one is not unbiased, but varies less.
    assert normalized.std() < estimates.std()
    assert normalized.mean() == pytest.approx(exact, abs=0.5 / n)
    # The check of the check: unweighted, distinct samples are rarer ones than the model's.
    assert n == 2 or plain.mean() < exact - 10 * error(plain)


def test_weights_of_what_is_far_below_the_threshold() -> None:
    weights = importance_weights([-800.0, -1.0], threshold=-3.0)
    assert weights[0] == pytest.approx(math.exp(-3))
    assert weights[1] == pytest.approx(math.exp(-1) / (1 - math.exp(-math.exp(2))))


def test_no_samples_are_refused() -> None:
    with pytest.raises(BabelscopeError, match="at least one sample"):
        draw_distinct(toy(), [SOURCE], n=0, seed=1, limit=LIMIT)
