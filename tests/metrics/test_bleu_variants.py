"""Variants of BLEU: against the formula of multi-bleu written out here, and against BLEU of lowercased text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from babelscope.metrics.base import find_metric

HYPOTHESES = ["The old man gave it up .", "she sat There , alone , all day", "a child", "no word fits here"]
REFERENCES = [
    ["the old man gave it up ."],
    ["she sat there , alone , the whole day", "She was there all day"],
    ["a small child sat down"],
    ["quite another text"],
]


def multi_bleu(hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, lowercase: bool) -> float:
    """Papineni's formula over words between spaces: clipped counts, closest reference length, no smoothing."""

    def words(text: str) -> list[str]:
        return (text.lower() if lowercase else text).split()

    correct, total, length, reference_length = [0] * 4, [0] * 4, 0, 0
    for hypothesis, own in zip(hypotheses, references, strict=True):
        tokens = words(hypothesis)
        length += len(tokens)
        reference_length += min((abs(len(words(r)) - len(tokens)), len(words(r))) for r in own)[1]
        for n in range(1, 5):
            counts = grams(tokens, n)
            most: Counter[tuple[str, ...]] = Counter()
            for reference in own:
                most |= grams(words(reference), n)
            correct[n - 1] += (counts & most).total()
            total[n - 1] += counts.total()
    if not all(correct):
        return 0.0
    penalty = min(0.0, 1 - reference_length / length)
    return 100 * math.exp(penalty + sum(math.log(c / t) for c, t in zip(correct, total, strict=True)) / 4)


def grams(tokens: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1))


def corpus(name: str, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    metric = find_metric(name)
    return metric.corpus(np.asarray(metric.statistics(hypotheses, references)).sum(axis=0))


@pytest.mark.parametrize(("name", "lowercase"), [("multi-bleu", False), ("multi-bleu-lc", True)])
def test_multi_bleu_is_its_formula(name: str, lowercase: bool) -> None:
    expected = multi_bleu(HYPOTHESES, REFERENCES, lowercase=lowercase)
    assert expected > 0
    assert corpus(name, HYPOTHESES, REFERENCES) == pytest.approx(expected, abs=1e-9)
    assert corpus(name, HYPOTHESES[2:], REFERENCES[2:]) == 0


def test_case_and_tokens_matter_as_the_names_say() -> None:
    lowered = [[text.lower() for text in own] for own in REFERENCES]
    expected = corpus("bleu", [text.lower() for text in HYPOTHESES], lowered)
    assert corpus("bleu-lc", HYPOTHESES, REFERENCES) == pytest.approx(expected, abs=1e-9)
    assert corpus("bleu-lc", HYPOTHESES, REFERENCES) > corpus("bleu", HYPOTHESES, REFERENCES)
    # 13a sets the full stop apart, multi-bleu takes the words as they stand.
    apart, together = ["we gave it up again ."], [["we gave it up again."]]
    assert corpus("bleu", apart, together) == pytest.approx(100)
    assert corpus("multi-bleu", apart, together) < 100


def test_sentences_without_a_long_match_are_smoothed() -> None:
    metric = find_metric("multi-bleu")
    assert metric.sentence(["a b c d x"], [["a b c y z"]])[0] > 0
