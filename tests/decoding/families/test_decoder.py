"""The lean forward pass of decoder-only networks against that of transformers, and against enumeration."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from babelscope.decoding.causal import force_causal
from babelscope.decoding.families.decoder import Decoder, weights_of, why_not_lean
from babelscope.decoding.model import Vocabulary, score_targets
from tests.support.causal_families import KINDS, network_of

END = 1
IDS = st.integers(2, 39)
PROMPTS = st.lists(st.lists(IDS, min_size=1, max_size=7), min_size=1, max_size=4)


def decoder(network: Any, *, longest: int = 30, ends: Sequence[int] = ()) -> Decoder:
    assert not why_not_lean(network)
    size = network.get_input_embeddings().weight.shape[0]
    return Decoder(weights_of(network), Vocabulary(size, (0,), END, (), None, longest), ends)


def plain(network: Any, ids: Sequence[int]) -> torch.Tensor:
    """Log-probabilities of the next token [vocabulary] after a text, without batch, padding or cache."""
    with torch.inference_mode():
        logits = network(input_ids=torch.tensor([list(ids)]), use_cache=False).logits[0, -1]
    return torch.log_softmax(logits.float(), 0)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=12)
@given(
    seed=st.integers(0, 3),
    begin=st.lists(IDS, max_size=6),
    prompts=PROMPTS,
    targets=st.lists(st.lists(IDS, max_size=7), min_size=1, max_size=4),
    budget=st.sampled_from([1, 20, 10_000]),
)
def test_scores_are_those_of_transformers_in_any_batch(
    kind: str,
    seed: int,
    begin: list[int],
    prompts: list[list[int]],
    targets: list[list[int]],
    budget: int,
) -> None:
    network = network_of(kind, seed)
    sources = [[*begin, *prompt] for prompt in prompts]
    ended = [[*target, END] for target in targets]
    found = dict(score_targets(decoder(network), sources, [ended] * len(sources), budget=budget))
    for number, source in enumerate(sources):
        for ours, target in zip(found[number], ended, strict=True):
            (theirs,) = force_causal(network, [source], [target])
            assert ours == pytest.approx(theirs, abs=1e-4)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=6)
@given(
    seed=st.integers(0, 3),
    begin=st.lists(IDS, max_size=6),
    prompts=PROMPTS,
    steps=st.lists(st.tuples(st.integers(0, 99), IDS), max_size=12),
)
def test_prefixes_are_those_of_transformers(
    kind: str,
    compiled: bool,
    seed: int,
    begin: list[int],
    prompts: list[list[int]],
    steps: list[tuple[int, int]],
) -> None:
    """A random tree: each step goes on from any prefix so far, of any source."""
    network = network_of(kind, seed)
    model = decoder(network)
    model._compiled = compiled
    sources = [[*begin, *prompt] for prompt in prompts]
    memory = model.encode(sources)
    after = model.step(memory, list(range(len(sources))), [0] * len(sources))
    texts = {len(sources) + number: source for number, source in enumerate(sources)}
    for number, source in enumerate(sources):
        assert torch.allclose(after[number], plain(network, source), atol=1e-4)
    for which, token in steps:
        node = sorted(texts)[which % len(texts)]
        after = model.step(memory, [node], [token])
        texts[memory.size - 1] = [*texts[node], token]
        assert torch.allclose(after[0], plain(network, texts[memory.size - 1]), atol=1e-4)


def test_several_ends_are_one_with_the_probability_of_all() -> None:
    network = network_of("llama", 1)
    model = decoder(network, ends=[5, 7])
    after = plain(network, [2, 3]).exp()
    (row,) = model.step(model.encode([[2, 3]]), [0], [0]).exp()
    assert row[END] == pytest.approx(float(after[[1, 5, 7]].sum()), abs=1e-5)
    assert row[[5, 7]].tolist() == [0, 0]
    assert float(row.sum()) == pytest.approx(1, abs=1e-5)
    ((_, [[forced]]),) = score_targets(model, [[2, 3]], [[[END]]], budget=100)
    assert math.exp(forced) == pytest.approx(float(row[END]), abs=1e-5)


@pytest.mark.parametrize(
    ("kind", "part"),
    [("gemma2", "attention_cap"), ("gemma2", "output_cap"), ("gemma2", "window"), ("gemma3", "window"),
     ("mistral", "window"), ("qwen2", "window"), ("qwen3", "q_norm"), ("qwen3", "k_norm"), ("gemma3", "rotation")],
)  # fmt: skip
def test_each_part_of_a_family_is_at_work(kind: str, part: str) -> None:
    """Without it, the figures are others: so the tests above hold it."""
    network = network_of(kind, 1)
    model = decoder(network)
    source, target = [2, 9, 7, 11, 4, 4, 17, 30], [8, 3, 22, END]
    ((_, [whole]),) = score_targets(model, [source], [[target]], budget=100)
    weights = model.weights
    if hasattr(weights, part):
        off: dict[str, Any] = {part: None}
        model.weights = replace(weights, **off)
    else:
        off = {part: 0 if part == "rotation" else None}
        layers = [replace(layer, **off) for layer in weights.layers]
        if part.endswith("_norm"):  # both or none are applied
            layers = [replace(layer, q_norm=None, k_norm=None) for layer in weights.layers]
        model.weights = replace(weights, layers=layers)
    ((_, [without]),) = score_targets(model, [source], [[target]], budget=100)
    assert max(abs(a - b) for a, b in zip(whole, without, strict=True)) > 1e-3


def test_networks_that_are_not_described_are_named() -> None:
    network = copy.deepcopy(network_of("llama", 1))
    network.config.model_type = "mamba"
    assert why_not_lean(network) == "mamba is not described here"
    network = copy.deepcopy(network_of("llama", 1))
    network.config.rope_parameters = {**network.config.rope_parameters, "rope_type": "dynamic"}
    assert why_not_lean(network) == "positions of the kind dynamic"
