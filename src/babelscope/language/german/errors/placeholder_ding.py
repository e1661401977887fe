"""A noun replaced by "Ding"."""

from __future__ import annotations

import re

from babelscope.language.base import ErrorType, Overlap, Variant, replace_word
from babelscope.language.german.analysis import Analyzed, word_set

_SIGNS = frozenset("%€$£")


# What shows that a noun is no name: "der Adler", "fünf Adler", "große Adler"; a bare "Adler" may be a man.
_DETERMINERS = tuple(word_set("ART ADJA APPRART CARD PIAT PIDAT PPOSAT PDAT PWAT PRELAT"))


def variants(sentence: Analyzed, mode: str = "strict") -> list[Variant]:
    """One variant for each common noun, and for each sign that stands for one; "strict" leaves out possible names."""
    return [
        replace_word(sentence, token, "Ding")
        for place, token in enumerate(sentence.tokens)
        if (
            token.tag == "NN"
            and token.text[0].isalpha()
            and token.text != "Ding"
            and (mode != "strict" or _is_common(sentence, place))
        )
        # A sign that is read as a noun and written as a word: "5 %", but not "5%".
        or (token.text in _SIGNS and sentence.text[: token.start].endswith(" "))
    ]


def _is_common(sentence: Analyzed, place: int) -> bool:
    """Whether a noun is known, and cannot be a name here: no name looks like it, or something determines it."""
    word, nouns = sentence.tokens[place].text, sentence.analyzer.nouns
    before = sentence.tokens[place - 1] if place else None
    if before and before.tag == "ADJA" and before.text[0].isupper() and place > 1:
        return False  # "die Nationale Front", "das Weiße Haus"
    common, name = nouns.is_common(word), sentence.analyzer.tagger.can_be(word, "NE")
    if common and not name:
        return True
    determined = before is not None and before.tag.startswith(_DETERMINERS)
    return determined and (common or (not name and bool(nouns.listed(word))))


def detect(source: str, translation: Analyzed) -> bool:
    """The translation has "Ding", and the source no word that means it."""
    if re.search(r"things?\b|\bstuff\b|\bobjects?\b|\bmatters?\b", source, re.IGNORECASE):
        return False
    return any(token.text in ("Ding", "Dings") for token in translation.tokens)


def _places(source: str, translation: Analyzed) -> list[int] | None:  # noqa: ARG001 - the word alone shows it
    """Indices of "Ding", which no correct translation has; None without it."""
    return [n for n, token in enumerate(translation.tokens) if token.text == "Ding"] or None


ERROR = ErrorType(
    "placeholder_ding",
    "de",
    "A noun is replaced by the uninflected placeholder Ding ('thing'); no system is expected to do so.",
    variants,
    detect,
    modes=("strict", "as-released"),
    plausible=False,
    overlap=Overlap(wrong_places=_places),
    label="‘Ding’ (thing) in place of a noun",
)
