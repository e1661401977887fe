"""The language `xx`: words between spaces, and nothing else to be known of them."""

from __future__ import annotations

from babelscope.language.base import Analysed, Language, Token, words_and_marks


class Analyser:
    """Every word is its own lemma."""

    def analyse(self, text: str) -> Analysed[Analyser]:
        spans = words_and_marks(text)
        tokens = (Token(text[start:end], start, end, "X", text[start:end].lower()) for start, end in spans)
        return Analysed(text, tuple(tokens), self)


LANGUAGE = Language(
    "xx",
    "Parrotese",
    # The version of this distribution decides what the analysis says, so it goes into signatures.
    packages=("babelscope-parrot",),
    install="babelscope-parrot",
    opener=Analyser,
)
