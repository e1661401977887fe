"""Meanings as in WinoMT: two occupations, and a pronoun that can only mean one of them."""

from __future__ import annotations

import random
from dataclasses import replace

from babelscope.lab.grammar.meaning import Adjunct, Clause, Entity, Linked, Meaning
from babelscope.lab.grammar.sampling import (
    adjectives_for,
    chance,
    clause,
    entity,
    nouns_in,
    occupation,
    place,
    states_for,
    zipf,
)
from babelscope.lab.grammar.verbs import VERBS

HE = "he"

# Main verb: reasons about its subject, reasons about its object.
REASONS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "help": (("have time", "be friendly"), ("need help", "be ill", "be tired")),
    "call": (("need help", "have question"), ("come_late -", "forget key")),
    "visit": (("need help", "have time"), ("be ill", "be unhappy")),
    "praise": (("be satisfied",), ("be punctual", "repair car", "be polite")),
    "thank": (("be grateful",), ("find key", "be helpful", "repair car")),
    "dismiss": (("be dissatisfied",), ("make mistake", "be dishonest", "be unpunctual")),
    "pay": (("be satisfied",), ("repair car", "clean window")),
    "apologise": (("come_late -", "make mistake", "lose key"), ("be angry",)),
    "wait": (("have time", "need key"), ("come_late -", "be unpunctual")),
    "trust": (("need help",), ("be honest", "be careful")),
}
FAVOURS = ("help", "collect", "call", "visit", "call_back")
ALONE = (
    "close", "open", "read", "turn_off", "look_forward", "repair", "sell", "rest", "sit_down", "throw_away",
)  # fmt: skip


def reason_clause(rng: random.Random, key: str, who: Entity) -> Clause:
    """The clause of a reason in REASONS, with `who` as its subject."""
    verb, what = key.split()
    if verb == "be":
        return Clause("be", who, predicate=what)
    if what == "-":
        return Clause(verb, who)
    object_ = Entity(what, det="bare" if what in ("help", "time") else "indef")
    if what in ("key", "car", "window"):
        object_ = replace(object_, det="def", adjectives=("old",) if chance(rng, 0.15) else ())
    return Clause(verb, who, object_)


def occupation_pair(rng: random.Random, referent: str) -> tuple[Entity, Entity]:
    """Two occupations named "a" and "b"; English shows the gender of the one that `referent` names."""
    a = occupation(rng, told=referent == "a", name="a")
    b = occupation(rng, told=referent == "b", avoid=a.noun, name="b")
    both = []
    for one in (a, b):
        if chance(rng, 0.12):
            one = replace(one, adjectives=(zipf(rng, adjectives_for(one.noun)),))
        if chance(rng, 0.06):
            one = replace(one, det="indef")
        both.append(one)
    return both[0], both[1]


def pair_meaning(rng: random.Random) -> Meaning:
    """Two occupations and a pronoun in a dependent clause."""
    kind = zipf(rng, ("because", "ask", "promise", "whether", "confess"), 1.5)
    if kind == "because":
        verb = zipf(rng, tuple(REASONS), 8.0)
        referent = "a" if chance(rng, 0.5) else "b"
        options = REASONS[verb][referent == "b"]
        a, b = occupation_pair(rng, referent)
        inner = reason_clause(rng, options[rng.randrange(len(options))], Entity(HE, "pron", refers=referent))
        main = Clause(verb, a, b, linked=Linked("because", inner))
    elif kind == "ask":
        a, b = occupation_pair(rng, "a")
        inner = Clause(zipf(rng, FAVOURS), object=Entity(HE, "pron", refers="a"))
        main = Clause("ask", a, b, linked=Linked("to", replace(inner, place=_maybe_place(rng, 0.5))))
    elif kind in ("promise", "confess"):
        a, b = occupation_pair(rng, "a")
        him = Entity(HE, "pron", refers="a")
        if kind == "promise":
            inner = clause(
                rng, ("repair", "help", "bring_back", "clean", "close", "turn_off"), "past", him, 0, 0
            )
            inner = replace(inner, modal="would")
        else:
            inner = clause(rng, ("lose", "forget", "sell", "throw_away"), "past", him, 0, 0)
        main = Clause(kind, a, b, linked=Linked("that", inner))
    else:
        a, b = occupation_pair(rng, "b")
        inner = Clause(
            zipf(rng, ("help", "wait_idle", "work", "find", "repair")),
            Entity(HE, "pron", refers="b"),
            modal="can",
        )
        if inner.verb in ("find", "repair"):
            thing = entity(rng, VERBS[inner.verb].admits["object"], nouns_in(a, b), 0)
            inner = replace(inner, object=replace(thing, det="def"))
        inner = replace(inner, place=_maybe_place(rng, 0.3))
        main = Clause("ask_whether", a, b, linked=Linked("whether", inner))
    if chance(rng, 0.15):
        main = replace(main, time="yesterday" if chance(rng, 0.6) else "today")
    elif kind == "because" and chance(rng, 0.25):
        main = replace(main, place=_maybe_place(rng, 1.0))
    return Meaning((main,), kind="gender-pair")


def _maybe_place(rng: random.Random, share: float) -> Adjunct | None:
    return place(rng, frozenset()) if chance(rng, share) else None


def single_meaning(rng: random.Random) -> Meaning:
    """One occupation and a pronoun or possessive that can only mean it."""
    who = replace(occupation(rng, told=True), name="a")
    if chance(rng, 0.15):
        who = replace(who, adjectives=(zipf(rng, adjectives_for(who.noun)),))
    if chance(rng, 0.4):
        verb = zipf(
            rng, ("forget", "lose", "sell", "repair", "clean", "find", "bring_back", "need", "take_along")
        )
        things = tuple(name for name in VERBS[verb].admits["object"] if name not in ("animal", "kid"))
        object_ = entity(rng, things, frozenset(), 0)
        object_ = replace(object_, det="poss", refers="a", plural=object_.plural)
        main = Clause(verb, who, object_, shifted=chance(rng, 0.5))
        if chance(rng, 0.3):
            main = replace(
                main, place=place(rng, nouns_in(object_)), time="yesterday" if chance(rng, 0.3) else ""
            )
        return Meaning((main,), kind="gender-single")
    main = clause(rng, ALONE, "past", who, 0.6, 0.05)
    he = Entity(HE, "pron", refers="a")
    if chance(rng, 0.6):
        second = Clause("be", he, predicate=zipf(rng, states_for(who.noun)))
    else:
        verb, what = ("have", "time") if chance(rng, 0.5) else ("need", "help")
        second = Clause(verb, he, Entity(what, "bare"))
    if chance(rng, 0.6):
        link = "because" if chance(rng, 0.75) else "although"
        return Meaning((replace(main, linked=Linked(link, second)),), kind="gender-single")
    join = zipf(rng, (".", ";", ":"), 1.0)
    return Meaning((main, second), (join,), kind="gender-single")
