"""Where a German sentence breaks a long-distance dependency: subject and verb, or verb and particle, words apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from babelscope.lab.grammar.analysis import FINITE, HELPERS, NONFINITE, ClauseSpan, clauses, words_of
from babelscope.lab.grammar.oracle import judge
from babelscope.lab.grammar.sentences import SentencePair

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Broken:
    """A dependency that a sentence breaks."""

    kind: Literal["agreement", "particle"]
    spans: tuple[Span, ...]
    """Characters of the words in question: subject and verb, or the verb whose particle is missing."""
    distance: int
    """Words between the two; for a particle, from the verb to the end of its clause, where it should stand."""
    alone: bool
    """Whether the grammar finds nothing else wrong with the sentence."""


def broken_dependencies(pair: SentencePair, sentence: str) -> list[Broken]:
    """The dependencies over at least one word that a translation of a pair's source breaks, as the oracle says.

    A subject is known by the reference: the same noun, in the same form, once in its clause. Where a verb could be an
    infinitive, it may be another verb that is missing, so nothing is said.
    """
    verdict = judge(pair.meaning, sentence)
    if verdict.agreement and verdict.particle:
        return []
    words = words_of(sentence)
    spans = [found.span() for found in re.finditer(r"\w+|[^\w\s]", sentence)]
    found: list[Broken] = []
    alone = len(verdict.problems) == 1 and not verdict.unknown
    for part in clauses(words):
        said = " ".join(words[place] for place in part.positions)
        if part.finite is None:
            continue
        form = words[part.finite]
        if f"agreement: subject and verb: {said}" in verdict.problems:
            for subject in _other_number(pair, words, part, form):
                apart = abs(part.finite - subject) - 1
                found.append(Broken("agreement", (spans[subject], spans[part.finite]), apart, alone))
        if f"particle: none for {form}: {said}" in verdict.problems:
            apart = sum(place > part.finite for place in part.positions)
            found.append(Broken("particle", (spans[part.finite],), apart, alone))
    return [each for each in found if each.distance > 0]


def _other_number(pair: SentencePair, words: list[str], part: ClauseSpan, form: str) -> Iterator[int]:
    """Positions in a clause of the reference's subjects whose number the finite verb cannot have."""
    if form in NONFINITE and form not in HELPERS:
        return
    numbers = {plural for _, plural, _ in FINITE.get(form, ())} | HELPERS.get(form, set())
    subjects = {
        token.form: token.feature("Number") == "Plur"
        for one in pair.labels.phenomena
        if one.side == "de" and one.name == "subject_verb_agreement"
        for token in [pair.german[one.dependent - 1]]
        if token.upos == "NOUN"
    }
    here = [words[place] for place in part.positions]
    for place in part.positions:
        if here.count(words[place]) == 1 and subjects.get(words[place]) not in (None, *numbers):
            yield place
