"""Checks with the grammar whether a German sentence is right for a meaning, and what is wrong if not."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from babelscope.lab.grammar.analysis import (
    COORDINATORS,
    FINITE,
    HELPERS,
    KNOWN,
    NONFINITE,
    NOUN_READINGS,
    PREFIXES,
    RELATIVE_FORMS,
    ClauseSpan,
    NounPhrase,
    clauses,
    phrases_ending_at,
    words_of,
)
from babelscope.lab.grammar.german import German, Phrase
from babelscope.lab.grammar.lexicon import (
    ADJECTIVES,
    NOUNS,
    PREPOSITIONS,
    RELATIVE,
    SENSES,
    VERBS,
    GermanNoun,
    GermanVerb,
    column,
)
from babelscope.lab.grammar.meaning import (
    Adjunct,
    Chooser,
    Clause,
    Entity,
    Meaning,
    RandomChooser,
    Word,
    text,
    tokens,
)
from babelscope.lab.grammar.sentences import NEGATED, SentencePair, realizations


@dataclass(slots=True)
class Expected:
    """What a meaning allows, in every realization."""

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


ENUMERATION_LIMIT = 4000
MeantAndFound = tuple[str, str, str]
"""(noun, intended gender or sense, gender or sense found)."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is right about a German sentence; `exact` if the grammar can generate it."""

    exact: bool
    agreement: bool = True  # within noun phrases, and between subject and verb
    case: bool = True
    particle: bool = True
    order: bool = True
    polarity: bool = True
    number: bool = True  # of nouns, as in the source
    genders: tuple[MeantAndFound, ...] = ()  # of occupations whose gender English shows
    senses: tuple[MeantAndFound, ...] = ()  # of ambiguous words
    unknown: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def right(self) -> bool:
        """Whether nothing is wrong."""
        grammatical = self.agreement and self.case and self.particle and self.order
        as_meant = all(gold == found for _, gold, found in (*self.genders, *self.senses))
        return grammatical and self.polarity and self.number and as_meant and not self.unknown


def judge(meaning: Meaning, sentence: str) -> Verdict:
    """The verdict on a German sentence as a translation of a meaning."""
    genders, senses = _genders(meaning, sentence), _senses(meaning, sentence)
    if is_exact(meaning, sentence):
        return Verdict(True, genders=genders, senses=senses)
    return SentenceChecker(meaning, sentence).verdict(genders, senses)


def genders_and_senses(meaning: Meaning, sentence: str) -> tuple[MeantAndFound, ...]:
    """Only the genders and senses of the verdict, which is much faster than `judge`."""
    return (*_genders(meaning, sentence), *_senses(meaning, sentence))


def is_exact(meaning: Meaning, sentence: str) -> bool:
    """Whether the grammar can generate this sentence, among the first realizations."""
    spoken = sentence.strip()
    words = words_of(spoken)
    vocabulary = frozenset(words) | {word[0].lower() + word[1:] for word in words}
    return any(text == spoken for text in realizations(meaning, ENUMERATION_LIMIT, vocabulary))


def _genders(meaning: Meaning, sentence: str) -> tuple[MeantAndFound, ...]:
    """For every occupation whose gender English shows, the gender of its German noun."""
    return tuple(
        (
            e.noun,
            "female" if e.gender == "f" else "male",
            _only_kind_present(sentence, {"male": noun.german, "female": noun.feminine}),
        )
        for e in expectations_of(meaning).entities
        if (noun := NOUNS[e.noun]).feminine and e.gender
    )


def _senses(meaning: Meaning, sentence: str) -> tuple[MeantAndFound, ...]:
    """For every ambiguous noun, the sense of the German noun."""
    return tuple(
        (
            word := SENSES[e.noun].word,
            NOUNS[e.noun].sense,
            _only_kind_present(
                sentence, {kind: NOUNS[f"{word}/{kind}"].german for kind in ("frequent", "rare")}
            ),
        )
        for e in expectations_of(meaning).entities
        if NOUNS[e.noun].sense
    )


def _only_kind_present(sentence: str, kinds: dict[str, tuple[tuple[GermanNoun, float], ...]]) -> str:
    """The only kind of noun in a sentence; "unknown" if there is none or more than one."""
    words = set(words_of(sentence))
    found = [name for name, nouns in kinds.items() if any(not words.isdisjoint(n.forms) for n, _ in nouns)]
    return found[0] if len(found) == 1 else "unknown"


