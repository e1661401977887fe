"""Holm's adjusted p-values: those of statsmodels, which collects garbage at every call."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from babelscope.stats.paired import holm


@given(st.lists(st.floats(0, 1) | st.sampled_from([0.01, 0.02, 0.5]), min_size=1, max_size=12))
def test_it_is_what_statsmodels_has(ps: list[float]) -> None:
    assert holm(ps) == multipletests(ps, method="holm")[1].tolist()


def test_by_hand() -> None:
    assert holm([0.5, 0.01, 0.03]) == [0.5, 0.03, 0.06]
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []
