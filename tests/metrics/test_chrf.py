"""chrF of many against many is sacreBLEU's, number by number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from babelscope.metrics.aggregation import aggregated_chrf
from babelscope.metrics.chrf import pairwise_chrf

TEXTS = st.lists(st.text("aabc .,ß ", max_size=14), min_size=1, max_size=5)


@settings(max_examples=40)
@given(candidates=TEXTS, references=TEXTS, word_order=st.sampled_from([0, 1, 2]))
def test_every_pair_is_sacrebleus_sentence_score(
    candidates: list[str], references: list[str], word_order: int
) -> None:
    metric = CHRF(word_order=word_order)
    right = [[metric.sentence_score(c, [r]).score for r in references] for c in candidates]
    ours = pairwise_chrf(candidates, references, word_order=word_order)
    assert ours == pytest.approx(np.array(right), abs=1e-9)


@settings(max_examples=40)
@given(candidates=TEXTS, references=TEXTS, word_order=st.sampled_from([0, 2]))
def test_as_many_parts_as_references_are_the_mean_of_all_pairs(
    candidates: list[str], references: list[str], word_order: int
) -> None:
    ours = aggregated_chrf(candidates, references, word_order=word_order, parts=len(references))
    right = pairwise_chrf(candidates, references, word_order=word_order).mean(axis=1)
    assert ours == pytest.approx(right, abs=1e-9)


@settings(max_examples=40)
@given(candidates=TEXTS, reference=st.text("abc ", max_size=14), times=st.integers(1, 4))
def test_references_that_are_all_alike_are_one(candidates: list[str], reference: str, times: int) -> None:
    ours = aggregated_chrf(candidates, [reference] * times)
    assert ours == pytest.approx(pairwise_chrf(candidates, [reference])[:, 0], abs=1e-9)


def test_aggregation_by_hand() -> None:
    """Mean counts of "ab" and "b": a 1/2, b 1, ab 1/2; of orders 1 and 2, which the candidate has too."""
    [ours] = aggregated_chrf(["ab"], ["ab", "b"])
    precision = (1.5 / 2 + 0.5 / 1) / 2
    recall = (1.5 / 1.5 + 0.5 / 0.5) / 2
    assert ours == pytest.approx(100 * 5 * precision * recall / (4 * precision + recall))


def test_parts_are_runs_of_references() -> None:
    texts = ["abc", "abd", "xyz", "xy", "abc abd"]
    [first, second] = (aggregated_chrf(["abx"], some)[0] for some in (texts[:2], texts[2:]))
    # Five references in two parts: two and three, each as heavy as it is large.
    assert aggregated_chrf(["abx"], texts, parts=2)[0] == pytest.approx((2 * first + 3 * second) / 5)
