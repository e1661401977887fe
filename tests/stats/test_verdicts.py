"""Verdicts about error rates: one agrees with its interval, many are corrected for their number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as some

from babelscope.core.results import Estimate
from babelscope.stats.intervals import clustered_proportion, proportion
from babelscope.stats.verdicts import error_verdicts

counts = some.integers(10, 400).flatmap(lambda n: some.tuples(some.integers(0, n), some.just(n)))
thresholds = some.sampled_from([0.01, 0.05, 0.1, 0.5, 0.9])


@given(counts, thresholds)
def test_one_rate_is_an_error_if_its_interval_is_above_the_threshold(
    count: tuple[int, int], threshold: float
) -> None:
    rate = proportion(*count)
    assume(abs(rate.low - threshold) > 1e-7)
    expected = "error" if rate.low >= threshold else "not significant"
    assert error_verdicts([rate], threshold=threshold) == [expected]


@given(some.lists(some.tuples(some.floats(0, 1), some.sampled_from("abcdefghijklmnop")), min_size=20))
def test_that_holds_of_clustered_items_too(items: list[tuple[float, str]]) -> None:
    rate = clustered_proportion([value for value, _ in items], [cluster for _, cluster in items])
    assume(abs(rate.low - 0.05) > 1e-7)
    assert error_verdicts([rate]) == ["error" if rate.low >= 0.05 else "not significant"]


@given(some.lists(counts, min_size=2, max_size=30), thresholds)
def test_several_rates_are_never_judged_more_liberally(
    found: list[tuple[int, int]], threshold: float
) -> None:
    rates = [proportion(*count) for count in found]
    together = error_verdicts(rates, threshold=threshold)
    for rate, verdict in zip(rates, together, strict=True):
        if verdict == "error":
            assert error_verdicts([rate], threshold=threshold) == ["error"]


@pytest.mark.parametrize("n", [10, 20, 40, 200, 1000])
def test_twenty_rates_at_the_threshold_are_rarely_errors(n: int) -> None:
    rng = np.random.default_rng(n)
    rates = [proportion(wrong, n) for wrong in range(n + 1)]
    drawn = rng.binomial(n, 0.05, size=(400, 20))
    false = sum("error" in error_verdicts([rates[wrong] for wrong in own]) for own in drawn)
    assert false / 400 <= 0.08  # 0.05 and three standard errors


@pytest.mark.parametrize(
    ("rate", "verdict"),
    [
        (proportion(0, 50), "not significant"),
        (proportion(50, 50), "error"),
        (proportion(9, 9), "too few items"),
        (Estimate.empty(), "too few items"),
        (Estimate.without_interval(0.5, 40, "1 sentence"), "unknown"),
        (Estimate(0.3, 0.0, 0.5, 40), "not significant"),
        (Estimate(0.3, 0.3, 0.3, 40), "error"),
        (Estimate(0.05, 0.05, 0.05, 40), "not significant"),
        (Estimate(0.01, 0.01, 0.01, 40), "not significant"),
        (proportion(1, 400), "not significant"),
    ],
)
def test_edges(rate: Estimate, verdict: str) -> None:
    assert error_verdicts([rate]) == [verdict]
    assert error_verdicts([rate, rate]) == [verdict, verdict]


def test_rates_that_cannot_be_tested_are_no_tests() -> None:
    rate = proportion(6, 40)
    assert rate.low > 0.05
    few = [proportion(1, 3)] * 50
    assert error_verdicts([rate, *few])[0] == "error"
    assert error_verdicts([rate] + [proportion(2, 40)] * 50)[0] == "not significant"


def test_no_rates_have_no_verdicts() -> None:
    assert error_verdicts([]) == []
