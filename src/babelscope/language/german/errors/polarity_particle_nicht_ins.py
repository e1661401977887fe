"""Adding "nicht"."""

from __future__ import annotations

from babelscope.language.base import ErrorType, Token, Variant
from babelscope.language.german.analysis import Analysed, word_set
from babelscope.language.german.errors.overlap import BY_CLAUSE
from babelscope.language.german.errors.polarity import source_is_positive

_NEGATED = ("nicht", "kein", "nie", "weder", "ohne", "nur", "kaum", "nein")
# Tags that the particle precedes: verbs at the end of the clause, and what belongs closely to them.
_AFTER_PARTICLE = ("VVPP", "VVINF", "VVIZU", "VAPP", "VAINF", "VMINF", "PTKZU", "PTKVZ", "ADJD")
_POSTPOSITIONS = word_set("entlang entsprechend gegenüber hindurch lang über zufolge")
_DEGREE = word_set("sehr so ganz ziemlich recht völlig besonders viel mehr zu")


def variants(sentence: Analysed) -> list[Variant]:
    """One variant for each main clause that ends in a verb or a predicate, and has no negation yet."""
    found = []
    tokens = sentence.tokens
    negated = next(
        (n for n, word in enumerate(tokens) if word.text.lower().startswith(_NEGATED)), len(tokens)
    )
    for place, token in enumerate(tokens):
        if not token.tag.endswith("FIN"):
            continue
        after = range(place + 1, len(tokens))
        end = next(
            (n for n in after if tokens[n].tag.startswith("$") or tokens[n].tag.endswith("FIN")), len(tokens)
        )
        if end < len(tokens) and tokens[end].tag.endswith("FIN"):
            continue
        clause = tokens[place + 1 : end]
        where = _insertion(clause)
        own = any(word.text.lower().startswith(_NEGATED) for word in clause)
        if where is not None and place <= negated and not own:
            text = f"{sentence.text[: where.start]}nicht {sentence.text[where.start :]}"
            found.append(Variant(text, "", "nicht", where.start))
    return found


def _insertion(clause: tuple[Token, ...]) -> Token | None:
    """The first of the words at the end of a clause that nicht precedes; None if there are none."""
    first = len(clause)
    while first and (clause[first - 1].tag in _AFTER_PARTICLE or clause[first - 1].text in _DEGREE):
        first -= 1
    if first == len(clause) or clause[first].text in _POSTPOSITIONS:
        return None  # "das ganze Jahr über"
    before = clause[first - 1].text if first else ""
    return None if before == "am" else clause[first]  # "am besten"


def detect(source: str, translation: Analysed) -> bool:
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
    version=2,
    label="‘nicht’ (not) added",
)
