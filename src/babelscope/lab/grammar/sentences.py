"""From a meaning to a sentence pair with trees, alignment and labels."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from babelscope.lab.grammar.english import English
from babelscope.lab.grammar.german import German
from babelscope.lab.grammar.lexicon import ADJECTIVES, ADVERBS, DATIVE_PREPOSITIONS
from babelscope.lab.grammar.meaning import (
    Chooser,
    Meaning,
    RandomChooser,
    Token,
    Word,
    align,
    every_choice,
    text,
    tokens,
)

NEGATED = frozenset(a.german for a in ADJECTIVES.values() if a.german.startswith("un")) | frozenset(
    form for options in ADVERBS.values() for form, _ in options if form.startswith("un")
)
CLAUSAL = frozenset(("root", "parataxis", "conj", "advcl", "ccomp", "xcomp", "acl:relcl"))


@dataclass(frozen=True, slots=True)
class Phenomenon:
    """An instance of a phenomenon: two token positions from 1, and the words between them."""

    name: str
    side: str
    head: int
    dependent: int
    distance: int


@dataclass(frozen=True, slots=True)
class Occupation:
    """An occupation with the gender of its German noun; `told` if the English sentence shows the gender."""

    noun: str
    gender: str
    told: bool
    english: int
    german: int


@dataclass(frozen=True, slots=True)
class SenseLabel:
    """An ambiguous word, the German lemma of its sense, its frequency, and the positions of both from 1."""

    word: str
    sense: str
    frequency: str
    english: int
    german: int


@dataclass(frozen=True, slots=True)
class Labels:
    """Everything known about a sentence pair beyond trees and alignment."""

    kind: str
    clauses: int
    joins: tuple[str, ...]
    phenomena: tuple[Phenomenon, ...]
    occupations: tuple[Occupation, ...]
    senses: tuple[SenseLabel, ...]

    def as_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "clauses": self.clauses,
            "joins": list(self.joins),
            "phenomena": [_fields(one) for one in self.phenomena],
            "occupations": [_fields(one) for one in self.occupations],
            "senses": [_fields(one) for one in self.senses],
        }


def _fields(one: Phenomenon | Occupation | SenseLabel) -> dict[str, Any]:
    # dataclasses.asdict copies deeply, which takes longer than making the sentence.
    return {name: getattr(one, name) for name in one.__slots__}


def label_pair(
    meaning: Meaning,
    english: Sequence[Word],
    german: Sequence[Word],
    source: Sequence[Token],
    target: Sequence[Token],
) -> Labels:
    """The labels of a sentence pair, from its words and its trees."""
    places = {key: j for j, word in enumerate(german, 1) for key in word.keys if key.endswith(".n")}
    occupations, senses = [], []
    for i, word in enumerate(english, 1):
        kind, _, rest = word.tag.partition(":")
        if not kind:
            continue
        j = places[word.keys[0]]
        name, value = rest.split(":")
        if kind == "occupation":
            gender = "female" if german[j - 1].tag.endswith(":f") else "male"
            occupations.append(Occupation(name, gender, bool(value), i, j))
        else:
            senses.append(SenseLabel(name, german[j - 1].lemma, value, i, j))
    phenomena = (*dependencies(source, "en"), *dependencies(target, "de"))
    clauses = sum(token.deprel in CLAUSAL for token in target)
    return Labels(meaning.kind, clauses, meaning.joins, phenomena, tuple(occupations), tuple(senses))


def dependencies(tree: Sequence[Token], side: str) -> list[Phenomenon]:
    """The instances of all phenomena in a tree; `side` is en or de."""
    found: list[Phenomenon] = []
    finite = finite_verbs(tree)

    def add(name: str, head: int, dependent: int) -> None:
        found.append(Phenomenon(name, side, head, dependent, max(abs(head - dependent) - 1, 0)))

    for t in tree:
        if t.deprel == "compound:prt":
            add("particle", t.head, t.id)
        elif "Reflex=Yes" in t.feats:
            add("reflexive", t.head, t.id)
        elif t.upos == "ADP" and t.deprel == "obl":
            add("preposition_stranding", t.head, t.id)
        elif t.deprel == "nsubj" and t.head in finite:
            add("subject_verb_agreement", finite[t.head], t.id)
        if side == "de":
            add_german_phenomena(t, finite, add)
    return found


def add_german_phenomena(t: Token, finite: dict[int, int], add: Callable[[str, int, int], None]) -> None:
    """Call `add` for the phenomena of a token that only German has."""
    if t.deprel in ("det", "det:poss", "amod"):
        add("noun_phrase_agreement", t.head, t.id)
    if t.lemma == "nicht":
        add("negation_nicht", t.head, t.id)
    elif t.lemma == "kein":
        add("negation_kein", t.head, t.id)
    elif t.lemma in NEGATED:
        add("negation_un", t.head or t.id, t.id)
    elif t.deprel == "case" and t.lemma in DATIVE_PREPOSITIONS:
        add(f"dative_{t.lemma}", t.head, t.id)
    elif (t.deprel == "mark" and t.upos == "SCONJ") or (t.upos == "PRON" and "PronType=Rel" in t.feats):
        add("verb_final", finite.get(t.head, t.head), t.id)
    elif t.deprel == "nmod" and "Case=Gen" in t.feats:
        add("genitive", t.head, t.id)


def finite_verbs(tree: Sequence[Token]) -> dict[int, int]:
    """Head of a clause -> position of its finite verb, both from 1."""
    found: dict[int, int] = {}
    for t in tree:
        if "VerbForm=Fin" in t.feats:
            found[t.head if t.deprel in ("aux", "cop") else t.id] = t.id
    return found


@dataclass(frozen=True, slots=True)
class SentencePair:
    """An English sentence with one of its German translations."""

    meaning: Meaning
    english: tuple[Token, ...]
    german: tuple[Token, ...]
    alignment: tuple[tuple[int, int], ...]  # positions from 0: English, German
    labels: Labels

    @property
    def source(self) -> str:
        return text(self.english)

    @property
    def target(self) -> str:
        return text(self.german)


def realize(
    meaning: Meaning, rng: random.Random, english: Sequence[Word] | None = None, *, even: bool = False
) -> SentencePair:
    """A sentence pair; German is drawn by `rng`, English is fixed and may be given if already made.

    `even`: whatever German can say in several ways, it says equally often in each.
    """
    english = english or english_words(meaning)
    german = German(RandomChooser(rng, even=even)).sentence(meaning)
    source, target = tokens(english), tokens(german)
    alignment = align(english, german)
    return SentencePair(
        meaning, source, target, alignment, label_pair(meaning, english, german, source, target)
    )


def english_words(meaning: Meaning) -> list[Word]:
    """The English words, before they become a tree."""
    return English().sentence(meaning)


def english_text(meaning: Meaning) -> str:
    """The English sentence for a meaning."""
    return text(tokens(english_words(meaning)))


def german_text(meaning: Meaning, choose: Chooser) -> str:
    """The German sentence for a meaning that the chooser decides on."""
    return text(tokens(German(choose).sentence(meaning)))


def realizations(
    meaning: Meaning, limit: int = 100_000, vocabulary: frozenset[str] | None = None
) -> Iterator[str]:
    """At most `limit` German sentences for a meaning, some perhaps more than once.

    With a vocabulary, alternatives without a word in it are skipped.
    """
    for count, choose in enumerate(every_choice(vocabulary)):
        if count == limit:
            return
        yield german_text(meaning, choose)
