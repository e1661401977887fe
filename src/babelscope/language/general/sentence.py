"""Parsed sentences with their text, and the features of words as sets of values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from babelscope.language.base import Variant
from babelscope.language.ud import Tree, Word, relation

Features = Mapping[str, frozenset[str]]
"""Name of a feature -> its values; several where a form has them all."""

_NOMINAL = frozenset({"NOUN", "PROPN", "ADJ", "DET", "PRON", "NUM"})
_VERBAL = frozenset({"VERB", "AUX"})


@lru_cache(maxsize=50_000)
def features(text: str) -> Features:
    """The features of a CoNLL-U column; a noun without a singular is plural, common gender is any but neuter."""
    found = {}
    for feature in text.split("|"):
        name, _, values = feature.partition("=")
        if values:
            found[name] = frozenset(values.split(","))
    if "Ptan" in found.get("Number", ()):
        found["Number"] = found["Number"] - {"Ptan"} | {"Plur"}
    if "Com" in found.get("Gender", ()):
        found["Gender"] = found["Gender"] | {"Masc", "Fem"}
    return found


def compatible(one: Features, other: Features, names: frozenset[str] | tuple[str, ...]) -> bool:
    """Whether no feature of `names` has different values; a missing one fits all."""
    for name in names:  # noqa: SIM110 (a loop is twice as fast)
        if name in one and name in other and one[name].isdisjoint(other[name]):
            return False
    return True


def word_class(upos: str, feats: Features) -> str:
    """`finite`, `nominal` (participles included) or the tag itself: what can stand in the same place."""
    if upos in _VERBAL:
        if "VerbForm" in feats:
            form = feats["VerbForm"]
            return "finite" if "Fin" in form else "nominal" if "Part" in form else "verb"
        return (
            "finite" if "Mood" in feats or "Person" in feats else "nominal" if "Gender" in feats else "verb"
        )
    return "nominal" if upos in _NOMINAL else upos


@dataclass(frozen=True)
class Sentence:
    """A tree and its text."""

    tree: Tree

    @property
    def words(self) -> tuple[Word, ...]:
        return self.tree.words

    @cached_property
    def text(self) -> str:
        """The text in the tree's comment if it has the same characters, else its tokens with spaces between."""
        if self.tree.text and self.tree.matches(self.tree.text):
            return self.tree.text
        return " ".join(self.tree.tokens)

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """Character offsets of each word."""
        return self.tree.offsets(self.text)

    @cached_property
    def children(self) -> list[list[Word]]:
        """The words that depend on each word, by its position from 1; on the root at 0."""
        found: list[list[Word]] = [[] for _ in range(len(self.words) + 1)]
        for word in self.words:
            found[word.head].append(word)
        return found

    @cached_property
    def _fused(self) -> frozenset[int]:
        return frozenset(n for token in self.tree.multiword for n in range(token.first, token.last + 1))

    def head(self, word: Word) -> Word | None:
        """The word that this one depends on; None for the root."""
        return self.words[word.head - 1] if word.head else None

    def below(self, word: Word, *relations: str) -> list[Word]:
        """The words with one of these relations (subtypes included) that depend on a word."""
        return [child for child in self.children[word.id] if relation(child) in relations]

    def subtree(self, word: Word) -> list[Word]:
        """A word and all words below it, in the order of the text."""
        found, open_ = [word], [word]
        while open_:
            new = self.children[open_.pop().id]
            found += new
            open_ += new
        return sorted(found)

    def finite(self, head: Word) -> Word | None:
        """The only finite verb of the clause of `head`: itself, its auxiliary or copula.

        In languages whose verbs have no forms, a verb without any features.
        """
        verbs = [each for each in (head, *self.below(head, "aux", "cop")) if each.upos in _VERBAL]
        found = [each for each in verbs if word_class(each.upos, features(each.feats)) == "finite"]
        found = found or [each for each in verbs if not features(each.feats)]
        return found[0] if len(found) == 1 else None

    def can_change(self, word: Word) -> bool:
        """Whether a word is a token of its own, not a part of one and not written together with a neighbour."""
        start, _ = self.spans[word.id - 1]
        return word.id not in self._fused and self.text[start - 1 : start] not in ("'", "’", "-")

    def changed(self, *changes: tuple[Word, str]) -> Variant:
        """The sentence with some words replaced, capitalized like the old ones; "" deletes a word."""
        text = self.text
        made = [(word, capitalized_like(word.form, new)) for word, new in changes]
        for word, new in sorted(made, reverse=True):
            start, end = self.spans[word.id - 1]
            text = text[:start] + new + text[end:] if new else _without(text, start, end)
        first, new = min(made)
        start = self.spans[first.id - 1][0]
        return Variant(_with_capital(text, self.text), first.form, new, start)

    def without(self, first: Word, last: Word) -> Variant:
        """The sentence without the words from `first` to `last`."""
        start, end = self.spans[first.id - 1][0], self.spans[last.id - 1][1]
        text = _with_capital(_without(self.text, start, end), self.text)
        return Variant(text, self.text[start:end], "", start)


def _without(text: str, start: int, end: int) -> str:
    before, after = text[:start], text[end:]
    if after.startswith(" ") and (not before or before.endswith(" ")):
        after = after[1:]
    elif before.endswith(" ") and (not after or not after[0].isalnum()):
        before = before[:-1]
    return before + after


def _with_capital(text: str, like: str) -> str:
    """The text with a capital at its beginning if the other one has it."""
    first = next((n for n, char in enumerate(text) if char.isalpha()), None)
    model = next((char for char in like if char.isalpha()), "")
    if first is None or not model.isupper():
        return text
    return text[:first] + text[first].upper() + text[first + 1 :]


def capitalized_like(old: str, new: str) -> str:
    """A new word with capitals like those of the old one."""
    if len(old) > 1 and old.isupper():
        return new.upper()
    first = new[:1].upper() if old[:1].isupper() else new[:1].lower()
    return first + new[1:]


def with_person(word: Word) -> Features:
    """The features of a subject; nouns are third person."""
    feats = features(word.feats)
    return feats if "Person" in feats or word.upos == "PRON" else {**feats, "Person": frozenset({"3"})}


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a reference: its text, and its parse if there is one."""

    text: str
    parse: Sentence | None = None


def subjects(sentence: Sentence) -> Iterator[tuple[Word, Word]]:
    """(subject, head of its clause) for every nominal subject."""
    for word in sentence.words:
        head = sentence.head(word)
        if relation(word) == "nsubj" and head is not None:
            yield word, head
