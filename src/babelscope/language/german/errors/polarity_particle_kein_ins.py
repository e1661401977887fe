"""Turning "ein" into "kein"."""

from __future__ import annotations

import re

from babelscope.language.base import ErrorType, Variant, replace_word
from babelscope.language.german.analysis import Analyzed, word_set
from babelscope.language.german.errors.shared import (
    BY_KEIN,
    can_take_negation,
    noun_place_after,
    source_is_positive,
)

# "so ein", "solch ein", "manch ein", "ein paar", "eine Reihe", "ein gewisser"
_FORBIDDING = word_set("so solch manch irgend was welch noch")
_QUANTITIES = word_set(
    "Anzahl Art Bisschen Drittel Dutzend Fülle Großteil Hälfte Mal Menge Mehrheit Paar Reihe Stück Tages Teil Viertel"
    " Vielzahl Weile Zeit Jahr Monat Woche Tag Abend Nacht Stunde Minute Sekunde Moment Augenblick"
)
_DETERMINED = re.compile(r"paar|bisschen|wenig\w*|gewiss\w*|jede\w*|ander\w*|einzig\w*|solch\w*|derartig\w*")
# After these, a phrase is part of another one, or a comparison.
_WITHIN = ("APPR", "KO", "NN", "NE", "$(")


def variants(sentence: Analyzed) -> list[Variant]:
    """One variant for each indefinite article of a phrase of its own, in a clause that has no negation yet."""
    return [
        replace_word(sentence, token, "k" + token.text.lower())
        for place, token in enumerate(sentence.tokens)
        if token.tag == "ART"
        and token.text.lower().startswith("ein")
        and _can_be_negated(sentence, place)
        and can_take_negation(sentence, place)
    ]


def _can_be_negated(sentence: Analyzed, place: int) -> bool:
    """Whether a phrase is an object, subject or predicate that is counted: not "in einem Haus", "ein paar Leute"."""
    tokens, noun = sentence.tokens, noun_place_after(sentence, place)
    if noun is None or tokens[noun].text in _QUANTITIES:
        return False
    before = tokens[place - 1] if place else None
    if before is not None and (before.text.lower() in _FORBIDDING or before.tag.startswith(_WITHIN)):
        return False
    if any(_DETERMINED.fullmatch(token.text) for token in tokens[place + 1 : noun]):
        return False
    return not any(token.tag in ("KON", "APPO") for token in tokens[noun + 1 : noun + 2])


def detect(source: str, translation: Analyzed) -> bool:
    """Nothing in the source negates, and the translation has kein-."""
    has_kein = any(token.text.lower().startswith("kein") for token in translation.tokens)
    return has_kein and source_is_positive(source)


ERROR = ErrorType(
    "polarity_particle_kein_ins",
    "de",
    "The indefinite article ein- becomes the negative determiner kein-, so that the phrase is negated.",
    variants,
    detect,
    looks_for=source_is_positive,
    overlap=BY_KEIN,
    label="‘ein’ (a) turned into ‘kein’ (no)",
)