class SentenceChecker:
    """Looks for errors in a sentence that the grammar cannot generate."""

    def __init__(self, meaning: Meaning, sentence: str) -> None:
        self.want = expectations_of(meaning)
        self.words = words_of(sentence)
        self.problems: list[tuple[str, str]] = []
        self.unprefixed: Counter[str] = Counter()
        self.chunks = {i: self.chunk(i) for i, word in enumerate(self.words) if word in NOUN_READINGS}

    def wrong(self, kind: str, what: str) -> None:
        self.problems.append((kind, what))

    def verdict(self, genders: tuple[MeantAndFound, ...], senses: tuple[MeantAndFound, ...]) -> Verdict:
        for part in clauses(self.words):
            self.clause(part)
        self.polarity()
        unknown = tuple(word for word in self.words if word not in KNOWN)
        problems = tuple(f"{kind}: {what}" for kind, what in self.problems)
        found = Verdict(False, genders=genders, senses=senses, unknown=unknown, problems=problems)
        wrong: dict[str, Any] = {kind: False for kind, _ in self.problems}
        return replace(found, **wrong)

    def chunk(self, end: int) -> NounPhrase:
        """The noun phrase that ends at a noun, in the reading that fits the meaning best."""
        options = phrases_ending_at(self.words, end)
        for number in (True, False):
            for c in options:
                if readings := frozenset(r for r in c.readings if self.fits(c, r, number)):
                    if not number:  # right German, but a wrong translation
                        self.wrong("number", " ".join(self.words[c.start : c.end + 1]))
                    return NounPhrase(c.start, c.end, c.preposition, True, readings)
        c = next((c for c in options if c.agrees), options[0])
        phrase = " ".join(self.words[c.start : c.end + 1])
        self.wrong("case" if c.agrees else "agreement", phrase)
        return c

    def fits(self, c: NounPhrase, reading: tuple[str, str, bool], number: bool = False) -> bool:
        """Whether the meaning has a place for this noun with this preposition and case (and number)."""
        lemma, case, plural = reading
        roles = self.want.nouns.get(lemma)
        if roles is None:
            return True
        return any(
            (prep, role) == (c.preposition, case) and (not number or plural == wanted)
            for prep, role, wanted in roles
        )

    def polarity(self) -> None:
        """Check the number of negations of each kind."""
        found = {
            "nicht": self.words.count("nicht"),
            "kein": sum(word.startswith("kein") for word in self.words),
            "un": sum(any(word.startswith(stem) for stem in NEGATED) for word in self.words),
        }
        for kind, count in found.items():
            if count != self.want.negations[kind]:
                self.wrong("polarity", f"{kind}: {count} for {self.want.negations[kind]}")

    # -- clauses -----------------------------------------------------------------------------------

    def clause(self, part: ClauseSpan) -> None:
        """Check verb position, particle, and agreement of subject and verb."""
        said = " ".join(self.words[i] for i in part.positions)
        if part.kind == "zu":
            return
        if part.finite is None:
            self.wrong("order", f"no finite verb: {said}")
            return
        if part.kind == "main":
            self.second(part, said)
        self.bracket(part, said)
        self.subject(part, said)

    def second(self, part: ClauseSpan, said: str) -> None:
        """Check that one constituent stands before the finite verb of a main clause."""
        before = [i for i in part.positions if part.finite is not None and i < part.finite]
        if before and self.words[before[0]] in COORDINATORS:
            before = before[1:]
        units, end = 0, -1
        for i in before:
            if i > end:
                chunk = next((c for c in self.chunks.values() if c.start == i), None)
                genitive = chunk is not None and any(case == "Gen" for _, case, _ in chunk.readings)
                attached = chunk is not None and i != before[0] and (chunk.preposition or genitive)
                units, end = units + (not attached), chunk.end if chunk else i
        if units != (0 if part.fronted else 1):
            self.wrong("order", f"verb not second: {said}")

    def bracket(self, part: ClauseSpan, said: str) -> None:
        """Check what closes the clause: participle, infinitive or particle."""
        assert part.finite is not None
        form, last = self.words[part.finite], self.words[part.positions[-1]]
        if part.kind == "final":
            if early := [self.words[i] for i in part.positions[:-1] if self.words[i] in HELPERS]:
                self.wrong("order", f"{early[0]} not last: {said}")
            elif form in HELPERS and form not in FINITE:
                before = self.words[part.positions[-2]] if len(part.positions) > 1 else ""
                if before not in NONFINITE:
                    self.wrong("order", f"no participle or infinitive before {form}: {said}")
            elif form in FINITE and not any(attached for _, _, attached in self.known(form)):
                self.wrong("particle", f"missing before {form}: {said}")
            return
        closed = last in NONFINITE and part.positions[-1] != part.finite
        if form in HELPERS and (closed or form not in FINITE):
            if not closed:
                self.wrong("order", f"no participle or infinitive after {form}: {said}")
            return
        options = [verb for verb, _, attached in self.known(form) if not attached or not verb.prefix]
        if not options:
            self.wrong("order", f"particle attached in a main clause: {said}")
            return
        here = {self.words[i] for i in part.positions}
        fitting = [v for v in options if " " not in v.object or v.prefix or self.governs(v, here)] or options
        prefixes = {verb.prefix for verb in fitting}
        ending = last if last in PREFIXES and part.positions[-1] != part.finite else ""
        plain = {verb.infinitive for verb in fitting if not verb.prefix}
        if not ending and any(verb.prefix and verb.infinitive in plain for verb in fitting):
            # "sehen" may stand for "ansehen" only as often as the meaning has verbs without prefix.
            self.unprefixed.update(plain)
            if any(self.unprefixed[name] > self.want.unprefixed[name] for name in plain):
                self.wrong("particle", f"none for {form}: {said}")
        elif ending not in prefixes:
            self.wrong("particle", f"{ending or 'none'} for {form}: {said}")

    def known(self, form: str) -> list[tuple[GermanVerb, bool, bool]]:
        """The verbs that a finite form can belong to; only those of the meaning, if any fits."""
        every = list(FINITE.get(form, ()))
        return [entry for entry in every if entry[0] in self.want.verbs] or every

    @staticmethod
    def governs(verb: GermanVerb, here: set[str]) -> bool:
        """Whether the clause has the preposition that the verb governs."""
        preposition = verb.object.partition(" ")[0]
        return any(word == preposition or word.startswith(preposition) for word in here)

    def subject(self, part: ClauseSpan, said: str) -> None:
        """Check that a subject agrees with the verb in number."""
        assert part.finite is not None
        form = self.words[part.finite]
        numbers = {plural for _, plural, _ in self.known(form)} if form in FINITE else set()
        numbers |= HELPERS.get(form, set())
        found: set[bool] = set()
        inside = set(part.positions)
        for i, chunk in self.chunks.items():
            if i in inside and not chunk.preposition:
                found |= {plural for _, case, plural in chunk.readings if case == "Nom"}
        for i in part.positions:
            if self.words[i] in ("er", "es"):
                found.add(False)
            elif self.words[i] == "sie":
                found |= self.want.pronoun_numbers or {False, True}
        if part.relative:
            found |= self.relative(part, said)
        if numbers.isdisjoint(found):
            self.wrong("agreement", f"subject and verb: {said}")

    def relative(self, part: ClauseSpan, said: str) -> set[bool]:
        """The numbers that a relative pronoun can have as a subject; also checks its gender and case."""
        before = [c for i, c in self.chunks.items() if i < part.positions[0]]
        heads = [c for c in before if any(lemma in self.want.gaps for lemma, _, _ in c.readings)]
        if not before:
            return set()
        noun = (heads or before)[-1]
        first = self.words[part.positions[0]]
        preposition = "" if first in RELATIVE_FORMS else first
        form = first if not preposition else self.words[part.positions[1]]
        numbers: set[bool] = set()
        cases: set[str] = set()
        for lemma, _, plural in noun.readings:
            gender = next(g for name, g, _, _ in NOUN_READINGS[self.words[noun.end]] if name == lemma)
            for case, row in RELATIVE.items():
                if row[column(gender, plural)] == form:
                    cases.add(case)
                    if case == "Nom" and not preposition:
                        numbers.add(plural)
        if not cases:
            self.wrong("agreement", f"relative pronoun: {said}")
        roles = set().union(*(self.want.gaps.get(lemma, set()) for lemma, _, _ in noun.readings))
        if cases and roles and not any((preposition, case) in roles for case in cases):
            self.wrong("case", f"relative pronoun: {said}")
        return numbers if not roles or ("", "Nom") in roles else set()


