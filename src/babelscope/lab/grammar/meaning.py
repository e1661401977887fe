"""The meaning of a sentence, independent of language: the input of both realisers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Det = Literal["def", "indef", "no", "this", "poss", "bare", "pron"]
Tense = Literal["pres", "past", "since"]
Modal = Literal["", "can", "want", "will", "would"]


@dataclass(frozen=True, slots=True)
class Entity:
    """A participant: a noun with what is said about it, or a pronoun (det "pron") for an earlier one."""

    noun: str
    det: Det = "def"
    plural: bool = False
    gender: str = ""  # of a person: "m", "f", or "" where English does not show it
    marked: bool = False  # English says "male" or "female" before the noun
    adjectives: tuple[str, ...] = ()
    modifier: Adjunct | None = None
    relative: Relative | None = None
    name: str = ""  # under this name pronouns, possessives and reflexives refer to it
    refers: str = ""  # the name that a pronoun or a possessive determiner refers to


@dataclass(frozen=True, slots=True)
class Adjunct:
    """A preposition (a key of lexicon.PREPOSITIONS) with its noun phrase."""

    preposition: str
    entity: Entity


@dataclass(frozen=True, slots=True)
class Relative:
    """A relative clause; `gap` is the role of the noun in it, which `clause` leaves out."""

    clause: Clause
    gap: str
    silent: bool = False  # English without "that"


@dataclass(frozen=True, slots=True)
class Linked:
    """A clause that depends on another: by a conjunction, as a complement ("that", "whether") or as "to"."""

    link: str
    clause: Clause
    first: bool = False  # before the main clause


@dataclass(frozen=True, slots=True)
class Clause:
    """A verb, its participants by role (subject, object, recipient) and its circumstances."""

    verb: str
    subject: Entity | None = None
    object: Entity | None = None
    recipient: Entity | None = None
    tense: Tense = "past"
    modal: Modal = ""
    negated: bool = False
    predicate: str = ""  # the adjective, with the verb "be"
    time: str = ""
    manner: str = ""
    place: Adjunct | None = None
    extra: Adjunct | None = None  # "according to the plan", "since the summer"
    for_self: bool = False  # "bought a book for herself"
    shifted: bool = False  # English "picked the book up", "gave the book to her", "found no key"
    linked: Linked | None = None


@dataclass(frozen=True, slots=True)
class Meaning:
    """One to three clauses; `joins` says what stands between them."""

    clauses: tuple[Clause, ...]
    joins: tuple[str, ...] = ()
    kind: str = ""
