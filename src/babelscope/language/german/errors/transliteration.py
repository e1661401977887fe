"""A misspelled name."""

from __future__ import annotations

import re

from babelscope.language.base import ErrorType, Variant, replace_word
from babelscope.language.german.analysis import Analyzed

_SHORTEST = 5
# Words of a source that do not begin a sentence, where a capital shows nothing.
_INSIDE = re.compile(r"(?<=[^\W_])[,;]?\s(?:[\"'“‘(]*)([^\W\d_]+)")


def variants(sentence: Analyzed, source: str = "") -> list[Variant]:
    """One variant for each name that is long enough: two different letters near its middle are swapped.

    A name is in the source, too, with its capital, and never without it.
    """
    names = set(_INSIDE.findall(source))
    found = []
    for token in sentence.tokens:
        name = token.text
        if token.tag != "NE" or len(name) < _SHORTEST or not name.isalpha() or not name[1:].islower():
            continue
        if name not in names or name.lower() in source or sentence.analyzer.nouns.is_common(name):
            continue
        middle = len(name) // 2
        place = next((p for p in range(middle, len(name) - 1) if name[p] != name[p + 1]), None)
        if place is not None:
            found.append(
                replace_word(
                    sentence, token, name[:place] + name[place + 1] + name[place] + name[place + 2 :]
                )
            )
    return found


def detect(source: str, translation: Analyzed) -> bool:
    """A name of the translation is not in the source, but would be with two letters swapped."""
    words = set(source.replace(",", " ").replace(".", " ").split())
    for token in translation.tokens:
        name = token.text
        if token.tag not in ("NE", "NN") or len(name) < _SHORTEST or name in words:
            continue
        if any(name[:p] + name[p + 1] + name[p] + name[p + 2 :] in words for p in range(1, len(name) - 1)):
            return True
    return False


ERROR = ErrorType(
    "transliteration",
    "de",
    "Two letters next to each other in a name have changed places.",
    variants,
    detect,
    reads_source=True,
    label="letters of a name swapped",
)
