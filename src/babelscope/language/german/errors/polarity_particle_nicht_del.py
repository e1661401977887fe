"""Deleting "nicht"."""

from __future__ import annotations

import re

from babelscope.language.base import ErrorType, Variant
from babelscope.language.german.analysis import Analyzed
from babelscope.language.german.errors.shared import (
    NICHT_DELETED,
    can_lose_negation,
    lost_negation,
    source_has_particle,
)

_NICHT = re.compile(r"\bnicht\b")


def variants(sentence: Analyzed, mode: str = "strict") -> list[Variant]:
    """One variant for each lower-case "nicht"; deleting one at the start of a sentence would move its capital.

    "strict" leaves out those whose deletion does not turn the meaning round, or leaves no sentence: "gar nicht",
    "nicht nur".
    """
    if mode != "strict":
        return [_without(sentence.text, match.start()) for match in _NICHT.finditer(sentence.text)]
    return [
        _without(sentence.text, token.start)
        for place, token in enumerate(sentence.tokens)
        if token.text == "nicht" and can_lose_negation(sentence, place)
    ]


def _without(text: str, start: int) -> Variant:
    end = start + len("nicht")
    before, after = text[:start], text[end:]
    # As in the released sets, the space before is removed, even where nicht is part of a word: "nicht-staatlich".
    joined = before[:-1] + after if before.endswith(" ") else before + after.removeprefix(" ")
    return Variant(joined, "nicht", "", start)


ERROR = ErrorType(
    "polarity_particle_nicht_del",
    "de",
    "The negation particle nicht is left out, so that the sentence says the opposite.",
    variants,
    lost_negation(source_has_particle),
    looks_for=source_has_particle,
    modes=("strict", "as-released"),
    overlap=NICHT_DELETED,
    label="‘nicht’ (not) left out",
)
