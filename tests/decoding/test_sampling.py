"""Samples against distributions enumerated in full, and against themselves in other batches."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from babelscope import load, open_system
from babelscope.core.system import Drawing
from babelscope.decoding import sampling
from babelscope.decoding.model import Memory, OpenModel, TargetTree, score_targets
from babelscope.decoding.sampling import Sample, draw_samples, truncate
from babelscope.testsets import ParallelSentence
from babelscope.util.errors import BabelscopeError
from tests.support.open_toys import enumerated, toy, warped

# One in a thousand honest samples would fail; seeds are fixed, so none of these does so by chance.
ALPHA = 1e-3
SOURCE = [2, 3, 2]


def p_value(drawn: Sequence[tuple[int, ...]], expected: dict[tuple[int, ...], float]) -> float:
    """Pearson's chi-square; what is expected fewer than five times is counted together."""
    counts = Counter(drawn)
    assert not counts.keys() - expected.keys(), "something impossible was drawn"
    often = [each for each, share in expected.items() if share * len(drawn) >= 5]
    seen = [counts[each] for each in often]
    right = [expected[each] * len(drawn) for each in often]
    if len(often) < len(expected):
        seen.append(len(drawn) - sum(seen))
        right.append(len(drawn) - sum(right))
    return float(chisquare(seen, np.array(right) * sum(seen) / sum(right)).pvalue)


def ids(samples: Sequence[Sample]) -> list[tuple[int, ...]]:
    return [tuple(each.ids) for each in samples]


@pytest.mark.parametrize(
    ("family", "language"), [("marian", False), ("marian", True), ("m2m100", True), ("t5", False)]
)
def test_samples_have_the_models_probabilities(family: str, language: bool) -> None:
    model = toy(family, language=language)
    [drawn] = draw_samples(model, [[*SOURCE, model.vocabulary.eos]], n=20_000, seed=1, limit=4)
    expected = enumerated(model, [*SOURCE, model.vocabulary.eos], 4, Drawing())
    assert p_value(ids(drawn), expected) > ALPHA
    assert p_value(ids(drawn)[:500], expected) > ALPHA  # in the order drawn: a beginning is a sample too
    unfinished = [each for each in drawn if each.ids[-1] != model.vocabulary.eos]
    mass = sum(share for each, share in expected.items() if each[-1] != model.vocabulary.eos)
    assert all(len(each.ids) == 4 for each in unfinished)
    assert len(unfinished) / len(drawn) == pytest.approx(mass, abs=4 * math.sqrt(mass * (1 - mass) / 20_000))
    # The test can fail: another temperature is noticed.
    [hot] = draw_samples(
        model,
        [[*SOURCE, model.vocabulary.eos]],
        n=20_000,
        seed=1,
        limit=4,
        drawing=Drawing(temperature=1.15),
    )
    assert p_value(ids(hot), expected) < 1e-6


@pytest.mark.parametrize(
    "drawing",
    [
        Drawing(temperature=0.6),
        Drawing(temperature=1.7),
        Drawing(top_k=2),
        Drawing(top_p=0.7),
        Drawing(epsilon=0.15),
        Drawing(temperature=1.3, top_k=3, top_p=0.9, epsilon=0.05),
    ],
)
def test_cuts_and_temperature_have_the_renormalized_probabilities(drawing: Drawing) -> None:
    model = toy()
    source = [*SOURCE, model.vocabulary.eos]
    [drawn] = draw_samples(model, [source], n=20_000, seed=2, limit=4, drawing=drawing)
    expected = enumerated(model, source, 4, drawing)
    assert p_value(ids(drawn), expected) > ALPHA
    assert len(expected) < 121 or drawing.temperature != 1, "the cut must cut something"
    # Whatever it was drawn from, a sample has the model's own log-probabilities.
    targets = [list(each) for each in expected]
    [(_, scores)] = score_targets(model, [source], [targets], budget=4096)
    right = {tuple(target): row for target, row in zip(targets, scores, strict=True)}
    for each in drawn[:1000]:
        assert each.logprobs == pytest.approx(right[tuple(each.ids)], abs=1e-4)


@settings(max_examples=80)
@given(
    logits=st.lists(st.floats(-8, 8), min_size=2, max_size=12, unique=True),
    temperature=st.sampled_from([1.0, 0.5, 2.0]),
    top_k=st.integers(0, 6),
    top_p=st.sampled_from([1.0, 0.93, 0.5, 0.01]),
    epsilon=st.sampled_from([0.0, 0.03, 0.6]),
)
def test_cuts_are_those_of_transformers(
    logits: list[float], temperature: float, top_k: int, top_p: float, epsilon: float
) -> None:
    drawing = Drawing(temperature, top_k, top_p, epsilon)
    row = torch.tensor([logits], dtype=torch.float64).log_softmax(1)
    kept, unsure = truncate(row, drawing, 1e-9)
    if not unsure.any():
        assert torch.allclose(kept.log_softmax(1), warped(row, drawing), atol=1e-9)
        # Where no cut is in doubt, none changes if all logits move that far.
        noise = torch.from_numpy(np.random.default_rng(len(logits)).uniform(-1e-9, 1e-9, row.shape))
        assert torch.equal(truncate(row + noise, drawing)[0].isinf(), kept.isinf())


