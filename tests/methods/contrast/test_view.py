"""Caveats of minimal pairs: what a system reads alike it cannot tell apart."""

from __future__ import annotations

import babelscope as bs
from babelscope.report.summary import summarise
from babelscope.testsets.items import MinimalPair


def test_pairs_that_are_the_same_tokens_are_told() -> None:
    texts = [("der Hund schläft", "der Hund schlafen"), ("犬が寝ている", "猫が走っている")]
    pairs = [
        MinimalPair(f"p{number}", "the dog sleeps", right, (wrong,), "agreement", "human")
        for number, (right, wrong) in enumerate(texts)
    ]
    student = bs.open_system("lab:student")
    told, clear = (
        " ".join(summarise(bs.contrast(student, own, spread=0, detect_in_output="no"), width=200).split())
        for own in (pairs, pairs[:1])
    )
    assert "in 1 of 2 pairs a right and a wrong translation are the same tokens to it" in told
    assert "the same tokens" not in clear
