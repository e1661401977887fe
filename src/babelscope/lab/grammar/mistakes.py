"""Translations with a mistake, made by the grammar: an occupation of the wrong gender, a noun of the wrong sense."""

from __future__ import annotations

import random
from typing import Literal

from babelscope.lab.grammar.choice import Chooser, RandomChooser
from babelscope.lab.grammar.german import German
from babelscope.lab.grammar.lexicon import NOUNS, SENSES
from babelscope.lab.grammar.meaning import Entity
from babelscope.lab.grammar.morphology import GermanNoun
from babelscope.lab.grammar.phrases import Phrase
from babelscope.lab.grammar.sentences import SentencePair
from babelscope.lab.grammar.words import Word, text, tokens

Extent = Literal["noun", "throughout"]
"""noun: only the noun is wrong, pronouns are right. throughout: pronouns agree with the mistaken noun."""


class MistakenGerman(German):
    """Realises German with one wrong noun; articles and adjectives agree with it."""

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


def realise_with_mistake(
    pair: SentencePair, noun: str, rng: random.Random, extent: Extent = "noun", *, even: bool = False
) -> str:
    """A German sentence for the pair's meaning in which one noun (a name in the lexicon) is wrong."""
    german = MistakenGerman(RandomChooser(rng, even=even), noun, extent)
    return text(tokens(german.sentence(pair.meaning)))
