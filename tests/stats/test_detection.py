"""Rates corrected for what a detector misses: their interval, and what is told of impossible ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelscope.stats.detection import impossible, rogan_gladen
from babelscope.util.errors import BabelscopeError


def test_a_corrected_rate_is_rogan_and_gladens() -> None:
    # 30 alarms in 100, of a detector that finds 80 % and raises 10 % false alarms: (0.3 - 0.1) / (0.8 - 0.1).
    found = rogan_gladen(30, 100, found=80, wrong=100, false_alarms=10, right=100)
    assert found.value == pytest.approx(2 / 7)
    # Step by step from Lang and Reiczigel's formulas: adjusted rates 31.92/103.84, 81/102 and 11/102.
    assert (found.low, found.high) == (pytest.approx(0.141919, abs=1e-6), pytest.approx(0.436526, abs=1e-6))
    assert (found.n, impossible(found)) == (100, "")


@given(*(st.tuples(st.integers(1, 500), st.floats(0, 1)) for _ in range(3)))
def test_errors_and_right_texts_can_change_places(
    asked: tuple[int, float], wrong: tuple[int, float], right: tuple[int, float]
) -> None:
    (n, alarms), (bad, found), (good, false) = (
        (size, round(size * share)) for size, share in (asked, wrong, right)
    )
    here = rogan_gladen(alarms, n, found=found, wrong=bad, false_alarms=false, right=good)
    there = rogan_gladen(n - alarms, n, found=good - false, wrong=good, false_alarms=bad - found, right=bad)
    assert here.no_interval == there.no_interval
    assert bool(impossible(here)) == bool(impossible(there)) == (not 0 <= here.value <= 1)
    assert (there.value, there.low, there.high) == pytest.approx(
        (1 - here.value, 1 - here.high, 1 - here.low), nan_ok=True
    )


def test_more_than_all_is_told_and_its_detectors_uncertainty_counts() -> None:
    # All 7 have an alarm by a detector that finds 20 of 33: 7/7 by 20/33, not cut to [1, 1].
    found = rogan_gladen(7, 7, found=20, wrong=33, false_alarms=0, right=7)
    assert found.value == pytest.approx(33 / 20)
    assert found.low < 1 < found.high
    assert "over 100 %" in impossible(found)
    assert "may be chance" in impossible(found)
    sure = rogan_gladen(500, 500, found=100, wrong=500, false_alarms=0, right=500)
    assert sure.low > 1
    assert "the correction is wrong for this text" in impossible(sure)
    less = rogan_gladen(0, 200, found=80, wrong=100, false_alarms=20, right=100)
    assert less.high < 0
    assert "below 0" in impossible(less)


def test_more_calibration_narrows_the_interval_and_none_says_nothing() -> None:
    little, much = (
        rogan_gladen(30, 100, found=0.8 * n, wrong=n, false_alarms=0.1 * n, right=n) for n in (50, 5000)
    )
    assert little.high - little.low > much.high - much.low
    assert rogan_gladen(3, 10, found=0, wrong=0, false_alarms=0, right=5).n == 0
    blind = rogan_gladen(3, 10, found=1, wrong=10, false_alarms=2, right=10)
    assert (blind.value, blind.low, blind.high) == (0.3, 0.0, 1.0)
    # 1 of 1 is more than 3 of 4, but 2 of 3 no more than 4 of 6, which the interval is made of.
    open_ends = rogan_gladen(9, 10, found=1, wrong=1, false_alarms=3, right=4)
    assert (open_ends.low, open_ends.high) == (0, 1)
    with pytest.raises(BabelscopeError, match="11 of 10 texts is no count"):
        rogan_gladen(11, 10, found=1, wrong=1, false_alarms=0, right=1)
