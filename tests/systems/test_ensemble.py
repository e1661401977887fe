"""`ensemble:` averages probabilities, not their logs."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelscope.systems.ensemble import log_mean
from babelscope.systems.opening import open_system
from babelscope.util.errors import BabelscopeError
from tests.support.models import SOURCES, TARGETS

PAIRS = list(zip(SOURCES, TARGETS, strict=True))


def test_probabilities_are_averaged(checkpoint: Callable[..., Path]) -> None:
    one, two = checkpoint("marian"), checkpoint("marian", seed=2)
    both = open_system(f"ensemble:hf:{one}?max_length=40,hf:{two}?max_length=40")
    assert [member.vocabulary.target_limit for member in both.members] == [40, 40]
    singles = [open_system(f"hf:{folder}").score(PAIRS) for folder in (one, two)]
    for merged, first, second in zip(both.score(PAIRS), *singles, strict=True):
        expected = [
            math.log((math.exp(a) + math.exp(b)) / 2)
            for a, b in zip(first.logprobs, second.logprobs, strict=True)
        ]
        assert merged.tokens == first.tokens
        assert merged.logprobs == pytest.approx(expected, abs=1e-4)


def test_the_order_of_members_does_not_matter(checkpoint: Callable[..., Path]) -> None:
    one, two = checkpoint("marian"), checkpoint("marian", seed=2)
    forward, backward = open_system(f"ensemble:hf:{one},hf:{two}"), open_system(f"ensemble:hf:{two},hf:{one}")
    assert forward.fingerprint == backward.fingerprint
    assert forward.fingerprint.digest != open_system(f"ensemble:hf:{one},hf:{one}").fingerprint.digest


def test_members_must_share_a_vocabulary_and_score(checkpoint: Callable[..., Path], tmp_path: Path) -> None:
    mixed = open_system(f"ensemble:hf:{checkpoint('marian')},hf:{checkpoint('fsmt')}")
    with pytest.raises(BabelscopeError, match="into different tokens"):
        mixed.score(PAIRS)
    (tmp_path / "out").write_text("x\n")
    with pytest.raises(
        BabelscopeError, match=r"an ensemble needs a system that gives log-prob.*these do: hf:.*lab:"
    ):
        open_system(f"ensemble:hf:{checkpoint('marian')},file:{tmp_path / 'out'}")
    with pytest.raises(BabelscopeError, match="at least two members"):
        open_system(f"ensemble:hf:{checkpoint('marian')}")


@given(st.lists(st.floats(-2000, 0), min_size=1, max_size=5))
def test_log_mean(logs: list[float]) -> None:
    assert min(logs) - 1e-9 <= log_mean(logs) <= max(logs) + 1e-9
    assert log_mean([logs[0]] * 3) == pytest.approx(logs[0])
    if min(logs) > -700:
        assert log_mean(logs) == pytest.approx(math.log(math.fsum(map(math.exp, logs)) / len(logs)))


def test_impossible_tokens_stay_possible_if_one_member_allows_them() -> None:
    assert log_mean([-math.inf, 0.0]) == pytest.approx(math.log(0.5))
    assert log_mean([-math.inf, -math.inf]) == -math.inf
