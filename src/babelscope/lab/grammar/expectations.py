"""What every German sentence for a meaning must respect: cases, numbers, verbs, negations."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from babelscope.lab.grammar.labels import NEGATED
from babelscope.lab.grammar.lexicon import ADJECTIVES, NOUNS, PREPOSITIONS
from babelscope.lab.grammar.meaning import Adjunct, Clause, Entity, Meaning
from babelscope.lab.grammar.morphology import GermanVerb
from babelscope.lab.grammar.verbs import VERBS


@dataclass(slots=True)
class Expected:
    """What a meaning allows, in every realisation."""

    nouns: dict[str, set[tuple[str, str, bool]]] = field(default_factory=lambda: defaultdict(set))
    gaps: dict[str, set[tuple[str, str]]] = field(default_factory=lambda: defaultdict(set))
    verbs: set[GermanVerb] = field(default_factory=set)
    unprefixed: Counter[str] = field(default_factory=Counter)  # clauses that may use a verb without prefix
    pronoun_numbers: set[bool] = field(default_factory=set)
    negations: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    entities: list[Entity] = field(default_factory=list)


def expectations_of(meaning: Meaning) -> Expected:
    """Collect what a meaning allows over all its clauses."""
    made = Expected()
    names = {e.name: e for c in meaning.clauses for e in _entities(c) if e.name}
    for c in meaning.clauses:
        _clause(made, c, names)
    return made


def _entities(c: Clause) -> Iterator[Entity]:
    """All participants of a clause and of the clauses within it."""
    adjuncts = [a.entity for a in (c.place, c.extra) if a]
    for one in (c.subject, c.object, c.recipient, *adjuncts):
        if one is None:
            continue
        yield one
        if one.modifier:
            yield one.modifier.entity
        if one.relative:
            yield from _entities(one.relative.clause)
    if c.linked:
        yield from _entities(c.linked.clause)


def _object_roles(c: Clause) -> set[tuple[str, str]]:
    """The (preposition, case) pairs that its German verbs can govern."""
    return {(prep, case) for v, _ in VERBS[c.verb].german for prep, _, case in [v.object.rpartition(" ")]}


def _adjunct_roles(adjunct: Adjunct) -> set[tuple[str, str]]:
    return {(form, case) for form, case, _ in PREPOSITIONS[adjunct.preposition].german}


def _clause(made: Expected, c: Clause, names: dict[str, Entity], gap: str = "") -> None:
    made.verbs |= {verb for verb, _ in VERBS[c.verb].german}
    made.unprefixed.update({verb.infinitive for verb, _ in VERBS[c.verb].german if not verb.prefix})
    if c.negated:
        made.negations["nicht"] += 1
    if c.predicate and _german(c.predicate) in NEGATED:
        made.negations["un"] += 1
    if c.manner in ("impatiently", "carelessly"):
        made.negations["un"] += 1
    if c.subject and gap != "subject":
        _entity(made, c.subject, {("", "Nom")}, names)
    if c.object:
        _entity(made, c.object, _object_roles(c), names)
    if c.recipient:
        _entity(made, c.recipient, {("", "Dat")}, names)
    if c.place and gap != "place":
        _entity(made, c.place.entity, _adjunct_roles(c.place), names)
    if c.extra:
        _entity(made, c.extra.entity, _adjunct_roles(c.extra), names)
    if c.linked:
        _clause(made, c.linked.clause, names)


def _german(adjective: str) -> str:
    return ADJECTIVES[adjective].german


def _entity(made: Expected, e: Entity, roles: set[tuple[str, str]], names: dict[str, Entity]) -> None:
    if e.det == "pron":
        made.pronoun_numbers.add(names[e.refers].plural)
        return
    made.entities.append(e)
    if e.det == "no":
        made.negations["kein"] += 1
    made.negations["un"] += sum(_german(a) in NEGATED for a in e.adjectives)
    lemmas = [noun.lemma for noun, _ in (*NOUNS[e.noun].german, *NOUNS[e.noun].feminine)]
    for lemma in lemmas:
        made.nouns[lemma] |= {(prep, case, e.plural) for prep, case in roles}
    if e.modifier:
        _entity(made, e.modifier.entity, _adjunct_roles(e.modifier), names)
    if e.relative:
        inner, gap = e.relative.clause, e.relative.gap
        if gap == "subject":
            cases = {("", "Nom")}
        elif gap == "place" and inner.place:
            cases = _adjunct_roles(inner.place)
        else:
            cases = _object_roles(inner)
        for lemma in lemmas:
            made.gaps[lemma] |= cases
        _clause(made, inner, names, gap)
