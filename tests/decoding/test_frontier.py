"""The open prefixes of one source against a plain dictionary of them."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from babelscope.decoding import kernels
from babelscope.decoding.frontier import Frontier

# Few values, so that ties and bounds that equal a score are common.
SCORES = st.integers(-20, 0).map(lambda tenth: tenth / 10)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.lists(SCORES, min_size=1, max_size=40)),
        st.tuples(st.just("take"), st.integers(1, 12)),
        st.tuples(st.just("bound"), SCORES),
        st.tuples(st.just("found"), SCORES),
    ),
    max_size=40,
)


@given(STEPS, st.sampled_from([0.05, 0.3, 100.0]))
def test_nothing_open_is_lost_and_the_best_are_taken(
    steps: list[tuple[str, list[float] | int | float]], window: float
) -> None:
    frontier = Frontier(0, k=1, slack=0.01)
    open_now: dict[int, float] = {}
    dropped: Counter[int] = Counter()
    pushed = 0
    for what, value in steps:
        if what == "push":
            assert isinstance(value, list)
            good = np.array([score for score in value if score > frontier.threshold])
            numbers = np.arange(pushed, pushed + len(good))
            frontier.push(good, numbers, numbers + 1000)
            open_now |= dict(zip(numbers.tolist(), good.tolist(), strict=True))
            pushed += len(good)
        elif what == "bound":
            assert isinstance(value, float)
            frontier.bound = max(frontier.bound, value)
        elif what == "found":
            assert isinstance(value, float)
            frontier.complete = [(value, [])]
        elif frontier.n_open:
            assert isinstance(value, int)
            best = max(open_now.values())
            scores, parents, tokens = frontier.take(value, window)
            assert 1 <= len(scores) <= value
            assert (tokens == parents + 1000).all()
            taken = [open_now.pop(number) for number in parents.tolist()]
            assert taken == scores.tolist()
            found = frontier.complete[0][0] if frontier.complete else math.inf
            cut = max(min(best - window, (best + found) / 2), frontier.threshold)
            assert min(taken) > cut
            left = [score for score in open_now.values() if score > cut]
            assert not left or len(taken) == min(value, frontier.max_take)
            # Within a bucket any may be taken.
            assert max(left, default=-math.inf) <= min(taken) + (best - cut) / kernels._BUCKETS
        gone = frontier.prune().tolist()
        dropped.update(gone)
        assert all(open_now.pop(number) <= frontier.threshold for number in gone)
        # Something is left to take exactly if something is worth it; then at most half of the places are not.
        worth = sum(score > frontier.threshold for score in open_now.values())
        assert bool(frontier.n_open) == bool(worth)
        assert frontier.n_open < 2 * worth or not worth
    if frontier.n_open:
        last = frontier.stop()
        dropped.update(last.tolist())
        assert sorted(last.tolist()) == sorted(open_now)
    else:
        assert not open_now
    assert set(dropped.values()) <= {1}


def test_put_off_is_joined_in_blocks_unless_rows_are_wide() -> None:
    for width, sizes in ((2**15, [4, 1]), (2**17, [1] * 5)):
        frontier = Frontier(0, k=1, slack=0.01)
        rows = [np.full((1, width), -1.0 - number, dtype=np.float32) for number in range(5)]
        frontier.deferred = [(np.array([0.5 * i]), np.array([i]), row) for i, row in enumerate(rows)]
        frontier.merge_deferred()
        frontier.merge_deferred()  # what is joined stays as it is
        scores, nodes, logprobs = (np.concatenate(each) for each in zip(*frontier.deferred, strict=True))
        assert [len(block[0]) for block in frontier.deferred] == sizes
        assert scores.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]
        assert nodes.tolist() == [0, 1, 2, 3, 4]
        assert (logprobs == np.concatenate(rows)).all()
    # Nothing was copied that is not joined.
    assert all(block[2] is row for block, row in zip(frontier.deferred, rows, strict=True))
