"""The wrong auxiliary of the perfect."""

from __future__ import annotations

import re

from babelscope.language.base import ErrorType, Token, Variant, replace_word
from babelscope.language.german.analysis import Analyzed, word_set
from babelscope.language.german.errors.shared import BY_CLAUSE, clause_around, noun_place_after
from babelscope.language.german.morphology import AUXILIARIES, DEFINITE

_SWAPS = {
    a: b
    for one, other in (("haben", "sein"), ("sein", "haben"))
    # Some subjunctives look like indicatives. Rows are reversed so that the first one, the indicative, wins.
    for row, peer in reversed(list(zip(AUXILIARIES[one], AUXILIARIES[other], strict=True)))
    for a, b in zip(row, peer, strict=True)
}
_HAVE = {form for row in AUXILIARIES["haben"] for form in row}
# Particles that a participle may begin with: "ausgestiegen".
_PARTICLE = (
    "(?:ab|an|auf|aus|bei|davon|durch|ein|empor|entlang|entgegen|fort|frei|heim|her|herab|heran|herauf|heraus|herein"
    "|herum|herunter|hervor|hin|hinauf|hinaus|hinein|hinunter|hinzu|hoch|los|mit|nach|nieder|um|unter|vor|voran|voraus"
    "|vorbei|weg|weiter|zu|zurück|zusammen|über|übrig)?"
)
# Participles whose perfect has sein and that have no object, so that "ist" cannot be a passive of state, nor "hat"
# a perfect: the verbs of motion that also have objects (fahren, ziehen, treten) are not among them.
_WITH_SEIN = re.compile(
    rf"{_PARTICLE}(?:geblieben|gedrungen|gefallen|geflohen|gegangen|geglitten|gekommen|gekrochen|gelangt|gereist|gerannt"
    r"|geschlichen|geschlüpft|geschwunden|gesprungen|gestiegen|gestorben|gesunken|gewachsen|gewandert|gewesen|geworden)"
    r"|aufgetaucht|aufgewacht|ausgewandert|begegnet|eingeschlafen|entgangen|entkommen|entstanden|erfolgt|erkrankt"
    r"|erloschen|erschienen|ertrunken|erwacht|explodiert|gediehen|geeilt|gelungen|gereift|gescheitert|geschehen|geschrumpft"
    r"|implodiert|misslungen|passiert|untergetaucht|vergangen|verschwunden|verstorben|verstummt|zerfallen|zugestoßen"
)
# Participles of verbs with haben that cannot be passives of state, for want of an object.
_WITH_HAVE = re.compile(
    rf"{_PARTICLE}(?:geantwortet|gearbeitet|gedauert|gefehlt|gefroren|gehabt|gehandelt|gehofft|gejubelt|gekonnt|gekämpft"
    r"|gelacht|gelebt|gelitten|gemusst|geruht|geschlafen|geschmeckt|geschwiegen|gestimmt|gewartet|geweint|gewohnt|gewollt"
    r"|gewusst|gezögert|existiert|funktioniert|kooperiert|profitiert|protestiert|reagiert|telefoniert)"
)
_ACCUSATIVES = word_set("mich dich ihn einen jeden sich")
_NOMINATIVES = word_set("ich du er wir man")
_FIRST = word_set("ich")
_PHRASES = word_set("NN NE PPER PIS PDS PRF")


def variants(sentence: Analyzed) -> list[Variant]:
    """One variant for each auxiliary of the perfect whose other auxiliary no reading allows."""
    found = []
    for place, token in enumerate(sentence.tokens):
        old = token.text.lower()
        new = _SWAPS.get(old)
        if token.tag != "VAFIN" or not new or (participle := _participle(sentence, place)) is None:
            continue
        clause = clause_around(sentence.tokens, place, ("$",))
        words = {each.text.lower() for each in clause}
        if old == "habe" and not words & _FIRST:
            new = "sei"  # in reported speech; "ich habe" is the indicative
        with_sein = bool(_WITH_SEIN.fullmatch(participle))
        if (old in _HAVE and not with_sein and _has_object(sentence, clause, participle)) or (
            old not in _HAVE and with_sein and not words & _ACCUSATIVES
        ):
            found.append(replace_word(sentence, token, new))
    return found


def _participle(sentence: Analyzed, place: int) -> str | None:
    """The participle that ends the clause, or stands right before the auxiliary; after "worden" there is none."""
    tokens = sentence.tokens
    if place and tokens[place - 1].tag == "VVPP":
        return tokens[place - 1].text.lower()
    ends = (
        n
        for n in range(place + 1, len(tokens))
        if tokens[n].tag.startswith("$") or tokens[n].tag.endswith("FIN")
    )
    last = tokens[next(ends, len(tokens)) - 1]
    return last.text.lower() if last.tag == "VVPP" else None


def _has_object(sentence: Analyzed, clause: tuple[Token, ...], participle: str) -> bool:
    """Whether a clause cannot be read as a passive of state: "Das hat sie geöffnet" can, with "ist"."""
    if _WITH_HAVE.fullmatch(participle):
        return True
    words = {token.text.lower() for token in clause}
    if words & _ACCUSATIVES or any(_is_accusative(sentence, token) for token in clause):
        return True
    return bool(words & _NOMINATIVES) and _free_phrases(clause) > 1


def _is_accusative(sentence: Analyzed, article: Token) -> bool:
    """Whether a "den" begins a singular, which is an object: in the plural it would be a dative."""
    if article.text.lower() != "den" or article.tag != "ART":
        return False
    place = sentence.tokens.index(article)
    if place and sentence.tokens[place - 1].tag.startswith("APPR"):
        return False
    noun = noun_place_after(sentence, place)
    if noun is None:
        return False
    fitting = sentence.analyzer.nouns.readings(sentence.tokens[noun].text) & DEFINITE["den"]
    return bool(fitting) and all(reading.number == "sg" for reading in fitting)


def _free_phrases(clause: tuple[Token, ...]) -> int:
    """How many nouns and pronouns of a clause follow no preposition."""
    count, governed = 0, False
    for token in clause:
        if token.tag.startswith(("APPR", "KOKOM")):
            governed = True
        elif token.tag in _PHRASES:
            count += not governed
            governed = False
    return count


ERROR = ErrorType(
    "auxiliary",
    "de",
    "The perfect is formed with haben where it needs sein, or with sein where it needs haben.",
    variants,
    overlap=BY_CLAUSE,
    label="‘haben’ and ‘sein’ confused",
)
