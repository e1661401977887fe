"""German: analysis by HanTa and german-nouns, error types with detectors, gender of occupations, lemmas."""

from __future__ import annotations

from collections.abc import Callable

from babelscope.language.base import Language
from babelscope.language.german.analysis import default_analyzer, tokenize
from babelscope.language.german.gender import GermanGender


def _lemmatizer() -> Callable[[list[str]], list[str]]:
    from babelscope.language.german.dictionaries import HanTaTagger

    tagger = HanTaTagger()
    return lambda words: [lemma for _, lemma in tagger.tag(words)]


LANGUAGE = Language(
    "de",
    "German",
    packages=("HanTa", "german-nouns"),
    extra="german",
    opener=default_analyzer,
    tokenize=tokenize,
    morphology=GermanGender,
    lemmatizer=_lemmatizer,
)
