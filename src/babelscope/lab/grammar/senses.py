"""Meanings as in MuCoW: an ambiguous noun with context that shows its sense."""

from __future__ import annotations

import random
from dataclasses import replace

from babelscope.lab.grammar.lexicon import AMBIGUOUS, SENSES, Sense
from babelscope.lab.grammar.meaning import Adjunct, Clause, Entity, Meaning
from babelscope.lab.grammar.sampling import chance, circumstances, entity, negate, nouns_in, tense_of, zipf
from babelscope.lab.grammar.verbs import VERBS

RARE_SHARE = 0.27
NEUTRAL = ("photograph", "see", "describe", "draw", "talk_about", "dream_of", "point_at", "find")
# Verbs that make no sense with a noun: nobody photographs the season spring.
UNFIT = {"spring/frequent": ("point_at", "find", "photograph", "see")}
COUNTLESS = ("spring/frequent",)


def draw_sense(rng: random.Random) -> Sense:
    """A random ambiguous word and one of its senses, rare with probability RARE_SHARE."""
    word = zipf(rng, AMBIGUOUS, 14.0)
    return SENSES[f"{word}/{'rare' if chance(rng, RARE_SHARE) else 'frequent'}"]


def noun_with_cues(rng: random.Random, sense: Sense, adjective: bool, modifier: bool) -> Entity:
    """The noun, with an adjective or a modifier that shows its sense if asked for."""
    plural = sense.noun not in COUNTLESS and chance(rng, 0.2)
    point = rng.random()
    made = Entity(sense.noun, "def" if point < 0.7 else "indef" if point < 0.92 else "this", plural)
    if sense.noun in COUNTLESS:
        made = replace(made, det="def")
    if adjective:
        made = replace(made, adjectives=(sense.adjectives[rng.randrange(len(sense.adjectives))],))
    elif chance(rng, 0.1) and sense.noun not in COUNTLESS:
        made = replace(made, adjectives=("old" if chance(rng, 0.5) else "big",))
    if modifier:
        preposition, noun = sense.modifiers[rng.randrange(len(sense.modifiers))]
        plural = noun == "worker" or (noun not in ("zoo", "forest") and chance(rng, 0.15))
        made = replace(made, modifier=Adjunct(preposition, Entity(noun, plural=plural)))
    return made


def sense_meaning(rng: random.Random, sense: Sense | None = None, cue: str = "") -> Meaning:
    """A clause with an ambiguous noun; `cue` is the kind of context: adjective, frame, modifier or both."""
    sense = sense or draw_sense(rng)
    cue = cue or zipf(rng, ("both", "adjective", "frame", "modifier"), 2.0)
    adjective, framed = cue in ("adjective", "both"), cue in ("frame", "both")
    noun = noun_with_cues(rng, sense, adjective, cue == "modifier" or (cue == "both" and chance(rng, 0.25)))
    if framed:
        verb, role = sense.frames[rng.randrange(len(sense.frames))]
    else:
        options = tuple(verb for verb in NEUTRAL if verb not in UNFIT.get(sense.noun, ()))
        verb, role = zipf(rng, options, 10.0), "object"
    tense = tense_of(rng)
    if role == "subject":
        object_ = None
        if "object" in VERBS[verb].admits:
            object_ = entity(rng, VERBS[verb].admits["object"], nouns_in(noun), 0.4)
        made = Clause(verb, noun, object_, tense=tense)
    else:
        subject = entity(rng, VERBS[verb].admits["subject"], nouns_in(noun), 0.4)
        made = Clause(verb, subject, noun, tense=tense)
    made = circumstances(rng, made, 0.5)
    if made.place and noun.modifier:
        made = replace(made, place=None)
    if chance(rng, 0.07):
        made = negate(rng, made)
    return Meaning((made,), kind="sense")
