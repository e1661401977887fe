"""The gender of translated occupations (WinoMT): by articles and endings, or by a lexicon."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from babelscope.language.base import Gender, GenderRules, Language
from babelscope.language.general.lexicons import Lexicon, open_lexicon
from babelscope.language.general.sentence import features

Forms = Mapping[Gender, str]
"""Gender -> articles or endings, with spaces between."""


@dataclass(frozen=True, slots=True)
class FormGender:
    """Gender by the first word of an occupation whose form shows one: an article, or a word with a telling ending."""

    articles: Forms
    """Articles, also joined with prepositions."""
    endings: Forms
    """Endings of nouns; the longest that fits decides, and one of both genders is neutral."""
    otherwise: Gender = "neutral"
    """The gender of words of which none shows any."""
    missing: Gender = "unknown"
    """The gender of an occupation that is not found in the translation."""

    def gender(self, found: Sequence[int], words: Sequence[str], occupation: str) -> Gender:  # noqa: ARG002
        """Gender of the occupation whose translation is at the positions `found` of the translation's `words`."""
        own = [word for index in sorted(set(found)) for word in re.findall(r"\w+", words[index].lower())]
        if not own:
            return self.missing
        shown = (self._of(word) for word in own)
        return next((gender for gender in shown if gender is not None), self.otherwise)

    def _of(self, word: str) -> Gender | None:
        for gender, listed in self.articles.items():
            if word in listed.split():
                return gender
        fitting = [
            (len(ending), gender)
            for gender, listed in self.endings.items()
            for ending in listed.split()
            if word.endswith(ending) and len(word) > len(ending) + 1
        ]
        return max(fitting)[1] if fitting else None


_BY_FEATURE: Mapping[str, Gender] = {"Masc": "male", "Fem": "female", "Neut": "neutral"}


class LexiconGender:
    """Gender by the readings of nouns in a lexicon: female if any is, else the most frequent one."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon

    def gender(self, found: Sequence[int], words: Sequence[str], occupation: str) -> Gender:  # noqa: ARG002
        """Gender of the occupation whose translation is at the positions `found` of the translation's `words`."""
        own = [word for index in sorted(set(found)) for word in re.findall(r"\w+", words[index])]
        if not own:
            return "unknown"
        shown = [
            _BY_FEATURE[value]
            for word in own
            for entry in self._lexicon.analyze(word) or self._lexicon.analyze(word.lower())
            if entry.upos == "NOUN"
            for value in features(entry.feats).get("Gender", ())
            if value in _BY_FEATURE
        ]
        if not shown:
            return "neutral"
        return "female" if "female" in shown else Counter(shown).most_common(1)[0][0]


def _rules(articles: Forms, endings: Forms) -> Callable[[GenderRules], FormGender]:
    return lambda rules: FormGender(articles, endings)  # noqa: ARG005


def _male_unless_marked(endings: str) -> Callable[[GenderRules], FormGender]:
    """Published rules of Hebrew and Arabic: female by the ending, or if the occupation is not found."""
    return lambda rules: FormGender(
        {}, {"female": endings}, "male", "female" if rules == "published" else "unknown"
    )


SPANISH = Language(
    "es",
    "Spanish",
    morphology=_rules(
        {"male": "el un al del los unos", "female": "la una las unas"},
        {"male": "o or os ores", "female": "a as ora oras triz esa", "neutral": "ista nte"},
    ),
)
FRENCH = Language(
    "fr",
    "French",
    morphology=_rules(
        {"male": "le un au du", "female": "la une"},
        {
            "male": "eur ien er ier if ant ent é eux on in",
            "female": "euse ienne ère ière rice ive ante ente ée onne ine esse",
            "neutral": "iste",
        },
    ),
)
ITALIAN = Language(
    "it",
    "Italian",
    morphology=_rules(
        {
            "male": "il lo uno un al allo del dello dal dallo sul sullo nel nello i gli",
            "female": "la una alla della dalla sulla nella le",
        },
        {"male": "o tore iere", "female": "a trice essa iera", "neutral": "ista nte"},
    ),
)
PORTUGUESE = Language(
    "pt",
    "Portuguese",
    morphology=_rules(
        {"male": "o um ao do no pelo os uns", "female": "a uma à da na pela as umas"},
        {"male": "o or eiro", "female": "a ora eira triz", "neutral": "ista nte"},
    ),
)
DUTCH = Language(
    "nl",
    "Dutch",
    morphology=_rules(
        {}, {"male": "er or eur aar ier man", "female": "ster euse trice in es vrouw", "neutral": "e"}
    ),
)
CZECH = Language(
    "cs",
    "Czech",
    morphology=_rules(
        {},
        {
            "male": "ář ař er or ik ík el ec ent ant ista log ovi em íka íku",
            "female": "lka lku lkou rka rku rkou řka řku řkou ntka stka ačka ečka ice ici icí yně yni á",
            "neutral": "í",
        },
    ),
)
POLISH = Language(
    "pl",
    "Polish",
    packages=("morfeusz2",),
    install="morfeusz2",
    morphology=lambda rules: LexiconGender(open_lexicon("morfeusz2")),  # noqa: ARG005
)
HEBREW = Language("he", "Hebrew", morphology=_male_unless_marked("ה ת"))
ARABIC = Language("ar", "Arabic", morphology=_male_unless_marked("ة"))
