"""The language `xx`: words between spaces, and nothing else to be known of them."""

from __future__ import annotations

from babelscope.language.base import Analyzed, Language, Token, words_and_marks


class Analyzer:
    """Every word is its own lemma."""

    def analyze(self, text: str) -> Analyzed[Analyzer]:
        spans = words_and_marks(text)
        tokens = (Token(text[start:end], start, end, "X", text[start:end].lower()) for start, end in spans)
        return Analyzed(text, tuple(tokens), self)


LANGUAGE = Language(
    "xx",
    "Parrotese",
    # The version of this distribution decides what the analysis says, so it goes into signatures.
    packages=("babelscope-parrot",),
    install="babelscope-parrot",
    opener=Analyzer,
)