# --- Where a German sentence breaks a long-distance dependency: subject and verb, or verb and particle -------------


Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Broken:
    """A dependency that a sentence breaks."""

    kind: Literal["agreement", "particle"]
    spans: tuple[Span, ...]
    """Characters of the words in question: subject and verb, or the verb whose particle is missing."""
    distance: int
    """Words between the two; for a particle, from the verb to the end of its clause, where it should stand."""
    alone: bool
    """Whether the grammar finds nothing else wrong with the sentence."""


def broken_dependencies(pair: SentencePair, sentence: str) -> list[Broken]:
    """The dependencies over at least one word that a translation of a pair's source breaks, as the oracle says.

    A subject is known by the reference: the same noun, in the same form, once in its clause. Where a verb could be an
    infinitive, it may be another verb that is missing, so nothing is said.
    """
    verdict = judge(pair.meaning, sentence)
    if verdict.agreement and verdict.particle:
        return []
    words = words_of(sentence)
    spans = [found.span() for found in re.finditer(r"\w+|[^\w\s]", sentence)]
    found: list[Broken] = []
    alone = len(verdict.problems) == 1 and not verdict.unknown
    for part in clauses(words):
        said = " ".join(words[place] for place in part.positions)
        if part.finite is None:
            continue
        form = words[part.finite]
        if f"agreement: subject and verb: {said}" in verdict.problems:
            for subject in _other_number(pair, words, part, form):
                apart = abs(part.finite - subject) - 1
                found.append(Broken("agreement", (spans[subject], spans[part.finite]), apart, alone))
        if f"particle: none for {form}: {said}" in verdict.problems:
            apart = sum(place > part.finite for place in part.positions)
            found.append(Broken("particle", (spans[part.finite],), apart, alone))
    return [each for each in found if each.distance > 0]


