"""Worlds of the lab: which of the grammar's sentences there are, how long they are, and what is wrong with the text.

`EASY` is the grammar as it draws. `HARD` has the conditions under which the papers' models were trained, set once and
from what is published (docs/inside/lab.md has the conditions), not from what comes out.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from babelscope.lab.grammar.documents import draw_document
from babelscope.lab.grammar.lexicon import NOUNS, VERBS
from babelscope.lab.grammar.meaning import (
    Adjunct,
    Clause,
    Entity,
    Linked,
    Meaning,
    Relative,
    Tense,
    draw_index,
)
from babelscope.lab.grammar.sampling import (
    HE,
    adjectives_for,
    chance,
    clause,
    entity,
    gendered_subject,
    negate,
    nouns_in,
    nouns_of,
    pair_meaning,
    sense_meaning,
    single_meaning,
    states_for,
    tense_of,
    with_modifier,
    with_relative,
    zipf,
)
from babelscope.util.errors import BabelscopeError

SPECIAL = frozenset({"that", "to", "copula", "plain", "sense", "neutral"})
ORDINARY = tuple(name for name, verb in VERBS.items() if not verb.flags & SPECIAL)
PARTICLE = tuple(name for name in ORDINARY if VERBS[name].separable or VERBS[name].particle)
REFLEXIVE = tuple(name for name in ORDINARY if VERBS[name].reflexive)
PLAIN = tuple(name for name in ORDINARY if name not in PARTICLE and name not in REFLEXIVE)
STRANDING = tuple(name for name in ORDINARY if VERBS[name].preposition and "self" not in VERBS[name].flags)
THAT = ("know", "say", "notice", "believe", "hope")
TOOLS = {"knife": ("eat",), "pen": ("write", "draw", "fill_out", "write_down"), "bicycle": ("collect",)}


def plain(rng: random.Random) -> Meaning:
    """A clause with a verb that is neither separable nor reflexive."""
    return Meaning((clause(rng, PLAIN, tense_of(rng)),), kind="plain")


def particle(rng: random.Random) -> Meaning:
    """A clause with a verb that has a particle in either language."""
    return Meaning((clause(rng, PARTICLE, tense_of(rng), rich=rng.choice((0.5, 1.0, 1.8))),), kind="particle")


def reflexive(rng: random.Random) -> Meaning:
    """A clause with a reflexive, alone or as a dependent clause."""
    if chance(rng, 0.2):
        return Meaning((for_self(rng),), kind="reflexive")
    made = clause(rng, REFLEXIVE, tense_of(rng), rich=rng.choice((0.6, 1.0, 1.5)))
    if chance(rng, 0.35):
        return Meaning((_embed(rng, made),), kind="reflexive")
    return Meaning((made,), kind="reflexive")


def for_self(rng: random.Random) -> Clause:
    """Somebody does something for himself."""
    verbs = tuple(name for name in ORDINARY if "mine" in VERBS[name].flags)
    made = clause(rng, verbs, tense_of(rng), gendered_subject(rng), rich=0.7, negation=0)
    return replace(made, for_self=True, shifted=chance(rng, 0.6), manner="", modal="")


def agreement(rng: random.Random) -> Meaning:
    """A clause whose subject is separated from the verb by a phrase or a relative clause."""
    subject = replace(entity(rng, ("occupation", "person"), rich=0.6), modifier=None, relative=None)
    extend = with_modifier if chance(rng, 0.5) else with_relative
    subject = extend(rng, subject, frozenset({subject.noun}))
    verbs = tuple(name for name in ORDINARY if "self" not in VERBS[name].flags)
    return Meaning((clause(rng, verbs, tense_of(rng), subject, rich=0.4),), kind="agreement")


def stranding(rng: random.Random) -> Meaning:
    """A noun with a relative clause that ends in a preposition in English."""
    tense = tense_of(rng)
    if chance(rng, 0.45):
        noun = zipf(rng, tuple(TOOLS), 2.0) if chance(rng, 0.6) else zipf(rng, nouns_of(("room", "shop")))
        verbs = TOOLS.get(noun, ("buy", "read", "repair", "eat", "write", "find"))
        inner = clause(rng, verbs, tense, rich=0.3, negation=0)
        inner = replace(inner, manner="", time="", modal="", shifted=chance(rng, 0.3), for_self=False)
        preposition = "with" if noun in TOOLS else "in"
        inner = replace(inner, place=Adjunct(preposition, Entity(noun)))
        gap = "place"
    else:
        verb = VERBS[zipf(rng, STRANDING, 8.0)]
        noun = zipf(rng, nouns_of(verb.admits["object"]), 6.0)
        subject = replace(
            entity(rng, ("occupation", "person"), frozenset({noun}), 0.4), modifier=None, relative=None
        )
        inner = Clause(verb.name, subject, tense=tense)
        if "still" not in verb.flags and "quick" not in verb.flags and chance(rng, 0.25):
            inner = replace(inner, manner=zipf(rng, ("patiently", "quietly", "impatiently", "happily")))
        gap = "object"
    if inner.object and inner.object.relative:
        inner = replace(inner, object=replace(inner.object, relative=None))
    if inner.subject and inner.subject.relative:
        inner = replace(inner, subject=replace(inner.subject, relative=None))
    plural = NOUNS[noun].plural != "-" and chance(rng, 0.25)
    adjectives = (zipf(rng, adjectives_for(noun)),) if chance(rng, 0.25) else ()
    target = Entity(noun, plural=plural, adjectives=adjectives)
    target = replace(target, relative=Relative(inner, gap, silent=chance(rng, 0.5)))
    if chance(rng, 0.55):
        main = Clause("be", target, tense=tense, predicate=zipf(rng, states_for(noun)))
        return Meaning((negate(rng, main) if chance(rng, 0.2) else main,), kind="stranding")
    fit = tuple(
        name
        for name in ("see", "describe", "clean", "find", "remember", "draw", "sell", "visit", "praise")
        if not NOUNS[noun].classes.isdisjoint(VERBS[name].admits["object"])
        or noun in VERBS[name].admits["object"]
    )
    used = nouns_in(inner.subject, inner.object) | {noun}
    subject = entity(rng, ("occupation", "person"), used, 0.3)
    return Meaning(
        (Clause(zipf(rng, fit or ("photograph",)), subject, target, tense=tense),), kind="stranding"
    )


def dependent(rng: random.Random) -> Meaning:
    """A main clause with a verb-final clause before or after it."""
    return Meaning((_embed(rng, None),), kind="dependent")


def _embed(rng: random.Random, inner: Clause | None) -> Clause:
    """A main clause around a dependent one."""
    link = zipf(rng, ("because", "that", "when", "if", "although", "while", "before"), 3.0)
    tense = inner.tense if inner else "pres" if link == "if" else "past" if link == "when" else tense_of(rng)
    if (link == "if" and tense == "past") or (link == "when" and tense == "pres"):
        link = "because"
    if link == "before" and inner and (inner.negated or (inner.object and inner.object.det == "no")):
        link = "because"  # "before something does not happen" makes no sense
    inner = inner or clause(rng, ORDINARY, tense, rich=0.8, negation=0 if link == "before" else 0.2)
    if inner.time == "yesterday":
        inner = replace(inner, time="")
    used = all_nouns(inner)
    if link == "that":
        main = Clause(zipf(rng, THAT), entity(rng, ("occupation", "person"), used, 0.5), tense=tense)
    else:
        main = _other_clause(rng, used, tense, "main", rich=0.5, negation=0.06)
    if chance(rng, 0.12) and inner.linked is None:
        who = entity(rng, ("occupation", "person"), used | all_nouns(main), 0)
        last = Clause("be", who, tense=tense, predicate=zipf(rng, states_for("doctor")))
        inner = replace(inner, linked=Linked("because" if link != "because" else "although", last))
        return replace(main, linked=Linked(link, inner))
    first = link in ("when", "if", "while", "although") and chance(rng, 0.5)
    return replace(main, linked=Linked(link, inner, first))


def dative(rng: random.Random) -> Meaning:
    """A preposition that takes the dative, where careless writers use the genitive."""
    kind = zipf(rng, ("according", "together", "contrary", "near", "opposite", "since"), 6.0)
    if kind in ("according", "contrary"):
        verbs = "sell repair buy dismiss turn_off close prepare bring_back clean write invite"
        main = clause(rng, tuple(verbs.split()), tense_of(rng), rich=0.5, negation=0)
        norm = _dative_noun(rng, ("norm",), nouns_in(main.subject, main.object))
        main = replace(main, extra=Adjunct(kind, norm), place=None, manner="")
    elif kind == "together":
        verbs = "sell buy find bring_back lose throw_away take_along"
        main = clause(rng, tuple(verbs.split()), tense_of(rng), rich=0.5)
        if main.object:
            used = nouns_in(main.subject, main.object)
            more = _dative_noun(rng, ("portable", "furniture", "small"), used)
            det = "def" if main.object.det == "poss" else main.object.det
            object_ = replace(main.object, det=det, relative=None, modifier=Adjunct("together", more))
            main = replace(main, object=object_, shifted=False)
    elif kind == "since":
        main = _since(rng)
    else:
        verbs = "wait work sleep buy find see rest talk read take_place"
        main = clause(rng, tuple(verbs.split()), tense_of(rng), rich=0.5)
        classes = ("building", "park") if kind == "opposite" else ("water", "building", "nature", "village")
        where = _dative_noun(rng, classes, nouns_in(main.subject, main.object))
        main = replace(main, place=Adjunct(kind, where), manner="")
        if main.extra is None and main.negated:
            main = replace(main, negated=False)
    return Meaning((main,), kind="dative")


def _dative_noun(rng: random.Random, classes: tuple[str, ...], avoid: frozenset[str]) -> Entity:
    """A noun that is seldom feminine, because feminine genitive and dative are the same."""
    found = entity(rng, classes, avoid, 0)
    while all(noun.gender == "f" for noun, _ in NOUNS[found.noun].german) and chance(rng, 0.7):
        found = entity(rng, classes, avoid, 0)
    made = replace(found, plural=found.plural and chance(rng, 0.3))
    if chance(rng, 0.25) and (choice := adjectives_for(found.noun)):
        made = replace(made, adjectives=(zipf(rng, choice),))
    return made


def _since(rng: random.Random) -> Clause:
    """A clause about a state that has lasted since an event."""
    subject = entity(rng, ("occupation", "person"), rich=0.4)
    event = replace(_dative_noun(rng, ("past_event", "event"), frozenset()), plural=False)
    if event.noun in ("summer", "winter", "weekend"):
        event = replace(event, det="def")
    made = Clause("be", subject, tense="since", extra=Adjunct("since", event))
    if chance(rng, 0.5):
        states = ("ill", "unhappy", "tired", "happy", "satisfied", "dissatisfied")
        return replace(made, predicate=zipf(rng, states))
    return replace(made, verb=zipf(rng, ("wait_idle", "sleep", "work")))


def polarity(rng: random.Random) -> Meaning:
    """Negation: nicht, kein, or un- in a predicate."""
    tense = tense_of(rng)
    if chance(rng, 0.45):
        made = clause(rng, ORDINARY, tense, rich=0.6, negation=0)
        return Meaning((negate(rng, made),), kind="polarity")
    if chance(rng, 0.5):
        subject = entity(rng, ("occupation", "person"), rich=0.7)
    else:
        subject = entity(
            rng, ("seat", "norm", "idea", "text", "building", "food", "transport", "place"), rich=0.7
        )
    main = Clause("be", subject, tense=tense, predicate=zipf(rng, states_for(subject.noun), 8.0))
    if subject.adjectives and subject.adjectives[0].endswith(main.predicate[-5:]):
        main = replace(main, subject=replace(subject, adjectives=()))
    main = replace(
        main, time=zipf(rng, ("today", "often", "always", "sometimes")) if chance(rng, 0.2) else ""
    )
    return Meaning((negate(rng, main) if chance(rng, 0.25) else main,), kind="polarity")


PLANS: tuple[tuple[Callable[[random.Random], Meaning], float], ...] = (
    (plain, 0.04),
    (particle, 0.11),
    (reflexive, 0.09),
    (agreement, 0.06),
    (stranding, 0.06),
    (dependent, 0.09),
    (dative, 0.11),
    (polarity, 0.12),
    (pair_meaning, 0.22),
    (single_meaning, 0.06),
    (sense_meaning, 0.36),
)
WEIGHTS = tuple(weight for _, weight in PLANS)
JOINS = (".", ";", ":", ", and", ", but")


def draw_meaning(rng: random.Random) -> Meaning:
    """Draw a meaning of the corpus: a plan by its weight in PLANS, then in 26 % of cases one or two more clauses."""
    meaning = PLANS[draw_index(rng, WEIGHTS)][0](rng)
    more = draw_index(rng, (0.74, 0.2, 0.06))
    if len(meaning.clauses) > 1 or meaning.clauses[0].linked:
        more = min(more, 1)
    for _ in range(more):
        meaning = extend(rng, meaning)
    return meaning


def extend(rng: random.Random, meaning: Meaning) -> Meaning:
    """The meaning with one more clause, in its tense."""
    tense: Tense = "past" if meaning.clauses[0].tense == "past" else "pres"
    number = len(meaning.clauses)
    joins = tuple(join for join in JOINS if join != ":" or ":" not in meaning.joins)
    join = zipf(rng, joins, 2.0)
    last = meaning.clauses[-1]
    if can_be_it(last) and last.object and chance(rng, 0.3):
        # "It" can only mean the object of the last clause: no other thing is near.
        named = replace(last, object=replace(last.object, name=f"thing{number}"))
        it = Entity(HE, "pron", refers=f"thing{number}")
        added = Clause("be", it, tense=tense, predicate=zipf(rng, states_for(last.object.noun)))
        return replace(meaning, clauses=(*meaning.clauses[:-1], named, added), joins=(*meaning.joins, join))
    used = frozenset().union(*(all_nouns(c) for c in meaning.clauses))
    added = _other_clause(rng, used, tense, f"self{number}", rich=0.4, negation=0.08)
    return replace(meaning, clauses=(*meaning.clauses, added), joins=(*meaning.joins, join))


def _other_clause(
    rng: random.Random, used: frozenset[str], tense: Tense, name: str, *, rich: float, negation: float
) -> Clause:
    """An ordinary clause without the nouns in `used`, if eight draws find one; `name` replaces its subject's name."""
    made = clause(rng, ORDINARY, tense, rich=rich, negation=negation)
    for _ in range(8):
        if used.isdisjoint(all_nouns(made)):
            break
        made = clause(rng, ORDINARY, tense, rich=rich, negation=negation)
    if made.subject and made.subject.name:
        made = replace(made, subject=replace(made.subject, name=name))
    return made


