"""A compound written as two words."""

from __future__ import annotations

import re

from babelscope.language.base import ErrorType, Variant, replace_word
from babelscope.language.german.analysis import Analyzed, word_set

_SHORTEST = 4
_LONG = 7
_SUFFIXED = re.compile(
    r"(?:Schaft|Heit|Keit|Tum|Ismus|Ling|Lein|Chen|Nahme|Nehmer|Fälle|Ierung|Tausend|Hundert)(?:e[nrs]?|s|n)?"
)
# Nouns, too, but as the beginning of a word they are prefixes of its verb: "Unterstützung".
_PREFIXES = word_set(
    "durch gegen hoch kilo mega milli zenti hinter nieder trans über unter voll wider wieder zurück zusammen zwischen"
)
_LINKS = ("", "s", "es", "n", "en", "e", "er")


def variants(sentence: Analyzed, source: str = "") -> list[Variant]:
    """One variant for each compound of two known nouns; what the source has too is a name or a loan word."""
    found = []
    for token in sentence.tokens:
        if token.tag != "NN" or "-" in token.text or token.text.lower() in source.lower():
            continue
        if cut := _boundary(sentence, token.text):
            found.append(replace_word(sentence, token, f"{token.text[:cut]} {token.text[cut:].capitalize()}"))
    return found


def _boundary(sentence: Analyzed, word: str) -> int:
    """Offset at which the second noun of a compound begins; 0 if the word is no compound of two nouns."""
    nouns = sentence.analyzer.nouns
    listed_name = nouns.head(word) == word and not nouns.is_common(word)
    if listed_name or (not nouns.listed(word) and sentence.analyzer.tagger.can_be(word, "NE")):
        return 0  # "Queensland"
    for cut in range(_SHORTEST, len(word) - _SHORTEST + 1):
        first, second = word[:cut], word[cut:].capitalize()
        stems = (first.removesuffix(link) for link in _LINKS if first.endswith(link))
        linked = any(nouns.listed(stem) and _stands_alone(sentence, stem) for stem in stems)
        if (
            linked
            and first.lower() not in _PREFIXES
            and nouns.listed(second)
            and not nouns.declines_as_adjective(second)  # "Asyl Suchende" is right
            and _stands_alone(sentence, second)
        ):
            return cut
    return 0


def _stands_alone(sentence: Analyzed, noun: str) -> bool:
    """Whether a listed noun is no suffix and no rare word that ends many others by chance ("Ismus", "Stag")."""
    if _SUFFIXED.fullmatch(noun):
        return False
    return len(noun) >= _LONG or sentence.analyzer.tagger.knows(noun.lower())


def detect(source: str, translation: Analyzed) -> bool:  # noqa: ARG001 - the translation alone shows it
    """Two nouns stand side by side that are one word in the noun list."""
    nouns = translation.analyzer.nouns
    for one, other in zip(translation.tokens, translation.tokens[1:], strict=False):
        if one.tag == other.tag == "NN" and nouns.listed(one.text + other.text.lower()):
            return True
    return False


ERROR = ErrorType(
    "compound",
    "de",
    "A compound is written as two words, as in English.",
    variants,
    detect,
    reads_source=True,
    label="a compound written as two words",
)
