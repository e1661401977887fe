"""Exact search of one length and by length-normalized scores, against full enumeration."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from babelscope.core.system import Budget, LengthRule
from babelscope.decoding import exact
from babelscope.decoding.exact import ExactResult, exact_search
from babelscope.util.errors import BabelscopeError
from tests.decoding.test_exact import START, Table, Target, enumerate_table, kinds
from tests.support.open_toys import toy

cases: Any = {
    "seed": st.integers(0, 2**31),
    "kind": kinds,
    "words": st.integers(2, 3),
    "limit": st.integers(1, 6),
    "k": st.sampled_from([1, 2, 5, 1000]),
    "rows": st.sampled_from([1, 7, 256]),
    "sources": st.lists(st.tuples(st.integers(0, 3)), min_size=1, max_size=3, unique=True),
}
rules = st.one_of(
    st.just(LengthRule()),
    st.builds(LengthRule, exactly=st.integers(1, 6)),
    st.builds(LengthRule, exactly=st.integers(1, 6), penalty=st.sampled_from([0.5, 1.0])),
    st.builds(
        LengthRule,
        at_most=st.integers(0, 7),
        penalty=st.sampled_from([0.0, 1e-3, 0.3, 1.0, 1.7, 10.0]),
    ),
)


def admitted(model: Table, source: Target, rule: LengthRule) -> dict[Target, float]:
    """The rank of every hypothesis that the rule admits, as enumeration finds them."""
    complete, _ = enumerate_table(model, source)
    longest = rule.at_most or math.inf
    return {
        ids: total / len(ids) ** rule.penalty
        for ids, total in complete.items()
        if len(ids) <= longest and (not rule.exactly or len(ids) == rule.exactly)
    }


def prefixes_above(model: Table, source: Target, rule: LengthRule, least: float) -> int:
    """How many prefixes that leave room for EOS could have a continuation ranked above `least`."""
    _, prefixes = enumerate_table(model, source)
    longest = min(filter(None, (model.vocabulary.target_limit, rule.at_most, rule.exactly)))
    return sum(total / longest**rule.penalty > least for ids, total in prefixes.items() if len(ids) < longest)


def ranked(found: ExactResult, rule: LengthRule) -> list[tuple[Target, float]]:
    return [
        (tuple(ids), math.fsum(row) / len(ids) ** rule.penalty)
        for ids, row in zip(found.ids, found.logprobs, strict=True)
    ]


def best(ranks: dict[Target, float], k: int) -> list[tuple[Target, float]]:
    return sorted(ranks.items(), key=lambda item: (-item[1], len(item[0]), item[0]))[:k]


@settings(max_examples=300, deadline=None)
@given(**cases, rule=rules)
def test_it_is_what_enumeration_finds(
    seed: int, kind: str, words: int, limit: int, k: int, rows: int, sources: list[Target], rule: LengthRule
) -> None:
    """Same hypotheses, order and scores for every rule, with the least number of expansions stated rightly."""
    model = Table(seed, kind, words=words, limit=limit, prefix=(START,) if seed % 2 else (START, 3))
    if rule.exactly > limit:
        with pytest.raises(BabelscopeError, match=rf"no hypothesis of {rule.exactly} tokens: .* is {limit}"):
            exact_search(model, sources, k=k, rows=rows, lengths=rule)
        return
    answers = exact_search(model, sources, k=k, rows=rows, lengths=rule)
    for source, found in zip(sources, answers, strict=True):
        ranks = admitted(model, source, rule)
        expected = best(ranks, k)
        assert ranked(found, rule) == expected
        assert found.exact
        last = expected[-1][1] if len(expected) == k else -math.inf
        assert found.bound == last
        assert found.minimum == prefixes_above(model, source, rule, last + 1e-4)
        assert found.minimum <= found.expansions <= prefixes_above(model, source, rule, -math.inf)
        probable = sum(math.exp(rank * len(ids) ** rule.penalty) for ids, rank in expected)
        everything = sum(math.exp(rank * len(ids) ** rule.penalty) for ids, rank in ranks.items())
        assert probable - 1e-6 <= found.mass <= everything + 1e-6
    assert rule != LengthRule() or model.largest <= max(rows, len(sources))


@settings(max_examples=200, deadline=None)
@given(**cases, rule=rules, expansions=st.integers(1, 30))
def test_certificates_are_true(
    seed: int,
    kind: str,
    words: int,
    limit: int,
    k: int,
    rows: int,
    sources: list[Target],
    rule: LengthRule,
    expansions: int,
) -> None:
    """Stopped early, nothing admitted that enumeration finds ranks above the stated bound."""
    model = Table(seed, kind, words=words, limit=max(limit, rule.exactly))
    answers = exact_search(model, sources, k=k, rows=rows, lengths=rule, budget=Budget(expansions=expansions))
    for source, found in zip(sources, answers, strict=True):
        ranks = admitted(model, source, rule)
        got = ranked(found, rule)
        assert found.expansions <= expansions
        assert len({ids for ids, _ in got}) == len(got)
        assert all(ranks[ids] == rank for ids, rank in got)
        assert got == best(dict(got), k)
        assert all(rank <= found.bound + 1e-6 for ids, rank in ranks.items() if ids not in dict(got))
        if found.exact:
            assert [rank for _, rank in got] == [rank for _, rank in best(ranks, k)]
        sure = [rank for _, rank in got if rank >= found.bound]
        assert sure == [rank for _, rank in best(ranks, k)][: len(sure)]
        if found.expansions < expansions:
            assert found.exact


@pytest.mark.parametrize("family", ["marian", "t5"])
@settings(max_examples=6, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    rule=st.sampled_from(
        [LengthRule(exactly=3), LengthRule(penalty=1.0), LengthRule(at_most=4, penalty=0.6)]
    ),
)
def test_networks_too(family: str, seed: int, rule: LengthRule) -> None:
    """The best of a toy network, against all sequences that its vocabulary can make, scored by teacher forcing."""
    model = toy(family, seed, limit=5)
    source = [2, model.vocabulary.eos]
    [found] = exact_search(model, [source], k=4, lengths=rule)
    [everything] = exact_search(model, [source], k=100_000)
    longest = rule.at_most or 5
    ranks = {
        tuple(ids): math.fsum(row) / len(ids) ** rule.penalty
        for ids, row in zip(everything.ids, everything.logprobs, strict=True)
        if len(ids) <= longest and (not rule.exactly or len(ids) == rule.exactly)
    }
    assert everything.exact
    assert everything.mass <= 1 + 1e-5
    assert found.exact
    expected = [rank for _, rank in best(ranks, 4)]
    assert [rank for _, rank in ranked(found, rule)] == pytest.approx(expected, abs=1e-5)


def test_lengths_that_cannot_be_searched() -> None:
    endless = Table(1, "flat", words=1, limit=None)
    with pytest.raises(BabelscopeError, match="say a greatest length"):
        exact_search(endless, [(1,)], k=1, lengths=LengthRule(penalty=1.0))
    [found] = exact_search(endless, [(1,)], k=1, lengths=LengthRule(at_most=4, penalty=1.0))
    # Each word or the end with one half: all lengths have the same mean, and ties go to the shorter.
    assert (found.ids, found.exact) == ([[1]], True)
    [found] = exact_search(endless, [(1,)], k=2, lengths=LengthRule(exactly=9))
    assert (len(found.ids), len(found.ids[0]), found.exact, found.bound) == (1, 9, True, -math.inf)
    for wrong in (
        {"exactly": -1},
        {"at_most": -1},
        {"exactly": 2, "at_most": 3},
        {"penalty": -0.1},
        {"penalty": 11},
        {"penalty": math.nan},
    ):
        with pytest.raises(BabelscopeError):
            LengthRule(**wrong)


@settings(max_examples=40, deadline=None)
@given(**cases, rule=rules)
def test_every_row_is_given_back(
    seed: int, kind: str, words: int, limit: int, k: int, rows: int, sources: list[Target], rule: LengthRule
) -> None:
    prefix = (START,) if seed % 2 else (START, 3)
    model = Table(seed, kind, words=words, limit=max(limit, rule.exactly), prefix=prefix)
    search = exact._Search(model, sources, k, Budget(expansions=20), rows, rule)
    assert sorted(sentence.number for sentence in search.run()) == list(range(len(sources)))
    memory = search.memory
    back = np.concatenate([np.zeros(0, dtype=int), *memory._given_back])
    assert sorted(back) == list(range(memory.n_sources, memory.size))
    assert not search.references[memory.n_sources : memory.size].any()
