"""The wrong auxiliary of the perfect."""

from __future__ import annotations

from babelscope.language.base import ErrorType, Variant, replace_word
from babelscope.language.german.analysis import Analysed
from babelscope.language.german.errors.overlap import BY_CLAUSE
from babelscope.language.german.irregular import AUXILIARIES

_SWAPS = {
    a: b
    for one, other in (("haben", "sein"), ("sein", "haben"))
    # Some subjunctives look like indicatives. Rows are reversed so that the first one, the indicative, wins.
    for row, peer in reversed(list(zip(AUXILIARIES[one], AUXILIARIES[other], strict=True)))
    for a, b in zip(row, peer, strict=True)
}


def variants(sentence: Analysed) -> list[Variant]:
    """One variant for each auxiliary with a participle in the same clause."""
    found = []
    for place, token in enumerate(sentence.tokens):
        new = _SWAPS.get(token.text.lower())
        if token.tag == "VAFIN" and new and _has_participle(sentence, place):
            found.append(replace_word(sentence, token, new))
    return found


def _has_participle(sentence: Analysed, place: int) -> bool:
    """Whether a participle ends the clause, or stands right before the auxiliary; "worden" makes it a passive."""
    tokens = sentence.tokens
    if place and tokens[place - 1].tag == "VVPP":
        return True
    for here in range(place + 1, len(tokens)):
        if tokens[here].tag.startswith("$") or tokens[here].tag.endswith("FIN"):
            return here > place + 1 and tokens[here - 1].tag == "VVPP"
    return tokens[-1].tag == "VVPP"


ERROR = ErrorType(
    "auxiliary",
    "de",
    "The perfect is formed with haben where it needs sein, or with sein where it needs haben.",
    variants,
    overlap=BY_CLAUSE,
    label="‘haben’ and ‘sein’ confused",
)
