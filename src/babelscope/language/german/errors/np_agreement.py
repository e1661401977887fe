"""The wrong gender of a definite article."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import get_args

from babelscope.language.base import ErrorType, Token, Variant, replace_word
from babelscope.language.german.analysis import Analyzed, Case, Gender, Nominal
from babelscope.language.german.errors.shared import BY_NOUN, is_noun, noun_place_after
from babelscope.language.german.morphology import DEFINITE, cases_at, definite_article

_GENDERS: tuple[Gender, ...] = ("m", "f", "n")
# An unlisted noun with one of these endings may also be a plural: "des Investments, der Investments".
_PLURALS = frozenset(Nominal("", "pl", case) for case in get_args(Case))
_PLURAL_ENDINGS = ("s", "n", "e", "er", "el")


def variants(sentence: Analyzed, mode: str = "strict") -> list[Variant]:
    """For each singular definite article the articles of the other genders, where they look different.

    "strict" leaves out articles that agree with another gender of the noun, or with a plural of the same form.
    """
    found = []
    for place, token in enumerate(sentence.tokens):
        form = token.text.lower()
        if (
            form not in DEFINITE
            or token.tag not in ("ART", "PDS", "PRELS")
            or not (token.text.islower() or token.text.istitle())
        ):
            continue
        if token.tag != "ART" and not _before_noun(sentence, place):
            continue
        if mode == "strict" and _may_be_relative(sentence, place):
            continue
        readings = article_readings(sentence, place)
        others = dict.fromkeys(
            new
            for reading in sorted(readings)
            for gender in _GENDERS
            if gender != reading.gender and (new := definite_article(gender, "sg", reading.case)) != form
        )
        cases = {reading.case for reading in readings}
        found += [
            replace_word(sentence, token, new)
            for new in others
            if mode != "strict" or not _agrees(sentence, place, new, cases)
        ]
    return found


def _agrees(sentence: Analyzed, place: int, new: str, cases: set[Case]) -> bool:
    """Whether the phrase at `place` is also correct with the article `new`: der Virus, die Kranke, die Kandidaten."""
    noun_place = noun_place_after(sentence, place)
    if noun_place is None:  # "der erste" has a gender only by what it is about
        return True
    noun = sentence.tokens[noun_place].text
    if _is_adjectival(sentence, noun):
        return True
    known = sentence.analyzer.nouns.readings(noun)
    if not known:  # the gender of a name or abbreviation is not known
        return True
    weak = {token.text.endswith("en") for token in _adjectives(sentence, place, noun_place)}
    if not sentence.analyzer.nouns.head(noun) and noun.endswith(_PLURAL_ENDINGS):
        known |= _PLURALS
    fitting = known & DEFINITE[new]
    return any(reading.case in cases and weak <= {_takes_en(reading)} for reading in fitting)


def _is_adjectival(sentence: Analyzed, noun: str) -> bool:
    """Whether a noun is a nominalized adjective, whose gender only the article shows; it ends in -e or -en."""
    nouns = sentence.analyzer.nouns
    if nouns.declines_as_adjective(noun):
        return True
    last = noun.rsplit("-", 1)[-1]
    return (
        last.endswith(("e", "en"))
        and not nouns.listed(last)
        and sentence.analyzer.tagger.can_be(last, "ADJA")
    )


def _takes_en(reading: Nominal) -> bool:
    """Whether an adjective after the definite article ends in -en: "den alten Hund", but "der alte Hund"."""
    ends_in_e = reading.case == "nom" or (reading.case == "acc" and reading.gender != "m")
    return reading.number == "pl" or not ends_in_e


def _adjectives(sentence: Analyzed, place: int, noun_place: int) -> list[Token]:
    return [token for token in sentence.tokens[place + 1 : noun_place] if token.tag == "ADJA"]


def _before_noun(sentence: Analyzed, place: int) -> bool:
    """Whether a word tagged as a pronoun is an article: right before a noun, and not after a comma."""
    if place + 1 == len(sentence.tokens) or (place > 0 and sentence.tokens[place - 1].text == ","):
        return False
    # "um das von der Stadt bezahlte Haus" is no pronoun either.
    extended = sentence.tokens[place].tag == "PDS" and sentence.tokens[place + 1].tag.startswith("APPR")
    return extended or is_noun(sentence.tokens[place + 1])


def _may_be_relative(sentence: Analyzed, place: int) -> bool:
    """Whether a clause begins here, or with the preposition before it, and ends in its verb: ", die Angst haben"."""
    tokens = sentence.tokens
    opening = place - (place > 0 and tokens[place - 1].tag == "APPR")
    if not opening or tokens[opening - 1].text not in (",", "-", "–", "("):
        return False
    rest = tokens[place + 1 :]
    clause = list(itertools.takewhile(lambda token: token.tag not in ("$,", "$."), rest))
    finite = [token for token in clause if token.tag.endswith("FIN")]
    return not finite or finite[0] in clause[-2:]


def article_readings(sentence: Analyzed, place: int) -> frozenset[Nominal]:
    """Possible readings of the singular noun phrase whose article is at `place`; none if it is a plural."""
    form = sentence.tokens[place].text.lower()
    noun_place = noun_place_after(sentence, place)
    if noun_place is None:
        return _without_noun(sentence, place)
    adjectives = _adjectives(sentence, place, noun_place)
    if form == "die" and adjectives and adjectives[-1].text.endswith("en"):
        return frozenset()  # "die alten Häuser": in the singular it would be "die alte"
    known = sentence.analyzer.nouns.readings(sentence.tokens[noun_place].text)
    # Where no known reading fits (new words, nominalized infinitives), the article alone decides.
    fitting = known & DEFINITE[form] or frozenset(r for r in DEFINITE[form] if r.number == "sg" or not known)
    fitting = _with_cases(fitting, cases_at(sentence, place, {reading.case for reading in fitting}))
    if not any(reading.number == "sg" for reading in fitting):
        return frozenset()
    if any(reading.number == "pl" for reading in fitting) and _looks_plural(
        sentence, place, noun_place, fitting
    ):
        return frozenset()
    return frozenset(reading for reading in fitting if reading.number == "sg")


def _without_noun(sentence: Analyzed, place: int) -> frozenset[Nominal]:
    """Readings of an article with an adjective but no noun, as in "der erste"; its ending shows the number."""
    form = sentence.tokens[place].text.lower()
    if place + 1 == len(sentence.tokens) or sentence.tokens[place + 1].tag not in ("ADJA", "PIS"):
        return frozenset()
    weak = "e" if form in ("der", "die", "das") else "en"
    if not sentence.tokens[place + 1].text.endswith(weak) or sentence.tokens[place + 1].text.endswith(
        weak + "n"
    ):
        return frozenset()
    if form == "den":
        return frozenset()
    direct = ("nom", "acc") if weak == "e" else ("gen", "dat")
    singular = {r for r in DEFINITE[form] if r.number == "sg" and r.case in direct}
    return _with_cases(singular, cases_at(sentence, place, {reading.case for reading in singular}))


def _with_cases(readings: Iterable[Nominal], cases: set[Case]) -> frozenset[Nominal]:
    return frozenset(reading for reading in readings if reading.case in cases)


def _looks_plural(sentence: Analyzed, place: int, noun_place: int, fitting: frozenset[Nominal]) -> bool:
    """Whether an ambiguous phrase is a plural: die alten Häuser, den Kindern."""
    if sentence.tokens[place].text.lower() == "die" and _adjectives(sentence, place, noun_place):
        return False  # "die alte" is singular; "der alten" and "den alten" may be either
    cardinal = any(token.tag == "CARD" for token in sentence.tokens[place + 1 : noun_place])
    if cardinal:
        return True
    noun = sentence.tokens[noun_place].text
    return noun.endswith("en") and not any(r.number == "sg" and r.gender != "f" for r in fitting)


def detect(source: str, translation: Analyzed) -> bool:  # noqa: ARG001 - the translation alone shows it
    """An article before a known noun that no gender, number and case of the noun fits."""
    nouns = translation.analyzer.nouns
    for place, token in enumerate(translation.tokens[:-1]):
        form = token.text.lower()
        noun = translation.tokens[place + 1]
        if form not in DEFINITE or token.tag != "ART" or noun.tag != "NN":
            continue
        known = nouns.listed(noun.text)
        if known and not known & DEFINITE[form]:
            return True
    return False


ERROR = ErrorType(
    "np_agreement",
    "de",
    "The definite article of a singular noun has another gender in the same case, so that they do not agree.",
    variants,
    detect,
    modes=("strict", "as-released"),
    overlap=BY_NOUN,
    label="an article of the wrong gender",
)
