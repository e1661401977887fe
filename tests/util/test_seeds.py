"""Streams of random numbers: reproducible, and independent of each other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from babelscope.util.seeds import stream


@given(st.integers(), st.text("ab/☃"))
def test_same_seed_and_name_give_the_same_numbers(seed, name):
    assert (stream(seed, name).random(4) == stream(seed, name).random(4)).all()


def test_every_name_and_seed_has_its_own_stream():
    drawn = {tuple(stream(seed, name).random(4)) for seed in (0, 1, 10, -1) for name in ("a", "b", "0", "")}
    assert len(drawn) == 16


def test_the_numbers_stay_what_they_are():
    # Published results depend on them.
    assert stream(0, "likelihood/bootstrap").integers(0, 1000, 5).tolist() == [403, 307, 194, 744, 998]