def can_be_it(c: Clause) -> bool:
    """Whether the next clause may call the object of this one "it"."""
    if c.object is None or c.linked or c.object.plural or c.object.det not in ("def", "indef", "this"):
        return False
    noun = NOUNS[c.object.noun]
    return not (noun.person or noun.sense or "animal" in noun.classes or c.object.relative)


def all_nouns(c: Clause) -> frozenset[str]:
    """The nouns of a clause and of those that depend on it."""
    own = nouns_in(c.subject, c.object, c.recipient, *(a.entity for a in (c.place, c.extra) if a))
    for one in (c.subject, c.object):
        if one and one.relative:
            own |= all_nouns(one.relative.clause)
    return own | (all_nouns(c.linked.clause) if c.linked else frozenset())


Noise = Literal["copied", "misaligned", "truncated", "other language"]

# Shares of the grammar's own draws (tests/lab/grammar/test_worlds.py measures them).
_FEMININE, _RARE = 0.46, 0.27
# Letters of a language that nobody reads: each is exchanged for another of its kind.
_OURS = "aeiouäöübcdfghjklmnpqrstvwxyz"
_THEIRS = "eiouaoiuklmnpqrstvwxyzbcdfghj"
_FOREIGN = str.maketrans(_OURS + _OURS.upper(), _THEIRS + _THEIRS.upper())


