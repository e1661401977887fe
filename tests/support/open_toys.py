"""Open models so small that everything they can say is enumerated."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from babelscope.core.system import Drawing
from babelscope.decoding.families.encoder_decoder import EncoderDecoder, weights_of
from babelscope.decoding.generic import Generic
from babelscope.decoding.model import Array, Memory, OpenModel, TargetTree, Vocabulary
from tests.support.models import toy_network


def toy(
    family: str = "marian", seed: int = 3, *, language: bool = False, limit: int = 32, lean: bool = True
) -> OpenModel:
    network, start, eos, pad = toy_network(family, seed)
    vocabulary = Vocabulary(5, (start, 3) if language else (start,), eos, (pad,), 32, limit)
    if family == "marian" and lean:
        return EncoderDecoder(weights_of(network), vocabulary)
    return Generic(network, vocabulary)


def warped(logs: torch.Tensor, drawing: Drawing) -> torch.Tensor:
    """Log-probabilities [rows, vocabulary] after transformers' own processors, renormalized."""
    from transformers import (
        EpsilonLogitsWarper,
        TemperatureLogitsWarper,
        TopKLogitsWarper,
        TopPLogitsWarper,
    )

    warpers: list[Any] = [TemperatureLogitsWarper(drawing.temperature)]
    warpers += [TopKLogitsWarper(drawing.top_k)] if drawing.top_k else []
    warpers += [TopPLogitsWarper(drawing.top_p)] if drawing.top_p < 1 else []
    warpers += [EpsilonLogitsWarper(drawing.epsilon)] if drawing.epsilon else []
    for warper in warpers:
        logs = warper(None, logs)
    return logs.log_softmax(1)


def enumerated(
    model: OpenModel, source: Sequence[int], limit: int, drawing: Drawing
) -> dict[tuple[int, ...], float]:
    """The probability of everything that can be drawn: sequences that end in EOS, and those cut at the limit."""
    memory = model.encode([source])
    node = 0
    for token in model.vocabulary.prefix[:-1]:
        node = int(memory.add([node])[0])
        model.advance(memory, np.array([node]), np.array([token]))

    def walk(prefix: tuple[int, ...], parent: int, token: int, mass: float) -> Iterator[Any]:
        child = memory.add([parent])
        logits = model.advance(memory, child, np.array([token])).double()
        for number, log in enumerate(warped(logits.log_softmax(1), drawing)[0].tolist()):
            if log == -math.inf:
                continue
            here, share = (*prefix, number), mass * math.exp(log)
            if number == model.vocabulary.eos or len(here) == limit:
                yield here, share
            else:
                yield from walk(here, int(child[0]), number, share)

    found = dict(walk((), node, model.vocabulary.prefix[-1], 1.0))
    assert sum(found.values()) == pytest.approx(1, abs=1e-6)
    return found


class Table(OpenModel):
    """A bigram model whose logits are given: what follows a token depends on that token only."""

    def __init__(self, logits: Sequence[Sequence[float]]) -> None:
        self.logits = torch.tensor(logits, dtype=torch.float64)
        self.vocabulary = Vocabulary(len(logits), (len(logits) - 1,), 0, (len(logits) - 1,), None, None)
        self.device, self.dtype = torch.device("cpu"), torch.float64

    def encode(self, sources: Sequence[Sequence[int]]) -> Memory:
        return Memory(len(sources), None)

    def feed(self, _memory: Memory, _nodes: Array, tokens: Array) -> torch.Tensor:
        logits = self.logits[torch.from_numpy(tokens)]
        logits[:, list(self.vocabulary.masked)] = -math.inf
        return logits

    def force(self, sources: Sequence[Sequence[int]], trees: Sequence[TargetTree]) -> list[torch.Tensor]:
        raise NotImplementedError


def assert_best(found: Any, everything: dict[tuple[int, ...], float], k: int = 10) -> None:
    """A search has proved the k most probable of all texts, with their log-probabilities."""
    best = sorted(everything, key=lambda each: -everything[each])[:k]
    assert found.exact
    assert [tuple(ids) for ids in found.ids] == best
    assert [math.fsum(each) for each in found.logprobs] == pytest.approx(
        [everything[each] for each in best], abs=1e-4
    )
