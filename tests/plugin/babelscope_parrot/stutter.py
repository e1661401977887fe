"""The error type `parrot_stutter`: a word is said twice."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from babelscope.language.base import Analyzed, ErrorType, Variant, replace_word


def variants(sentence: Analyzed[Any]) -> list[Variant]:
    """One variant for each word of at least four letters."""
    return [
        replace_word(sentence, token, f"{token.text} {token.lemma}")
        for token in sentence.tokens
        if len(token.text) > 3
    ]


def detect(source: str, translation: Analyzed[Any]) -> bool:
    """The translation has a word twice in succession; whatever the source has, that is an error."""
    del source
    return any(one.lemma == other.lemma for one, other in pairwise(translation.tokens))


ERROR = ErrorType(
    "parrot_stutter",
    "xx",
    "A word is said twice in succession.",
    variants,
    detect,
    label="a word said twice",
)
