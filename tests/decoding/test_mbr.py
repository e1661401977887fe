"""Minimum Bayes risk decoding against brute force with sacreBLEU."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from babelscope.metrics.chrf import aggregated_chrf, pairwise_chrf
from babelscope.metrics.mbr import mbr_decode, of_pairs, quadratic
from babelscope.util.errors import BabelscopeError

SAMPLES = [
    "der Hund schläft",
    "die Katze schläft",
    "der Hund läuft",
    "der Hund schläft",
    "ein Haus",
    "der Hund schlief",
    "",
]


def by_hand(samples: Sequence[str], word_order: int = 0) -> list[float]:
    metric = CHRF(word_order=word_order)
    return [
        sum(metric.sentence_score(each, [other]).score for other in samples) / len(samples)
        for each in samples
    ]


def test_the_best_is_that_of_brute_force() -> None:
    utilities = by_hand(SAMPLES)
    choice = mbr_decode(SAMPLES)
    assert choice.number == int(np.argmax(utilities)) == 0
    assert (choice.text, choice.n) == (SAMPLES[0], len(SAMPLES))
    assert choice.utility == pytest.approx(max(utilities))


@given(
    samples=st.lists(st.text("ab ", max_size=5), min_size=1, max_size=8), word_order=st.sampled_from([0, 2])
)
def test_any_samples_as_by_brute_force(samples: list[str], word_order: int) -> None:
    utilities = by_hand(samples, word_order)

    def utility(candidates: Sequence[str], references: Sequence[str]) -> np.ndarray:
        return pairwise_chrf(candidates, references, word_order=word_order)

    choice = mbr_decode(samples, quadratic(utility))
    assert choice.utility == pytest.approx(max(utilities))
    assert utilities[choice.number] == pytest.approx(max(utilities))
    assert choice.number == next(i for i, each in enumerate(utilities) if each > max(utilities) - 1e-9)


def test_any_quality_function_is_a_utility() -> None:
    asked: list[tuple[str, str]] = []

    def closeness(translations: Sequence[str], references: Sequence[str]) -> list[float]:
        asked.extend(zip(translations, references, strict=True))
        return [-abs(len(t) - len(r)) for t, r in zip(translations, references, strict=True)]

    choice = mbr_decode(["a", "aaaa", "aaa", "a"], of_pairs(closeness))
    assert choice.text == "a"
    assert choice.utility == pytest.approx(-(0 + 3 + 2 + 0) / 4)
    assert len(asked) == 9, "each different pair is asked once"


def test_linear_time_agrees_where_samples_do() -> None:
    choice = mbr_decode(SAMPLES, aggregated_chrf)
    assert choice.text == SAMPLES[0]
    everything = mbr_decode(
        SAMPLES, lambda candidates, references: aggregated_chrf(candidates, references, parts=len(references))
    )
    assert everything.utility == pytest.approx(mbr_decode(SAMPLES).utility)


def test_no_samples_are_refused() -> None:
    with pytest.raises(BabelscopeError, match="at least one sample"):
        mbr_decode([])
