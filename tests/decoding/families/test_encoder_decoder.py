"""The lean forward pass of encoder-decoders against that of transformers, and against enumeration."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from babelscope.decoding.families.encoder_decoder import (
    FAMILIES,
    EncoderDecoder,
    Weights,
    weights_of,
    why_not_lean,
)
from babelscope.decoding.generic import Generic, open_transformer
from babelscope.decoding.model import Vocabulary, score_targets

BEGIN, PAD, END = 0, 1, 2
IDS = st.integers(3, 11)
SOURCES = st.lists(st.lists(IDS, min_size=1, max_size=7), min_size=1, max_size=4)
CLASSES = {
    "marian": "MarianMTModel",
    "bart": "BartForConditionalGeneration",
    "mbart": "MBartForConditionalGeneration",
    "pegasus": "PegasusForConditionalGeneration",
    "m2m_100": "M2M100ForConditionalGeneration",
    "fsmt": "FSMTForConditionalGeneration",
    "t5": "T5ForConditionalGeneration",
    "mt5": "MT5ForConditionalGeneration",
    "umt5": "UMT5ForConditionalGeneration",
}
CONFIGURATIONS = {"m2m_100": "M2M100Config", "fsmt": "FSMTConfig"}
OF_T5 = ("t5", "mt5", "umt5")


@functools.cache
def network_of(kind: str, seed: int, size: int = 12, *, scaled: bool = True) -> Any:
    """A small network with weights so large that every part of it can be seen in the scores."""
    import transformers

    if kind in OF_T5:
        return network_of_t5(kind, seed, size, scaled=scaled)
    torch.manual_seed(seed)
    name = CONFIGURATIONS.get(kind, CLASSES[kind].removesuffix("ForConditionalGeneration") + "Config")
    sizes = {"src_vocab_size": size, "tgt_vocab_size": size} if kind == "fsmt" else {"vocab_size": size}
    config = getattr(transformers, name.replace("MarianMTModel", "Marian"))(
        **sizes,
        d_model=16,
        encoder_layers=2,
        decoder_layers=3,
        encoder_attention_heads=2,
        decoder_attention_heads=4,
        encoder_ffn_dim=24,
        decoder_ffn_dim=20,
        max_position_embeddings=40,
        bos_token_id=BEGIN,
        pad_token_id=PAD,
        eos_token_id=END,
        decoder_start_token_id=BEGIN,
        forced_eos_token_id=None,
        scale_embedding=scaled,
        activation_function="gelu" if seed % 2 else "relu",
    )
    network = getattr(transformers, CLASSES[kind])(config).eval()
    with torch.no_grad():
        for part, weight in network.named_parameters():
            if "embed_positions" in part and kind in ("marian", "pegasus", "fsmt"):
                continue  # computed
            weight.normal_(1.0 if "norm" in part and part.endswith("weight") else 0.0, 0.3)
        if hasattr(network, "final_logits_bias"):
            network.final_logits_bias.normal_(0.0, 0.5)
    return network


def network_of_t5(kind: str, seed: int, size: int, *, scaled: bool) -> Any:
    """T5 with heads that do not add up to the width, and distances that soon are alike."""
    import transformers

    torch.manual_seed(seed)
    config = getattr(transformers, CLASSES[kind].removesuffix("ForConditionalGeneration") + "Config")(
        vocab_size=size,
        d_model=16,
        d_kv=6,
        d_ff=24,
        num_layers=2,
        num_decoder_layers=3,
        num_heads=2,
        relative_attention_num_buckets=6,
        relative_attention_max_distance=5,
        pad_token_id=PAD,
        eos_token_id=END,
        decoder_start_token_id=BEGIN,
        tie_word_embeddings=scaled,
        feed_forward_proj="gated-gelu" if seed % 2 else "relu",
    )
    network = getattr(transformers, CLASSES[kind])(config).eval()
    with torch.no_grad():
        for part, weight in network.named_parameters():
            wide = 1.0 if "relative" in part or part == "shared.weight" else 0.3
            weight.normal_(1.0 if "norm" in part else 0.0, wide)
    return network


def vocabulary(size: int = 12, prefix: tuple[int, ...] = (BEGIN,), longest: int = 30) -> Vocabulary:
    return Vocabulary(size, prefix, END, (PAD,), 30, longest)


def lean(network: Any, words: Vocabulary) -> EncoderDecoder:
    assert not why_not_lean(network, words.prefix)
    model = open_transformer(network, words)
    assert isinstance(model, EncoderDecoder)
    return model


def plain(network: Any, source: Sequence[int], fed: Sequence[int]) -> torch.Tensor:
    """Log-probabilities [vocabulary] of the next token, without batch, padding or cache; pad is no output."""
    with torch.inference_mode():
        logits = (
            network(
                input_ids=torch.tensor([list(source)]),
                attention_mask=torch.ones((1, len(source)), dtype=torch.int64),
                decoder_input_ids=torch.tensor([list(fed)]),
                use_cache=False,
            )
            .logits[0, -1]
            .float()
        )
        logits[PAD] = -math.inf
        return torch.log_softmax(logits, 0)


def without_distances(weights: Weights) -> dict[str, torch.Tensor]:
    return {
        name: tensor * (0 if name.endswith("distances") else 1) for name, tensor in weights.tensors.items()
    }


def scores_of(
    network: Any, source: Sequence[int], target: Sequence[int], prefix: tuple[int, ...] = (BEGIN,)
) -> list[float]:
    """Log-probabilities of a target's tokens, each by a forward pass of its own."""
    return [
        float(plain(network, source, [*prefix, *target[:place]])[token]) for place, token in enumerate(target)
    ]


