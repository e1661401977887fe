"""The contract of open models: what they score, draw and search is what their network says of every short text."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from babelscope.core.system import Drawing
from babelscope.decoding.beam import beam_search
from babelscope.decoding.causal import Causal, force_causal
from babelscope.decoding.exact import exact_search
from babelscope.decoding.families.decoder import Decoder, weights_of
from babelscope.decoding.mixture import Mixture, join_sources
from babelscope.decoding.model import OpenModel, Vocabulary, score_targets
from babelscope.decoding.sampling import draw_distinct, draw_samples
from babelscope.decoding.stepwise import Stepwise
from babelscope.lab.training.networks import NETWORKS, PlainConfig
from tests.decoding.families import test_encoder_decoder as encoders
from tests.decoding.test_mixture import member
from tests.decoding.test_sampling import p_value
from tests.support.causal_families import KINDS, network_of
from tests.support.open_toys import assert_best, enumerated

LIMIT = 4
Ids = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Case:
    """A model, sources, and what its network says: log-probabilities of a source's targets, by other means."""

    model: OpenModel
    sources: Sequence[Ids]
    said: Callable[[Ids, list[Ids]], list[float]]

    @functools.cache  # noqa: B019
    def space(self, source: Ids) -> dict[Ids, float]:
        """Every text that ends within the limit, and every one that it cuts, with its log-probability."""
        end, masked = self.model.vocabulary.eos, self.model.vocabulary.masked
        words = [token for token in range(self.model.vocabulary.size) if token not in (end, *masked)]
        bodies = [body for length in range(LIMIT) for body in itertools.product(words, repeat=length)]
        targets = [(*body, end) for body in bodies] + list(itertools.product(words, repeat=LIMIT))
        return dict(zip(targets, self.said(source, targets), strict=True))

    def ended(self, source: Ids) -> dict[Ids, float]:
        return {ids: log for ids, log in self.space(source).items() if ids[-1] == self.model.vocabulary.eos}


def plain(**shape: Any) -> Case:
    """A network of the lab that is fed token by token."""
    torch.manual_seed(3)
    usual = {"vocabularies": (5, 5), "joint": True, "width": 8, "encoder_layers": 1, "decoder_layers": 2}
    config = PlainConfig(**{**usual, "longest": 16, **shape})
    network = NETWORKS[config.architecture](config).eval()
    with torch.no_grad():
        for weight in network.parameters():
            weight.normal_(0, 0.5)
    model = Stepwise(network, Vocabulary(5, (4,), 0, (4,), 16, LIMIT))

    def said(source: Ids, targets: list[Ids]) -> list[float]:
        found = enumerated(model, source, LIMIT, Drawing())
        return [math.log(found[target]) for target in targets]

    return Case(model, [(1, 2, 3, 0), (3, 0), (2, 2, 0)], said)


def causal(kind: str, *, lean: bool) -> Case:
    """A language model, by our forward pass or transformers' own."""
    network = network_of(kind, 1, size=4)
    vocabulary = Vocabulary(4, (0,), 1, (), None, LIMIT)
    model: OpenModel = Decoder(weights_of(network), vocabulary) if lean else Causal(network, vocabulary)

    def said(source: Ids, targets: list[Ids]) -> list[float]:
        rows = force_causal(network, [source] * len(targets), [list(target) for target in targets])
        return [math.fsum(row) for row in rows]

    return Case(model, [(2, 3, 2), (2, 3, 3, 3), (3,)], said)


def encoder_decoder(kind: str) -> Case:
    """Our forward pass of an encoder-decoder of transformers."""
    network = encoders.network_of(kind, 1, size=5)

    def said(source: Ids, targets: list[Ids]) -> list[float]:
        @functools.cache
        def after(prefix: Ids) -> list[float]:
            row: list[float] = encoders.plain(network, source, [encoders.BEGIN, *prefix]).tolist()
            return row

        return [math.fsum(after(ids[:place])[token] for place, token in enumerate(ids)) for ids in targets]

    model = encoders.lean(network, encoders.vocabulary(5, longest=LIMIT))
    return Case(model, [(3, 4, 3), (4,), (3, 4, 4, 4, 3)], said)


