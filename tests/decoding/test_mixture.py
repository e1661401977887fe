"""The mean of probabilities against enumeration: what each member says of every hypothesis, averaged by hand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import pytest
import torch

from babelscope.core.system import Budget
from babelscope.decoding.beam import beam_search
from babelscope.decoding.exact import exact_search
from babelscope.decoding.families.encoder_decoder import EncoderDecoder, weights_of
from babelscope.decoding.generic import Generic
from babelscope.decoding.mixture import Mixture, join_sources, split_source
from babelscope.decoding.model import OpenModel, Vocabulary, score_targets
from babelscope.decoding.sampling import draw_samples
from babelscope.util.errors import BabelscopeError
from tests.decoding.test_sampling import p_value
from tests.support.models import toy_network

LIMIT = 4
Target = tuple[int, ...]


def member(family: str, seed: int, *, size: int = 5, language: int | None = None, eos: int = -1) -> OpenModel:
    """A toy network; `language` is a token that it is forced to begin with."""
    network, start, end, pad = toy_network(family.removesuffix("-generic"), seed)
    prefix = (start,) if language is None else (start, language)
    vocabulary = Vocabulary(size, prefix, end if eos < 0 else eos, (pad,), 32, LIMIT)
    lean = family == "marian"
    return EncoderDecoder(weights_of(network), vocabulary) if lean else Generic(network, vocabulary)


def averaged(
    members: Sequence[OpenModel], sources: Sequence[Sequence[int]], *, cut: bool = False
) -> dict[Target, float]:
    """The log-probability of every hypothesis: members are asked one by one, and averaged token by token.

    `cut`: also of those that the limit cuts before their end.
    """
    eos, masked = members[0].vocabulary.eos, members[0].vocabulary.masked
    words = [token for token in range(5) if token not in (eos, *masked)]
    targets = [(*row, eos) for length in range(LIMIT) for row in itertools.product(words, repeat=length)]
    targets += itertools.product(words, repeat=LIMIT) if cut else []
    answers = []
    for each, source in zip(members, sources, strict=True):
        [(_, scores)] = score_targets(each, [source], [targets], budget=4096)
        answers.append(scores)
    return {
        target: math.fsum(
            math.log(math.fsum(map(math.exp, logs)) / len(members)) for logs in zip(*rows, strict=True)
        )
        for target, *rows in zip(targets, *answers, strict=True)
    }


CASES = [
    pytest.param([("marian", 1, None), ("marian", 2, None)], id="two lean"),
    pytest.param([("marian", 1, None), ("marian-generic", 2, None), ("marian", 5, None)], id="three, mixed"),
    pytest.param([("marian", 1, 2), ("marian", 2, 3)], id="each its own language token"),
    pytest.param([("m2m100", 1, None), ("m2m100", 8, None)], id="m2m100"),
    pytest.param([("t5", 1, None), ("t5", 8, None)], id="t5"),
]


def mixture(made: Sequence[tuple[str, int, int | None]]) -> tuple[list[OpenModel], list[list[int]]]:
    """Members, and a source of each: the second member reads other tokens, and more of them."""
    members = [member(family, seed, language=language) for family, seed, language in made]
    eos = members[0].vocabulary.eos
    word = next(token for token in (3, 4) if token not in members[0].vocabulary.masked)
    return members, [[word] * (1 + number) + [eos] for number in range(len(members))]


@pytest.mark.parametrize("made", CASES)
@pytest.mark.parametrize("k", [1, 7])
def test_exact_search_finds_what_enumeration_finds(made: list[tuple[str, int, int | None]], k: int) -> None:
    members, sources = mixture(made)
    truth = averaged(members, sources)
    best = sorted(truth.items(), key=lambda item: -item[1])[:k]
    one, other = join_sources(sources), join_sources(sources[::-1])
    model = Mixture(members)
    found, _ = exact_search(model, [one, other], k=k)
    assert found.exact
    got = [math.fsum(row) for row in found.logprobs]
    assert got == pytest.approx([score for _, score in best], abs=1e-4)
    assert got == pytest.approx([truth[tuple(ids)] for ids in found.ids], abs=1e-4)
    # It is the mean of probabilities that is searched, not that of logs or one member's own.
    [alone] = exact_search(members[0], [sources[0]], k=k)
    assert got != pytest.approx([math.fsum(row) for row in alone.logprobs], abs=1e-2)


@pytest.mark.parametrize("made", CASES)
def test_a_beam_as_wide_as_the_space_finds_the_best(made: list[tuple[str, int, int | None]]) -> None:
    members, sources = mixture(made)
    truth = averaged(members, sources, cut=True)
    joined = join_sources(sources)
    [[found]] = beam_search(Mixture(members), [joined], beam=100, max_length=LIMIT, length_penalty=0.0)
    assert truth[tuple(found)] == pytest.approx(max(truth.values()), abs=1e-4)


def test_samples_have_the_mean_probabilities() -> None:
    members, sources = mixture([("marian", 1, None), ("marian", 2, None)])
    truth = averaged(members, sources)
    [drawn] = draw_samples(Mixture(members), [join_sources(sources)], n=20_000, seed=1, limit=LIMIT)
    expected = {ids: math.exp(score) for ids, score in truth.items()}
    ended = [tuple(each.ids) for each in drawn if tuple(each.ids) in expected]
    mass = math.fsum(expected.values())
    assert len(ended) / len(drawn) == pytest.approx(mass, abs=4 * math.sqrt(mass * (1 - mass) / len(drawn)))

    def p_of(shares: dict[Target, float]) -> float:
        whole = math.fsum(shares.values())
        return p_value(ended, {ids: share / whole for ids, share in shares.items()})

    assert p_of(expected) > 1e-3
    [(_, scores)] = score_targets(members[0], [sources[0]], [list(expected)], budget=4096)
    alone = {ids: math.exp(math.fsum(row)) for ids, row in zip(expected, scores, strict=True)}
    assert p_of(alone) < 1e-6, "one member's own distribution is noticed"
    for each in drawn[:50]:
        if each.ids[-1] == 0:
            assert math.fsum(each.logprobs) == pytest.approx(truth[tuple(each.ids)], abs=1e-4)


def test_memory_of_all_members_counts() -> None:
    members, sources = mixture([("marian", 1, None), ("marian", 2, None)])
    single = members[0].encode([sources[0]])
    both = Mixture(members).encode([join_sources(sources)])
    for model, memory in ((members[0], single), (Mixture(members), both)):
        nodes = memory.add([0])
        model.feed(memory, nodes, nodes * 0 + 1)
    assert both.bytes_for(1000) > 1.9 * single.bytes_for(1000)
    [cut] = exact_search(Mixture(members), [join_sources(sources)], k=50, budget=Budget(expansions=3))
    assert not cut.exact
    assert cut.expansions == 3


def test_members_must_begin_and_end_alike() -> None:
    with pytest.raises(BabelscopeError, match="language token"):
        Mixture([member("marian", 1), member("marian", 2, language=3)])
    with pytest.raises(BabelscopeError, match="different end tokens"):
        Mixture([member("marian", 1), member("marian", 2, eos=1)])


def test_the_least_precise_member_decides_what_rounding_may_do() -> None:
    single, double = member("marian", 1), member("marian", 2)
    double.dtype = torch.float64
    assert Mixture([double, single]).dtype == torch.float32
    assert Mixture([double, double]).dtype == torch.float64
    double.dtype = torch.bfloat16
    assert Mixture([single, double]).dtype == torch.bfloat16


def test_sources_are_joined_and_split() -> None:
    rows = [(1, 2, 3), (), (4,)]
    assert split_source(join_sources(rows), 3) == rows
    assert split_source(join_sources(rows[:1]), 1) == rows[:1]
