"""Deleting the prefix "un-"."""

from __future__ import annotations

import re

from babelscope.language.base import ErrorType, Token, Variant, replace_word
from babelscope.language.german.analysis import Analysed
from babelscope.language.german.errors.overlap import NEGATION_DELETED
from babelscope.language.german.errors.polarity import source_has_affix, translation_is_positive

_WORDS = ("ADJ", "ADV", "NN", "VVPP", "VAPP", "PIS", "APPR", "KOU", "PTKVZ", "PROAV")
# Words in which un- is no prefix (unter, uns, Union) or does not negate (Unmenge, Unkraut).
_NO_NEGATION = re.compile(
    r"un(?:d|der\w*|ten|s|sereins|ser\w*|sr\w*|ter\w*|i(?!n)\w*|gar(?:n|isch|in)\w*|f[aä]ll\w*|fug\w*|flat\w*"
    r"|gefähre?[nmrs]?|geheue?r\w*|gestüm\w*|getüm\w*|geziefer\w*|holde?\w?|ke[nr]?|kosten\w*|kr[aä]ut\w*|mengen?"
    r"|rat\w?|summen?|tiere?\w?|wetter\w*|weit|wesen\w?|wirsch\w*|bill|esco\w*|o|ne?)(?:-.*)?$"
)


def variants(sentence: Analysed) -> list[Variant]:
    """One variant for each adjective, adverb or noun that un- negates."""
    found = []
    for token in sentence.tokens:
        form = token.text.lower()
        # Shorter words have no stem left ("uni"); words with a capital inside are names ("UNHCR").
        if not form.startswith("un") or len(form) < 5 or not token.text[1:].islower():
            continue
        if token.tag.startswith(_WORDS) and not _NO_NEGATION.match(form) and _is_prefixed(sentence, token):
            found.append(replace_word(sentence, token, form[2:]))
    return found


def _is_prefixed(sentence: Analysed, token: Token) -> bool:
    """Whether un- is a prefix: the rest of a noun must be a noun or adjective, unlike that of names and loans."""
    rest = token.text[2:]
    known = bool(sentence.analyser.nouns.readings(rest.capitalize()))
    return token.tag != "NN" or known or sentence.analyser.tagger.can_be(rest, "ADJA")


def detect(source: str, translation: Analysed) -> bool:
    """The source has a word negated by an affix, and nothing in the translation negates."""
    return source_has_affix(source) and translation_is_positive(translation)


ERROR = ErrorType(
    "polarity_affix_del",
    "de",
    "The negating prefix un- is left out, so that the word means the opposite.",
    variants,
    detect,
    looks_for=source_has_affix,
    overlap=NEGATION_DELETED,
    label="the negation ‘un-’ left out",
)
