"""Ambiguous sources whose cue is not translated itself, so that only the noun of a translation shows its sense.

In `lab:gender` the cue is a pronoun and in `lab:senses` an adjective, and translations render these: a translation
with the wrong noun but the right pronoun is still likely under the right cue.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from babelscope.lab.grammar.coreference import pair_meaning
from babelscope.lab.grammar.meaning import Clause, Entity, Meaning
from babelscope.lab.grammar.sentences import SentencePair, english_text
from babelscope.lab.grammar.suites import Item, balanced, held_out, sense_items
from babelscope.lab.grammar.worlds import EASY, World

_OTHER = {"m": "f", "f": "m"}
_GENDERS = {"m": "male", "f": "female"}


def marked_meaning(rng: random.Random) -> Meaning:
    """Two occupations, of which English calls one "male" or "female"; no pronoun."""
    while True:
        (clause,) = pair_meaning(rng).clauses
        # Without its "because" clause, which has the pronoun, the sentence is complete.
        if clause.linked is not None and clause.linked.link == "because":
            return Meaning((_change_occupation(replace(clause, linked=None), marked=True),))


def _gendered_occupation(clause: Clause) -> Entity:
    """The occupation whose gender English shows."""
    return next(who for who in (clause.subject, clause.object) if who is not None and who.gender)


def _change_occupation(clause: Clause, **changes: Any) -> Clause:
    """The clause with changes to the occupation whose gender English shows."""
    own = _gendered_occupation(clause)
    who = replace(own, **changes)
    return replace(clause, subject=who) if clause.subject == own else replace(clause, object=who)


def marked_pairs(n: int, seed: int, split: str = "test", world: World = EASY) -> list[SentencePair]:
    """n sentence pairs, half with a male and half with a female occupation."""
    pairs = held_out(marked_meaning, seed, "gender-marked", split, world)
    return balanced(pairs, n, lambda pair: _GENDERS[_gendered_occupation(pair.meaning.clauses[0]).gender])


def marked_items(n: int, seed: int, split: str = "test", *, world: World = EASY) -> list[Item]:
    """AmbiguousSource items: the cue is "male" or "female", which German expresses by the noun."""
    items = []
    for number, pair in enumerate(marked_pairs(n, seed, split, world), 1):
        clause, *more = pair.meaning.clauses
        who = _gendered_occupation(clause)
        other = replace(pair.meaning, clauses=(_change_occupation(clause, gender=_OTHER[who.gender]), *more))
        gender = _GENDERS[who.gender]
        items.append(
            {
                "id": f"marked-{number}",
                "source": pair.source,
                "correct_sources": [pair.source],
                "incorrect_sources": [english_text(other)],
                "category": gender,
                "gold": gender,
                "occupation": who.noun,
                "reference": pair.target,
            }
        )
    return items


def other_adjective_items(n: int, seed: int, split: str = "test", *, world: World = EASY) -> list[Item]:
    """`lab:senses` without the sentence's own adjective as a cue, so that translations render no cue."""
    return [
        {**item, "correct_sources": [each for each in item["correct_sources"] if each != item["source"]]}
        for item in sense_items(n, seed, split, world=world)
    ]
