"""Recurrent and convolutional networks, and any module with `encode` and `step`, against enumeration."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from babelscope.core.system import Drawing
from babelscope.decoding.beam import beam_search
from babelscope.decoding.exact import exact_search
from babelscope.decoding.model import OpenModel, Vocabulary, score_targets
from babelscope.decoding.sampling import draw_samples
from babelscope.decoding.stepwise import Stepwise
from babelscope.lab.training.networks import NETWORKS, PlainConfig
from tests.support.open_toys import enumerated

LIMIT = 5
SOURCES = [(1, 2, 3, 0), (3, 0), (2, 2, 0)]
TOYS: dict[str, dict[str, Any]] = {
    "recurrent": {"architecture": "recurrent"},
    "separate vocabularies": {"architecture": "recurrent", "vocabularies": (7, 5), "joint": False},
    "convolutional": {"architecture": "convolutional"},
    "kernel 1": {"architecture": "convolutional", "kernel": 1},
    "kernel 4": {"architecture": "convolutional", "kernel": 4},
    "learned": {"architecture": "convolutional", "learned_positions": True},
}


def toy(name: str, seed: int = 3) -> OpenModel:
    torch.manual_seed(seed)
    usual = {"vocabularies": (5, 5), "joint": True, "width": 8, "encoder_layers": 1, "decoder_layers": 2}
    config = PlainConfig(**{**usual, "longest": 16, **TOYS[name]})
    network = NETWORKS[config.architecture](config).eval()
    with torch.no_grad():
        for weight in network.parameters():
            weight.normal_(0, 0.5)
    return Stepwise(network, Vocabulary(5, (4,), 0, (4,), 16, LIMIT))


@pytest.mark.parametrize("name", TOYS)
def test_exact_search_finds_the_best_of_all_that_can_be_listed(name: str) -> None:
    model = toy(name)
    found = exact_search(model, SOURCES, k=7)
    for source, best in zip(SOURCES, found, strict=True):
        space = enumerated(model, source, LIMIT, Drawing())
        ended = {ids: mass for ids, mass in space.items() if ids[-1] == 0}
        ranked = sorted(ended, key=lambda ids: -ended[ids])[:7]
        assert best.exact
        assert [tuple(ids) for ids in best.ids] == ranked
        totals = [math.fsum(logs) for logs in best.logprobs]
        assert totals == pytest.approx([math.log(ended[ids]) for ids in ranked], abs=1e-4)


@pytest.mark.parametrize("name", TOYS)
def test_scores_are_those_of_enumeration_in_any_batch(name: str) -> None:
    model = toy(name)
    spaces = [enumerated(model, source, LIMIT, Drawing()) for source in SOURCES]
    targets = [[ids for ids in space if ids[-1] == 0][:40] for space in spaces]
    for budget in (8, 1024):
        for number, scores in score_targets(model, SOURCES, targets, budget=budget):
            for ids, logs in zip(targets[number], scores, strict=True):
                assert math.fsum(logs) == pytest.approx(math.log(spaces[number][ids]), abs=1e-4)


@pytest.mark.parametrize("name", TOYS)
def test_samples_come_as_often_as_they_are_probable(name: str) -> None:
    model = toy(name)
    n = 4000
    (drawn,) = draw_samples(model, SOURCES[:1], n=n, seed=5, limit=LIMIT, drawing=Drawing())
    space = enumerated(model, SOURCES[0], LIMIT, Drawing())
    for ids in sorted(space, key=lambda each: -space[each])[:5]:
        share = sum(tuple(each.ids) == ids for each in drawn) / n
        assert share == pytest.approx(space[ids], abs=4 * math.sqrt(space[ids] * (1 - space[ids]) / n))


@pytest.mark.parametrize("name", TOYS)
def test_a_beam_as_wide_as_the_space_finds_the_best(name: str) -> None:
    model = toy(name)
    found = beam_search(model, SOURCES, beam=400, n_best=3, max_length=LIMIT, length_penalty=0.0)
    for source, best in zip(SOURCES, found, strict=True):
        space = enumerated(model, source, LIMIT, Drawing())
        assert [tuple(ids) for ids in best] == sorted(space, key=lambda ids: -space[ids])[:3]


@pytest.mark.parametrize("name", TOYS)
def test_order_and_company_change_no_search(name: str) -> None:
    model = toy(name)
    together = beam_search(model, SOURCES, beam=3, max_length=LIMIT)
    assert beam_search(model, SOURCES[::-1], beam=3, max_length=LIMIT) == together[::-1]
    assert [beam_search(model, [source], beam=3, max_length=LIMIT)[0] for source in SOURCES] == together
    alone = [exact_search(model, [source], k=4)[0].ids for source in SOURCES]
    assert [each.ids for each in exact_search(model, SOURCES, k=4)] == alone
