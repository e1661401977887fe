"""Draws participants and clauses that make sense, with words by Zipf's law."""

from __future__ import annotations

import random
from bisect import bisect
from dataclasses import replace
from functools import cache
from itertools import accumulate

from babelscope.lab.grammar.lexicon import (
    AMBIGUOUS,
    FREQUENCY,
    MANNER,
    NOUNS,
    OCCUPATIONS,
    PLACE_PREPOSITION,
    SENSES,
    VERBS,
    Sense,
    read_table,
)
from babelscope.lab.grammar.meaning import (
    Adjunct,
    Clause,
    Det,
    Entity,
    Linked,
    Meaning,
    Modal,
    Relative,
    Tense,
)

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


# --- Meanings as in MuCoW: an ambiguous noun with context that shows its sense -------------------------------------


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


# --- Meanings as in WinoMT: two occupations, and a pronoun that can only mean one of them --------------------------


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
FAVORS = ("help", "collect", "call", "visit", "call_back")
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
        inner = Clause(zipf(rng, FAVORS), object=Entity(HE, "pron", refers="a"))
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
