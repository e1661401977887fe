"""Compiled loops against plain Python or tensor operations, and the frontier against a dictionary."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numba
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from babelscope.decoding import kernels
from babelscope.decoding.beam import beam_search
from babelscope.decoding.exact import Frontier, exact_search, plain_children_above
from babelscope.decoding.families.encoder_decoder import EncoderDecoder, weights_of
from babelscope.decoding.model import Vocabulary
from babelscope.util.errors import SystemFailure
from tests.support.models import toy_network


@given(
    seed=st.integers(0, 2**31),
    rows=st.integers(1, 9),
    heads=st.integers(1, 3),
    width=st.integers(1, 40),
    farthest=st.integers(0, 6),
)
def test_attention_is_that_of_torch(seed: int, rows: int, heads: int, width: int, farthest: int) -> None:
    random = np.random.default_rng(seed)
    queries = random.normal(0, 3, (rows, 2, heads, width)).astype(np.float32)
    table = random.normal(0, 3, (20, 2, heads, width)).astype(np.float32)
    paths = random.integers(0, 20, (7, 5))
    chosen, lengths = random.integers(0, 7, rows), random.integers(1, 6, rows)
    distances = random.normal(0, 2, (heads, 2 * farthest + 1 if farthest else 0)).astype(np.float32)
    mixed = np.full((rows, heads, width), np.nan, dtype=np.float32)
    kernels.attend(queries, table, paths, chosen, lengths, distances, mixed)
    for row in range(rows):
        keys, values = torch.from_numpy(table[paths[chosen[row], : lengths[row]]]).permute(1, 2, 0, 3)
        before = np.maximum(np.arange(lengths[row]) - lengths[row] + 1 + farthest, 0)
        bias = torch.from_numpy(distances[:, None, before]) if farthest else None
        seen = F.scaled_dot_product_attention(torch.from_numpy(queries[row, 0])[:, None], keys, values, bias)
        assert np.allclose(mixed[row], seen[:, 0], atol=1e-5)


@pytest.mark.parametrize("length", [1, 7, 20])
def test_nan_is_not_lost_in_attention(length: int) -> None:
    table = np.ones((20, 2, 2, 32), dtype=np.float32)
    table[0, 0, :, 5] = math.nan  # of one key, the values are numbers
    mixed = np.zeros((1, 2, 32), dtype=np.float32)
    queries = np.ones((1, 1, 2, 32), dtype=np.float32)
    path, none = np.arange(20)[None], np.zeros((2, 0), dtype=np.float32)
    kernels.attend(queries, table, path, np.zeros(1, dtype=int), np.array([length]), none, mixed)
    assert np.isnan(mixed).all()


@given(
    seed=st.integers(0, 2**31),
    shape=st.tuples(st.integers(1, 6), st.integers(2, 70)),
    spread=st.sampled_from([0.1, 3.0, 40.0]),
)
def test_likely_tokens_are_those_of_torch(seed: int, shape: tuple[int, int], spread: float) -> None:
    random = np.random.default_rng(seed)
    logits = random.normal(0, spread, shape).astype(np.float32)
    eos = int(random.integers(shape[1]))
    logits[random.random(shape) < 0.1] = -math.inf
    logits[:, eos] = random.normal(0, spread, shape[0])
    least = random.choice([-math.inf, -9.0, -2.0, -0.01, math.inf], shape[0])
    tops = logits.max(1)
    norms, rows, tokens, logprobs = kernels.children_above(logits, tops, least, eos)
    truth = torch.log_softmax(torch.from_numpy(logits).double(), 1).numpy()
    assert np.allclose(norms, (logits[:, eos] - truth[:, eos]), atol=1e-6)
    found = np.zeros(shape, dtype=bool)
    found[rows, tokens] = True
    wanted = truth > least[:, None]
    wanted[:, eos] = False
    near = np.isclose(truth, least[:, None], rtol=0, atol=1e-4) & np.isfinite(truth)  # rounding may decide
    assert (found == wanted)[~near].all()
    assert (np.diff(rows * shape[1] + tokens) > 0).all()
    assert np.allclose(logprobs, truth[rows, tokens], atol=1e-5)
    plain = plain_children_above(torch.from_numpy(logits), torch.from_numpy(tops), least, eos)
    assert np.allclose(plain[0], norms, atol=1e-5)
    if not near.any():
        assert all((a == b).all() for a, b in zip(plain[1:3], (rows, tokens), strict=True))
        assert np.allclose(plain[3], logprobs, atol=1e-5)


def test_the_exponential_is_right_to_the_last_places() -> None:
    x = -np.concatenate([[0.0], np.geomspace(1e-9, 86, 20_001), [87.5, 1e30, math.inf]]).astype(np.float32)
    ours = _all_exponentials(x)
    truth = np.exp(x.astype(np.float64))
    assert (np.abs(ours[:-3] / truth[:-3] - 1) < 2 * 2.0**-23).all()
    assert (ours[-3:] < 2e-38).all()


@numba.njit
def _all_exponentials(x: Any) -> Any:
    found = np.empty_like(x)
    for i in range(len(x)):
        found[i] = kernels._exp(x[i])
    return found


@given(seed=st.integers(0, 2**31), size=st.integers(1, 30))
def test_nodes_go_with_their_last_reference(seed: int, size: int) -> None:
    """A tree of which some leaves are held from outside, and are let go in any order."""
    random = np.random.default_rng(seed)
    parents = np.array([-1, -1, *(random.integers(0, 2 + node) for node in range(size))])
    depths, references = np.zeros_like(parents), np.bincount(parents[2:], minlength=len(parents))
    for node in range(2, len(parents)):
        depths[node] = depths[parents[node]] + 1
    held = random.integers(2, len(parents), size)
    leaves = np.setdiff1d(np.arange(2, len(parents)), parents)
    held = np.concatenate([held, leaves])  # a leaf that nobody holds would have gone before
    references += np.bincount(held, minlength=len(parents))
    random.shuffle(held)
    gone: list[int] = []
    for start in range(0, len(held), 4):
        gone += kernels.release(held[start : start + 4], references, parents, depths, 2).tolist()
        still = set(held[start + 4 :].tolist())
        needed = {int(node) for node in still}
        for node in still:
            while parents[node] >= 2:
                node = int(parents[node])
                needed.add(node)
        assert set(gone) == set(range(2, len(parents))) - needed
        places = {node: place for place, node in enumerate(gone)}
        assert len(places) == len(gone)
        assert all(places[node] < places.get(int(parents[node]), len(gone)) for node in gone)


@pytest.mark.parametrize(
    "weight",
    [
        "layers.0.fc1.weight",
        "layers.0.self_attn.q_proj.weight",
        "layers.0.self_attn.k_proj.weight",
        "layers.0.self_attn.v_proj.weight",
        "layers.0.encoder_attn.k_proj.weight",
        "embed_tokens.weight",
    ],
)
def test_a_network_that_answers_nan_is_an_error(weight: str) -> None:
    network, start, eos, pad = toy_network("marian", 1)
    with torch.no_grad():
        network.model.decoder.get_parameter(weight)[3, 0] = math.nan
    model = EncoderDecoder(weights_of(network), Vocabulary(5, (start,), eos, (pad,), 32, 32))
    for search in (lambda: exact_search(model, [[2, eos]], k=2), lambda: beam_search(model, [[2, eos]])):
        with pytest.raises(SystemFailure, match="NaN"):
            search()


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