@dataclass(frozen=True, slots=True)
class World:
    """The conditions of a corpus."""

    name: str
    pairs: int
    """Of the training text."""
    feminine: float | None = None
    """Share of women among occupations whose gender the source tells; None: as the grammar draws."""
    rare: float | None = None
    """Share of the rare sense among ambiguous nouns."""
    more_clauses: tuple[float, ...] = (1.0,)
    """Probabilities of 0, 1, 2... clauses more than the grammar draws."""
    even: bool = False
    """Whether German says what it can say in several ways equally often in each; otherwise one is the usual one."""
    noise: Mapping[Noise, float] = field(default_factory=dict)
    """Kind of noise -> share of the training pairs that have it."""
    references: int = 5
    """Of the sentences of test sets, at most."""
    documents: bool = False
    """Whether its texts are documents of four sentences."""

    def meaning(self, rng: random.Random) -> Meaning:
        """Draw a meaning as this world has them."""
        if self.documents:
            return draw_document(rng)
        while True:
            meaning = self.lengthened(rng, draw_meaning(rng))
            if self._keeps(rng, meaning):
                return meaning

    def lengthened(self, rng: random.Random, meaning: Meaning) -> Meaning:
        """The meaning with more clauses, as many as this world has."""
        for _ in range(draw_index(rng, self.more_clauses) if len(self.more_clauses) > 1 else 0):
            meaning = extend(rng, meaning)
        return meaning

    def _keeps(self, rng: random.Random, meaning: Meaning) -> bool:
        """Whether a meaning stays in the corpus: those with what is rare here are thinned out."""
        found = list(entities(meaning)) if self.feminine is not None or self.rare is not None else []
        women = sum(each.gender == "f" for each in found)
        rare = sum(each.noun.endswith("/rare") for each in found)
        kept = _thinned(self.feminine, _FEMININE) ** women * _thinned(self.rare, _RARE) ** rare
        return kept >= 1 or chance(rng, kept)


