"""What a verb is built with in a parsed sentence: particle, reflexive pronoun, prepositions, subject, negation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

from babelscope.language.registry import LANGUAGES
from babelscope.language.ud import Tree, Word, is_finite, relation

_PARTS = ("aux", "cop", "compound:prt", "expl")
"""Relations of words that belong to a verb, and stand for it in an alignment."""
_OBLIQUE = ("obl", "obj", "iobj", "nmod", "advcl", "advmod")

Lemmatizer = Callable[[list[str]], list[str]]


def has(word: Word, feature: str) -> bool:
    return feature in word.feats.split("|")


def value(word: Word, name: str) -> str:
    """The value of a feature; empty if the word does not have it."""
    return next((each[len(name) + 1 :] for each in word.feats.split("|") if each.startswith(f"{name}=")), "")


@dataclass(frozen=True)
class Sentence:
    """A tree with lemmas in lower case: the parser's, else a lemmatizer's, else the forms."""

    tree: Tree
    lemmas: tuple[str, ...]

    @property
    def words(self) -> tuple[Word, ...]:
        return self.tree.words

    def lemma(self, word: Word) -> str:
        return self.lemmas[word.id - 1]

    @cached_property
    def children(self) -> list[list[Word]]:
        """The words that depend on each word, by its position from 1; on the root at 0."""
        found: list[list[Word]] = [[] for _ in range(len(self.words) + 1)]
        for word in self.words:
            found[word.head].append(word)
        return found

    @property
    def verbs(self) -> list[Word]:
        return [word for word in self.words if is_verb(word)]

    def verb_of(self, position: int) -> Word | None:
        """The verb that a word is, or is a part of: its auxiliary, particle or reflexive pronoun."""
        word = self.words[position - 1]
        if is_verb(word):
            return word
        if word.head and (word.deprel in _PARTS or relation(word) in _PARTS or has(word, "Reflex=Yes")):
            head = self.words[word.head - 1]
            return head if is_verb(head) else None
        return None

    def predicate_of(self, word: Word) -> Word:
        """The nearest verb or word with a copula that a word is or depends on; else the root."""
        while word.head and not is_verb(word):
            if any(relation(child) == "cop" for child in self.children[word.id]):
                break
            word = self.words[word.head - 1]
        return word


def is_verb(word: Word) -> bool:
    """Whether a word is a full verb, not the auxiliary of another."""
    return word.upos == "VERB" or (word.upos == "AUX" and relation(word) not in ("aux", "cop"))


def make_sentence(tree: Tree, lemmatizer: Lemmatizer | None = None) -> Sentence:
    """A sentence of a tree; the lemmatizer is asked where the parser gives no lemmas."""
    forms = [word.form for word in tree.words]
    given = [word.lemma for word in tree.words]
    if all(lemma in ("", "_") for lemma in given):
        given = lemmatizer(forms) if lemmatizer else forms
    lemmas = [form if lemma in ("", "_") else lemma for form, lemma in zip(forms, given, strict=True)]
    return Sentence(tree, tuple(lemma.lower() for lemma in lemmas))


def lemmatizer_of(language: str | None) -> Lemmatizer | None:
    """The lemmatizer of a language, if we have one."""
    known = LANGUAGES.all().get(language or "")
    return known.lemmatizer() if known is not None and known.lemmatizer is not None else None


def particles_in(sentences: Iterable[Sentence]) -> frozenset[str]:
    """The particles of verbs that stand alone in these sentences, more than once: parsers err."""
    found = Counter(
        word.form.lower() for each in sentences for word in each.words if word.deprel == "compound:prt"
    )
    return frozenset(form for form, count in found.items() if count > 1)


def has_orphan(sentence: Sentence) -> bool:
    """Whether the parser gave a particle to something that is no verb: then it missed the verb of that particle."""
    return any(
        word.deprel == "compound:prt" and not (word.head and is_verb(sentence.words[word.head - 1]))
        for word in sentence.words
    )


@dataclass(frozen=True, slots=True)
class Construction:
    """A verb with what it is built with."""

    word: Word
    stem: str
    """Its lemma without a particle."""
    particle: str
    """Lower case, alone or at the beginning of the verb; empty for none."""
    reflexive: bool
    prepositions: frozenset[str]
    """Lemmas of those that its arguments have."""

    @property
    def verb(self) -> str:
        return self.particle + self.stem

    def text(self) -> str:
        """The verb, its particle and its pronoun as one reads them."""
        alone = self.particle and not self.word.form.lower().startswith(self.particle)
        return f"{self.word.form}{f' … {self.particle}' if alone else ''}{' + reflexive' * self.reflexive}"


def construction(sentence: Sentence, word: Word, particles: Collection[str]) -> Construction:
    """The construction of a verb; `particles` are those of the language, as far as they are known."""
    below = sentence.children[word.id]
    lemma, form = sentence.lemma(word), word.form.lower()
    # A lemmatizer may name a separable verb by its stem or in full, whether its particle stands by it or not.
    inside = max(
        (p for p in particles if lemma.startswith(p) and len(lemma) > len(p) + 2), key=len, default=""
    )
    stem = lemma.removeprefix(inside)
    alone = [child.form.lower() for child in below if child.deprel == "compound:prt"]
    alone = [form for form in alone if form in particles]
    attached = max(
        (p for p in particles if form.startswith(p) and len(form) > len(p) + 2), key=len, default=""
    )
    if attached and not inside and not alone:
        attached = ""  # the form begins like a particle, the verb does not
    return Construction(
        word,
        stem,
        alone[0] if alone else attached,
        any(has(child, "Reflex=Yes") for child in below),
        frozenset(
            sentence.lemma(case)
            for child in below
            if relation(child) in _OBLIQUE
            for case in sentence.children[child.id]
            if case.deprel == "case"
        ),
    )


def finite_of(sentence: Sentence, governor: Word) -> Word | None:
    """The finite verb of a clause: an auxiliary or copula of its head, or the head."""
    parts = [child for child in sentence.children[governor.id] if relation(child) in ("aux", "cop")]
    return next((word for word in (*parts, governor) if is_finite(word)), None)


def negations(sentence: Sentence) -> list[Word]:
    """The words that negate."""
    return [word for word in sentence.words if has(word, "Polarity=Neg") or has(word, "PronType=Neg")]