def mixture(*made: tuple[str, int, int | None]) -> Case:
    """The mean of members' probabilities, each asked by itself; the second reads other tokens, and more of them."""
    members = [member(family, seed, language=language) for family, seed, language in made]
    end = members[0].vocabulary.eos
    word = next(token for token in (3, 4) if token not in members[0].vocabulary.masked)
    own = [[word] * (1 + number) + [end] for number in range(len(members))]
    turned = {join_sources(own): own, join_sources(own[::-1]): own[::-1]}

    def said(source: Ids, targets: list[Ids]) -> list[float]:
        answers = []
        for each, ids in zip(members, turned[source], strict=True):
            [(_, scores)] = score_targets(each, [ids], [targets], budget=4096)
            answers.append(scores)
        return [
            math.fsum(
                math.log(math.fsum(map(math.exp, logs)) / len(members)) for logs in zip(*rows, strict=True)
            )
            for rows in zip(*answers, strict=True)
        ]

    return Case(Mixture(members), list(turned), said)


CASES: dict[str, Callable[[], Case]] = {
    "recurrent": lambda: plain(architecture="recurrent"),
    "separate vocabularies": lambda: plain(architecture="recurrent", vocabularies=(7, 5), joint=False),
    "convolutional": lambda: plain(architecture="convolutional"),
    "kernel 1": lambda: plain(architecture="convolutional", kernel=1),
    "kernel 4": lambda: plain(architecture="convolutional", kernel=4),
    "learned": lambda: plain(architecture="convolutional", learned_positions=True),
    "causal of transformers": lambda: causal("llama", lean=False),
    **{kind: functools.partial(causal, kind, lean=True) for kind in KINDS},
    **{kind: functools.partial(encoder_decoder, kind) for kind in encoders.CLASSES},
    "two lean": lambda: mixture(("marian", 1, None), ("marian", 2, None)),
    "three, mixed": lambda: mixture(("marian", 1, None), ("marian-generic", 2, None), ("marian", 5, None)),
    "each its own language token": lambda: mixture(("marian", 1, 2), ("marian", 2, 3)),
    "two of m2m100": lambda: mixture(("m2m100", 1, None), ("m2m100", 8, None)),
    "two of t5": lambda: mixture(("t5", 1, None), ("t5", 8, None)),
}


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]()


def test_scores_in_any_batch(case: Case) -> None:
    targets = [list(case.ended(source))[:40] for source in case.sources]
    for budget in (8, 1024):
        for number, scores in score_targets(case.model, case.sources, targets, budget=budget):
            for ids, logs in zip(targets[number], scores, strict=True):
                assert math.fsum(logs) == pytest.approx(case.space(case.sources[number])[ids], abs=1e-4)


def test_exact_search(case: Case) -> None:
    for source, found in zip(case.sources, exact_search(case.model, case.sources, k=10), strict=True):
        assert_best(found, case.ended(source))


def test_a_beam_as_wide_as_the_space(case: Case) -> None:
    found = beam_search(case.model, case.sources, beam=400, n_best=3, max_length=LIMIT, length_penalty=0.0)
    for source, group in zip(case.sources, found, strict=True):
        space = case.space(source)
        best = sorted(space.values(), reverse=True)[:3]
        assert [space[tuple(ids)] for ids in group] == pytest.approx(best, abs=1e-4)


def test_samples_come_as_often_as_they_are_probable(case: Case) -> None:
    source = case.sources[0]
    (drawn,) = draw_samples(case.model, [source], n=4000, seed=5, limit=LIMIT, drawing=Drawing())
    expected = {ids: math.exp(log) for ids, log in case.space(source).items()}
    assert math.fsum(expected.values()) == pytest.approx(1, rel=1e-4)
    # One in a thousand honest samples would fail; the seed is fixed.
    assert p_value([tuple(each.ids) for each in drawn], expected) > 1e-3
    for each in drawn[:50]:
        assert math.fsum(each.logprobs) == pytest.approx(case.space(source)[tuple(each.ids)], abs=1e-4)
    (distinct,) = draw_distinct(case.model, [source], n=6, seed=1, limit=LIMIT)
    assert len({tuple(each.ids) for each in distinct.samples}) == 6


def test_order_and_company_change_no_search(case: Case) -> None:
    sources = list(case.sources)
    together = beam_search(case.model, sources, beam=3, max_length=LIMIT)
    assert beam_search(case.model, sources[::-1], beam=3, max_length=LIMIT) == together[::-1]
    assert [beam_search(case.model, [source], beam=3, max_length=LIMIT)[0] for source in sources] == together
    alone = [exact_search(case.model, [source], k=4)[0].ids for source in sources]
    assert [each.ids for each in exact_search(case.model, sources, k=4)] == alone
