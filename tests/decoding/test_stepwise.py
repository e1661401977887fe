"""Recurrent and convolutional networks, and any module with `encode` and `step`, against enumeration."""

from __future__ import annotations

import math

import pytest
import torch

from babelscope.core.answers import Drawing
from babelscope.decoding.exact import exact_search
from babelscope.decoding.model import OpenModel, Vocabulary, score_targets
from babelscope.decoding.sampling import draw_samples
from babelscope.decoding.stepwise import Stepwise
from babelscope.lab.training.plain import NETWORKS, PlainConfig
from tests.support.open_toys import enumerated

LIMIT = 5
SOURCES = [(1, 2, 3, 0), (3, 0), (2, 2, 0)]


def toy(architecture: str, seed: int = 3) -> OpenModel:
    torch.manual_seed(seed)
    config = PlainConfig(architecture, (5, 5), True, 8, 1, 2, kernel=3, longest=16)
    network = NETWORKS[architecture](config).eval()
    with torch.no_grad():
        for weight in network.parameters():
            weight.normal_(0, 0.5)
    return Stepwise(network, Vocabulary(5, (4,), 0, (4,), 16, LIMIT))


@pytest.mark.parametrize("architecture", NETWORKS)
def test_exact_search_finds_the_best_of_all_that_can_be_listed(architecture: str) -> None:
    model = toy(architecture)
    found = exact_search(model, SOURCES, k=7)
    for source, best in zip(SOURCES, found, strict=True):
        space = enumerated(model, source, LIMIT, Drawing())
        ended = {ids: mass for ids, mass in space.items() if ids[-1] == 0}
        ranked = sorted(ended, key=lambda ids: -ended[ids])[:7]
        assert best.exact
        assert [tuple(ids) for ids in best.ids] == ranked
        totals = [math.fsum(logs) for logs in best.logprobs]
        assert totals == pytest.approx([math.log(ended[ids]) for ids in ranked], abs=1e-4)


@pytest.mark.parametrize("architecture", NETWORKS)
def test_scores_are_those_of_enumeration_in_any_batch(architecture: str) -> None:
    model = toy(architecture)
    spaces = [enumerated(model, source, LIMIT, Drawing()) for source in SOURCES]
    targets = [[ids for ids in space if ids[-1] == 0][:40] for space in spaces]
    for budget in (8, 1024):
        for number, scores in score_targets(model, SOURCES, targets, budget=budget):
            for ids, logs in zip(targets[number], scores, strict=True):
                assert math.fsum(logs) == pytest.approx(math.log(spaces[number][ids]), abs=1e-4)


@pytest.mark.parametrize("architecture", NETWORKS)
def test_samples_come_as_often_as_they_are_probable(architecture: str) -> None:
    model = toy(architecture)
    n = 4000
    (drawn,) = draw_samples(model, SOURCES[:1], n=n, seed=5, limit=LIMIT, drawing=Drawing())
    space = enumerated(model, SOURCES[0], LIMIT, Drawing())
    for ids in sorted(space, key=lambda each: -space[each])[:5]:
        share = sum(tuple(each.ids) == ids for each in drawn) / n
        assert share == pytest.approx(space[ids], abs=4 * math.sqrt(space[ids] * (1 - space[ids]) / n))
