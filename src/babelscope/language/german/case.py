"""The case of a noun phrase, as far as its position in the sentence shows it."""

from __future__ import annotations

from babelscope.language.german.analysis import Analysed, Case, word_set

_DATIVE = (
    "aus bei mit nach von zu seit ab außer gegenüber entgegen entsprechend gemäß nahe nebst samt laut binnen"
    " zufolge"
)
_ACCUSATIVE = "durch für gegen ohne um bis pro per wider betreffend via entlang"
_EITHER = "in an auf über unter vor hinter neben zwischen"
_GENITIVE = (
    "dank wegen während trotz statt anstatt aufgrund innerhalb außerhalb oberhalb unterhalb hinsichtlich angesichts"
    " anhand mithilfe infolge bezüglich mittels zugunsten anlässlich seitens jenseits diesseits inmitten"
    " einschließlich namens kraft ungeachtet unweit zwecks abseits beiderseits anstelle zuungunsten"
)
_GOVERNED: dict[str, set[Case]] = {
    **{word: {"dat"} for word in _DATIVE.split()},
    **{word: {"acc"} for word in _ACCUSATIVE.split()},
    **{word: {"dat", "acc"} for word in _EITHER.split()},
    # In everyday German, most of these also take the dative.
    **{word: {"gen", "dat"} for word in _GENITIVE.split()},
}
# Pronouns that are subjects, so that the phrase after them is not.
_NOMINATIVE = word_set("ich du er wir man jemand niemand")
_QUOTES = "\"'„“”»«‚‘’("


def cases_at(sentence: Analysed, place: int, possible: set[Case]) -> set[Case]:
    """Which of the `possible` cases a phrase that begins at `place` can have."""
    if len(possible) == 1:
        return possible
    before = place - 1
    while before >= 0 and sentence.tokens[before].text in _QUOTES:
        before -= 1
    previous = sentence.tokens[before] if before >= 0 else None
    if "nom" in possible and (previous is None or previous.tag in ("$.", "KOUS") or previous.text == ":"):
        return {"nom"}  # the first phrase is mostly the subject
    if previous is not None:
        if "acc" in possible and previous.text.lower() in _NOMINATIVE:
            return possible - {"nom"}
        governed = _GOVERNED.get(previous.text.lower())
        if governed and previous.tag in ("APPR", "APPO", "KOUI", "PTKZU", "KOUS", "ADJD", "PTKVZ", "ADV"):
            return possible & governed or possible
        # A noun before it: the genitive of "das Ende der Woche".
        if "gen" in possible and previous.tag == "NN":
            return {"gen"}
        # After a name, the dative is possible too: "Bald half Anna der Katze".
        if "gen" in possible and previous.tag == "NE":
            return possible & {"gen", "dat"}
    return possible
