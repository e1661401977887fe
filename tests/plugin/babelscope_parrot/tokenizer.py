"""The tokenizer `pairs`: a word is two characters, in every script."""

from __future__ import annotations

from babelscope.core.tokenizers import EVERY_SCRIPT, Tokenizer


def _pairs(text: str) -> list[str]:
    letters = "".join(text.split())
    return [letters[start : start + 2] for start in range(0, len(letters), 2)]


TOKENIZER = Tokenizer("pairs", _pairs, EVERY_SCRIPT)
