"""Adding the prefix "un-"."""

from __future__ import annotations

import re

from babelscope.language.base import ErrorType, Variant, replace_word
from babelscope.language.german.analysis import Analysed, word_set

# Adjectives with a common opposite in un-; nearly all of those in -bar have one.
_STEMS = word_set(
    "abhängig angemessen angenehm anständig artig auffällig bedeutend bedenklich bedeutsam bekannt beliebt"
    " bequem berechtigt beständig bestimmt beweglich bewusst deutlich echt ehrlich einig endlich erfahren"
    " erfreulich erheblich erlaubt erwartet erwünscht fähig fair freundlich freiwillig fruchtbar geduldig"
    " geeignet gefährlich genau gerecht geschickt gesetzlich gesund gewiss gewöhnlich gewohnt gleich"
    " glaubwürdig glücklich gültig günstig klar klug kompliziert mittelbar möglich moralisch natürlich nötig"
    " ordentlich persönlich praktisch problematisch realistisch regelmäßig reif ruhig sauber scharf"
    " schädlich schuldig sicher sichtbar sinnig sozial sterblich tätig treu typisch überlegt üblich"
    " verändert verantwortlich verbindlich vermeidlich vernünftig verständlich verträglich vollständig"
    " vorsichtig vorteilhaft wahr wahrscheinlich wesentlich wichtig willig wirklich wirksam würdig zufrieden"
    " zulässig zuverlässig zureichend"
)
_NEGATABLE = re.compile(rf"(?:{'|'.join(sorted(_STEMS))}|\w{{4,}}bar)(?:e[nmrs]?)?$")
_TAKES_NONE = re.compile(r"(?:dank|kost|offen|furcht|wunder|nach|ur|unmittel|sonder)bar")


def variants(sentence: Analysed) -> list[Variant]:
    """One variant for each adjective that un- can negate."""
    return [
        replace_word(sentence, token, "un" + token.text.lower())
        for token in sentence.tokens
        if token.tag in ("ADJA", "ADJD")
        and not token.text.lower().startswith("un")
        and _NEGATABLE.match(token.text.lower())
        and not _TAKES_NONE.match(token.text.lower())
    ]


ERROR = ErrorType(
    "polarity_affix_ins",
    "de",
    "The negating prefix un- is added, so that the word means the opposite.",
    variants,
    label="the negation ‘un-’ added",
)
