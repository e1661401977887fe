"""Members of a mixture: what they need to have in common, and what they cost; test_contract.py has its answers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from babelscope.core.system import Budget
from babelscope.decoding.exact import exact_search
from babelscope.decoding.families.encoder_decoder import EncoderDecoder, weights_of
from babelscope.decoding.generic import Generic
from babelscope.decoding.mixture import Mixture, join_sources, split_source
from babelscope.decoding.model import OpenModel, Vocabulary
from babelscope.util.errors import BabelscopeError
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


def mixture(made: Sequence[tuple[str, int, int | None]]) -> tuple[list[OpenModel], list[list[int]]]:
    """Members, and a source of each: the second member reads other tokens, and more of them."""
    members = [member(family, seed, language=language) for family, seed, language in made]
    eos = members[0].vocabulary.eos
    word = next(token for token in (3, 4) if token not in members[0].vocabulary.masked)
    return members, [[word] * (1 + number) + [eos] for number in range(len(members))]


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