@pytest.mark.parametrize("kind", CLASSES)
@settings(max_examples=12)
@given(
    seed=st.integers(0, 3),
    scaled=st.booleans(),
    language=st.booleans(),
    sources=SOURCES,
    targets=st.lists(st.lists(IDS, max_size=7), min_size=1, max_size=4),
    budget=st.sampled_from([1, 20, 10_000]),
)
def test_scores_are_those_of_transformers_in_any_batch(
    kind: str,
    seed: int,
    scaled: bool,
    language: bool,
    sources: list[list[int]],
    targets: list[list[int]],
    budget: int,
) -> None:
    network = network_of(kind, seed, scaled=scaled)
    words = vocabulary(prefix=(BEGIN, 5) if language else (BEGIN,))
    ended = [[*target, END] for target in targets]
    found = dict(score_targets(lean(network, words), sources, [ended] * len(sources), budget=budget))
    for number, source in enumerate(sources):
        for ours, target in zip(found[number], ended, strict=True):
            assert ours == pytest.approx(scores_of(network, source, target, words.prefix), abs=1e-4)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("kind", CLASSES)
@settings(max_examples=6)
@given(
    seed=st.integers(0, 3),
    sources=SOURCES,
    steps=st.lists(st.tuples(st.integers(0, 99), IDS), max_size=12),
)
def test_prefixes_are_those_of_transformers(
    kind: str, compiled: bool, seed: int, sources: list[list[int]], steps: list[tuple[int, int]]
) -> None:
    """A random tree: each step goes on from any prefix so far, of any source."""
    network = network_of(kind, seed)
    model = lean(network, vocabulary())
    model._compiled = compiled
    memory = model.encode(sources)
    model.step(memory, list(range(len(sources))), [BEGIN] * len(sources))
    texts = {len(sources) + number: (source, [BEGIN]) for number, source in enumerate(sources)}
    for which, token in steps:
        node = sorted(texts)[which % len(texts)]
        source, fed = texts[node]
        after = model.step(memory, [node], [token])
        texts[memory.size - 1] = (source, [*fed, token])
        assert torch.allclose(after[0], plain(network, source, [*fed, token]), atol=1e-4)


@pytest.mark.parametrize("kind", CLASSES)
def test_every_part_of_a_family_is_seen_in_the_scores(kind: str) -> None:
    network, target = network_of(kind, 2), [[3, 5, 4, END]]
    weights = weights_of(network)
    sources = [[3, 4, 5, 6, PAD, 7]]

    def scored(**changed: Any) -> list[float]:
        other = replace(weights, **changed)
        return dict(score_targets(EncoderDecoder(other, vocabulary()), sources, [target], budget=100))[0][0]

    right, family = scored(), weights.family
    assert scored(scale_embedding=not weights.scale_embedding) != pytest.approx(right, abs=1e-3)
    assert scored(activation="silu") != pytest.approx(right, abs=1e-3)
    if family.pre_norm:
        assert scored(family=replace(family, pre_norm=False)) != pytest.approx(right, abs=1e-3)
    if family.norms_embedding:
        assert scored(family=replace(family, norms_embedding=False)) != pytest.approx(right, abs=1e-3)
    if family.counts_from_pad:
        assert scored(pad=None) != pytest.approx(right, abs=1e-3)
    if family.distances:
        assert scored(tensors=without_distances(weights)) != pytest.approx(right, abs=1e-3)


@pytest.mark.parametrize("kind", CLASSES)
def test_pad_within_a_source_is_read_as_transformers_does(kind: str) -> None:
    """A tokenizer may make pad of a sentence that has its name in it."""
    network, target = network_of(kind, 1), [3, 4, END]
    for source in ([3, PAD, 4, 5], [PAD, 3], [3, PAD]):
        model = lean(network, vocabulary())
        (ours,) = dict(score_targets(model, [source], [[target]], budget=100))[0]
        assert ours == pytest.approx(scores_of(network, source, target), abs=1e-4)


def test_what_cannot_be_lean_goes_through_transformers() -> None:
    for kind in ("m2m_100", "fsmt"):
        words = vocabulary(prefix=(PAD,))
        assert "begin with pad" in why_not_lean(network_of(kind, 1), words.prefix)
        assert isinstance(open_transformer(network_of(kind, 1), words), Generic)
    assert not why_not_lean(network_of("mbart", 1), (PAD,))

    class Other(type(network_of("bart", 1))):  # type: ignore[misc]
        """As code from a model's folder may define it."""

    assert "code" in why_not_lean(Other(network_of("bart", 1).config))
    far = network_of_t5("t5", 1, 12, scaled=True)
    far.config.relative_attention_max_distance = 10**9
    assert "distances" in why_not_lean(far)
    half = type(network_of("mbart", 1))(network_of("mbart", 1).config).half()
    assert "float16" in why_not_lean(half)


def test_every_described_family_is_tested() -> None:
    assert set(CLASSES) == set(FAMILIES)
