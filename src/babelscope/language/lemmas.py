"""Lemmas of texts, from the languages that offer a lemmatiser."""

from __future__ import annotations

from collections.abc import Sequence

from babelscope.language.base import words_and_marks
from babelscope.language.registry import LANGUAGES
from babelscope.util.errors import BabelscopeError


def lemmatise(texts: Sequence[str], target: str) -> list[list[str]]:
    """The lemmas of the words of each text."""
    known = {code: each.lemmatiser for code, each in LANGUAGES.all().items() if each.lemmatiser}
    if target not in known:
        raise BabelscopeError(
            f"there is no lemmatiser for {target!r} (known: {', '.join(known)}); give a file of lemmas"
        )
    lemmas = known[target]()
    return [lemmas([text[start:end] for start, end in words_and_marks(text)]) for text in texts]
