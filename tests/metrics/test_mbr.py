"""Minimum Bayes risk decoding against brute force with sacreBLEU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from babelscope.metrics.aggregation import aggregated_chrf
from babelscope.metrics.base import Metric, Scale
from babelscope.metrics.mbr import expected_utility, mbr_decode
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
    samples=st.lists(st.text("ab ", max_size=5), min_size=1, max_size=8),
    metric=st.sampled_from(["chrf", "chrf++"]),
)
def test_any_samples_as_by_brute_force(samples: list[str], metric: str) -> None:
    utilities = by_hand(samples, word_order=2 if metric == "chrf++" else 0)
    choice = mbr_decode(samples, expected_utility(metric))
    assert choice.utility == pytest.approx(max(utilities))
    assert utilities[choice.number] == pytest.approx(max(utilities))
    assert choice.number == next(i for i, each in enumerate(utilities) if each > max(utilities) - 1e-9)


@dataclass(frozen=True)
class Distance(Metric):
    """How far lengths are apart; keeps what it was asked."""

    asked: list[tuple[str, str, str]] = field(default_factory=list)

    def sentence(self, hypotheses, references, sources=()):
        pairs = list(zip(hypotheses, [own[0] for own in references], strict=True))
        self.asked.extend((*pair, source) for pair, source in zip(pairs, sources, strict=True))
        return [abs(len(text) - len(reference)) for text, reference in pairs]


def test_any_metric_is_a_utility_and_lower_may_be_better() -> None:
    distance = Distance("distance", Scale(0, None, "lower"))
    choice = mbr_decode(["a", "aaaa", "aaa", "a"], expected_utility(distance, source="x"))
    assert choice.text == "a"
    assert choice.utility == pytest.approx(-(0 + 3 + 2 + 0) / 4)
    assert len(distance.asked) == 9, "each different pair is asked once"
    assert {source for *_, source in distance.asked} == {"x"}


def test_the_other_metrics_choose_as_by_brute_force() -> None:
    for metric, theirs in (("bleu", BLEU(effective_order=True)), ("ter", TER())):
        sign = -1 if metric == "ter" else 1
        samples = [text for text in SAMPLES if text]
        utilities = [
            sign * sum(theirs.sentence_score(each, [other]).score for other in samples) / len(samples)
            for each in samples
        ]
        choice = mbr_decode(samples, expected_utility(metric))
        assert choice.utility == pytest.approx(max(utilities))
        assert choice.number == int(np.argmax(utilities))


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
