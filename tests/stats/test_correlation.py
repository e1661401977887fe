"""Correlations are scipy's; intervals cover, sentences of one item go together, bad files are told."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr

from babelscope.core.results import Estimate
from babelscope.stats.correlation import Statistic, correlation, human_correlations, parse_scores
from babelscope.util.errors import BabelscopeError

RNG = np.random.default_rng(3)
THEIRS = {"pearson": pearsonr, "spearman": spearmanr, "kendall": kendalltau}


@pytest.mark.parametrize("statistic", THEIRS)
def test_the_value_is_scipys(statistic: Statistic) -> None:
    first = RNG.normal(size=20)
    second = first + RNG.normal(size=20)
    found = correlation(first.tolist(), second.tolist(), statistic)
    assert found.value == pytest.approx(THEIRS[statistic](first, second).statistic)
    assert -1 < found.low < found.value < found.high < 1
    assert found.n == 20
    if statistic == "pearson":
        theirs = pearsonr(first, second).confidence_interval()
        assert found.low <= theirs.low + 1e-9, "Fisher's interval, or the wider one of the jackknife"
        assert found.high >= theirs.high - 1e-9


@pytest.mark.parametrize("statistic", THEIRS)
def test_intervals_cover_the_truth_of_a_normal_pair(statistic: Statistic) -> None:
    rho, covered, rng = 0.6, 0, np.random.default_rng(5)
    truth = {
        "pearson": rho,
        "spearman": 6 / math.pi * math.asin(rho / 2),
        "kendall": 2 / math.pi * math.asin(rho),
    }
    for _ in range(300):
        x = rng.normal(size=15)
        y = rho * x + math.sqrt(1 - rho**2) * rng.normal(size=15)
        found = correlation(x.tolist(), y.tolist(), statistic)
        covered += found.low <= truth[statistic] <= found.high
    assert covered / 300 > 0.92


@pytest.mark.parametrize(
    ("statistic", "half_step", "variance", "spared"),
    # Half a step of Spearman's rho is 6 / (n^3 - n), of Kendall's tau 2 / (n^2 - n): of 10 points, by hand.
    [("spearman", 6 / 990, 1.5, 3), ("kendall", 2 / 90, 0.437, 4)],
)
def test_ranks_that_agree_perfectly_end_half_a_step_below_one(
    statistic: Statistic, half_step: float, variance: float, spared: int
) -> None:
    ten = [float(number) for number in range(10)]
    # Student's quantile for Kendall's; leaving out one of ten does not change Spearman's.
    reach = (2.262157 if statistic == "kendall" else 1.959964) * math.sqrt(variance / (10 - spared))
    low = math.tanh(math.atanh(1 - half_step) - reach)
    found = correlation(ten, ten, statistic)
    assert (found.value, found.low, found.high) == pytest.approx((1, low, 1), abs=1e-6)
    turned = correlation(ten, ten[::-1], statistic)
    assert (turned.value, turned.low, turned.high) == pytest.approx((-1, -1, -low), abs=1e-6)


@pytest.mark.parametrize(("statistic", "spared"), [("pearson", 3), ("spearman", 3), ("kendall", 4)])
def test_an_interval_needs_more_points_than_it_has_unknowns(statistic: Statistic, spared: int) -> None:
    points, other = [1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 1.0, 4.0, 3.0, 5.0]
    few = correlation(points[:spared], other[:spared], statistic)
    assert (few.no_interval, few.n) == (f"{spared} pairs", spared)
    more = correlation(points[: spared + 1], other[: spared + 1], statistic)
    assert -1 < more.low < more.value < more.high < 1


def test_rounding_takes_no_correlation_beyond_one() -> None:
    for _ in range(200):
        some = RNG.normal(size=5)
        assert correlation(some.tolist(), (3 * some + 1).tolist(), "pearson").value <= 1
        assert correlation(some.tolist(), (-3 * some).tolist(), "pearson").value >= -1


def test_the_interval_over_sentences_is_that_of_resampled_items() -> None:
    items = [(f"s{system}", str(item)) for item in range(40) for system in range(2)]
    truth = {unit: float(RNG.normal()) for unit in items}
    metric = {unit: value + float(RNG.normal()) for unit, value in truth.items()}
    rows = human_correlations(truth, {"m": metric})
    sentence = next(
        row.estimate for row in rows if row.labels["level"] == "sentence" and row.name == "pearson"
    )
    expected = correlation(list(truth.values()), [metric[unit] for unit in truth], "pearson")
    assert sentence.value == pytest.approx(expected.value)
    assert -1 < sentence.low < sentence.value < sentence.high < 1
    # 40 items of two answers are worth about 80 answers here, since answers to one item have nothing in common.
    assert sentence.high - sentence.low == pytest.approx(expected.high - expected.low, rel=0.4)


def test_few_points_leave_much_open() -> None:
    assert correlation([1, 2, 3], [1, 2, 4], "spearman").no_interval == "3 pairs"
    perfect = correlation([1, 2, 3, 4], [1, 2, 3, 4], "spearman")
    assert (perfect.value, perfect.high) == (1, 1)
    assert perfect.low < 0
    assert correlation([1.0, 1.0, 1.0], [1, 2, 3], "pearson").n == 0


def test_human_correlations_over_sentences_and_systems() -> None:
    units = [(system, str(item)) for system in "abcd" for item in range(30)]
    human = {unit: float(RNG.normal()) + "abcd".index(unit[0]) for unit in units}
    metric = {unit: score + float(RNG.normal()) for unit, score in human.items() if unit != ("a", "0")}
    metric["e", "7"] = 1.0
    rows = human_correlations(human, {"m": metric})
    table = {(row.name, row.labels["level"]): row for row in rows}
    both = [unit for unit in units if unit in metric]
    columns = [human[u] for u in both], [metric[u] for u in both]
    sentence = table["pearson", "sentence"]
    assert sentence.estimate.value == pytest.approx(pearsonr(*columns).statistic)
    assert sentence.estimate.low < sentence.estimate.value < sentence.estimate.high
    assert sentence.counts == {"only_human": 1, "only_metric": 1}
    means = [
        [np.mean([scores[u] for u in both if u[0] == system]) for system in "abcd"]
        for scores in (human, metric)
    ]
    assert table["spearman", "system"].estimate.value == pytest.approx(spearmanr(*means).statistic)
    assert table["spearman", "system"].estimate.n == 4
    with pytest.raises(
        BabelscopeError, match="nothing and the human scores have no system and item in common"
    ):
        human_correlations(human, {"nothing": {("x", "y"): 1.0}})


def test_score_files() -> None:
    lines = [("f:1", {"system": "a", "id": 1, "score": 2}), ("f:2", {"system": "a", "id": "1", "score": 4})]
    assert parse_scores(lines, average=True) == {("a", "1"): 3.0}
    with pytest.raises(BabelscopeError, match="f:2: item 1 of a is scored twice"):
        parse_scores(lines)
    assert parse_scores([("f:1", {"system": "a", "id": "1", "kqrg": None})], field="kqrg") == {}
    refused: list[tuple[dict[str, Any], str]] = [
        ({"system": "a", "id": "1"}, "f:1: field 'score' must be a finite number"),
        ({"system": "a", "id": "1", "score": True}, "f:1: field 'score' must be a finite number"),
        ({"id": "1", "score": 1.0}, "f:1 needs the fields 'system' and 'id'"),
    ]
    for record, message in refused:
        with pytest.raises(BabelscopeError, match=message):
            parse_scores([("f:1", record)])


def rows_of(human: dict[str, list[float]], metric: dict[str, list[float]]) -> dict[tuple[str, str], Estimate]:
    """Rows by coefficient and level; scores of each system by item."""
    one, other = (
        {(system, str(item)): score for system, some in scores.items() for item, score in enumerate(some)}
        for scores in (human, metric)
    )
    rows = human_correlations(one, {"m": other})
    return {(row.name, str(row.labels["level"])): row.estimate for row in rows}


def test_systems_are_compared_by_their_own_means() -> None:
    human = {"a": [1.0], "b": [2.0, 4.0], "c": [9.0, 1.0, 2.0], "d": [8.0, 6.0]}
    metric = {"a": [5.0], "b": [1.0, 2.0], "c": [3.0, 4.0, 2.0], "d": [4.0, 8.0]}
    found = rows_of(human, metric)
    means = [1, 3, 4, 7], [5, 1.5, 3, 6]
    assert found["pearson", "system"].value == pytest.approx(pearsonr(*means).statistic)
    assert found["spearman", "system"].value == pytest.approx(spearmanr(*means).statistic)


def test_two_items_say_little_about_others() -> None:
    human = {"a": [1.0, 1.5], "b": [2.0, 2.5], "c": [3.0, 3.5], "d": [4.0, 2.75]}
    metric = {"a": [1.0, 4.0], "b": [2.5, 2.0], "c": [3.0, 3.0], "d": [4.0, 3.75]}
    found = rows_of(human, metric)["pearson", "sentence"]
    whole = pearsonr(*([score for some in side.values() for score in some] for side in (human, metric)))
    assert (found.value, found.no_interval, found.n) == (pytest.approx(whole.statistic), "2 items", 8)


def test_one_item_and_scores_all_alike_say_nothing() -> None:
    one = rows_of({"a": [1.0], "b": [2.0], "c": [3.0]}, {"a": [1.0], "b": [2.0], "c": [4.0]})
    estimate = one["spearman", "sentence"]
    assert (estimate.value, estimate.no_interval, estimate.n) == (pytest.approx(1), "1 items", 3)
    alike = rows_of({"a": [1.0, 2.0], "b": [2.0, 1.0]}, {"a": [5.0, 5.0], "b": [5.0, 5.0]})
    assert alike["pearson", "sentence"].n == 0


@pytest.mark.parametrize("statistic", THEIRS)
def test_what_differs_by_rounding_only_has_no_correlation(statistic: Statistic) -> None:
    assert correlation([1e6, 1e6 + 1e-9, 1e6 - 1e-9], [1.0, 2.0, 3.0], statistic).n == 0
    # Small numbers are no rounding errors.
    assert correlation([1e-9, 2e-9, 3e-9], [1.0, 2.0, 4.0], statistic).value > 0.9
    # Two points always lie on a line.
    two = correlation([1.0, 2.0], [7.0, 5.0], statistic)
    assert (two.value, two.no_interval, two.n) == (pytest.approx(-1), "2 pairs", 2)
