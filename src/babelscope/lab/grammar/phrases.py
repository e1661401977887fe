"""German noun phrases, pronouns and prepositional phrases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from babelscope.lab.grammar.choice import Chooser, Forms
from babelscope.lab.grammar.lexicon import ADJECTIVES, NOUNS, PREPOSITIONS
from babelscope.lab.grammar.meaning import Adjunct, Clause, Entity, Relative
from babelscope.lab.grammar.morphology import (
    ADJECTIVE,
    CONTRACTIONS,
    PRONOUN,
    RELATIVE,
    GermanNoun,
    column,
    declension,
    determiner,
    nominal_features,
)
from babelscope.lab.grammar.words import Word, punctuation

T = TypeVar("T")
Order = Literal["main", "final", "zu"]
Gap = tuple[str, str, bool]  # role, gender and number of what a relative pronoun stands for
MARKED = {
    "m": frozenset("männlich" + e for e in ("e", "en", "er", "es", "em")),
    "f": frozenset("weiblich" + e for e in ("e", "en", "er", "es", "em")),
}


@dataclass(slots=True)
class Phrase:
    """Words around a head; `tail` is a relative clause, which may be moved away."""

    words: list[Word]
    head: Word
    tail: list[Word] = field(default_factory=list)

    @property
    def all(self) -> list[Word]:
        """The words with the relative clause in its place."""
        return self.words + self.tail


class Phrases:
    """Realises noun phrases as the chooser decides, and remembers the gender of named entities."""

    def __init__(self, choose: Chooser) -> None:
        self.choose = choose
        self.genders: dict[str, str] = {}

    def clause(self, c: Clause, path: str, order: Order, gap: Gap | None = None) -> tuple[list[Word], Word]:
        """A clause, needed here for relative clauses."""
        raise NotImplementedError

    def pick(
        self, options: Sequence[tuple[T, float]], forms: Sequence[Forms] | None = None, *, facts: bool = False
    ) -> T:
        """One of several weighted alternatives."""
        if len(options) == 1:
            return options[0][0]
        return options[self.choose([weight for _, weight in options], forms, facts=facts)][0]

    def pick_word(
        self, options: Sequence[tuple[str, float]], upos: str, deprel: str, head: Word, key: str
    ) -> Word:
        """One of several synonyms that are never inflected."""
        form = self.pick(options, [frozenset((word,)) for word, _ in options])
        return Word(form, form, upos, "_", deprel, head, (key,))

    def maybe(self, share: float) -> bool:
        return self.choose((1 - share, share)) == 1

    def noun(self, entity: Entity) -> GermanNoun:
        """The German noun for a participant; a gender that English does not show is drawn by the share of women."""
        noun = NOUNS[entity.noun]
        options = list(noun.german)
        if noun.feminine:
            women = {"m": 0.0, "f": 1.0}.get(entity.gender, noun.women)
            options = []
            for nouns, share in ((noun.german, 1 - women), (noun.feminine, women)):
                total = sum(weight for _, weight in nouns)
                options += [(word, share * weight / total) for word, weight in nouns if share]
        return self.pick(options, [word.forms for word, _ in options], facts=bool(noun.feminine))

    def phrase(
        self, entity: Entity, case: str, path: str, deprel: str, head: Word | None, prep: str = ""
    ) -> Phrase:
        if entity.det == "pron":
            return self.pronoun(entity, case, path, deprel, head, prep)
        noun = self.noun(entity)
        if entity.name:
            self.genders[entity.name] = "p" if entity.plural else noun.gender
        col = column(noun.gender, entity.plural)
        feats = nominal_features(case, noun.gender, entity.plural)
        centre = Word(noun.form(case, entity.plural), noun.lemma, "NOUN", feats, deprel, head, (path + ".n",))
        concept = NOUNS[entity.noun]
        if concept.feminine:
            centre.tag = f"occupation:{concept.name}:{noun.gender}"
        elif concept.sense:
            centre.tag = f"sense:{concept.english}:{concept.sense}"
        owner = self.possessive(entity)
        article = determiner(entity.det, case, col, owner)
        words: list[Word] = []
        contracted = CONTRACTIONS.get((prep, article), "")
        if contracted and not entity.relative:
            keys = (path + ".case", path + ".d")
            more = nominal_features(case, noun.gender, entity.plural, Definite="Def", PronType="Art")
            words.append(Word(contracted, prep, "ADP", more, "case", centre, keys))
            article = ""
        elif prep:
            words.append(Word(prep, prep, "ADP", "_", "case", centre, (path + ".case",)))
        if article:
            words.append(self.article(entity, article, owner, case, noun.gender, centre, path + ".d"))
        names = [(name, f"{path}.a{i}") for i, name in enumerate(entity.adjectives)]
        if entity.marked:
            # Usually the noun alone shows the gender: "die Ärztin", seldom "die weibliche Ärztin".
            if self.choose((0.8, 0.2), (frozenset((centre.form,)), MARKED[entity.gender])):
                names.append(("female" if entity.gender == "f" else "male", path + ".m"))
            else:
                centre.keys += (path + ".m",)
        ending = ADJECTIVE[declension(entity.det, col)][case][col]
        for name, key in names:
            adjective = ADJECTIVES[name]
            more = nominal_features(case, noun.gender, entity.plural, Degree="Pos")
            words.append(Word(adjective.stem + ending, adjective.german, "ADJ", more, "amod", centre, (key,)))
        words.append(centre)
        if entity.modifier:
            words += self.adjunct(entity.modifier, path + ".p", "nmod", centre).all
        if not entity.relative:
            return Phrase(words, centre)
        return Phrase(words, centre, self.relative(entity, entity.relative, noun.gender, path + ".x", centre))

    def possessive(self, entity: Entity) -> str:
        """The stem of the possessive: sein for masculine and neuter owners, ihr for feminine and plural."""
        if entity.det != "poss":
            return ""
        return "ihr" if self.genders[entity.refers] in "fp" else "sein"

    def article(
        self, entity: Entity, form: str, owner: str, case: str, gender: str, head: Word, key: str
    ) -> Word:
        lemma, more = {
            "def": ("der", {"Definite": "Def", "PronType": "Art"}),
            "indef": ("ein", {"Definite": "Ind", "PronType": "Art"}),
            "no": ("kein", {"PronType": "Neg"}),
            "this": ("dieser", {"PronType": "Dem"}),
            "poss": (owner, {"Poss": "Yes", "PronType": "Prs"}),
        }[entity.det]
        deprel = "det:poss" if entity.det == "poss" else "det"
        feats = nominal_features(case, gender, entity.plural, **more)
        return Word(form, lemma, "DET", feats, deprel, head, (key,))

    def pronoun(
        self, entity: Entity, case: str, path: str, deprel: str, head: Word | None, prep: str
    ) -> Phrase:
        gender = self.genders[entity.refers]
        plural = gender == "p"
        feats = nominal_features(case, "" if plural else gender, plural, Person="3", PronType="Prs")
        col = column(gender, plural)
        word = Word(PRONOUN[case][col], PRONOUN["Nom"][col], "PRON", feats, deprel, head, (path + ".n",))
        before = [Word(prep, prep, "ADP", "_", "case", word, (path + ".case",))] if prep else []
        return Phrase([*before, word], word)

    def adjunct(self, adjunct: Adjunct, path: str, deprel: str, head: Word) -> Phrase:
        """A prepositional phrase, or the genitive that stands for "of"."""
        options = PREPOSITIONS[adjunct.preposition].german
        contracted = [[c for (prep, _), c in CONTRACTIONS.items() if prep == form] for form, _, _ in options]
        forms = [frozenset((form, *more)) for (form, _, _), more in zip(options, contracted, strict=True)]
        # The genitive has no word of its own, so no vocabulary can rule it out.
        open_ = forms if all(form for form, _, _ in options) else None
        index = self.choose([weight for _, _, weight in options], open_) if len(options) > 1 else 0
        form, case, _ = options[index]
        return self.phrase(adjunct.entity, case, path, deprel, head, form)

    def relative(self, entity: Entity, relative: Relative, gender: str, path: str, noun: Word) -> list[Word]:
        """A relative clause between commas."""
        words, head = self.clause(relative.clause, path, "final", gap=(relative.gap, gender, entity.plural))
        head.head, head.deprel = noun, "acl:relcl"
        return [punctuation(",", head), *words, punctuation(",", head)]

    def relative_pronoun(self, case: str, gap: Gap, path: str, deprel: str, head: Word, prep: str) -> Phrase:
        """der, die, das... with its preposition."""
        _, gender, plural = gap
        feats = nominal_features(case, gender, plural, PronType="Rel")
        form = RELATIVE[case][column(gender, plural)]
        word = Word(form, "der", "PRON", feats, deprel, head, (path + ".rel",))
        before = [Word(prep, prep, "ADP", "_", "case", word, ())] if prep else []
        return Phrase([*before, word], word)


def is_pronoun(phrase: Phrase) -> bool:
    return len(phrase.words) == 1 and phrase.head.upos == "PRON"
