"""The verbs of both languages: forms, government, and the nouns that they admit in each role."""

from __future__ import annotations

from dataclasses import dataclass

from babelscope.lab.grammar.lexicon import read_table
from babelscope.lab.grammar.morphology import GermanVerb, english_verb


@dataclass(frozen=True, slots=True)
class Verb:
    """A concept with an English verb and weighted German verbs."""

    name: str
    forms: tuple[str, str, str, str]  # base, third person, past, participle
    particle: str
    adverb: str  # a fixed word that is no particle: "forward"
    preposition: str
    german: tuple[tuple[GermanVerb, float], ...]
    admits: dict[str, tuple[str, ...]]
    flags: frozenset[str]

    @property
    def separable(self) -> bool:
        return bool(self.german[0][0].prefix)

    @property
    def reflexive(self) -> bool:
        return bool(self.german[0][0].reflexive)


def _german(entry: str) -> tuple[GermanVerb, float]:
    *parts, weight = entry.split()
    reflexive = "Acc" if parts[0] == "sich" else ""
    prefix, _, infinitive = parts[1 if reflexive else 0].rpartition("+")
    _, present, preterite, participle, *rest = parts[1:] if reflexive else parts
    auxiliary, government = "haben", "Acc"
    for item in rest:
        if item == "sein":
            auxiliary = "sein"
        else:
            government = item[1:].replace("_", " ")
    return GermanVerb(
        prefix, infinitive, present, preterite, participle, auxiliary, government, reflexive
    ), float(weight)


def _verbs() -> dict[str, Verb]:
    verbs = {}
    for name, english, german, rest in read_table("verbs"):
        marks = {part[0]: part[1:] for part in english.split() if part[0] in "+-@"}
        forms = english_verb(" ".join(part for part in english.split() if part[0] not in "+-@"))
        admits = dict(part.split("=") for part in rest.split() if "=" in part)
        admits.setdefault("subject", "person,occupation")
        verbs[name] = Verb(
            name,
            forms,
            marks.get("+", ""),
            marks.get("-", ""),
            marks.get("@", ""),
            tuple(_german(entry) for entry in german.split(";")),
            {role: tuple(classes.split(",")) for role, classes in admits.items()},
            frozenset(part for part in rest.split() if "=" not in part),
        )
    return verbs


VERBS = _verbs()
