"""Documents: four sentences, the last with a pronoun for a thing that one of the three before it names.

The other sentences are about people, so that "it" can only mean that thing; its German gender, and so er, sie or es,
is in no other sentence.
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

from babelscope.lab.grammar.lexicon import GENDERS, MANNER, NOUNS, VERBS
from babelscope.lab.grammar.meaning import Clause, Det, Entity, Meaning, Tense
from babelscope.lab.grammar.sampling import HE, chance, occupation, states_for, tense_of, zipf

BEFORE = 3
"""Sentences before the last one."""
THING = "thing"
_VERBS = ("buy", "find", "sell", "lose", "need", "order", "draw", "repair", "clean", "describe", "photograph")
_ALONE = ("sleep", "laugh", "work", "wait_idle")
_WITH_PEOPLE = ("visit", "call", "praise", "invite", "help", "thank")


@cache
def things(verb: str) -> dict[str, tuple[str, ...]]:
    """Gender -> what a verb's object can be; only things whose German nouns all have that gender."""
    found: dict[str, list[str]] = {gender: [] for gender in GENDERS}
    for name, noun in NOUNS.items():
        genders = {word.gender for word, _ in noun.german}
        unfit = noun.person or noun.sense or "animal" in noun.classes or name == "bread"  # never "a bread"
        if len(genders) == 1 and not unfit and noun.classes & {*VERBS[verb].admits["object"]}:
            found[genders.pop()].append(name)
    return {gender: tuple(names) for gender, names in found.items()}


def draw_document(rng: random.Random) -> Meaning:
    """A document whose thing is of any gender, at any place."""
    return draw_group(rng, rng.randrange(1, BEFORE + 1))[rng.randrange(len(GENDERS))]


def draw_group(rng: random.Random, distance: int) -> tuple[Meaning, ...]:
    """A document for each gender, equal but for the thing, which is named `distance` sentences before the last.

    Whoever does not read that far sees the same in all of them.
    """
    tense = tense_of(rng)
    while True:
        verb, again = zipf(rng, _VERBS), zipf(rng, _VERBS)
        known, also = things(verb), things(again)
        drawn = [zipf(rng, known[gender]) if known[gender] else "" for gender in GENDERS]
        predicates: tuple[str, ...] = ()
        if all(drawn):
            fit = [states_for(own) for own in drawn]
            predicates = tuple(each for each in fit[0] if each in fit[1] and each in fit[2])
        if predicates:
            break
    it = Entity(HE, "pron", refers=THING)
    if verb != again and all(own in also[gender] for own, gender in zip(drawn, GENDERS, strict=True)):
        last = Clause(again, _somebody(rng), it, tense=tense)
    else:
        last = Clause("be", it, tense=tense, predicate=zipf(rng, predicates))
    before = [_people(rng, tense) for _ in range(BEFORE)]
    det: Det = "def" if chance(rng, 0.6) else "indef"
    found = []
    for own in drawn:
        thing = Entity(own, det=det, name=THING)
        before[BEFORE - distance] = Clause(verb, before[BEFORE - distance].subject, thing, tense=tense)
        found.append(Meaning((*before, last), (".",) * BEFORE, kind="document"))
    return tuple(found)


def _somebody(rng: random.Random, avoid: str = "") -> Entity:
    return replace(occupation(rng, avoid=avoid), det="def" if chance(rng, 0.7) else "indef")


def _people(rng: random.Random, tense: Tense) -> Clause:
    """A sentence in which people are alone, or with other people."""
    who = _somebody(rng)
    if chance(rng, 0.5):
        manner = zipf(rng, MANNER) if chance(rng, 0.2) else ""
        return Clause(zipf(rng, _ALONE), who, tense=tense, manner=manner)
    return Clause(zipf(rng, _WITH_PEOPLE), who, _somebody(rng, who.noun), tense=tense)


def sentences(text: str) -> list[str]:
    """The sentences of a document, none of which has a full stop inside."""
    return [f"{each}." for each in text.removesuffix(".").split(". ")]
