"""Turning "ein" into "kein"."""

from __future__ import annotations

from babelscope.language.base import ErrorType, Variant, replace_word
from babelscope.language.german.analysis import Analysed
from babelscope.language.german.errors.overlap import BY_KEIN
from babelscope.language.german.errors.phrases import noun_place_after
from babelscope.language.german.errors.polarity import source_is_positive

# "nicht ein", "so ein", "was für ein", "solch ein", "nur ein"
_FORBIDDING = frozenset({"nicht", "so", "für", "solch", "nur", "kaum", "nie", "manch", "irgend"})


def variants(sentence: Analysed) -> list[Variant]:
    """One variant for each indefinite article with a noun, unless a word before it forbids kein-."""
    return [
        replace_word(sentence, token, "k" + token.text.lower())
        for place, token in enumerate(sentence.tokens)
        if token.tag == "ART"
        and token.text.lower().startswith("ein")
        and (place == 0 or sentence.tokens[place - 1].text.lower() not in _FORBIDDING)
        and noun_place_after(sentence, place) is not None
    ]


def detect(source: str, translation: Analysed) -> bool:
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
    version=2,
    label="‘ein’ (a) turned into ‘kein’ (no)",
)
