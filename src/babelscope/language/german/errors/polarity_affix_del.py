"""Deleting the prefix "un-"."""

from __future__ import annotations

import re

from babelscope.language.base import ErrorType, Token, Variant, replace_word
from babelscope.language.german.analysis import Analyzed, word_set
from babelscope.language.german.errors.polarity_affix_ins import NEGATABLE
from babelscope.language.german.errors.shared import (
    NEGATION_DELETED,
    clause_around,
    lost_negation,
    source_has_affix,
    source_negates,
)

_WORDS = ("ADJ", "ADV", "NN", "VVPP", "VAPP", "PIS", "APPR", "KOU", "PTKVZ", "PROAV")
# Words in which un- is no prefix (unter, uns, Union) or does not negate (Unmenge, Unkraut).
_NO_NEGATION = re.compile(
    r"un(?:d|der\w*|ten|s|sereins|ser\w*|sr\w*|ter\w*|i(?!n)\w*|gar(?:n|isch|in)\w*|f[aä]ll\w*|fug\w*|flat\w*"
    r"|gefähre?[nmrs]?|geheue?r\w*|gestüm\w*|getüm\w*|geziefer\w*|holde?\w?|ke[nr]?|kosten\w*|kr[aä]ut\w*|mengen?"
    r"|rat\w?|summen?|tiere?\w?|wetter\w*|weit|wesen\w?|wirsch\w*|bill|esco\w*|o|ne?)(?:-.*)?$"
)


# Words that mean something else without un-, not the opposite: unheimlich, unlängst, ungemein, Unmut.
_NO_OPPOSITE = re.compile(
    r"un(?:(?:art|mut|tat|zahl)(?:e|en|es|s)?$|benommen|ding|bedingt|endlich$|entschieden|erhört|gehalten|geachtet|gehobelt|gemein|geschehen|gewisse[mnrs]?$|glück(?:e|es|s)?$|gezogen|heimlich"
    r"|längst|mittelbar|ruhen$|scheinbar|tiefe|verblümt|verfroren|verhohlen|vermittelt|verschämt|versehens|verwandt"
    r"|willkürlich|zucht)"
)
# Adjectives that are too rare to be known to the tagger as whole words; those of polarity_affix_ins are others.
_RARE = word_set(
    "achtsam anfechtbar ausgewogen bedacht befangen begabt behaglich besonnen bescheiden bestechlich"
    " dankbar diszipliniert durchdacht durchsichtig ebenbürtig eigennützig einsichtig empfindlich entschlossen"
    " ergiebig gastlich gebildet gefällig gehorsam gelenkig gemütlich gepflegt gesellig getrübt"
    " gleichmäßig glaubhaft gläubig gnädig greifbar gründlich höflich interessant keusch kundig leserlich"
    " logisch männlich merklich musikalisch nachgiebig nachsichtig nützlich parteiisch pünktlich"
    " redlich rentabel rühmlich sachgemäß sachlich schicklich sittlich solide sportlich stet stetig sympathisch"
    " tauglich übersichtlich verdaulich verderblich verdächtig vereinbar verfänglich"
    " verhältnismäßig verletzlich versöhnlich vorschriftsmäßig weiblich wissentlich zeitgemäß zerstörbar"
    " zivilisiert zugänglich zurechnungsfähig zweckmäßig"
)
_ENDINGS = ("", "e", "em", "en", "er", "es")
_ENDING = re.compile(r"e[mnrs]?$")


def variants(sentence: Analyzed, mode: str = "strict", source: str = "") -> list[Variant]:
    """One variant for each adjective, adverb or noun that un- negates.

    "strict" leaves out words that are none without un- ("unverzüglich"), and those that mean something else.
    The source must have a negation for each in the sentence.
    """
    if mode == "strict" and not source_negates(source, sentence):
        return []
    found = []
    for place, token in enumerate(sentence.tokens):
        form = token.text.lower()
        # Shorter words have no stem left ("uni"); words with a capital inside are names ("UNHCR").
        if not form.startswith("un") or len(form) < 5 or not token.text[1:].islower():
            continue
        if (
            token.tag.startswith(_WORDS)
            and not _NO_NEGATION.match(form)
            and _is_prefixed(sentence, token)
            and (mode != "strict" or (not _NO_OPPOSITE.match(form) and _has_opposite(sentence, place)))
        ):
            found.append(replace_word(sentence, token, form[2:]))
    return found


def _is_prefixed(sentence: Analyzed, token: Token) -> bool:
    """Whether un- is a prefix: the rest of a noun must be a noun or adjective, unlike that of names and loans."""
    rest = token.text[2:]
    known = bool(sentence.analyzer.nouns.readings(rest.capitalize()))
    return token.tag != "NN" or known or sentence.analyzer.tagger.can_be(rest, "ADJA")


def _has_opposite(sentence: Analyzed, place: int) -> bool:
    """Whether the word without un- is one, and fits: not "noch klar", "bleibt bemerkt", "lässt kommentiert"."""
    token = sentence.tokens[place]
    if place and sentence.tokens[place - 1].text == "noch":
        return False
    after = sentence.tokens[place + 1].tag if place + 1 < len(sentence.tokens) else ""
    if token.tag == "ADJD" and after in ("ADJA", "ADJD"):
        return False  # "ungewöhnlich warm"
    kept = any(each.lemma.lower() in ("bleiben", "lassen") for each in clause_around(sentence.tokens, place))
    participle = sentence.analyzer.tagger.can_be(token.text[2:].lower(), "VVPP")
    return not (kept and participle) and _is_word(sentence, token)


def _is_word(sentence: Analyzed, token: Token) -> bool:
    """Whether the rest is a word of its own: a listed noun, the participle of a verb, or a known adjective.

    The tagger's guess is no evidence: it has learned from "unverzüglich" that "verzüglich" is an adjective.
    """
    rest = token.text[2:].lower()
    if token.tag == "NN":
        # Nouns made of adjectives ("die Unbekannten") are as good as these.
        return bool(sentence.analyzer.nouns.listed(rest.capitalize())) or _is_adjective(rest, sentence)
    return _is_adjective(rest, sentence)


def _is_adjective(form: str, sentence: Analyzed) -> bool:
    """Whether an inflected form belongs to a frequent adjective, or to one that is a verb's participle."""
    tagger = sentence.analyzer.tagger
    for stem in dict.fromkeys((form, _ENDING.sub("", form))):
        if stem in _RARE or (NEGATABLE.match(stem) and not stem.endswith("bar")):
            return True
        if any(tagger.knows(stem + ending) for ending in _ENDINGS) or tagger.can_be(stem, "VVPP"):
            return True
    return False


ERROR = ErrorType(
    "polarity_affix_del",
    "de",
    "The negating prefix un- is left out, so that the word means the opposite.",
    variants,
    lost_negation(source_has_affix),
    looks_for=source_has_affix,
    modes=("strict", "as-released"),
    reads_source=True,
    overlap=NEGATION_DELETED,
    label="the negation ‘un-’ left out",
)
