"""Probability axioms on toy networks of every family: vocabulary of 5, length up to 5."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from babelscope.decoding.model import OpenModel, score_targets, target_tree
from tests.support.models import toy_network
from tests.support.open_toys import toy

FAMILIES = ("marian", "fsmt", "m2m100", "mbart50", "t5", "mt5")
LENGTH = 5


def free_tokens(model: OpenModel) -> list[int]:
    return [token for token in range(5) if token not in (model.vocabulary.eos, *model.vocabulary.masked)]


def walk(model: OpenModel, source: list[int], target: tuple[int, ...]) -> list[float]:
    """Log-probabilities of a target by single steps."""
    memory = model.encode([source])
    logs: list[Any] = []
    node = 0
    fed = [*model.vocabulary.prefix, *target[:-1]]
    for position, token in enumerate(fed):
        row = model.step(memory, [node], [token])[0]
        node = memory.size - 1
        if position >= len(model.vocabulary.prefix) - 1:
            logs.append(row[target[len(logs)]].item())
    return logs


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=4)
@given(seed=st.integers(0, 2**31), source=st.lists(st.integers(2, 3), min_size=1, max_size=4))
def test_all_mass_is_accounted_for(family: str, seed: int, source: list[int]) -> None:
    """Complete sequences up to a length, and the unfinished prefixes of that length, share a probability of 1."""
    model = toy(family, seed)
    source = [*source, model.vocabulary.eos]
    free = free_tokens(model)
    memory = model.encode([source])
    logs = model.step(memory, [0], [model.vocabulary.prefix[0]])
    prefixes: dict[tuple[int, ...], float] = {(): 0.0}
    nodes = [1]
    mass, stepped = 0.0, {}
    for length in range(LENGTH):
        assert torch.allclose(
            logs.double().exp().sum(-1), torch.ones(len(logs), dtype=torch.double), atol=1e-6
        )
        assert (logs[:, list(model.vocabulary.masked)] == -math.inf).all()
        longer: dict[tuple[int, ...], float] = {}
        feed = []
        for row, (prefix, total) in enumerate(prefixes.items()):
            stepped[*prefix, model.vocabulary.eos] = total + logs[row, model.vocabulary.eos].item()
            mass += math.exp(stepped[*prefix, model.vocabulary.eos])
            for token in free:
                longer[*prefix, token] = total + logs[row, token].item()
                feed.append((nodes[row], token))
        first = memory.size
        if length < LENGTH - 1:
            logs = model.step(memory, [node for node, _ in feed], [token for _, token in feed])
        prefixes, nodes = longer, list(range(first, memory.size))
    unfinished = sum(map(math.exp, prefixes.values()))
    assert mass + unfinished == pytest.approx(1, abs=1e-6)
    # Scoring all of them at once, as one tree, is the product of the step probabilities.
    targets = list(stepped)
    [(_, scores)] = score_targets(model, [source], [targets], budget=4096)
    for target, logprobs in zip(targets, scores, strict=True):
        assert sum(logprobs) == pytest.approx(stepped[target], abs=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_steps_may_mix_lengths_and_sources(family: str) -> None:
    """A prefix's distribution does not depend on what else is in the batch."""
    model = toy(family, 3)
    eos, free = model.vocabulary.eos, free_tokens(model)
    sources = [[2, eos], [3, 2, 2, 3, eos], [3, eos]]
    memory = model.encode(sources)
    model.step(memory, [0, 1, 2], [model.vocabulary.prefix[0]] * 3)  # nodes 3, 4, 5
    model.step(memory, [3, 5, 5], [free[0], free[1], free[0]])  # nodes 6, 7, 8
    mixed = model.step(memory, [4, 6, 7, 4], [free[0], free[1], free[1], free[1]])
    expected = [
        (sources[1], (free[0],)),
        (sources[0], (free[0], free[1])),
        (sources[2], (free[1], free[1])),
        (sources[1], (free[1],)),
    ]
    for row, (source, prefix) in zip(mixed, expected, strict=True):
        for token in (*free, eos):
            alone = walk(model, source, (*prefix, token))
            assert row[token].item() == pytest.approx(alone[-1], abs=1e-4)


