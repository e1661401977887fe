"""A genitive after a preposition that takes the dative."""

from __future__ import annotations

from babelscope.language.base import ErrorType, Token, Variant
from babelscope.language.german.analysis import Analysed, Nominal, Nouns, word_set
from babelscope.language.german.errors.overlap import BY_PREPOSITION
from babelscope.language.german.errors.phrases import noun_place_after

_PREPOSITIONS = word_set("entgegen entsprechend gegenüber gemäß nahe beinahe nebst mitsamt samt seit")
_ARTICLES = {"dem": "des", "einem": "eines", "den": "der"}
_GENITIVES = frozenset(_ARTICLES.values())
# Nouns with these endings have -s, never -es.
_ONLY_S = ("en", "el", "er", "em", "tum", "lein")
_SIBILANTS = ("s", "ß", "x", "z")


def variants(sentence: Analysed) -> list[Variant]:
    """For each such phrase the genitive forms of its noun, the usual one first."""
    found = []
    tokens = sentence.tokens
    for place, article in enumerate(tokens[1:], 1):
        if article.text not in _ARTICLES or tokens[place - 1].text.lower() not in _PREPOSITIONS:
            continue
        noun_place = noun_place_after(sentence, place)
        noun = tokens[noun_place] if noun_place is not None else _capital_after(tokens, place)
        if noun is None:
            continue
        new_article = _ARTICLES[article.text]
        nouns = sentence.analyser.nouns
        plural = article.text == "den"
        known = nouns.readings(noun.text)
        if plural and known and not _has(known, "pl", "dat"):
            continue  # "erhöht entsprechend den Haushalt" is an accusative
        forms = genitive_plurals(noun.text, nouns) if plural else genitives(noun.text, nouns)
        for form in forms:
            if plural and Nominal("f", "sg", "dat") in nouns.readings(form):
                continue  # "gegenüber der Angestellten" is right of a woman
            text = sentence.replaced((article, new_article), (noun, form))
            found.append(Variant(text, f"{article.text} {noun.text}", f"{new_article} {form}", article.start))
    return found


def _capital_after(tokens: tuple[Token, ...], place: int) -> Token | None:
    """The next word if it has a capital, and so is a noun that the tagger missed."""
    following = tokens[place + 1] if place + 1 < len(tokens) else None
    return following if following and following.text[0].isupper() else None


def genitives(form: str, nouns: Nouns) -> list[str]:
    """The genitive singular of a masculine or neuter noun in the dative singular, the usual form first."""
    stem = form
    old_dative = form.endswith("e") and not _has(nouns.readings(form), "sg", "nom")
    if old_dative and _has(nouns.readings(form[:-1]), "sg", "dat"):
        stem = form[:-1]  # "dem Rate": the -e of the old dative
    if stem.endswith("nis"):
        return [stem + "ses"]
    if stem.lower() == "jahr":  # the only noun whose long form is far more frequent
        return [stem + "es", stem + "s"]
    head = nouns.head(stem)
    endings = [end for end in ("s", "es", "ses") if _has(nouns.listed(head + end), "sg", "gen")]
    unchanged = _has(nouns.listed(head), "sg", "gen")
    # Weak nouns and adjectives used as nouns have -en in both cases, and -us stays.
    if unchanged and (endings in ([], ["ses"]) or nouns.declines_as_adjective(form)):
        return [form]
    if stem.endswith(_ONLY_S):
        return [stem + "s"]
    if not endings:
        endings = ["es"] if stem.endswith(_SIBILANTS) and not stem.endswith("us") else [""]
        endings = ["s"] if endings == [""] and not stem.endswith(("us", "as", "is")) else endings
    return [stem + end for end in endings]


def genitive_plurals(form: str, nouns: Nouns) -> list[str]:
    """The genitive plural of a noun in the dative plural: without the -n of the dative, where it has one."""
    without = form[:-1]
    shorter = [without] if form.endswith("n") and _has(nouns.readings(without), "pl", "gen") else []
    if not shorter or _has(nouns.readings(form), "pl", "gen"):
        return [form, *shorter] if nouns.declines_as_adjective(form) else [form]
    # "der Lehrer" can be read as a nominative singular; then "der Lehrern" is the clear error, and comes first.
    return [form, *shorter] if _has(nouns.readings(without), "sg", "nom") else shorter


def _has(readings: frozenset[Nominal], number: str, case: str) -> bool:
    return any(reading.number == number and reading.case == case for reading in readings)


def detect(source: str, translation: Analysed) -> bool:  # noqa: ARG001 - the translation alone shows it
    """A preposition of these stands before a genitive."""
    tokens = translation.tokens
    for place in range(1, len(tokens)):
        article, before = tokens[place].text, tokens[place - 1].text.lower()
        if before not in _PREPOSITIONS or article not in _GENITIVES:
            continue
        if article != "der":
            return True
        # "gegenüber der Stadt" is a feminine dative; only a plural shows the genitive.
        noun = noun_place_after(translation, place)
        readings = translation.analyser.nouns.readings(tokens[noun].text) if noun is not None else frozenset()
        if readings and all(reading.number == "pl" for reading in readings):
            return True
    return False


ERROR = ErrorType(
    "hypercorrect_genitive",
    "de",
    "A preposition with the dative takes the genitive, as in hypercorrect speech; unlikely of systems.",
    variants,
    detect,
    plausible=False,
    overlap=BY_PREPOSITION,
    label="a genitive where the dative belongs",
)
