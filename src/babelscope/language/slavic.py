"""Gender and lemmas from pymorphy3's dictionaries, for Russian and Ukrainian."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from babelscope.language.base import Gender, GenderRules, Language

_GRAMMEMES: dict[str, Gender] = {"masc": "male", "femn": "female", "neut": "neutral"}


def slavic_language(code: str, english: str) -> Language:
    """A language for which pymorphy3 has a dictionary."""

    def opened(_rules: GenderRules = "published") -> Pymorphy:
        return Pymorphy(made)

    def lemmatizer() -> Callable[[list[str]], list[str]]:
        lemma = lru_cache(None)(opened().lemma)
        return lambda words: [lemma(word) for word in words]

    made = Language(
        code,
        english,
        packages=("pymorphy3", f"pymorphy3-dicts-{code}"),
        extra="russian",
        morphology=opened,
        lemmatizer=lemmatizer,
    )
    return made


class Pymorphy:
    """Gender (the most frequent among the words) and lemmas by pymorphy3."""

    def __init__(self, language: Language) -> None:
        try:
            pymorphy, tokenizers = (
                importlib.import_module(name) for name in ("pymorphy3", "pymorphy3.tokenizers")
            )
            importlib.import_module(f"pymorphy3_dicts_{language.code}")
        except ImportError:
            raise language.missing() from None
        self._analyzer: Any = pymorphy.MorphAnalyzer(lang=language.code)
        self._split: Any = tokenizers.simple_word_tokenize
        self._word_gender = lru_cache(None)(self._gender_of)

    def gender(self, found: Sequence[int], words: Sequence[str], occupation: str) -> Gender:  # noqa: ARG002
        """Gender of the occupation whose translation is at the positions `found` of the translation's `words`."""
        split = self._split(" ".join(words[index] for index in found))
        genders = Counter(self._word_gender(word) for word in split)
        return genders.most_common(1)[0][0] if genders else "unknown"

    def _gender_of(self, word: str) -> Gender:
        """Female if any reading is, else the most frequent gender; neutral for a word without gender."""
        read = [_GRAMMEMES[each.tag.gender] for each in self._analyzer.parse(word) if each.tag.gender]
        if not read:
            return "neutral"
        return "female" if "female" in read else Counter(read).most_common(1)[0][0]

    def lemma(self, word: str) -> str:
        """The dictionary form of a word in its most probable reading."""
        form: str = self._analyzer.parse(word)[0].normal_form
        return form


RUSSIAN = slavic_language("ru", "Russian")


UKRAINIAN = slavic_language("uk", "Ukrainian")
