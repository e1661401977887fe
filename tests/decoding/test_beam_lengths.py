"""Beam search of one length: EOS at the limit and nowhere before."""

from __future__ import annotations

import pytest

from babelscope.decoding.beam import beam_search
from tests.decoding.test_exact import EOS, Table, enumerate_table


@pytest.mark.parametrize("kind", ["random", "forced", "sharp"])
@pytest.mark.parametrize("exactly", [1, 2, 4])
def test_a_beam_as_wide_as_the_space_finds_the_best_of_that_length(kind: str, exactly: int) -> None:
    model = Table(2, kind, words=2, limit=5)
    sources = [(1,), (2,), (3,)]
    found = beam_search(model, sources, beam=64, n_best=64, length_penalty=0.0, exactly=exactly)
    for source, group in zip(sources, found, strict=True):
        complete, _ = enumerate_table(model, source)
        expected = {ids: total for ids, total in complete.items() if len(ids) == exactly}
        assert {tuple(ids) for ids in group} == set(expected)
        assert all(ids[-1] == EOS for ids in group)
        totals = [expected[tuple(ids)] for ids in group]
        assert totals == sorted(totals, reverse=True)
