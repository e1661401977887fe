"""A genitive after a preposition that takes the dative."""

from __future__ import annotations

import re

from babelscope.language.base import ErrorType, Token, Variant
from babelscope.language.german.analysis import Analyzed, Nominal
from babelscope.language.german.dictionaries import NounList
from babelscope.language.german.errors.shared import BY_PREPOSITION, noun_place_after, preposition_before

_ARTICLES = {"dem": "des", "einem": "eines", "den": "der"}
_GENITIVES = frozenset(_ARTICLES.values())
# Nouns with these endings have -s, never -es.
_ONLY_S = ("en", "el", "er", "em", "tum", "lein")
_SIBILANTS = ("s", "ß", "x", "z")


def variants(sentence: Analyzed, mode: str = "strict") -> list[Variant]:
    """For each such phrase the genitive forms of its noun, the usual one first.

    "strict" makes the usual form only, and leaves out nouns that are not known in the number of their article, and
    those without a genitive form.
    """
    found = []
    tokens, nouns = sentence.tokens, sentence.analyzer.nouns
    for place, article in enumerate(tokens[1:], 1):
        if (
            article.text not in _ARTICLES
            or preposition_before(tokens, place, strict=mode == "strict") is None
        ):
            continue
        noun_place = noun_place_after(sentence, place)
        noun = tokens[noun_place] if noun_place is not None else _capital_after(tokens, place)
        if noun is None:
            continue
        new_article = _ARTICLES[article.text]
        plural = article.text == "den"
        known = nouns.readings(noun.text)
        if plural and known and not _has(known, "pl", "dat"):
            continue  # "erhöht entsprechend den Haushalt" is an accusative
        if mode == "strict" and not _is_dative(known, plural=plural):
            continue
        if mode == "strict" and tokens[place + 1].text.endswith("."):
            continue  # "seit dem 20. August": a date has no ending in the genitive
        forms = genitive_plurals(noun.text, nouns, mode) if plural else genitives(noun.text, nouns, mode)
        for form in forms:
            if plural and Nominal("f", "sg", "dat") in nouns.readings(form):
                continue  # "gegenüber der Angestellten" is right of a woman
            text = sentence.replaced((article, new_article), (noun, form))
            found.append(Variant(text, f"{article.text} {noun.text}", f"{new_article} {form}", article.start))
    return found


def _is_dative(known: frozenset[Nominal], *, plural: bool) -> bool:
    """Whether a noun can be a dative plural, or a masculine or neuter dative singular ("einem 850 Millionen...")."""
    number = "pl" if plural else "sg"
    return any(r.number == number and r.case == "dat" and (plural or r.gender != "f") for r in known)


def _capital_after(tokens: tuple[Token, ...], place: int) -> Token | None:
    """The next word if it has a capital, and so is a noun that the tagger missed."""
    following = tokens[place + 1] if place + 1 < len(tokens) else None
    return following if following and following.text[0].isupper() else None


def genitives(form: str, nouns: NounList, mode: str = "strict") -> list[str]:
    """The genitive singular of a masculine or neuter noun in the dative singular, the usual form first.

    After an article in the dative, adjectives used as nouns end in -en, which the released sets do not see:
    "dem Alter" is no man.
    """
    stem = form
    old_dative = form.endswith("e") and not _has(nouns.readings(form), "sg", "nom")
    if old_dative and _has(nouns.readings(form[:-1]), "sg", "dat"):
        stem = form[:-1]  # "dem Rate": the -e of the old dative
    if stem.endswith("nis"):
        return [stem + "ses"]
    if mode != "strict" and stem.lower() == "jahr":  # the only noun whose long form is far more frequent
        return [stem + "es", stem + "s"]
    head = nouns.head(stem)
    endings = [end for end in ("s", "es", "ses") if _has(nouns.listed(head + end), "sg", "gen")]
    unchanged = _has(nouns.listed(head), "sg", "gen")
    # Weak nouns and adjectives used as nouns have -en in both cases, and -us stays.
    adjectival = nouns.declines_as_adjective(form) and (mode != "strict" or form.endswith("en"))
    if unchanged and (endings in ([], ["ses"]) or adjectival):
        # A noun that has no ending in the genitive either is no clear error, unless all of its kind have none.
        clear = mode != "strict" or form.endswith(("n", *_SIBILANTS))
        return [form] if clear else []
    if stem.endswith(_ONLY_S):
        return [stem + "s"]
    if not endings:
        endings = ["es"] if stem.endswith(_SIBILANTS) and not stem.endswith("us") else [""]
        endings = ["s"] if endings == [""] and not stem.endswith(("us", "as", "is")) else endings
    if mode == "strict" and len(endings) > 1:
        endings = [_usual(endings, head)]
    return [stem + end for end in endings]


def _usual(endings: list[str], head: str) -> str:
    """The usual one of several endings: Busses, Tages, but Königs."""
    if "ses" in endings:
        return "ses"
    one_syllable = len(re.findall(r"[aeiouäöüy]+", head.lower())) == 1
    return "es" if one_syllable or head.endswith(_SIBILANTS) else "s"


def genitive_plurals(form: str, nouns: NounList, mode: str = "strict") -> list[str]:
    """The genitive plural of a noun in the dative plural: without the -n of the dative, where it has one."""
    without = form[:-1]
    shorter = [without] if form.endswith("n") and _has(nouns.readings(without), "pl", "gen") else []
    if not shorter or _has(nouns.readings(form), "pl", "gen"):
        return [form, *shorter] if mode != "strict" and nouns.declines_as_adjective(form) else [form]
    # "der Lehrer" can be read as a nominative singular; then the released sets have "der Lehrern", which is no form.
    return [form, *shorter] if mode != "strict" and _has(nouns.readings(without), "sg", "nom") else shorter


def _has(readings: frozenset[Nominal], number: str, case: str) -> bool:
    return any(reading.number == number and reading.case == case for reading in readings)


def detect(source: str, translation: Analyzed) -> bool:  # noqa: ARG001 - the translation alone shows it
    """A preposition of these stands before a genitive."""
    tokens = translation.tokens
    for place in range(1, len(tokens)):
        article = tokens[place].text
        if article not in _GENITIVES or preposition_before(tokens, place) is None:
            continue
        if article != "der":
            return True
        # "gegenüber der Stadt" is a feminine dative; only a plural shows the genitive.
        noun = noun_place_after(translation, place)
        readings = translation.analyzer.nouns.readings(tokens[noun].text) if noun is not None else frozenset()
        if readings and all(reading.number == "pl" for reading in readings):
            return True
    return False


ERROR = ErrorType(
    "hypercorrect_genitive",
    "de",
    "A preposition with the dative takes the genitive, as in hypercorrect speech; unlikely of systems.",
    variants,
    detect,
    modes=("strict", "as-released"),
    plausible=False,
    overlap=BY_PREPOSITION,
    label="a genitive where the dative belongs",
)
