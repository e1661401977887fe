"""Minimum Bayes risk decoding against brute force with sacreBLEU, and chrF of many against many."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from babelscope.metrics.base import METRICS, OUT_OF_PROCESS, Metric, Scale, find_metric
from babelscope.metrics.chrf import pairwise_chrf
from babelscope.metrics.mbr import aggregated_chrf, expected_utility, mbr_decode, probability_weights
from babelscope.util.errors import BabelscopeError


def by_hand(samples: Sequence[str], word_order: int = 0) -> list[float]:
    metric = CHRF(word_order=word_order)
    return [
        sum(metric.sentence_score(each, [other]).score for other in samples) / len(samples)
        for each in samples
    ]


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


SAMPLES = [
    "der Hund schläft heute im Garten",
    "die Katze schläft im Garten",
    "der Hund läuft heute im Garten",
    "der Hund schläft heute im Garten",
    "ein Haus steht im Garten",
    "heute schlief der Hund",
]
WEIGHTS = [0.3, 0.05, 0.2, 0.1, 0.25, 0.1]
SHARED_WORDS = """
import json, sys
for line in sys.stdin:
    given = json.loads(line)
    words, others = set(given["hypothesis"].split()), set(given["reference"].split())
    print(len(words & others) / len(words) + len(given["source"]) / 100)
"""


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("metric") / "shared_words.py"
    path.write_text(SHARED_WORDS)
    return f"cmd:{sys.executable} {path}"


def own_metrics() -> list[str]:
    """The metrics that are computed in this process."""
    return [name for name in METRICS.built_in if name not in OUT_OF_PROCESS]


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("name", [*own_metrics(), "cmd"])
def test_the_choice_is_that_of_brute_force(name: str, weights: list[float] | None, command: str) -> None:
    """Each pair alone, by the metric's sentence score, summed by hand."""
    metric = find_metric(command if name == "cmd" else name)
    sign = 1 if metric.scale.better == "higher" else -1
    shares = weights or [1 / len(SAMPLES)] * len(SAMPLES)
    right = [
        sign
        * math.fsum(
            share * metric.sentence([candidate], [[other]], ["Quelle"])[0]
            for share, other in zip(shares, SAMPLES, strict=True)
        )
        for candidate in SAMPLES
    ]
    choice = mbr_decode(SAMPLES, expected_utility(metric, source="Quelle", weights=weights))
    assert choice.utility == pytest.approx(max(right))
    assert choice.number == next(n for n, each in enumerate(right) if each > max(right) - 1e-9)
    assert (choice.n, choice.distinct, choice.text) == (6, 5, SAMPLES[choice.number])
    equal = {SAMPLES[n] for n, each in enumerate(right) if each > max(right) - 1e-9}
    assert choice.tied == len(equal) - 1


TEXTS = st.lists(st.text("aabc .,ß日\U0001f600", max_size=14), min_size=1, max_size=5)


@settings(max_examples=60)
@given(candidates=TEXTS, references=TEXTS, word_order=st.sampled_from([0, 2]), data=st.data())
def test_weights_in_parts_of_one_reference_are_the_weighted_mean_of_all_pairs(
    candidates: list[str], references: list[str], word_order: int, data: st.DataObject
) -> None:
    shares = st.lists(st.floats(0.01, 1), min_size=len(references), max_size=len(references))
    weights = data.draw(shares)
    ours = aggregated_chrf(
        candidates, references, word_order=word_order, parts=len(references), weights=weights
    )
    pairs = pairwise_chrf(candidates, references, word_order=word_order)
    assert ours == pytest.approx(pairs @ np.array(weights) / math.fsum(weights), abs=1e-9)


@settings(max_examples=60)
@given(candidates=TEXTS, references=TEXTS, times=st.lists(st.integers(1, 3), min_size=5, max_size=5))
def test_a_weight_is_as_good_as_repeating_a_reference(
    candidates: list[str], references: list[str], times: list[int]
) -> None:
    repeated = [text for text, count in zip(references, times, strict=False) for _ in range(count)]
    weighed = aggregated_chrf(candidates, references, weights=times[: len(references)])
    assert weighed == pytest.approx(aggregated_chrf(candidates, repeated), abs=1e-9)


def test_more_symbols_than_two_bytes_hold() -> None:
    """Long texts take another way of sorting; their scores must not depend on it."""
    long = "".join(chr(0x4E00 + number % 20000) for number in range(40000))
    short = [long[:300], long[150:500]]
    alone = aggregated_chrf(short, short)
    # A candidate that is no reference changes nothing but the amount of text.
    assert aggregated_chrf([*short, long, long[::-1]], short)[:2] == pytest.approx(alone, abs=1e-9)


@pytest.mark.parametrize("word_order", [0, 2])
def test_texts_without_a_character(word_order: int) -> None:
    assert aggregated_chrf(["", " "], ["", ""], word_order=word_order).tolist() == [0, 0]


def test_what_is_no_utility_is_refused(command: str) -> None:
    with pytest.raises(BabelscopeError, match="ter has no linear-time form; only chrf"):
        expected_utility("ter", parts=1)
    with pytest.raises(BabelscopeError, match="2 weights cannot be those of 3 candidates"):
        mbr_decode(["a", "b", "c"], expected_utility("chrf", weights=[0.5, 0.5]))
    with pytest.raises(BabelscopeError, match="reads no reference, so it cannot compare"):
        expected_utility(f"{command}?reference=no")


def test_probabilities_within_a_list() -> None:
    assert probability_weights([-2000.0, -2000.0 + math.log(3)]) == pytest.approx([0.25, 0.75])
    assert probability_weights([-1.0, -math.inf]) == [1, 0]
    with pytest.raises(BabelscopeError, match="no candidate has a probability above 0"):
        probability_weights([-math.inf])
    with pytest.raises(BabelscopeError, match="at least one sample"):
        mbr_decode([])


FEW_TEXTS = st.lists(st.text("aabc .,ß ", max_size=14), min_size=1, max_size=5)


@settings(max_examples=40)
@given(candidates=FEW_TEXTS, references=FEW_TEXTS, word_order=st.sampled_from([0, 1, 2]))
def test_every_pair_is_sacrebleus_sentence_score(
    candidates: list[str], references: list[str], word_order: int
) -> None:
    metric = CHRF(word_order=word_order)
    right = [[metric.sentence_score(c, [r]).score for r in references] for c in candidates]
    ours = pairwise_chrf(candidates, references, word_order=word_order)
    assert ours == pytest.approx(np.array(right), abs=1e-9)


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
