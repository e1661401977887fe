"""Adding the prefix "un-"."""

from __future__ import annotations

import itertools
import re

from babelscope.language.base import ErrorType, Variant, replace_word
from babelscope.language.german.analysis import Analysed, word_set

# Adjectives whose opposite has un-, in nearly all that they mean; nearly all of those in -bar have one.
_STEMS = word_set(
    "abhängig angemessen angenehm anständig artig auffällig bedeutend bedenklich bedeutsam bekannt beliebt"
    " bequem berechtigt beständig beweglich bewusst deutlich echt ehrlich erfahren"
    " erfreulich erheblich erlaubt erwartet erwünscht fähig fair freundlich freiwillig fruchtbar geduldig"
    " geeignet gefährlich genau gerecht geschickt gesetzlich gesund gewöhnlich gewohnt"
    " glaubwürdig glücklich gültig günstig klar klug kompliziert mittelbar möglich moralisch natürlich nötig"
    " ordentlich persönlich praktisch problematisch realistisch regelmäßig reif ruhig sauber scharf"
    " schädlich schuldig sicher sichtbar sozial sterblich tätig treu typisch überlegt üblich"
    " verändert verantwortlich verbindlich vernünftig verständlich verträglich vollständig"
    " vorsichtig vorteilhaft wahr wahrscheinlich wesentlich wichtig willig wirklich wirksam würdig zufrieden"
    " zulässig zuverlässig"
)
NEGATABLE = re.compile(rf"(?:{'|'.join(sorted(_STEMS))}|\w{{4,}}bar)(?:e[nmrs]?)?$")
_TAKES_NONE = re.compile(r"(?:dank|kost|offen|furcht|wunder|nach|ur|unmittel|sonder)bar")


# Verbs that a predicate belongs to: "das bleibt klar".
_COPULAS = word_set(
    "bin bist ist sind seid war warst waren wart sei seien wäre wären sein gewesen bleibt bleiben blieb blieben wird"
    " werden wurde wurden würde würden scheint scheinen schien schienen"
)


def variants(sentence: Analysed) -> list[Variant]:
    """One variant for each adjective before its noun, or at the end of a clause with "sein", that un- can negate."""
    return [
        replace_word(sentence, token, "un" + token.text.lower())
        for place, token in enumerate(sentence.tokens)
        if (token.tag == "ADJA" or (token.tag == "ADJD" and _is_predicate(sentence, place)))
        and not token.text.lower().startswith("un")
        and NEGATABLE.match(token.text.lower())
        and not _TAKES_NONE.match(token.text.lower())
    ]


def _is_predicate(sentence: Analysed, place: int) -> bool:
    """Whether an uninflected adjective is a predicate: an adverb ("deutlich gesunken") has another meaning."""
    tokens = sentence.tokens
    if place and tokens[place - 1].text in ("wie", "als"):  # "so schnell wie möglich"
        return False
    after = tokens[place + 1] if place + 1 < len(tokens) else None
    if after is not None and not after.tag.startswith("$"):
        return after.text in _COPULAS
    clause = itertools.takewhile(lambda token: not token.tag.startswith("$"), reversed(tokens[:place]))
    verbs = [token.text.lower() for token in clause if token.tag.startswith("V")]
    return bool(verbs) and all(verb in _COPULAS for verb in verbs)


ERROR = ErrorType(
    "polarity_affix_ins",
    "de",
    "The negating prefix un- is added, so that the word means the opposite.",
    variants,
    version=2,
    label="the negation ‘un-’ added",
)