def _other_number(pair: SentencePair, words: list[str], part: ClauseSpan, form: str) -> Iterator[int]:
    """Positions in a clause of the reference's subjects whose number the finite verb cannot have."""
    if form in NONFINITE and form not in HELPERS:
        return
    numbers = {plural for _, plural, _ in FINITE.get(form, ())} | HELPERS.get(form, set())
    subjects = {
        token.form: token.feature("Number") == "Plur"
        for one in pair.labels.phenomena
        if one.side == "de" and one.name == "subject_verb_agreement"
        for token in [pair.german[one.dependent - 1]]
        if token.upos == "NOUN"
    }
    here = [words[place] for place in part.positions]
    for place in part.positions:
        if here.count(words[place]) == 1 and subjects.get(words[place]) not in (None, *numbers):
            yield place


Extent = Literal["noun", "throughout"]
"""noun: only the noun is wrong, pronouns are right. throughout: pronouns agree with the mistaken noun."""


class MistakenGerman(German):
    """Realizes German with one wrong noun; articles and adjectives agree with it."""

    def __init__(self, choose: Chooser, noun: str, extent: Extent) -> None:
        super().__init__(choose)
        self.mistaken = noun
        self.extent = extent
        self.meant: dict[str, str] = {}

    def noun(self, entity: Entity) -> GermanNoun:
        """The noun of the other gender or sense."""
        if entity.noun != self.mistaken:
            return super().noun(entity)
        concept = NOUNS[entity.noun]
        if concept.sense:
            other = "rare" if concept.sense == "frequent" else "frequent"
            options = NOUNS[f"{SENSES[entity.noun].word}/{other}"].german
        else:
            options = concept.german if entity.gender == "f" else concept.feminine
            self.meant[entity.name] = entity.gender
        return self.pick(options, [word.forms for word, _ in options])

    def pronoun(
        self, entity: Entity, case: str, path: str, deprel: str, head: Word | None, prep: str
    ) -> Phrase:
        """A personal pronoun, of the intended gender unless the mistake goes throughout."""
        if self.extent == "noun" and entity.refers in self.meant:
            self.genders[entity.refers] = self.meant[entity.refers]
        return super().pronoun(entity, case, path, deprel, head, prep)


def realize_with_mistake(
    pair: SentencePair, noun: str, rng: random.Random, extent: Extent = "noun", *, even: bool = False
) -> str:
    """A German sentence for the pair's meaning in which one noun (a name in the lexicon) is wrong."""
    german = MistakenGerman(RandomChooser(rng, even=even), noun, extent)
    return text(tokens(german.sentence(pair.meaning)))
