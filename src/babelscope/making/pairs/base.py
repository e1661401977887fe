"""What an error type is: variants of a reference that are wrong, and a detector for free translations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from babelscope.language.german import Analysed, Token

LONGEST = 10_000
"""Characters of a reference: what is longer is no sentence, and its variants, all as long, would fill the memory."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A wrong version of a reference, and what was changed in it."""

    text: str
    word: str
    """The word of the reference that was changed or deleted."""
    changed: str
    """What stands there instead; empty where it was deleted."""
    start: int
    """Where the word begins in the reference."""


@dataclass(frozen=True, slots=True)
class ErrorType:
    """A kind of error: how to make it, and how to see it."""

    name: str
    definition: str
    plausible: bool
    """Whether systems are believed to make it; the implausible ones are controls."""
    variants: Callable[..., list[Variant]] = field(repr=False)
    detect: Callable[[str, Analysed], bool] | None = field(repr=False)
    """Whether a free translation of a source seems to have the error."""
    modes: tuple[str, ...] = ()
    """Ways to make the variants, the first one by default; empty where there is only one."""


def swapped(sentence: Analysed, token: Token, new: str) -> Variant:
    """The reference with one word written differently, capitalised as before; an empty one deletes it."""
    if new and token.text[0].isupper():
        new = new[0].upper() + new[1:]
    return Variant(sentence.replaced((token, new)), token.text, new, token.start)


def at_sentence_start(sentence: Analysed, place: int) -> bool:
    """Whether a token begins a sentence, so that its capital says nothing."""
    before = place - 1
    while before >= 0 and sentence.tokens[before].text in "\"'„“”»«‚‘’(-–—":
        before -= 1
    return before < 0 or sentence.tokens[before].tag == "$." or sentence.tokens[before].text == ":"
