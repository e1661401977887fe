"""Draws participants and clauses that make sense, with words by Zipf's law."""

from __future__ import annotations

import random
from bisect import bisect
from dataclasses import replace
from functools import cache
from itertools import accumulate

from babelscope.lab.grammar.lexicon import (
    FREQUENCY,
    MANNER,
    NOUNS,
    OCCUPATIONS,
    PLACE_PREPOSITION,
    read_table,
)
from babelscope.lab.grammar.meaning import Adjunct, Clause, Det, Entity, Modal, Relative, Tense
from babelscope.lab.grammar.verbs import VERBS

MODIFIERS = {  # what may follow a noun of a class: preposition, classes
    "person": ("with", ("hanging", "small", "animal")),
    "occupation": ("with", ("hanging", "small", "animal")),
    "portable": ("from", ("room", "house", "shop", "school", "village")),
    "device": ("of", ("person", "occupation")),
    "opening": ("of", ("building", "room")),
    "building": ("near", ("water", "building", "park")),
    "text": ("about", ("event", "idea", "law")),
    "furniture": ("from", ("room", "garden", "house")),
}


@cache
def _cumulative_weights(names: tuple[str, ...], offset: float) -> tuple[float, ...]:
    return tuple(accumulate(1 / (rank + offset) for rank in range(len(names))))


def zipf(rng: random.Random, names: tuple[str, ...], offset: float = 4.0) -> str:
    """A name drawn with weight 1 / (rank + offset), rank from 0; a larger offset is closer to uniform."""
    table = _cumulative_weights(names, offset)
    return names[bisect(table, rng.random() * table[-1])]


@cache
def nouns_of(classes: tuple[str, ...]) -> tuple[str, ...]:
    """The nouns of any of the classes (or of that very name), in the lexicon's order."""
    return tuple(
        name for name, noun in NOUNS.items() if name in classes or not noun.classes.isdisjoint(classes)
    )


def chance(rng: random.Random, share: float) -> bool:
    """True with probability `share`."""
    return rng.random() < share


def adjectives_for(noun: str) -> tuple[str, ...]:
    """The adjectives that can stand before a noun."""
    fit = _by_class("class_adjectives", noun)
    return fit[1:] if NOUNS[noun].person and "kid" in NOUNS[noun].classes else fit  # no "old" child


def states_for(noun: str) -> tuple[str, ...]:
    """The adjectives that can be said of a noun with "be"."""
    return _by_class("class_states", noun)


@cache
def _by_class(table: str, noun: str) -> tuple[str, ...]:
    """The table's words for a noun: those of persons, of the first class that it belongs to, or of things."""
    rows = {name: tuple(words.split()) for name, words in read_table(table)}
    known = ("person",) if NOUNS[noun].person else NOUNS[noun].classes
    return next((words for name, words in rows.items() if name in known), rows["thing"])


def occupation(rng: random.Random, told: bool = False, avoid: str = "", name: str = "") -> Entity:
    """An occupation; with `told`, English will show its gender."""
    noun = zipf(rng, OCCUPATIONS, 7.0)
    while noun == avoid:
        noun = zipf(rng, OCCUPATIONS, 7.0)
    marked = chance(rng, 0.03 if told else 0.05)
    gender = ""
    if told or marked:
        gender = "f" if chance(rng, NOUNS[noun].women_told) else "m"
    return Entity(noun, gender=gender, marked=marked, name=name)


def entity(
    rng: random.Random, classes: tuple[str, ...], avoid: frozenset[str] = frozenset(), rich: float = 1.0
) -> Entity:
    """A participant of one of the classes; `rich` scales how much is said about it."""
    person = "occupation" in classes
    for _ in range(8):
        works = person and chance(rng, 0.6)
        found = occupation(rng) if works else Entity(zipf(rng, nouns_of(classes), 6.0))
        if found.noun not in avoid:
            break
    noun = NOUNS[found.noun]
    plural = noun.plural != "-" and chance(rng, 0.24)
    point = rng.random()
    det: Det = "def" if point < 0.68 else "indef" if point < 0.9 else "this"
    if noun.name in ("advice", "bread"):
        det = "def"
    adjectives: tuple[str, ...] = ()
    if (choice := adjectives_for(found.noun)) and chance(rng, 0.32 * rich):
        adjectives = (zipf(rng, choice),)
    made = replace(found, det=det, plural=plural, adjectives=adjectives)
    if rich and chance(rng, 0.12 * rich):
        made = with_modifier(rng, made, avoid | {made.noun})
    elif rich and chance(rng, 0.05 * rich):
        made = with_relative(rng, made, avoid | {made.noun})
    return made


def with_modifier(rng: random.Random, base: Entity, avoid: frozenset[str]) -> Entity:
    """The entity with a prepositional phrase, if its class has one."""
    for name, (preposition, classes) in MODIFIERS.items():
        if name in NOUNS[base.noun].classes:
            if name == "portable" and chance(rng, 0.4):
                preposition, classes = "of", ("occupation", "person")
            inner = replace(entity(rng, classes, avoid, 0), adjectives=())
            if preposition == "of":
                inner = replace(inner, det="def")
            elif chance(rng, 0.25) and (choice := adjectives_for(inner.noun)):
                inner = replace(inner, adjectives=(zipf(rng, choice),))
            return replace(base, modifier=Adjunct(preposition, inner))
    return base


