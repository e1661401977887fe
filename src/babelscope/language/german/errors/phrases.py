"""Noun phrases: finding the noun of a determiner."""

from __future__ import annotations

from babelscope.language.base import Token
from babelscope.language.german.analysis import Analysed, word_set

# What may stand between a determiner and its noun.
_INSIDE = tuple(word_set("ADJA ADJD ADV CARD PIAT PTKA TRUNC VVPP PIDAT PPOSAT PROAV PTKNEG"))
_MARKS = frozenset("\"'„“”»«‚‘’/")
_BEFORE_OWN_ADJECTIVE = tuple(word_set("NN NE ADV ADJD PTKZU CARD PRF ADJA VVINF PIS PIAT PTKNEG"))
# Tokens between determiner and noun that are searched; attributes may have complements of their own.
_REACH = 10

# Prepositions with the dative that hypercorrect speech gives the genitive.
_PREPOSITIONS = word_set("entgegen entsprechend gegenüber gemäß nahe beinahe nebst mitsamt samt seit")
# What may stand between preposition and article: "seit fast einem Jahr", "seit mehr als einem Jahr".
_DEGREES = word_set(
    "als annähernd bereits circa erst etwa exakt fast gerade genau gut immerhin knapp kaum mehr mindestens nahezu nur"
    " rund schon sogar über ungefähr wenigstens"
)


def preposition_before(tokens: tuple[Token, ...], place: int, *, strict: bool = True) -> int | None:
    """Index of a preposition with the dative that governs the article at `place`; words of degree may be between."""
    before = place - 1
    while before > max(0, place - 3) and tokens[before].text.lower() in _DEGREES:
        before -= 1
    word = tokens[before].text.lower() if before >= 0 else ""
    # "beinahe dem Tod" has no preposition, nor has "seit dem Mann klar ist"; both are in the released sets.
    governs = not strict or (word != "beinahe" and tokens[before].tag not in ("KOUS", "PTKVZ"))
    return before if word in _PREPOSITIONS and governs else None


def clause_around(
    tokens: tuple[Token, ...], place: int, ends: tuple[str, ...] = ("$,", "$.")
) -> tuple[Token, ...]:
    """The tokens around `place`, up to the next on either side whose tag begins with one of `ends`."""
    first = next((n + 1 for n in range(place - 1, -1, -1) if tokens[n].tag.startswith(ends)), 0)
    last = next((n for n in range(place + 1, len(tokens)) if tokens[n].tag.startswith(ends)), len(tokens))
    return tokens[first:last]


def has_free_noun(clause: tuple[Token, ...]) -> bool:
    """Whether a part of a clause has a noun without a preposition: "Sie sind Schwestern"."""
    governed = False
    for token in clause:
        governed = token.tag.startswith("APPR") or (governed and not token.tag.startswith(("NN", "V")))
        if token.tag in ("NN", "NE") and not governed:
            return True
    return False


def noun_place_after(sentence: Analysed, place: int) -> int | None:
    """Index of the noun of the phrase that begins at `place`; None if it has none."""
    tokens = sentence.tokens
    for here in range(place + 1, min(place + _REACH, len(tokens))):
        tag, text = tokens[here].tag, tokens[here].text
        if is_noun(tokens[here]):
            if _belongs_to_adjective(sentence, here):
                continue
            return here
        if text in _MARKS or tag.startswith(_INSIDE) or text[0].isdigit():
            continue
        # "in die eine Richtung", but "die eines Fahrers" has no noun.
        if here == place + 1 and tag == "ART" and text in ("eine", "einen"):
            continue
        # Adjectives are joined by commas and conjunctions: "der alte, aber schöne Garten".
        if (tag == "KON" or text == ",") and here > place + 1 and tokens[here - 1].tag == "ADJA":
            continue
        if tag == "KON" and tokens[here - 1].tag == "TRUNC":
            continue
        # After an adjective, a preposition begins another phrase: "die erste von vier Ausgaben".
        if tag.startswith(("APPR", "PTKZU", "PRF", "PPER")) and tokens[here - 1].tag != "ADJA":
            return _after_complement(tokens, here)
        return None
    return None


def is_noun(token: Token) -> bool:
    """Whether a token is a noun: "29-Jährige" is one, "60er" is not."""
    if token.text[0].isdigit():
        return "-" in token.text and token.text.rsplit("-", 1)[-1][:1].isupper()
    return token.tag in ("NN", "NE")


def _belongs_to_adjective(sentence: Analysed, here: int) -> bool:
    """Whether a noun only modifies what follows it: "die Kiewer Führung", "der 3 Meter lange Tisch"."""
    tokens = sentence.tokens
    following = tokens[here + 1 : here + 3]
    word = tokens[here].text
    if word.endswith("er") and (tokens[here].tag == "NE" or not sentence.analyser.nouns.listed(word)):
        return bool(following) and following[0].tag == "NN"
    measured = tokens[here - 1].tag == "CARD" or tokens[here - 1].text[0].isdigit()
    return measured and len(following) == 2 and following[0].tag == "ADJA" and is_noun(following[1])


def _after_complement(tokens: tuple[Token, ...], start: int) -> int | None:
    """Index of the noun after an attribute with a complement: "das in Bonn ansässige Unternehmen"."""
    for here in range(start + 1, min(start + _REACH, len(tokens))):
        tag = tokens[here].tag
        # A participle before a noun looks like a finite verb: "die von der Stadt bezahlte Feier".
        participle = tag == "VVFIN" and here + 1 < len(tokens) and is_noun(tokens[here + 1])
        if tag.startswith(("$", "KOU", "PREL")) or (tag.endswith("FIN") and not participle):
            return None
        described = is_noun(tokens[here]) and tokens[here - 1].tag in ("ADJA", "VVFIN") and here - 1 > start
        # An adjective right after a preposition or article belongs to the complement.
        if described and tokens[here - 2].tag.startswith(_BEFORE_OWN_ADJECTIVE):
            return here
    return None
