"""Adding "nicht"."""

from __future__ import annotations

from babelscope.language.base import ErrorType, Token, Variant
from babelscope.language.german.analysis import Analyzed, word_set
from babelscope.language.german.errors.polarity_affix_ins import COPULAS
from babelscope.language.german.errors.shared import (
    BY_CLAUSE,
    can_take_negation,
    clause_around,
    source_is_positive,
)

# Tags that the particle precedes: verbs at the end of the clause.
_VERBS = ("VVPP", "VVINF", "VVIZU", "VAPP", "VAINF", "VMINF", "PTKZU", "PTKVZ")
_POSTPOSITIONS = word_set("entlang entsprechend gegenüber hindurch lang über zufolge")
_DEGREE = word_set("sehr so ganz ziemlich recht völlig besonders viel zu")
# What the particle follows: pronouns, and adverbs that it does not limit. Phrases must be definite.
_BEFORE_PARTICLE = ("PPER", "PRF", "PDS")
_NO_PREDICATES = word_set("natürlich tatsächlich wirklich")
_ADVERBS = word_set(
    "heute gestern morgen jetzt dann dort hier da zwar aber jedoch allerdings deshalb daher derzeit damals"
)
_PHRASE = ("NN", "NE", "ADJA", "ART", "PPOSAT", "PDAT")
_DEFINITE = ("der", "die", "das", "den", "dem", "des")


def variants(sentence: Analyzed) -> list[Variant]:
    """One variant for each main clause that ends in a verb or a predicate, and has no negation yet."""
    found = []
    tokens = sentence.tokens
    for place, token in enumerate(tokens):
        if not token.tag.endswith("FIN") or not can_take_negation(sentence, place):
            continue
        if place and (tokens[place - 1].tag in ("$,", "$(") or tokens[place - 1].text in ("so", "wie")):
            continue  # "Das Haus, sagte er, brennt"
        if any(each.tag.startswith(("KOUS", "PREL", "PW")) for each in clause_around(tokens, place)[:2]):
            continue  # "was er hätte sehen sollen"
        if _is_second(tokens, place):
            continue  # a part of the verb taken for a finite one: "würde ihm zupasse kommen"
        after = range(place + 1, len(tokens))
        end = next(
            (n for n in after if tokens[n].tag.startswith("$") or tokens[n].tag.endswith("FIN")), len(tokens)
        )
        if end < len(tokens) and tokens[end].tag.endswith("FIN"):
            continue
        where = _insertion(tokens[place:end])
        if where is not None:
            text = f"{sentence.text[: where.start]}nicht {sentence.text[where.start :]}"
            found.append(Variant(text, "", "nicht", where.start))
    return found


def _is_second(tokens: tuple[Token, ...], place: int) -> bool:
    """Whether the clause has a finite verb before the one at `place`, and no conjunction between."""
    before = (token.tag for token in reversed(tokens[:place]))
    return next(
        (tag for tag in before if tag.endswith("FIN") or tag == "KON" or tag.startswith("$")), ""
    ).endswith("FIN")


def _insertion(clause: tuple[Token, ...]) -> Token | None:
    """The first of the words at the end of a clause that nicht precedes; None if there are none, or none is certain.

    The clause begins with its finite verb.
    """
    first = len(clause)
    while clause[first - 1].tag in _VERBS:
        first -= 1
    verbs = [token.text.lower() for token in (clause[0], *clause[first:]) if token.tag != "PTKZU"]
    predicate = clause[first - 1].tag == "ADJD" and clause[first - 1].text not in _NO_PREDICATES
    if predicate and all(verb in COPULAS for verb in verbs):
        first -= 1  # a predicate
        while clause[first - 1].text in _DEGREE:
            first -= 1
    if first in (0, len(clause)) or clause[first].text in _POSTPOSITIONS:
        return None  # "das ganze Jahr über"
    before = clause[first - 1]
    governed = clause[first - 2].tag.startswith("APPR")
    follows = first == 1 or (before.tag in _BEFORE_PARTICLE and not governed) or before.text in _ADVERBS
    return clause[first] if follows or _is_definite(clause[1:first]) else None


def _is_definite(part: tuple[Token, ...]) -> bool:
    """Whether words end in a phrase with a definite article, a possessive or a demonstrative, and no preposition."""
    first = len(part)
    while first and part[first - 1].tag in _PHRASE:
        first -= 1
    if (
        first == len(part)
        or part[-2:][0].tag in ("NN", "NE")
        or (first and part[first - 1].tag.startswith(("APPR", "CARD", "KO")))
    ):
        return False
    opening = part[first]
    return opening.tag in ("PPOSAT", "PDAT") or opening.text in _DEFINITE


def detect(source: str, translation: Analyzed) -> bool:
    """Nothing in the source negates, and the translation has nicht."""
    return any(token.text == "nicht" for token in translation.tokens) and source_is_positive(source)


ERROR = ErrorType(
    "polarity_particle_nicht_ins",
    "de",
    "The negation particle nicht is added, so that the sentence says the opposite.",
    variants,
    detect,
    looks_for=source_is_positive,
    overlap=BY_CLAUSE,
    label="‘nicht’ (not) added",
)
