"""The wrong particle of a separable verb."""

from __future__ import annotations

from babelscope.language.base import ErrorType, Variant, replace_word
from babelscope.language.german.analysis import Analyzed, word_set
from babelscope.language.german.errors.shared import BY_CLAUSE

# The most frequent particles of German texts, and what others mean nearly the same: no error for each other.
_DIRECTIONS = (
    word_set("ab aus weg fort los heraus hinaus herab hinab herunter hinunter hinweg nieder"),
    word_set("an bei ein zu dar heran herbei hinzu hinein herein entgegen her hin"),
    word_set("auf empor herauf hinauf"),
    word_set("mit teil zusammen überein"),
    word_set("um herum"),
    word_set("vor fort hervor über voran voraus vorbei weiter"),
    word_set("nach"),
    word_set("zurück wieder"),
)
_PARTICLES = ("ab", "an", "auf", "aus", "bei", "ein", "mit", "nach", "um", "vor", "zu", "zurück")
# Adjectives beside a verb are tagged as particles, too ("gut ankommen"); these are particles only.
_REPLACED = word_set(
    "ab an auf aus bei dar ein empor entgegen fest fort heim her herab heran herauf heraus herbei herein herum"
    " herunter hervor hin hinab hinauf hinaus hinein hinunter hinweg hinzu los mit nach nieder statt teil um unter"
    " vor voran voraus vorbei weg weiter wieder zu zurück zusammen über überein übrig"
)


def variants(sentence: Analyzed) -> list[Variant]:
    """For each particle after its verb, the frequent particles that mean something else."""
    found = []
    verb = ""
    for token in sentence.tokens:
        # The particle belongs to the last finite verb: "vorbei" after "ist" is a predicate.
        if token.tag in ("$.", "VAFIN", "VMFIN") or token.text in (":", ";"):
            verb = ""
        elif token.tag == "VVFIN":
            verb = token.lemma
        elif token.tag == "PTKVZ" and verb and token.text in _REPLACED:
            alike = {each for group in _DIRECTIONS if token.text in group for each in group}
            found += [replace_word(sentence, token, new) for new in _PARTICLES if new not in alike]
            verb = ""
    return found


ERROR = ErrorType(
    "verb_particle",
    "de",
    "The particle of a separable verb is another one, which makes another verb or none.",
    variants,
    overlap=BY_CLAUSE,
    label="a wrong verb particle",
)
