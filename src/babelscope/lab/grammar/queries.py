"""Queries for counting the lab's words in translations: occupations by gender, ambiguous nouns by sense."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from babelscope.lab.grammar.lexicon import AMBIGUOUS, NOUNS, OCCUPATIONS
from babelscope.making.counts import Forms


def occupations() -> dict[str, Forms]:
    """Every occupation, with its masculine and feminine German forms."""
    return {
        name: Forms(
            _english(NOUNS[name]),
            {"male": _forms(NOUNS[name].german), "female": _forms(NOUNS[name].feminine)},
            "other",
        )
        for name in OCCUPATIONS
    }


def senses() -> dict[str, Forms]:
    """Every ambiguous noun, with the German forms of its frequent and of its rare sense."""
    queries = {}
    for word in AMBIGUOUS:
        nouns = {kind: NOUNS[f"{word}/{kind}"] for kind in ("frequent", "rare")}
        source = frozenset().union(*map(_english, nouns.values()))
        queries[word] = Forms(source, {kind: _forms(noun.german) for kind, noun in nouns.items()}, "other")
    return queries


def _forms(nouns: Iterable[tuple[Any, float]]) -> frozenset[str]:
    return frozenset(form for noun, _ in nouns for form in noun.forms)


def _english(noun: Any) -> frozenset[str]:
    """Singular and plural, in lower case and capitalized."""
    return frozenset({noun.english, noun.plural, noun.english.capitalize(), noun.plural.capitalize()})