def test_marian_masks_pad_before_the_softmax() -> None:
    """OPUS-MT's pad has logit 0: left in, it would take probability from the real tokens."""
    model = toy("marian", 5)
    [pad] = model.vocabulary.masked
    memory = model.encode([[2, 3, model.vocabulary.eos]])
    row = model.step(memory, [0], list(model.vocabulary.prefix))[0]
    assert row[pad] == -math.inf
    assert row.exp().sum().item() == pytest.approx(1, abs=1e-6)
    network, *_ = toy_network("marian", 5)
    logits = network(
        input_ids=torch.tensor([[2, 3, model.vocabulary.eos]]), decoder_input_ids=torch.tensor([[pad]])
    ).logits
    unmasked = logits[0, 0].log_softmax(-1)
    kept = torch.tensor([token for token in range(5) if token != pad])
    assert unmasked[pad].exp() > 1e-3, "the toy must show the trap"
    assert torch.allclose(row[kept], (unmasked[kept] - torch.log1p(-unmasked[pad].exp())), atol=1e-5)


@pytest.mark.parametrize("lean", [True, False])
def test_several_cores_give_the_same_scores(lean: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches spread over threads: the same scores, the number of threads as it was, and faults are told."""
    model = toy("marian", 2, lean=lean)
    eos, free = model.vocabulary.eos, free_tokens(model)
    sources = [[free[n % 2]] * (1 + n % 4) + [eos] for n in range(30)]
    targets = [[[free[1]] * n + [eos], [free[0], eos]] for n in range(1, 31)]
    alone = dict(score_targets(model, sources, targets, budget=40))
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        together = dict(score_targets(model, sources, targets, budget=40))
        assert torch.get_num_threads() == 3
        assert together.keys() == alone.keys()
        for number in alone:
            for one, other in zip(alone[number], together[number], strict=True):
                assert one == pytest.approx(other, abs=1e-4)

        def broken(*_: object) -> None:
            raise ValueError("broken")

        monkeypatch.setattr(model, "force", broken)
        with pytest.raises(ValueError, match="broken"):
            list(score_targets(model, sources, targets, budget=40))
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_memory_that_runs_out_halves_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    model = toy("marian", 1)
    eos, free = model.vocabulary.eos, free_tokens(model)
    sources = [[free[0]] * n + [eos] for n in range(1, 9)]
    targets = [[[free[1]] * n + [eos]] for n in range(1, 9)]
    expected = dict(score_targets(model, sources, targets, budget=4096))
    whole, sizes = model.force, []

    def small(sources: Any, trees: Any) -> Any:
        sizes.append(len(sources))
        if len(sources) > 2:
            raise torch.OutOfMemoryError("no")
        return whole(sources, trees)

    monkeypatch.setattr(model, "force", small)
    found = dict(score_targets(model, sources, targets, budget=4096))
    assert max(sizes) == 8, "the first try must be the whole batch"
    for number in expected:
        assert found[number][0] == pytest.approx(expected[number][0], abs=1e-4)


def test_stepping_from_a_prefix_never_fed_is_an_error() -> None:
    model = toy("marian", 1)
    memory = model.encode([[2, model.vocabulary.eos]])
    with pytest.raises(IndexError, match="no prefix 7"):
        model.step(memory, [7], [2])


EOS = 0
words = st.lists(st.integers(1, 3), max_size=5)


@given(
    targets=st.lists(words, min_size=1, max_size=6),
    ended=st.booleans(),
    prefix=st.sampled_from([(9,), (9, 8)]),
)
def test_every_target_can_be_read_off(targets: list[list[int]], ended: bool, prefix: tuple[int, ...]) -> None:
    targets = [[*target, EOS] if ended else [*target, 1] for target in targets]
    tree = target_tree(prefix, targets)
    for target, path in zip(targets, tree.paths, strict=True):
        assert [tree.edge_tokens[edge] for edge in path] == target
        for position, edge in enumerate(path):
            fed, node = [], tree.edge_nodes[edge]
            while node >= 0:
                fed.append(tree.tokens[node])
                assert tree.parents[node] < node, "parents come first"
                node = tree.parents[node]
            assert fed[::-1] == [*prefix, *target[:position]]
            assert tree.depths[tree.edge_nodes[edge]] == len(fed) - 1
    beginnings = {tuple(target[:n]) for target in targets for n in range(len(target))}
    assert len(tree.tokens) == len(prefix) - 1 + len(beginnings), "each beginning is fed once"
    assert len(tree.edge_tokens) == len({tuple(t[: n + 1]) for t in targets for n in range(len(t))})