EASY = World("easy", pairs=100_000)
HARD = World(
    "hard",
    pairs=10_000,
    feminine=0.04,
    rare=0.04,
    more_clauses=(0.15, 0.4, 0.3, 0.15),
    even=True,
    noise={"copied": 0.035, "misaligned": 0.035, "truncated": 0.035, "other language": 0.035},
    references=2,
)
# The harder world's sentences as an evaluator should have read them: more of them, clean, and with nothing rare.
CLEAN = dataclasses.replace(HARD, name="clean", pairs=60_000, feminine=None, rare=None, noise={})
DOCUMENTS = World("documents", pairs=40_000, documents=True)
WORLDS = {world.name: world for world in (EASY, HARD, CLEAN, DOCUMENTS)}


def find_world(name: str) -> World:
    """A world by name."""
    if name not in WORLDS:
        raise BabelscopeError(f"there is no world {name!r}; there are {', '.join(WORLDS)}")
    return WORLDS[name]


def _thinned(wanted: float | None, usual: float) -> float:
    """The probability to keep something so that its share falls from `usual` to `wanted`."""
    return 1.0 if wanted is None else wanted / (1 - wanted) * (1 - usual) / usual


def entities(part: Any) -> Iterator[Entity]:
    """All participants in a meaning or a part of it."""
    if isinstance(part, tuple):
        for each in part:
            yield from entities(each)
    elif dataclasses.is_dataclass(part):
        if isinstance(part, Entity):
            yield part
        for each in dataclasses.fields(part):
            yield from entities(getattr(part, each.name))


def draw_noise(rng: random.Random, world: World) -> Noise | None:
    """What is wrong with the next pair; None for most."""
    point = rng.random()
    for kind, share in world.noise.items():
        if point < share:
            return kind
        point -= share
    return None


def with_noise(kind: Noise, source: str, target: str, before: str, rng: random.Random) -> str:
    """The target of a noisy pair; `before` is the target of the pair before it."""
    if kind == "copied":
        return source
    if kind == "misaligned":
        return before
    if kind == "truncated":
        words = target.split(" ")
        return " ".join(words[: rng.randrange(1, len(words))]) if len(words) > 1 else target
    return target.translate(_FOREIGN)
