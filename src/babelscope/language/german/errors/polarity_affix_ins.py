"""Adding the prefix "un-"."""

from __future__ import annotations

import itertools
import re

from babelscope.language.base import ErrorType, Token, Variant, replace_word
from babelscope.language.german.analysis import Analyzed, word_set
from babelscope.language.german.errors.shared import clause_around, is_negated

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
_TAKES_NONE = re.compile(r"(?:dank|kost|offen|furcht|wunder|nach|ur|unmittel|sonder|streit|verfüg|gang)bar")
# With un- they mean something else than the opposite, in much of what they mean without.
_NO_OPPOSITE = re.compile(
    r"(?:artig|günstig|gesetzlich|moralisch|natürlich|ordentlich|persönlich|praktisch|scharf|sozial|tätig"
    r"|verantwortlich|wahr|wirklich|haltbar|tragbar|scheinbar|fassbar|greifbar|mittelbar)(?:e[nmrs]?)?$"
)


# Verbs that a predicate belongs to: "das bleibt klar".
COPULAS = word_set(
    "bin bist ist sind seid war warst waren wart sei seien wäre wären sein gewesen bleibt bleiben blieb blieben wird"
    " werden wurde wurden würde würden scheint scheinen schien schienen"
)


def variants(sentence: Analyzed) -> list[Variant]:
    """One variant for each adjective before its noun, or at the end of a clause with "sein", that un- can negate."""
    return [
        replace_word(sentence, token, "un" + token.text.lower())
        for place, token in enumerate(sentence.tokens)
        if (_is_attribute(sentence.tokens, place) or (token.tag == "ADJD" and _is_predicate(sentence, place)))
        and not token.text.lower().startswith("un")
        and NEGATABLE.match(token.text.lower())
        and not _TAKES_NONE.match(token.text.lower())
        and not _NO_OPPOSITE.match(token.text.lower())
        and (place == 0 or _is_free(token, sentence.tokens[place - 1]))
        and not is_negated(sentence, place)
    ]


def _is_attribute(tokens: tuple[Token, ...], place: int) -> bool:
    """Whether an adjective stands before its noun; "möglich" means something else there."""
    after = tokens[place + 1].tag if place + 1 < len(tokens) else ""
    follows = after in ("NN", "NE", "ADJA", "KON", "TRUNC", "CARD") or after == "$("
    return tokens[place].tag == "ADJA" and follows and not tokens[place].text.lower().startswith("möglich")


def _is_free(token: Token, before: Token) -> bool:
    """Whether an adjective is no part of a name ("die Soziale Union"), and nothing grades it ("schlecht lesbar")."""
    graded = before.tag == "ADJD" or before.text in ("gut", "schlecht", "leicht", "schwer")
    return (token.text.islower() or before.tag.startswith("$")) and not graded


def _is_predicate(sentence: Analyzed, place: int) -> bool:
    """Whether an uninflected adjective is a predicate: an adverb ("deutlich gesunken") has another meaning."""
    tokens = sentence.tokens
    if place and tokens[place - 1].text in ("wie", "als"):  # "so schnell wie möglich"
        return False
    clause = clause_around(tokens, place)
    next_clause = tokens[tokens.index(clause[-1]) + 2 :][:1]
    if any(token.tag == "PRF" for token in clause) or any(token.tag == "KOUS" for token in next_clause):
        return False  # "sich sicher", "bekannt, dass"
    after = tokens[place + 1] if place + 1 < len(tokens) else None
    if after is not None and not after.tag.startswith("$"):
        return after.text in COPULAS
    before = itertools.takewhile(lambda token: not token.tag.startswith("$"), reversed(tokens[:place]))
    verbs = [token.text.lower() for token in before if token.tag.startswith("V")]
    return bool(verbs) and all(verb in COPULAS for verb in verbs)


ERROR = ErrorType(
    "polarity_affix_ins",
    "de",
    "The negating prefix un- is added, so that the word means the opposite.",
    variants,
    label="the negation ‘un-’ added",
)
