"""kRG with exponential gains and random tie orders, against enumeration of all orders."""

from __future__ import annotations

import itertools
import math

import pytest

from babelscope.metrics.ranking import expected_random_krg, krg, random_krg

LISTS = [[0.1, 0.9, 0.5, 0.5], [0.5, 0.5, 0.5], [0.3, 0.2, 0.1], [0.0, 0.0, 1.0, 1.0, 0.4]]


def gain(relevances: list[int], exponential: bool) -> float:
    return sum(
        (2**each - 1 if exponential else each) / math.log2(rank + 1)
        for rank, each in enumerate(relevances, 1)
    )


def over_tie_orders(qualities: list[float], exponential: bool) -> float:
    """The mean of eq. 13 over all ways to give tied hypotheses ranks of their own."""
    k = len(qualities)
    found = []
    for order in itertools.permutations(range(k)):
        if all(qualities[one] >= qualities[other] for one, other in itertools.pairwise(order)):
            relevance = {number: k - 1 - rank for rank, number in enumerate(order)}
            found.append(gain([relevance[number] for number in range(k)], exponential))
    return sum(found) / len(found) / gain(list(range(k - 1, -1, -1)), exponential)


@pytest.mark.parametrize("qualities", LISTS)
def test_random_ties_are_the_mean_over_their_orders(qualities: list[float]) -> None:
    assert krg(qualities, ties="random") == pytest.approx(over_tie_orders(qualities, False))
    both = krg(qualities, gains="exponential", ties="random")
    assert both == pytest.approx(over_tie_orders(qualities, True))


@pytest.mark.parametrize("qualities", LISTS)
@pytest.mark.parametrize("ties", ["shared", "random"])
def test_the_random_value_is_the_mean_over_all_orders(qualities: list[float], ties: str) -> None:
    how = {"gains": "exponential", "ties": ties}
    orders = [krg(order, **how) for order in itertools.permutations(qualities)]  # type: ignore[arg-type]
    assert random_krg(qualities, **how) == pytest.approx(sum(orders) / len(orders))  # type: ignore[arg-type]


def test_without_ties_they_are_ranked_alike() -> None:
    assert krg(LISTS[2], ties="random") == krg(LISTS[2]) == 1
    assert krg([0.9, 0.5, 0.5]) == 1
    assert krg([0.9, 0.5, 0.5], ties="random") < 1


def test_exponential_gains_of_a_random_order_and_of_long_lists() -> None:
    assert random_krg(range(10), gains="exponential") == pytest.approx(0.5875, abs=5e-5)
    assert expected_random_krg(10) == pytest.approx(0.8042, abs=5e-5)
    assert krg(range(2000, 0, -1), gains="exponential") == pytest.approx(1)
