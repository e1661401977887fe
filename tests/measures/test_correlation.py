"""Correlations are scipy's; intervals cover, sentences of one item go together, bad files are told."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr

from babelscope.errors import BabelscopeError
from babelscope.measures.correlation import correlation, human_correlations, parse_scores

RNG = np.random.default_rng(3)
THEIRS = {"pearson": pearsonr, "spearman": spearmanr, "kendall": kendalltau}


@pytest.mark.parametrize("statistic", THEIRS)
def test_the_value_is_scipys(statistic: str) -> None:
    first = RNG.normal(size=20)
    second = first + RNG.normal(size=20)
    found = correlation(first.tolist(), second.tolist(), statistic)
    assert found.value == pytest.approx(THEIRS[statistic](first, second).statistic)
    assert -1 < found.low < found.value < found.high < 1
    assert found.n == 20
    if statistic == "pearson":
        theirs = pearsonr(first, second).confidence_interval()
        assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-6)


@pytest.mark.parametrize("statistic", THEIRS)
def test_intervals_cover_the_truth_of_a_normal_pair(statistic: str) -> None:
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


def test_few_points_leave_much_open() -> None:
    assert correlation([1, 2, 3], [1, 2, 4], "spearman").low == -1
    perfect = correlation([1, 2, 3, 4], [1, 2, 3, 4], "spearman")
    assert (perfect.value, perfect.high) == (1, 1)
    assert perfect.low < 0
    assert correlation([1.0, 1.0, 1.0], [1, 2, 3], "pearson").n == 0


def test_human_correlations_over_sentences_and_systems() -> None:
    units = [(system, str(item)) for system in "abcd" for item in range(30)]
    human = {unit: float(RNG.normal()) + "abcd".index(unit[0]) for unit in units}
    metric = {unit: score + float(RNG.normal()) for unit, score in human.items() if unit != ("a", "0")}
    metric["e", "7"] = 1.0
    rows = human_correlations(human, {"m": metric}, lambda: np.random.default_rng(1), resamples=200)
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
        human_correlations(human, {"nothing": {("x", "y"): 1.0}}, lambda: RNG)


def test_score_files() -> None:
    lines = [("f:1", {"system": "a", "id": 1, "score": 2}), ("f:2", {"system": "a", "id": "1", "score": 4})]
    assert parse_scores(lines, average=True) == {("a", "1"): 3.0}
    with pytest.raises(BabelscopeError, match="f:2: item 1 of a is scored twice"):
        parse_scores(lines)
    assert parse_scores([("f:1", {"system": "a", "id": "1", "kqrg": None})], field="kqrg") == {}
    for record, message in [
        ({"system": "a", "id": "1"}, "f:1: field 'score' must be a finite number"),
        ({"system": "a", "id": "1", "score": True}, "f:1: field 'score' must be a finite number"),
        ({"id": "1", "score": 1.0}, "f:1 needs the fields 'system' and 'id'"),
    ]:
        with pytest.raises(BabelscopeError, match=message):
            parse_scores([("f:1", record)])
