"""Measures of reordering, against brute force and scipy."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from babelscope.making.challenge import Limits, measure_order
from babelscope.making.challenge.reordering import _crossings

POINTS = st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=14).map(
    lambda found: tuple(sorted(found))
)
PERMUTATIONS = st.integers(2, 9).flatmap(lambda n: st.permutations(range(n)))


def crosses(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return (one[0] - other[0]) * (one[1] - other[1]) < 0


@given(POINTS)
def test_crossings_as_counted_one_by_one(points: tuple[tuple[int, int], ...]) -> None:
    crossed, pairs = _crossings(points)
    assert crossed == [sum(crosses(one, other) for other in points) for one in points]
    assert 2 * pairs == sum(crossed)


@given(POINTS)
def test_tau_is_kendalls_tau_b(points: tuple[tuple[int, int], ...]) -> None:
    order = measure_order(points, 8, 8)
    wanted = kendalltau(*zip(*points, strict=True)).statistic if len(points) > 1 else math.nan
    if order.tau is None:
        assert math.isnan(wanted)
    else:
        assert order.tau == pytest.approx(wanted)


@given(POINTS.filter(bool), st.integers(8, 20), st.integers(8, 20))
def test_the_farthest_links(points: tuple[tuple[int, int], ...], source: int, target: int) -> None:
    order = measure_order(points, source, target)
    assert order.difference is not None
    assert order.difference.measure == max(abs(i - j) for i, j in points)
    assert order.normalised is not None
    mean = (source + target - 2) / 2
    lines = [abs(i / (source - 1) - j / (target - 1)) * mean for i, j in points]
    assert order.normalised.measure == pytest.approx(max(lines))
    for point in (order.difference, order.normalised, order.crossing):
        assert point is not None
        assert (point.source, point.target) in points


@given(PERMUTATIONS)
def test_turning_a_pair_round_changes_nothing(permutation: list[int]) -> None:
    n = len(permutation)
    links = tuple(enumerate(permutation))
    order, back = measure_order(links, n, n), measure_order(tuple((j, i) for i, j in links), n, n)
    assert order.tau == pytest.approx(back.tau)
    assert order.difference is not None
    assert back.difference is not None
    assert order.difference.measure == back.difference.measure
    # Of sentences of one length, the normalised difference is the difference.
    assert order.normalised is not None
    assert order.normalised.measure == pytest.approx(order.difference.measure)
    mirrored = measure_order(tuple((i, n - 1 - j) for i, j in links), n, n)
    assert mirrored.tau == pytest.approx(-(order.tau or 0))


def test_length_is_not_order() -> None:
    """Words in their old order, in a sentence twice as long: the paper's measure calls it reordered."""
    links = tuple((n, 2 * n) for n in range(10))
    order = measure_order(links, 10, 19)
    words = [f"w{n}" for n in range(19)]
    assert order.difference is not None
    assert order.difference.measure == 9
    assert order.normalised is not None
    assert order.normalised.measure == pytest.approx(0)
    assert order.tau == pytest.approx(1)
    (instance,) = Limits().instances(order, words[:10], words)
    assert instance.phenomenon == "reordering"
    assert (instance.head, instance.dependent, instance.distance) == (10, 19, 9)
    assert (instance.head_form, instance.dependent_form) == ("w9", "w18")


def test_a_reversed_sentence_is_reordered_by_every_measure() -> None:
    links = tuple((n, 5 - n) for n in range(6))
    order = measure_order(links, 6, 6)
    assert order.tau == -1
    found = Limits().instances(order, list("abcdef"), list("uvwxyz"))
    assert [(each.phenomenon, each.distance) for each in found] == [
        ("reordering", 5),
        ("reordering_normalised", 5),
        ("reordering_crossing", 5),
    ]
    assert (
        Limits(6, -1).instances(order, list("abcdef"), list("uvwxyz"))[0].phenomenon == "reordering_crossing"
    )


@pytest.mark.parametrize(("links", "source", "target"), [((), 3, 3), (((0, 0),), 1, 4), (((0, 3),), 1, 4)])
def test_too_little_to_measure(links: tuple[tuple[int, int], ...], source: int, target: int) -> None:
    order = measure_order(links, source, target)
    assert order.tau is None
    assert (order.difference is None) == (not links)
    if order.normalised is not None:
        assert order.normalised.measure == 0  # a side of one word has no order


def test_a_link_given_twice_counts_once() -> None:
    assert measure_order(((0, 1), (1, 0), (0, 1)), 2, 2) == measure_order(((0, 1), (1, 0)), 2, 2)
