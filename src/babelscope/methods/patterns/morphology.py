"""Which gender a translated occupation has, as WinoMT tells it (Stanovsky et al. 2019, section 3)."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal, Protocol

from babelscope.util.errors import BabelscopeError

Gender = Literal["male", "female", "neutral", "unknown"]
GENDERS: tuple[Gender, ...] = ("male", "female", "neutral", "unknown")

Rules = Literal["published", "sound"]
"""published: with its conventions, so that figures can be compared. sound: what is not found is unknown
rather than male, and the occupation and the articles are counted in the same words."""

TARGETS = ("de", "ru", "uk")

# A German word that tells the gender of the nearest noun: articles and pronouns. "den" is left out by the
# authors, since it is the plural's too; "der" and "die" are theirs whatever the case.
_TELLING_BY_GENDER: dict[Gender, str] = {
    "male": "der dem des ein einen er ihn ihm sein seinen seinem seiner ihren ihrem",
    "female": "die eine einer sie seine ihrer",
    "neutral": "das ihr ihre jemanden",
}
_TELLING = {word: gender for gender, words in _TELLING_BY_GENDER.items() for word in words.split()}
# Of old only a woman's: whatever the translation says, the authors count it as female.
_ALWAYS_FEMALE = frozenset({"nurse", "the nurse"})

_GRAMMEMES: dict[str, Gender] = {"masc": "male", "femn": "female", "neut": "neutral"}


class Morphology(Protocol):
    """Tells gender in one language."""

    def gender(self, found: Sequence[int], words: Sequence[str], occupation: str) -> Gender:
        """Of the occupation whose translation is at the positions `found` of the translation's words."""


def open_morphology(target: str, rules: Rules = "published") -> Morphology:
    """The analyser of a language; German needs none beyond splitting words from punctuation."""
    if target == "de":
        return _German(rules)
    if target in TARGETS:
        return _Slavic(target)
    raise BabelscopeError(f"there is no WinoMT morphology for {target!r}; known: {', '.join(TARGETS)}")


def split_words(text: str) -> list[str]:
    """Words, and every other character that is no space by itself."""
    return re.findall(r"\w+|[^\w\s]", text)


class _German:
    """An ending in -in, else the nearest article or pronoun."""

    def __init__(self, rules: Rules) -> None:
        self._published = rules == "published"

    def gender(self, found: Sequence[int], words: Sequence[str], occupation: str) -> Gender:
        if occupation.lower() in _ALWAYS_FEMALE:
            return "female"
        nothing: Gender = "male" if self._published and words else "unknown"
        if not found:
            return nothing
        if any(word.endswith("in") for index in found for word in split_words(words[index])):
            return "female"
        # The published code counts the occupation's position in words between spaces, but the articles'
        # in words and punctuation marks, so that every mark before them adds to the distance.
        counted = split_words(" ".join(words)) if self._published else [_bare(word) for word in words]
        telling = [position for position, word in enumerate(counted) if word.lower() in _TELLING]
        if not telling:
            return nothing
        nearest = min(telling, key=lambda position: abs(position - min(found)))
        return _TELLING[counted[nearest].lower()]


class _Slavic:
    """The commonest gender of the words, from pymorphy3's dictionary."""

    def __init__(self, language: str) -> None:
        try:
            pymorphy, tokenizers = (
                importlib.import_module(name) for name in ("pymorphy3", "pymorphy3.tokenizers")
            )
            importlib.import_module(f"pymorphy3_dicts_{language}")
        except ImportError:
            raise BabelscopeError(
                f"gender in {language} needs pymorphy3 and its dictionary: pip install 'babelscope[russian]'"
            ) from None
        self._analyser: Any = pymorphy.MorphAnalyzer(lang=language)
        self._split: Any = tokenizers.simple_word_tokenize
        self._word_gender = lru_cache(None)(self._gender_of)

    def gender(self, found: Sequence[int], words: Sequence[str], occupation: str) -> Gender:  # noqa: ARG002
        split = self._split(" ".join(words[index] for index in found))
        genders = Counter(self._word_gender(word) for word in split)
        return genders.most_common(1)[0][0] if genders else "unknown"

    def _gender_of(self, word: str) -> Gender:
        """female if any reading is, else the commonest; a word without gender is neutral."""
        read = [_GRAMMEMES[each.tag.gender] for each in self._analyser.parse(word) if each.tag.gender]
        if not read:
            return "neutral"
        return "female" if "female" in read else Counter(read).most_common(1)[0][0]

    def lemma(self, word: str) -> str:
        """The dictionary form of a word, in its likeliest reading."""
        form: str = self._analyser.parse(word)[0].normal_form
        return form


def lemmatise(texts: Sequence[str], target: str) -> list[list[str]]:
    """The lemmas of the words of each text: HanTa's for German, pymorphy3's for Russian and Ukrainian."""
    if target == "de":
        from babelscope.language.german_hanta import HanTaTagger

        tagger = HanTaTagger()
        return [[lemma for _, lemma in tagger.tag(split_words(text))] for text in texts]
    if target in TARGETS:
        lemma = lru_cache(None)(_Slavic(target).lemma)
        return [[lemma(word) for word in split_words(text)] for text in texts]
    raise BabelscopeError(
        f"there is no lemmatiser for {target!r} (known: {', '.join(TARGETS)}); give a file of lemmas"
    )


def _bare(word: str) -> str:
    """A word without the punctuation around it."""
    found = re.search(r"\w(?:.*\w)?", word)
    return found[0] if found else ""
