"""Corpus quality is sacreBLEU's own number, with an interval around it."""

from __future__ import annotations

import numpy as np
import pytest
import sacrebleu

from babelscope.errors import BabelscopeError
from babelscope.measures.quality import corpus_quality

OUTPUT = ["der Hund schläft", "die Katze sieht den Vogel im Garten", "es regnet heute in der Stadt nicht"]
ONE = [
    ["der Hund schläft"],
    ["die Katze sieht einen Vogel im Garten"],
    ["heute regnet es in der Stadt nicht"],
]
SEVERAL = [[*ONE[0], "ein Hund schläft"], ONE[1], [*ONE[2], "es regnet heute in der Stadt nicht"]]


@pytest.mark.parametrize("references", [ONE, SEVERAL])
@pytest.mark.parametrize(
    ("metric", "theirs"), [("bleu", sacrebleu.BLEU()), ("chrf", sacrebleu.CHRF()), ("ter", sacrebleu.TER())]
)
def test_it_is_sacrebleus_number(metric: str, theirs: object, references: list[list[str]]) -> None:
    streams = [[group[i] if i < len(group) else None for group in references] for i in range(2)]
    streams = [stream for stream in streams if any(stream)]
    ours = corpus_quality(metric, OUTPUT, references, np.random.default_rng(1), resamples=200)
    assert ours.value == pytest.approx(theirs.corpus_score(OUTPUT, streams).score)
    assert ours.low <= ours.value <= ours.high
    assert ours.low < ours.high
    assert ours.n == 3


def test_a_perfect_translation_has_no_spread() -> None:
    perfect = corpus_quality("chrf", [group[0] for group in ONE], ONE, np.random.default_rng(1), resamples=50)
    assert (perfect.value, perfect.low, perfect.high) == pytest.approx((100, 100, 100))


def test_the_same_stream_gives_the_same_interval() -> None:
    first, again = (corpus_quality("bleu", OUTPUT, ONE, np.random.default_rng(7)) for _ in range(2))
    assert first == again


def test_bad_input_and_nothing() -> None:
    with pytest.raises(BabelscopeError, match="3 translations cannot be held against 2 references"):
        corpus_quality("bleu", OUTPUT, ONE[:2], np.random.default_rng(1))
    assert corpus_quality("bleu", [], [], np.random.default_rng(1)).n == 0