def test_a_tie_at_a_cut_is_kept_and_doubtful() -> None:
    row = torch.tensor([[2.0, 1.0, 1.0, 0.0]])
    for drawing in (Drawing(top_k=2), Drawing(top_p=0.7)):
        kept, unsure = truncate(row, drawing, 1e-5)
        assert kept.isfinite().tolist() == [[True, True, True, False]]
        assert unsure.tolist() == [True]


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": 0},
        {"temperature": math.inf},
        {"top_p": 0},
        {"top_p": 1.1},
        {"epsilon": 1},
        {"top_k": -1},
        {"max_length": -1},
    ],
)
def test_settings_without_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(BabelscopeError):
        Drawing(**wrong)  # type: ignore[arg-type]


class Shaky(OpenModel):
    """A model whose logits depend on the company a prefix is in, as rounding does, only much more."""

    def __init__(self, model: OpenModel, by: float) -> None:
        self.model, self.by = model, by
        self.vocabulary, self.device, self.dtype = model.vocabulary, model.device, model.dtype
        self.random = np.random.default_rng(1)
        self.fed = 0
        self.memories: list[Memory] = []

    def encode(self, sources: Sequence[Sequence[int]]) -> Memory:
        self.memories.append(self.model.encode(sources))
        return self.memories[-1]

    def feed(self, memory: Memory, nodes: Any, tokens: Any) -> torch.Tensor:
        self.fed += len(nodes)
        logits = self.model.advance(memory, nodes, tokens)
        if memory.n_sources == len(nodes) == 1:
            return logits
        return logits + torch.from_numpy(self.random.uniform(-self.by, self.by, logits.shape)).float()

    def force(self, sources: Sequence[Sequence[int]], trees: Sequence[TargetTree]) -> list[torch.Tensor]:
        return self.model.force(sources, trees)


@pytest.mark.parametrize("drawing", [Drawing(), Drawing(temperature=0.8, top_k=3), Drawing(top_p=0.8)])
def test_what_rounding_could_decide_is_decided_by_the_prefix_alone(
    drawing: Drawing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Logits shaken by a thousandth, which would change many samples, change none if that much is allowed for."""
    model = toy()
    sources = [[2, 0], [3, 2, 0], [3, 3, 2, 0]]

    def drawn(by: float, allowed: float) -> list[list[tuple[int, ...]]]:
        monkeypatch.setattr(sampling, "_ROUNDING", {torch.float32: allowed})
        found = draw_samples(
            Shaky(model, by), sources, n=2000, seed=3, limit=6, drawing=drawing, samples=4000
        )
        return [ids(each) for each in found]

    still = drawn(0, 2e-5)
    assert drawn(1e-3, 0) != still, "the shaking must matter"
    assert drawn(1e-3, 1e-3) == still


def test_batches_and_company_change_nothing() -> None:
    """On a real model: any batch size, any other sources, more or fewer samples."""
    system = open_system("lab:teacher")
    texts = [
        item.source for item in load("lab:parallel?n=8&seed=3").items if isinstance(item, ParallelSentence)
    ]
    sources, _ = system._source_ids(texts)

    def drawn(sources: Sequence[Sequence[int]], n: int = 16, **sizes: Any) -> list[list[tuple[int, ...]]]:
        return [ids(each) for each in draw_samples(system.model, sources, n=n, seed=5, limit=60, **sizes)]

    right = drawn(sources)
    assert len({each for row in right for each in row}) > 50
    assert drawn(sources[:2], samples=1, rows=5) == right[:2]
    assert drawn(sources[::-1], samples=48) == right[::-1]
    assert drawn(sources, n=8) == [each[:8] for each in right]
    torch.set_num_threads(2)
    try:
        assert drawn(sources[::2], samples=32) == right[::2]
    finally:
        torch.set_num_threads(1)
    other = draw_samples(system.model, sources, n=16, seed=6, limit=60)
    assert [ids(each) for each in other] != right


def test_a_shared_beginning_is_fed_once() -> None:
    model = Shaky(toy(), 0)
    sources = [[2, 0], [3, 2, 0]]
    found = draw_samples(model, sources, n=300, seed=1, limit=6)
    prefixes = {
        (source, tuple(each.ids[:length]))
        for source, samples in enumerate(found)
        for each in samples
        for length in range(len(each.ids))
    }
    assert model.fed == len(prefixes)


def test_memory_that_is_short_makes_samples_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Shaky(toy(), 0)
    sources = [[2, 0], [3, 2, 0], [3, 3, 2, 0]]
    right = draw_samples(model, sources, n=100, seed=1, limit=20, rows=25)
    [plenty] = model.memories
    # What only finished samples used is used again: the tree holds fewer nodes than were fed.
    assert plenty.size - plenty.n_sources < model.fed
    monkeypatch.setattr(sampling, "_BYTES", 50_000)
    scarce = draw_samples(model, sources, n=100, seed=1, limit=20, rows=25)
    assert [ids(each) for each in scarce] == [ids(each) for each in right]
    assert model.memories[1].size < plenty.size / 2
