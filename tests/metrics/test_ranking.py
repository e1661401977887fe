"""kRG and kQRG: values by hand, ranges by brute force, the random baseline against simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelscope.metrics.ranking import kqrg, krg, random_krg
from babelscope.util.errors import BabelscopeError

# Few values, so that ties are common; all of them exact in binary.
QUALITY = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
LISTS = st.lists(QUALITY, min_size=2, max_size=12)


def test_by_hand() -> None:
    # Qualities in the model's order; relevances 1, 2, 0; the ideal order has 2, 1, 0.
    model = 1 / math.log2(2) + 2 / math.log2(3) + 0 / math.log2(4)
    ideal = 2 / math.log2(2) + 1 / math.log2(3)
    assert krg([0.5, 0.9, 0.1]) == pytest.approx(model / ideal)
    gains = 0.5 / 1 + 0.9 / math.log2(3) + 0.1 / 2
    assert kqrg([0.5, 0.9, 0.1]) == pytest.approx(gains / (1 + 1 / math.log2(3) + 1 / 2))
    assert kqrg([0.5, 0.9, 0.1], normalize="ideal") == pytest.approx(
        gains / (0.9 + 0.5 / math.log2(3) + 0.1 / 2)
    )


@pytest.mark.parametrize("k", [5, 10, 20, 50, 100, 200])
def test_the_random_baseline_equals_simulation(k: int) -> None:
    rng = np.random.default_rng(k)
    draws = 4_000_000 // k  # short lists vary more
    orders = rng.permuted(np.tile(np.arange(k), (draws, 1)), axis=1)
    # The simulation has its own arithmetic: relevances in random order over those in falling order.
    weights = np.array([1 / math.log2(rank + 1) for rank in range(1, k + 1)])
    simulated = (orders @ weights) / (np.arange(k)[::-1] @ weights)
    assert random_krg(range(k)) == pytest.approx(simulated.mean(), abs=1e-3)
    assert krg(orders[0].tolist()) == pytest.approx(simulated[0])


@pytest.mark.parametrize("k", [2, 3, 5, 6])
def test_range_mean_and_extremes_over_all_orders(k: int) -> None:
    values = {order: krg(order) for order in itertools.permutations(range(k))}
    falling = tuple(reversed(range(k)))
    assert values[falling] == pytest.approx(1)
    assert max(values, key=values.__getitem__) == falling
    assert min(values.values()) == pytest.approx(values[tuple(range(k))]) == pytest.approx(krg(range(k)))
    assert math.fsum(values.values()) / len(values) == pytest.approx(random_krg(range(k)))


def test_what_the_paper_says_of_the_range() -> None:
    """Sections 3.1 and 5: 1 is a perfect ranking, but a completely wrong one is far from 0."""
    assert krg(range(10)) == pytest.approx(0.6085, abs=5e-5)
    assert all(krg(range(k)) > 0.6 for k in range(2, 201))
    # Appendix F: the random value rises with k; it does so from k = 8 on, and falls before.
    baseline = [random_krg(range(k)) for k in range(2, 201)]
    assert all(a > b for a, b in itertools.pairwise(baseline[:7]))
    assert all(a < b for a, b in itertools.pairwise(baseline[6:]))
    # Section 5: with qualities like COMET's, kQRG can be negative; appendix C.2: with chrF's it cannot.
    assert kqrg([-0.6, -1.2, -0.1]) < 0
    assert kqrg([1.0] * 10) == pytest.approx(1)


@given(LISTS)
def test_ranges(qualities: list[float]) -> None:
    assert 0 < krg(qualities) <= 1 + 1e-12
    assert 0 <= kqrg(qualities) <= 1 + 1e-12
    if any(qualities):
        assert kqrg(qualities) <= kqrg(qualities, normalize="ideal") + 1e-12 <= 1 + 1e-9


@given(LISTS)
def test_a_perfect_order_is_1_ties_or_not(qualities: list[float]) -> None:
    falling = sorted(qualities, reverse=True)
    assert krg(falling) == pytest.approx(1)
    assert krg(qualities) <= krg(falling) + 1e-12
    if any(qualities):
        assert kqrg(falling, normalize="ideal") == pytest.approx(1)


@given(LISTS, st.randoms(use_true_random=False))
def test_the_order_of_listing_changes_nothing(qualities: list[float], random: object) -> None:
    logprobs = [-float(place) for place in range(len(qualities))]
    pairs = list(zip(qualities, logprobs, strict=True))
    random.shuffle(pairs)  # type: ignore[attr-defined]
    shuffled = tuple(zip(*pairs, strict=True))
    for measure in (krg, kqrg):
        assert measure(*shuffled) == pytest.approx(measure(qualities))


@given(LISTS, st.floats(-100, 100), st.floats(0.1, 10))
def test_only_the_order_of_probabilities_counts(qualities: list[float], plus: float, times: float) -> None:
    logprobs = [float(-(place // 2)) for place in range(len(qualities))]
    moved = [times * each + plus for each in logprobs]
    assert krg(qualities, moved) == pytest.approx(krg(qualities, logprobs))
    assert kqrg(qualities, moved) == pytest.approx(kqrg(qualities, logprobs))


@given(LISTS)
def test_only_the_order_of_qualities_counts_for_krg(qualities: list[float]) -> None:
    assert krg([math.exp(3 * each) - 7 for each in qualities]) == pytest.approx(krg(qualities))


@given(st.lists(st.tuples(QUALITY, st.integers(-3, 0)), min_size=2, max_size=5))
def test_ties_of_the_model_are_the_mean_over_their_orders(pairs: list[tuple[float, int]]) -> None:
    qualities, logprobs = zip(*pairs, strict=True)
    for measure in (krg, kqrg):
        fair = [
            measure([quality for quality, _ in order])
            for order in itertools.permutations(pairs)
            if all(a[1] >= b[1] for a, b in itertools.pairwise(order))
        ]
        assert measure(qualities, logprobs) == pytest.approx(math.fsum(fair) / len(fair))


@given(st.lists(QUALITY, min_size=2, max_size=5))
def test_random_order_with_ties_is_the_mean_over_all_orders(qualities: list[float]) -> None:
    orders = [krg(order) for order in itertools.permutations(qualities)]
    assert random_krg(qualities) == pytest.approx(math.fsum(orders) / len(orders))


def test_all_equal_is_perfect_and_random_at_once() -> None:
    assert krg([0.4] * 7) == pytest.approx(1) == pytest.approx(random_krg([0.4] * 7))


@given(st.lists(st.floats(0, 1), min_size=2, max_size=12, unique=True))
def test_rounding_leads_no_list_above_1(qualities: list[float]) -> None:
    best_first = sorted(qualities, reverse=True)
    assert krg(best_first) == kqrg(best_first, normalize="ideal") == kqrg([1.0] * len(qualities)) == 1.0


@given(LISTS, QUALITY)
def test_moving_a_better_hypothesis_forward_never_hurts(qualities: list[float], extra: float) -> None:
    for behind in range(1, len(qualities)):
        if qualities[behind] > qualities[behind - 1]:
            swapped = [*qualities]
            swapped[behind - 1 : behind + 1] = qualities[behind], qualities[behind - 1]
            assert krg(swapped) > krg(qualities)
            assert kqrg(swapped) > kqrg(qualities)
    assert kqrg([1.0, *qualities]) >= kqrg([extra, *qualities])


def test_lists_too_short_have_no_figure() -> None:
    assert math.isnan(krg([]))
    assert math.isnan(krg([0.3]))
    assert math.isnan(random_krg([0.3]))
    assert math.isnan(kqrg([]))
    assert kqrg([0.3]) == pytest.approx(0.3)
    assert math.isnan(kqrg([0.0, 0.0], normalize="ideal"))
    assert math.isnan(kqrg([-1.0, -2.0], normalize="ideal"))
    assert kqrg([0.0, 0.0]) == 0


def test_bad_input_is_refused() -> None:
    for measure in (krg, kqrg, random_krg):
        with pytest.raises(BabelscopeError, match="NaN or infinite"):
            measure([0.1, math.nan])
    with pytest.raises(BabelscopeError, match="2 qualities cannot be ranked by 1 log-probabilities"):
        krg([0.1, 0.2], [-1.0])


SHORT_LISTS = [[0.1, 0.9, 0.5, 0.5], [0.5, 0.5, 0.5], [0.3, 0.2, 0.1], [0.0, 0.0, 1.0, 1.0, 0.4]]


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


@pytest.mark.parametrize("qualities", SHORT_LISTS)
def test_random_ties_are_the_mean_over_their_orders(qualities: list[float]) -> None:
    assert krg(qualities, ties="random") == pytest.approx(over_tie_orders(qualities, False))
    both = krg(qualities, gains="exponential", ties="random")
    assert both == pytest.approx(over_tie_orders(qualities, True))


@pytest.mark.parametrize("qualities", SHORT_LISTS)
@pytest.mark.parametrize("ties", ["shared", "random"])
def test_the_random_value_is_the_mean_over_all_orders(qualities: list[float], ties: str) -> None:
    how = {"gains": "exponential", "ties": ties}
    orders = [krg(order, **how) for order in itertools.permutations(qualities)]  # type: ignore[arg-type]
    assert random_krg(qualities, **how) == pytest.approx(sum(orders) / len(orders))  # type: ignore[arg-type]


def test_without_ties_they_are_ranked_alike() -> None:
    assert krg(SHORT_LISTS[2], ties="random") == krg(SHORT_LISTS[2]) == 1
    assert krg([0.9, 0.5, 0.5]) == 1
    assert krg([0.9, 0.5, 0.5], ties="random") < 1


def test_exponential_gains_of_a_random_order_and_of_long_lists() -> None:
    assert random_krg(range(10), gains="exponential") == pytest.approx(0.5875, abs=5e-5)
    assert random_krg(range(10)) == pytest.approx(0.8042, abs=5e-5)
    assert krg(range(2000, 0, -1), gains="exponential") == pytest.approx(1)
