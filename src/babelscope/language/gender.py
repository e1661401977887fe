"""The gender of translated occupations (WinoMT): by articles and endings, or by a lexicon."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from babelscope.language.base import Gender, GenderRules, Language
from babelscope.language.general.lexicons import Lexicon, open_lexicon
from babelscope.language.general.sentence import features
from babelscope.util.text import parse_toml

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


def gender_by_lexicon(spec: str) -> Callable[[GenderRules], LexiconGender]:
    """What opens `LexiconGender` with a lexicon, as `make pairs --lexicon` names it."""
    return lambda rules: LexiconGender(open_lexicon(spec))  # noqa: ARG005


def _language(code: str, english: str) -> Language:
    """A language by its table in gender.toml."""

    def opened(rules: GenderRules) -> FormGender:
        table = parse_toml((files("babelscope.language") / "gender.toml").read_bytes(), "gender.toml")[code]
        if "articles" in table or "male" in table["endings"]:
            return FormGender(table.get("articles", {}), table["endings"])
        # Published rules of Hebrew and Arabic: female by the ending, or if the occupation is not found.
        missing: Gender = "female" if rules == "published" else "unknown"
        return FormGender({}, table["endings"], "male", missing)

    return Language(code, english, morphology=opened)


ARABIC = _language("ar", "Arabic")
CZECH = _language("cs", "Czech")
DUTCH = _language("nl", "Dutch")
FRENCH = _language("fr", "French")
HEBREW = _language("he", "Hebrew")
ITALIAN = _language("it", "Italian")
POLISH = Language(
    "pl",
    "Polish",
    packages=("morfeusz2",),
    install="morfeusz2",
    morphology=gender_by_lexicon("morfeusz2"),
)
PORTUGUESE = _language("pt", "Portuguese")
SPANISH = _language("es", "Spanish")
