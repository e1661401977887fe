"""A small part of `make coverage`: intervals cover the truth as often as they say, and agree with their tests."""

from __future__ import annotations

import numpy as np
import pytest

from babelscope.metrics.base import find_metric
from benchmarks.coverage import missed, outcome_of, page, summary
from benchmarks.coverage_kinds import KINDS, corpus_score

# More than what 500 draws a point explain would be needed to miss these.
MEAN, LEAST = 0.91, 0.84


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind not in ("kendall", "regression", "mean of counts")]
)
@pytest.mark.parametrize("n", [5, 20])
def test_intervals_cover_the_truth(kind: str, n: int) -> None:
    points = list(KINDS[kind](n))
    found = [outcome_of(kind, n, point, 500) for point in points[:: max(1, len(points) // 8)]]
    own = summary(found)
    assert own["mean"] >= MEAN
    assert own["least"] >= LEAST, own["where"]
    assert not own["disagrees"]
    if n >= 20:
        assert own["refused"] <= 0.05
    if own["rejects"] is not None:
        assert own["rejects"] <= 0.05 + 4 * (0.05 * 0.95 / 500) ** 0.5


def test_a_bar_that_is_missed_is_told() -> None:
    good = {"mean": 0.95, "least": 0.9, "refused": 0.0, "rejects": 0.05, "disagrees": 0.0}
    assert missed(20, good, 5000) == []
    for changed, why in (
        ({"mean": 0.92}, "mean below 93 %"),
        ({"mean": 0.99}, "mean above 98 %"),
        ({"least": 0.87}, "a point below 88 %"),
        ({"refused": 0.06}, "over 5 % refused"),
        ({"rejects": 0.07}, "too many rejections"),
        ({"disagrees": 0.001}, "interval and p disagree"),
        ({"mean": None}, "no interval from n = 20"),
    ):
        assert missed(20, {**good, **changed}, 5000) == [why]
    assert missed(3, {**good, "mean": 0.89}, 5000) == ["mean below 90 %"]
    point = next(iter(KINDS["proportion"](5)))
    first, again = (outcome_of("proportion", 5, point, 50) for _ in range(2))
    assert first == again, "by the seed that the page tells"
    assert "| proportion | 5 | 1 |" in page([first], 0.01)


@pytest.mark.parametrize("metric", ["bleu", "chrf"])
def test_scores_of_many_corpora_at_once_are_those_of_the_metric(metric: str) -> None:
    texts = ["a b c d e f", "a b x d e", "x y z", "d e f a b c g"]
    rows = find_metric(metric).statistics(texts, [["a b c d e f"], ["a b c d e"], ["u v w"], ["d e f a b c"]])
    sums = np.stack([rows.sum(axis=0), rows[:2].sum(axis=0), rows[2:].sum(axis=0)])
    assert corpus_score(metric, sums).tolist() == pytest.approx(
        [find_metric(metric).corpus(each) for each in sums]
    )
