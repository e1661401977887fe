"""Gender of translated occupations and lemmas of translations, from the languages that offer them."""

from __future__ import annotations

from collections.abc import Sequence

from babelscope.language.base import GenderRules, Morphology, words_and_marks
from babelscope.language.registry import LANGUAGES
from babelscope.util.errors import BabelscopeError


def open_morphology(target: str, rules: GenderRules = "published") -> Morphology:
    """The gender analysis of a target language, as in WinoMT (Stanovsky et al. 2019, section 3)."""
    known = {code: each.morphology for code, each in LANGUAGES.all().items() if each.morphology}
    if target not in known:
        raise BabelscopeError(f"there is no WinoMT morphology for {target!r}; known: {', '.join(known)}")
    return known[target](rules)


def lemmatise(texts: Sequence[str], target: str) -> list[list[str]]:
    """The lemmas of the words of each text."""
    known = {code: each.lemmatiser for code, each in LANGUAGES.all().items() if each.lemmatiser}
    if target not in known:
        raise BabelscopeError(
            f"there is no lemmatiser for {target!r} (known: {', '.join(known)}); give a file of lemmas"
        )
    lemmas = known[target]()
    return [lemmas([text[start:end] for start, end in words_and_marks(text)]) for text in texts]
