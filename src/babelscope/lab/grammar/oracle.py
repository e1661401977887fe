"""Checks with the grammar whether a German sentence is right for a meaning, and what is wrong if not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

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
from babelscope.lab.grammar.expectations import expectations_of
from babelscope.lab.grammar.labels import NEGATED
from babelscope.lab.grammar.lexicon import NOUNS, SENSES
from babelscope.lab.grammar.meaning import Meaning
from babelscope.lab.grammar.morphology import RELATIVE, GermanNoun, GermanVerb, column
from babelscope.lab.grammar.sentences import realisations

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
    """Whether the grammar can generate this sentence, among the first realisations."""
    spoken = sentence.strip()
    words = words_of(spoken)
    vocabulary = frozenset(words) | {word[0].lower() + word[1:] for word in words}
    return any(text == spoken for text in realisations(meaning, ENUMERATION_LIMIT, vocabulary))


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
