"""RIBES: cases worked by hand, and the official program's figures on real systems."""

from __future__ import annotations

import itertools
import math
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from babelscope.metrics.ribes import METRIC, sentence_ribes
from babelscope.util.errors import BabelscopeError


def ribes(hypothesis: str, *references: str) -> float:
    return sentence_ribes(hypothesis.split(), [each.split() for each in references])


@pytest.mark.parametrize(
    ("hypothesis", "reference", "expected"),
    [
        ("Yes", "Yes", 1.0),
        ("a b c d", "a b c d", 1.0),
        ("", "a b", 0.0),
        ("x y", "a b", 0.0),
        # One shared word has no order, unless there is no other word to be right about.
        ("a x", "a b", 0.0),
        ("a", "a b", 0.0),
        ("a x", "a", (1 / 2) ** 0.25),
        ("Yes Yes", "Yes", 0.0),
        ("d c b a", "a b c d", 0.0),
        ("b a c", "a b c", 2 / 3),
        ("A b c", "a b c", (2 / 3) ** 0.25),
        # Shorter than the reference: the brevity penalty, to the power of a tenth.
        ("a b", "a b c d", math.exp(1 - 4 / 2) ** 0.10),
        # Longer: no penalty but in precision.
        ("a b x y", "a b", (1 / 2) ** 0.25),
        # "the" occurs twice; the words beside it tell which is which.
        ("the dog saw the cat", "the dog saw the cat", 1.0),
        # "the cat" and "saw the" both tell, and both words go with the reference's second "the".
        ("the cat saw the dog", "the dog saw the cat", 2 / 10),
        # Nothing tells these two apart: they count neither for order nor for precision.
        ("a x a y b c", "a z a w b c", (2 / 6) ** 0.25),
        # "x a" and "a y" tell different places; the left context comes first.
        ("x a y z", "a y z x a", 2 / 6 * math.exp(1 - 5 / 4) ** 0.10),
    ],
)
def test_by_hand(hypothesis: str, reference: str, expected: float) -> None:
    assert ribes(hypothesis, reference) == pytest.approx(expected)


def by_definition(hypothesis: str, reference: str) -> float:
    """The official program, context by context, whose time grows with the cube of the length and beyond."""

    def occurrences(context: str, text: str) -> list[int]:
        return [at for at in range(len(text)) if text.startswith(context, at)]

    def place(at: int) -> int | None:
        for more in range(len(hypothesis)):
            for start, end in ((at - more, at + 1), (at, at + more + 1)):
                if start >= 0 and end <= len(hypothesis):
                    context = hypothesis[start:end]
                    there = occurrences(context, reference)
                    if len(occurrences(context, hypothesis)) == len(there) == 1:
                        return there[0] + at - start
        return None

    places = [found for at in range(len(hypothesis)) if (found := place(at)) is not None]
    pairs = list(itertools.combinations(places, 2))
    tau = sum(a < b for a, b in pairs) / len(pairs) if pairs else float(len(places) == len(reference) == 1)
    if not tau:
        return 0.0
    brevity = min(1.0, math.exp(1 - len(reference) / len(hypothesis)))
    return tau * (len(places) / len(hypothesis)) ** 0.25 * brevity**0.10


@given(st.text("abc", max_size=12), st.text("abc", min_size=1, max_size=12))
def test_contexts_are_those_of_the_definition(hypothesis: str, reference: str) -> None:
    assert sentence_ribes(hypothesis, [reference]) == by_definition(hypothesis, reference)


@pytest.mark.parametrize("words", [["a"] * 2_000, [str(n % 100) for n in range(2_000)]])
def test_two_thousand_repeated_words(words: list[str]) -> None:
    begun = time.process_time()
    sentence_ribes(words, [words, words[: len(words) // 2]])
    assert time.process_time() - begun < 10


def test_bad_input_is_refused() -> None:
    with pytest.raises(BabelscopeError, match="words in each"):
        ribes("a", "")
    with pytest.raises(BabelscopeError, match="at least one reference"):
        ribes("a")
    with pytest.raises(BabelscopeError, match="1 translations cannot be compared with 0 references"):
        METRIC.statistics(["a"], [])


@pytest.mark.parametrize(
    ("pair", "system", "expected"),
    [
        (
            "de-en",
            "google",
            {"": 0.8277, "newstest2013_reorder5": 0.8064, "de_particle": 0.8275, "de_reflexive": 0.8379},
        ),
        (
            "de-en",
            "bergamot-base",
            {"": 0.8243, "newstest2013_reorder5": 0.8014, "de_particle": 0.8201, "de_reflexive": 0.8340},
        ),
        (
            "en-de",
            "google",
            {"": 0.8182, "en_particle": 0.7903, "en_reflexive": 0.7946, "en_preposition_stranding": 0.7812},
        ),
    ],
)
def test_the_official_programs_figures(
    shared: Path, pair: str, system: str, expected: dict[str, float]
) -> None:
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    tokenize = Tokenizer13a()
    target = pair[-2:]

    def read(path: str) -> list[list[str]]:
        lines = (shared / "data" / "newstest" / path).read_text("utf-8").split("\n")[:-1]
        return [tokenize(line).split() for line in lines]

    outputs, references = read(f"out/{pair}/wmt13.{system}.{target}"), read(f"text/wmt13.{target}")
    scores = [sentence_ribes(*each) for each in zip(outputs, [[one] for one in references], strict=True)]
    for name, figure in expected.items():
        stem = name if name.startswith("news") else f"{name}_news"
        ids = (shared / "data" / "ldd" / "news" / f"{stem}.ids").read_text().split() if name else None
        own = scores if ids is None else [scores[int(number) - 1] for number in ids]
        assert round(math.fsum(own) / len(own), 4) == figure
