"""The wrong particle of a separable verb."""

from __future__ import annotations

from babelscope.language.base import ErrorType, Variant, replace_word
from babelscope.language.german.analysis import Analysed, word_set
from babelscope.language.german.errors.overlap import BY_CLAUSE

_PARTICLES = ("auf", "ab", "aus", "ein", "vor", "zu", "nach", "bei", "weg", "um")
# Adjectives beside a verb are tagged as particles, too ("gut ankommen"); these are particles only.
_REPLACED = word_set(
    "ab an auf aus bei dar ein empor entgegen fest fort heim her herab heran herauf heraus herbei herein herum"
    " herunter hervor hin hinab hinauf hinaus hinein hinunter hinweg hinzu los mit nach nieder statt teil um unter"
    " vor voran voraus vorbei weg weiter wieder zu zurück zusammen über überein übrig"
)


def variants(sentence: Analysed) -> list[Variant]:
    """One variant for each particle after its verb: the first other particle that forms no frequent verb."""
    found = []
    verb = ""
    for token in sentence.tokens:
        # The particle belongs to the last finite verb: "vorbei" after "ist" is a predicate.
        if token.tag in ("$.", "VAFIN", "VMFIN") or token.text in (":", ";"):
            verb = ""
        elif token.tag == "VVFIN":
            verb = token.lemma
        elif token.tag == "PTKVZ" and verb and token.text in _REPLACED:
            knows = sentence.analyser.tagger.knows
            strange = (each for each in _PARTICLES if each != token.text and not knows(each + verb))
            if (new := next(strange, None)) is not None:
                found.append(replace_word(sentence, token, new))
            verb = ""
    return found


ERROR = ErrorType(
    "verb_particle",
    "de",
    "The particle of a separable verb is another one, which makes another verb or none.",
    variants,
    overlap=BY_CLAUSE,
    version=2,
    label="a wrong verb particle",
)
