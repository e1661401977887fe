"""Ambiguous sources whose cue leaves no trace of its own in a translation, so that only the noun can give it away.

In `lab:gender` the cue is a pronoun and in `lab:senses` an adjective, and a translation renders both: one with the
wrong noun but the right pronoun is likely under the right cue all the same.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from babelscope.lab.grammar.coreference import pair_meaning
from babelscope.lab.grammar.meaning import Clause, Entity, Meaning
from babelscope.lab.grammar.sentences import SentencePair, english_text
from babelscope.lab.grammar.suites import Item, balanced, held_out, sense_items

_OTHER = {"m": "f", "f": "m"}
_GENDERS = {"m": "male", "f": "female"}


def marked_meaning(rng: random.Random) -> Meaning:
    """Two occupations, of which English calls one "male" or "female"; no pronoun."""
    while True:
        (clause,) = pair_meaning(rng).clauses
        if clause.linked is not None and clause.linked.link == "because":  # a sentence without it, too
            return Meaning((_change_occupation(replace(clause, linked=None), marked=True),))


def _gendered_occupation(clause: Clause) -> Entity:
    """The occupation whose gender English tells."""
    return next(who for who in (clause.subject, clause.object) if who is not None and who.gender)


def _change_occupation(clause: Clause, **changes: Any) -> Clause:
    """The clause with something else about that occupation."""
    who = replace(_gendered_occupation(clause), **changes)
    return (
        replace(clause, subject=who)
        if clause.subject == _gendered_occupation(clause)
        else replace(clause, object=who)
    )


def marked_pairs(n: int, seed: int, split: str = "test") -> list[SentencePair]:
    """As many of a female as of a male occupation."""
    pairs = held_out(marked_meaning, seed, "gender-marked", split)
    return balanced(pairs, n, lambda pair: _GENDERS[_gendered_occupation(pair.meaning.clauses[0]).gender])


def marked_items(n: int, seed: int, split: str = "test") -> list[Item]:
    """AmbiguousSource items: the cue is "male" or "female", which German says by the noun."""
    items = []
    for number, pair in enumerate(marked_pairs(n, seed, split), 1):
        (clause,) = pair.meaning.clauses
        who = _gendered_occupation(clause)
        other = _change_occupation(clause, gender=_OTHER[who.gender])
        gender = _GENDERS[who.gender]
        items.append(
            {
                "id": f"marked-{number}",
                "source": pair.source,
                "correct_sources": [pair.source],
                "incorrect_sources": [english_text(Meaning((other,)))],
                "category": gender,
                "gold": gender,
                "occupation": who.noun,
                "reference": pair.target,
            }
        )
    return items


def other_adjective_items(n: int, seed: int, split: str = "test") -> list[Item]:
    """`lab:senses` without the sentence's own adjective among the cues: no cue's translation is in a translation."""
    return [
        {**item, "correct_sources": [each for each in item["correct_sources"] if each != item["source"]]}
        for item in sense_items(n, seed, split)
    ]
