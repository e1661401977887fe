"""From a meaning to a sentence pair with trees, alignment and labels."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from babelscope.lab.grammar.choice import Chooser, RandomChooser, every_choice
from babelscope.lab.grammar.english import English
from babelscope.lab.grammar.german import German
from babelscope.lab.grammar.labels import Labels, label_pair
from babelscope.lab.grammar.meaning import Meaning
from babelscope.lab.grammar.words import Token, Word, align, text, tokens


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


def realise(
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


def realisations(
    meaning: Meaning, limit: int = 100_000, vocabulary: frozenset[str] | None = None
) -> Iterator[str]:
    """At most `limit` German sentences for a meaning, some perhaps more than once.

    With a vocabulary, alternatives without a word in it are skipped.
    """
    for count, choose in enumerate(every_choice(vocabulary)):
        if count == limit:
            return
        yield german_text(meaning, choose)
