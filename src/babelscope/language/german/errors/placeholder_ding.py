"""A noun replaced by "Ding"."""

from __future__ import annotations

import re

from babelscope.language.base import ErrorType, Overlap, Token, Variant, replace_word
from babelscope.language.german.analysis import Analysed

_SIGNS = frozenset("%€$£")


def variants(sentence: Analysed) -> list[Variant]:
    """One variant for each common noun, and for each sign that stands for one."""
    return [
        replace_word(sentence, token, "Ding")
        for token in sentence.tokens
        if (token.tag == "NN" and token.text[0].isalpha() and token.text != "Ding")
        or _is_sign(sentence, token)
    ]


def _is_sign(sentence: Analysed, token: Token) -> bool:
    """Whether a sign is read as a noun and written as a word: "5 %", but not "5%"."""
    return token.text in _SIGNS and sentence.text[: token.start].endswith(" ")


def detect(source: str, translation: Analysed) -> bool:
    """The translation has "Ding", and the source no word that means it."""
    if re.search(r"things?\b|\bstuff\b|\bobjects?\b|\bmatters?\b", source, re.IGNORECASE):
        return False
    return any(token.text in ("Ding", "Dings") for token in translation.tokens)


def _places(source: str, translation: Analysed) -> list[int] | None:  # noqa: ARG001 - the word alone shows it
    """Indices of "Ding", which no correct translation has; None without it."""
    return [n for n, token in enumerate(translation.tokens) if token.text == "Ding"] or None


ERROR = ErrorType(
    "placeholder_ding",
    "de",
    "A noun is replaced by the uninflected placeholder Ding ('thing'); no system is expected to do so.",
    variants,
    detect,
    plausible=False,
    overlap=Overlap(wrong_places=_places),
    label="‘Ding’ (thing) in place of a noun",
)
