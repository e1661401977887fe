"""Turning "kein" into "ein"."""

from __future__ import annotations

from babelscope.language.base import ErrorType, Variant, replace_word
from babelscope.language.german.analysis import Analyzed, word_set
from babelscope.language.german.errors.shared import (
    KEIN_DELETED,
    can_lose_negation,
    lost_negation,
    noun_place_after,
    source_has_no,
    source_negates,
)
from babelscope.language.german.morphology import KEIN

# What follows a pronoun kein- that means one of several: "keiner der Gäste", "keines von ihnen".
_OF_SEVERAL = word_set("der des dieser jener unserer seiner ihrer meiner eurer deiner von davon")

# "auf keinen Fall", "in keiner Weise", "kein Wunder", "tut keinen Abbruch"
_IDIOMS = word_set("Abbruch Deut Fall Falle Hehl Hinsicht Not Weise Wunder")


def variants(sentence: Analyzed, mode: str = "strict", source: str = "") -> list[Variant]:
    """One variant for each singular kein-; plurals have no counterpart in ein-.

    "strict" leaves out a kein- whose noun is missing, or can only be a plural ("Züge gab es keine mehr"), and one
    that something else needs: "gar kein", "kein Geld mehr". The source must have a negation for each in the sentence.
    """
    if mode == "strict" and not source_negates(source, sentence):
        return []
    found = []
    for place, token in enumerate(sentence.tokens):
        form = token.text.lower()
        if (
            form in KEIN
            and not _is_plural(sentence, place)
            and (mode != "strict" or (_is_singular(sentence, place) and can_lose_negation(sentence, place)))
        ):
            found.append(replace_word(sentence, token, form[1:]))
    return found


def _is_plural(sentence: Analyzed, place: int) -> bool:
    """Whether the word at `place` is a plural "keine": its adjective or noun excludes a singular.

    The dative keinen and the genitive keiner are taken for singulars, as in the released sets.
    """
    noun = noun_place_after(sentence, place)
    if noun is None or sentence.tokens[place].text.lower() != "keine":
        return False
    # After keine, singular adjectives end in -e: "keine neue Frage", but "keine neuen Fragen".
    inside = sentence.tokens[place + 1 : noun]
    if any(token.tag == "ADJA" and token.text.endswith("en") for token in inside):
        return True
    known = sentence.analyzer.nouns.readings(sentence.tokens[noun].text)
    return bool(known) and all(reading.number == "pl" for reading in known & KEIN["keine"] or known)


def _is_singular(sentence: Analyzed, place: int) -> bool:
    """Whether a kein- has a noun that is counted and may be a singular, or is one of several."""
    noun = noun_place_after(sentence, place)
    if noun is None:
        after = sentence.tokens[place + 1 : place + 2]
        return bool(after) and after[0].text in _OF_SEVERAL
    word, nouns = sentence.tokens[noun].text, sentence.analyzer.nouns
    if word in _IDIOMS or not nouns.is_counted(word):
        return False
    fitting = nouns.readings(word) & KEIN[sentence.tokens[place].text.lower()]
    return any(reading.number == "sg" for reading in fitting)


ERROR = ErrorType(
    "polarity_particle_kein_del",
    "de",
    "The negative determiner kein- becomes the indefinite article ein-, so that the phrase is affirmed.",
    variants,
    lost_negation(source_has_no),
    looks_for=source_has_no,
    modes=("strict", "as-released"),
    reads_source=True,
    overlap=KEIN_DELETED,
    label="‘kein’ (no) turned into ‘ein’ (a)",
)