def with_relative(rng: random.Random, base: Entity, avoid: frozenset[str]) -> Entity:
    """The entity with a relative clause in which it is subject or object."""
    tense: Tense = "past" if chance(rng, 0.7) else "pres"
    if NOUNS[base.noun].person and chance(rng, 0.55):
        verb = zipf(rng, ("sleep", "laugh", "read", "repair", "wait", "buy", "turn_off", "remember", "work"))
        object_ = None
        if kinds := VERBS[verb].admits.get("object"):
            object_ = replace(entity(rng, kinds, avoid, 0), det="def")
        return replace(base, relative=Relative(Clause(verb, object=object_, tense=tense), "subject"))
    known = "buy see find visit repair clean praise invite sell throw_away"
    classes = NOUNS[base.noun].classes
    options = tuple(v for v in known.split() if not classes.isdisjoint(VERBS[v].admits["object"]))
    if not options:
        return base
    subject = entity(rng, ("occupation", "person"), avoid, 0)
    inner = Clause(zipf(rng, options), subject=replace(subject, det="def"), tense=tense)
    return replace(base, relative=Relative(inner, "object", silent=chance(rng, 0.3)))


def place(rng: random.Random, avoid: frozenset[str]) -> Adjunct:
    """Where something happens: a preposition with a place that is not in `avoid`."""
    where = entity(rng, ("place",), avoid, 0)
    where = replace(where, plural=False, det="def" if where.det == "this" else where.det)
    if chance(rng, 0.25):
        where = replace(where, adjectives=(zipf(rng, adjectives_for(where.noun)),))
    return Adjunct(PLACE_PREPOSITION.get(where.noun, "in"), where)


def nouns_in(*entities: Entity | None) -> frozenset[str]:
    """The nouns of entities and their modifiers, so that none is used twice."""
    found: set[str] = set()
    for one in entities:
        if one is not None:
            found.add(one.noun)
            if one.modifier:
                found.add(one.modifier.entity.noun)
    return frozenset(found)


def tense_of(rng: random.Random) -> Tense:
    """A random tense, past more often than present."""
    return "past" if chance(rng, 0.68) else "pres"


def clause(
    rng: random.Random,
    verbs: tuple[str, ...],
    tense: Tense,
    subject: Entity | None = None,
    rich: float = 1.0,
    negation: float = 0.2,
) -> Clause:
    """A clause around one of the verbs, with a subject of its own if none is given."""
    verb = VERBS[zipf(rng, verbs, 8.0)]
    while subject is not None and "person" not in verb.admits["subject"]:
        verb = VERBS[zipf(rng, verbs, 8.0)]
    given = subject is not None
    if subject is None:
        subject = entity(rng, verb.admits["subject"], rich=rich)
        if "self" in verb.flags:
            subject = gendered_subject(rng)
    object_ = recipient = None
    if "object" in verb.admits:
        object_ = entity(rng, verb.admits["object"], nouns_in(subject), rich)
    if "recipient" in verb.admits:
        recipient = replace(entity(rng, verb.admits["recipient"], nouns_in(subject, object_), 0), det="def")
    made = Clause(verb.name, subject, object_, recipient, tense=tense, shifted=chance(rng, 0.4))
    if "mine" in verb.flags and not given and chance(rng, 0.1):
        made = replace(made, subject=gendered_subject(rng), for_self=True)
    made = circumstances(rng, made, rich)
    return negate(rng, made) if chance(rng, negation) else made


def gendered_subject(rng: random.Random) -> Entity:
    """A subject whose gender English shows by a reflexive or possessive."""
    point = rng.random()
    if point < 0.7:
        return replace(occupation(rng, told=True), name="self")
    if point < 0.85:
        return replace(occupation(rng), plural=True, name="self")
    return Entity("man" if chance(rng, 0.6) else "woman", name="self")


def circumstances(rng: random.Random, c: Clause, rich: float) -> Clause:
    """The clause with time, manner and place, if they suit the verb."""
    flags = VERBS[c.verb].flags
    where = None
    if "still" not in flags and chance(rng, 0.3 * rich):
        where = place(rng, nouns_in(c.subject, c.object, c.recipient))
    manner = time = ""
    if not flags & {"still", "quick", "where"} and not c.for_self and chance(rng, 0.22 * rich):
        manner = zipf(rng, MANNER)
    if chance(rng, 0.28 * rich):
        options = ("yesterday", "today", *FREQUENCY) if c.tense == "past" else ("today", *FREQUENCY)
        time = zipf(rng, options)
    modal: Modal = ""
    if "still" not in flags and time not in FREQUENCY and chance(rng, 0.08):
        modal = ("can", "want", "will")[rng.randrange(2 if c.tense == "past" else 3)]
    return replace(c, place=where, manner=manner, time=time, modal=modal)


def negate(rng: random.Random, c: Clause) -> Clause:
    """The clause negated: by kein if it has an object that can be indefinite, else by nicht."""
    if c.for_self:
        return c
    time = "" if c.time in FREQUENCY else c.time
    direct = all(verb.object == "Acc" and not verb.reflexive for verb, _ in VERBS[c.verb].german)
    free = c.object is not None and not c.object.relative and c.object.det in ("indef", "def") and direct
    if free and c.object and (c.object.det == "indef" or chance(rng, 0.55)):
        return replace(c, object=replace(c.object, det="no", modifier=None), manner="", time=time)
    subject, object_ = (replace(e, det="def") if e and e.det == "indef" else e for e in (c.subject, c.object))
    manner = "" if c.place else c.manner
    return replace(c, subject=subject, object=object_, negated=True, manner=manner, time=time)
