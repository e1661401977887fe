"""Test items for the methods, from meanings that no training corpus contains.

Items are plain dictionaries in the shapes of docs and testsets: MinimalPair, AmbiguousSource,
ParallelSentence. All are drawn from the test split, by seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any

from babelscope.lab.grammar.corpus import generate, references, split_of
from babelscope.lab.grammar.documents import BEFORE, draw_group, sentences
from babelscope.lab.grammar.german import MODALS
from babelscope.lab.grammar.lexicon import (
    DATIVE_PREPOSITIONS,
    GENDERS,
    NOUNS,
    PRONOUN,
    SENSES,
    VERBS,
    GermanNoun,
    column,
    determiner,
    indefinite_article,
)
from babelscope.lab.grammar.meaning import Clause, Entity, Meaning, Token, random_stream, text
from babelscope.lab.grammar.sampling import pair_meaning, sense_meaning
from babelscope.lab.grammar.sentences import NEGATED, SentencePair, english_text, realize
from babelscope.lab.grammar.worlds import EASY, World

KINDS = {"der": "def", "ein": "indef", "kein": "no", "dieser": "this", "sein": "poss", "ihr": "poss"}


def replace_words(tree: Sequence[Token], changes: Mapping[int, str]) -> str:
    """The sentence with the words of some token ids replaced; an empty replacement drops the word."""
    made: list[Token] = []
    begins, upper = True, False
    for token in tree:
        if begins:  # English goes on in small letters after a colon, German does not
            upper = token.form[0].isupper()
        begins = token.form in ".:"
        form = changes.get(token.id, token.form)
        if form:
            made.append(replace(token, form=form[0].upper() + form[1:] if upper else form))
            upper = False
        elif made:
            made[-1] = replace(made[-1], space_after=token.space_after)
    return text(made)


@cache
def other_number() -> dict[str, str]:
    """Finite form -> the form of the other number."""
    pairs = [("hat", "haben"), ("ist", "sind")]
    for _, *forms in MODALS.values():
        pairs += [(forms[0], forms[1]), (forms[2], forms[3])]
    for concept in VERBS.values():
        for verb, _ in concept.german:
            for tense in ("pres", "past"):
                one, many = (verb.finite(tense, plural) for plural in (False, True))
                pairs += [(one, many), (verb.prefix + one, verb.prefix + many)]
    return dict(pairs) | {many: one for one, many in pairs}


@cache
def german_noun(lemma: str) -> GermanNoun:
    """The German noun with this lemma."""
    return next(n for c in NOUNS.values() for n, _ in (*c.german, *c.feminine) if n.lemma == lemma)


def clause_omission(pair: SentencePair, rng: random.Random) -> Iterator[str]:
    """One of the clauses that are joined by a full stop, semicolon or colon is left out."""
    stretches: list[list[Token]] = [[]]
    for token in pair.german:
        stretches[-1].append(token)
        if token.form in ".;:":
            stretches.append([])
    stretches = [stretch for stretch in stretches if stretch]
    if len(stretches) > 1:
        gone = rng.randrange(len(stretches))
        dropped = {token.id: "" for token in stretches[gone]}
        if gone:
            # Keep the mark after the clause, which decides the capital of the next word; drop the one before.
            del dropped[stretches[gone][-1].id]
            dropped[stretches[gone - 1][-1].id] = ""
        yield replace_words(pair.german, dropped)


def hypercorrect_genitive(pair: SentencePair, rng: random.Random) -> Iterator[str]:  # noqa: ARG001
    """The genitive after a preposition that takes the dative."""
    for t in pair.german:
        noun = pair.german[t.head - 1]
        if t.lemma in DATIVE_PREPOSITIONS and t.deprel == "case" and noun.feature("Number") == "Sing":
            det = next((d for d in pair.german if d.head == noun.id and d.upos == "DET"), None)
            forms = german_noun(noun.lemma)
            if det and forms.gender != "f":
                article = determiner(KINDS[det.lemma], "Gen", column(forms.gender, False), det.lemma)
                yield replace_words(pair.german, {det.id: article, noun.id: forms.genitive})


def np_agreement(pair: SentencePair, rng: random.Random) -> Iterator[str]:
    """A determiner of the wrong gender."""
    for t in pair.german:
        if t.upos == "DET" and t.feature("Number") == "Sing":
            kind, case = KINDS[t.lemma], t.feature("Case")
            forms = [determiner(kind, case, col, t.lemma) for col in range(3)]
            own = forms[list(GENDERS.values()).index(t.feature("Gender"))]
            if others := [form for form in forms if form != own]:
                yield replace_words(pair.german, {t.id: others[rng.randrange(len(others))]})


def placeholder_ding(pair: SentencePair, rng: random.Random) -> Iterator[str]:
    """A noun replaced by Ding, uninflected."""
    nouns = [t for t in pair.german if t.upos == "NOUN"]
    yield replace_words(pair.german, {nouns[rng.randrange(len(nouns))].id: "Ding"})


def polarity_affix_del(pair: SentencePair, rng: random.Random) -> Iterator[str]:  # noqa: ARG001
    """un- left out."""
    for t in pair.german:
        if t.lemma in NEGATED:
            yield replace_words(pair.german, {t.id: t.form[2:]})


def polarity_particle_kein_del(pair: SentencePair, rng: random.Random) -> Iterator[str]:  # noqa: ARG001
    """kein becomes ein; in the plural it is left out, unless an adjective would need another ending."""
    for t in pair.german:
        if t.lemma == "kein":
            if t.feature("Number") == "Sing":
                yield replace_words(pair.german, {t.id: t.form.lower()[1:]})
            elif pair.german[t.id].id == t.head:
                yield replace_words(pair.german, {t.id: ""})


def polarity_particle_nicht_del(pair: SentencePair, rng: random.Random) -> Iterator[str]:  # noqa: ARG001
    """nicht left out."""
    for t in pair.german:
        if t.form == "nicht":
            yield replace_words(pair.german, {t.id: ""})


def subj_verb_agreement(pair: SentencePair, rng: random.Random) -> Iterator[str]:  # noqa: ARG001
    """A finite verb in the wrong number."""
    for t in pair.german:
        if "VerbForm=Fin" in t.feats and (other := other_number()[t.form]) != t.form:
            yield replace_words(pair.german, {t.id: other})


Contrast = Callable[[SentencePair, random.Random], Iterator[str]]
CONTRASTS: dict[str, Contrast] = {
    make.__name__: make
    for make in (
        clause_omission,
        hypercorrect_genitive,
        np_agreement,
        placeholder_ding,
        polarity_affix_del,
        polarity_particle_kein_del,
        polarity_particle_nicht_del,
        subj_verb_agreement,
    )
}


Item = dict[str, Any]


def held_out(
    make: Callable[[random.Random], Meaning], seed: int, name: str, world: World = EASY
) -> Iterator[SentencePair]:
    """Endless sentence pairs of the test split with different sources, from meanings that `make` draws."""
    rng = random_stream(seed, f"suite/{name}/test" if world == EASY else f"suite/{world.name}/{name}/test")
    seen: set[str] = set()
    while True:
        meaning = world.lengthened(rng, make(rng))
        source = english_text(meaning)
        if source not in seen and split_of(source) == "test":
            seen.add(source)
            yield realize(meaning, rng, even=world.even)


def with_cue(tree: Sequence[Token], position: int, cue: str) -> str:
    """The English sentence with a word put before the noun at a position, and the article made to fit."""
    changes = {position: f"{cue} {tree[position - 1].form}"}
    before = tree[position - 2] if position > 1 else None
    if before is not None and before.lemma == "a":
        changes[before.id] = indefinite_article(cue)
    return replace_words(tree, changes)


def balanced(
    pairs: Iterable[SentencePair], n: int, gender: Callable[[SentencePair], str | None]
) -> list[SentencePair]:
    """The first n/2 male and the first n/2 female pairs; `gender` returns None for pairs to skip."""
    found: dict[str, list[SentencePair]] = {"male": [], "female": []}
    for pair in pairs:
        if (told := gender(pair)) and len(found[told]) < n // 2:
            found[told].append(pair)
        if all(len(kept) == n // 2 for kept in found.values()):
            break
    return found["male"] + found["female"]


def gender_pairs(n: int, seed: int, world: World = EASY) -> list[SentencePair]:
    """n pairs with two occupations and a pronoun, half male and half female."""

    def gender(pair: SentencePair) -> str | None:
        told = [one for one in pair.labels.occupations if one.told]
        # A source with "male" or "female" is not ambiguous.
        unmarked = not any(t.form in ("male", "female") for t in pair.english)
        # In a world of longer sentences, other clauses may have pronouns of other people.
        alone = _pronouns(pair.source) == _pronouns(english_text(Meaning(pair.meaning.clauses[:1])))
        return told[0].gender if len(told) == 1 and unmarked and alone else None

    return balanced(held_out(pair_meaning, seed, "gender", world), n, gender)


def gender_items(n: int, seed: int, *, inserted: bool = False, world: World = EASY) -> list[Item]:
    """AmbiguousSource items: the cue is the pronoun, or an adjective inserted beside it as in WinoMT.

    Inserted, the wrong cue contradicts the pronoun. No sentence of the corpus does so, and the lab's models,
    which have read nothing else, do not follow it: see docs/inside/lab.md.
    """
    items = []
    for number, pair in enumerate(gender_pairs(n, seed, world), 1):
        told = next(one for one in pair.labels.occupations if one.told)
        other = "male" if told.gender == "female" else "female"
        right, wrong = pair.source, with_other_pronouns(pair.english)
        if inserted:
            right, wrong = (with_cue(pair.english, told.english, cue) for cue in (told.gender, other))
        items.append(
            {
                "id": f"gender-{number}",
                "source": pair.source,
                "correct_sources": [right],
                "incorrect_sources": [wrong],
                "category": told.gender,
                "gold": told.gender,
                "occupation": told.noun,
                "position": told.english,
                "reference": pair.target,
            }
        )
    return items


_OTHER_PRONOUN = {"he": "she", "him": "her", "his": "her", "himself": "herself"}
_OTHER_PRONOUN |= {"she": "he", "herself": "himself"}


def _pronouns(text: str) -> int:
    """How many words of a text show the gender of somebody."""
    return sum(word.strip(".,;:").lower() in (*_OTHER_PRONOUN, "her") for word in text.split())


def with_other_pronouns(tree: Sequence[Token]) -> str:
    """The English sentence with he and she exchanged, in every form."""
    changes = {}
    for token in tree:
        form = token.form.lower()
        other = _OTHER_PRONOUN.get(form, "")
        if form == "her":
            other = "his" if "Poss=Yes" in token.feats else "him"
        if other:
            changes[token.id] = other.capitalize() if token.form[0].isupper() else other
    return replace_words(tree, changes)


def sense_pairs(n: int, seed: int, world: World = EASY) -> list[SentencePair]:
    """n pairs with ambiguous nouns without a cue adjective, each sense of each word equally often."""

    def cue(rng: random.Random) -> str:
        return "frame" if rng.random() < 0.7 else "modifier"

    return _every_sense(n, seed, "sense", cue, world)


def adjective_pairs(n: int, seed: int, world: World = EASY) -> list[SentencePair]:
    """n pairs with ambiguous nouns whose sense only an adjective shows, each sense of each word equally often."""
    return _every_sense(n, seed, "adjective", lambda _: "adjective", world)


def _every_sense(
    n: int, seed: int, name: str, cue: Callable[[random.Random], str], world: World
) -> list[SentencePair]:
    kept: list[SentencePair] = []
    for number, sense in enumerate(SENSES.values()):
        share = n // len(SENSES) + (number < n % len(SENSES))

        def make(rng: random.Random, sense: Any = sense) -> Meaning:
            return sense_meaning(rng, sense, cue(rng))

        drawn = held_out(make, seed, f"{name}/{sense.noun}", world)
        kept += islice((pair for pair in drawn if len(pair.labels.senses) == 1), share)
    return kept


def sense_items(n: int, seed: int, *, inserted: bool = False, world: World = EASY) -> list[Item]:
    """AmbiguousSource items: the cue is an adjective, alone or inserted beside others as in MuCoW.

    Inserted, the wrong cue contradicts the sentence, as in `gender_items`.
    """
    items = []
    pairs = (sense_pairs if inserted else adjective_pairs)(n, seed, world)
    for number, pair in enumerate(pairs, 1):
        one = pair.labels.senses[0]
        other = "rare" if one.frequency == "frequent" else "frequent"
        right, wrong = (SENSES[f"{one.word}/{kind}"].adjectives for kind in (one.frequency, other))
        put = with_cue if inserted else with_adjective
        items.append(
            {
                "id": f"sense-{number}",
                "source": pair.source,
                "correct_sources": [put(pair.english, one.english, cue) for cue in right],
                "incorrect_sources": [put(pair.english, one.english, cue) for cue in wrong],
                "category": one.frequency,
                "gold": f"{one.word}/{one.frequency}",  # a sense has synonyms in German
                "word": one.word,
                "position": one.english,
                "reference": pair.target,
            }
        )
    return items


def with_adjective(tree: Sequence[Token], position: int, cue: str) -> str:
    """The English sentence with another adjective before the noun at a position, and the article made to fit."""
    changes = {position - 1: cue}
    if position > 2 and tree[position - 3].lemma == "a":
        changes[position - 2] = indefinite_article(cue)
    return replace_words(tree, changes)


def parallel_pairs(n: int, seed: int, world: World = EASY) -> list[SentencePair]:
    """n held-out sentence pairs as in the corpus, without its noise."""
    return list(generate(n, seed, "test", world))


_LONG_DISTANCE = ("particle", "reflexive", "preposition_stranding")


def parallel_items(n: int, seed: int, world: World = EASY) -> list[Item]:
    """ParallelSentence items, each with as many references as the world has."""
    most = world.references
    return [
        {
            "id": f"parallel-{number}",
            "source": pair.source,
            "reference": [*dict.fromkeys([pair.target, *references(pair.meaning, most, seed, world=world)])][
                :most
            ],
        }
        for number, pair in enumerate(parallel_pairs(n, seed, world), 1)
    ]


def challenge_items(n: int, seed: int, world: World = EASY) -> list[Item]:
    """ParallelSentence items of `parallel_items`, each with the long-distance dependencies of both its trees."""
    return [
        {
            "id": f"parallel-{number}",
            "source": pair.source,
            "reference": pair.target,
            "dependencies": [
                {
                    "phenomenon": one.name,
                    "side": "source" if one.side == "en" else "target",
                    "head": one.head,
                    "dependent": one.dependent,
                    "distance": one.distance,
                }
                for one in pair.labels.phenomena
                if one.name in _LONG_DISTANCE
            ],
        }
        for number, pair in enumerate(parallel_pairs(n, seed, world), 1)
    ]


def minimal_pairs(n: int, seed: int, world: World = EASY) -> list[Item]:
    """MinimalPair items: n of each of the eight error types."""
    items: list[Item] = []
    rng = random_stream(
        seed, "suite/contrasts/test" if world == EASY else f"suite/{world.name}/contrasts/test"
    )
    counts = dict.fromkeys(CONTRASTS, 0)
    # The rarest type occurs in more than one sentence of fifty.
    for pair in generate(200 * n + 2000, seed, "test", world):
        for name, make in CONTRASTS.items():
            variants = list(make(pair, rng)) if counts[name] < n else []
            if variants:
                counts[name] += 1
                items.append(
                    {
                        "id": f"{name}-{counts[name]}",
                        "source": pair.source,
                        "correct": pair.target,
                        "contrastive": variants[rng.randrange(len(variants))],
                        "phenomenon": name,
                        "reference": "human",
                    }
                )
        if all(count == n for count in counts.values()):
            break
    return sorted(items, key=lambda item: list(CONTRASTS).index(item["phenomenon"]))


# --- Pronouns that depend on the sentences before ------------------------------------------------------------------


def pronoun_items(n: int, seed: int) -> list[Item]:
    """MinimalPair items: "it" as er, sie or es, by the gender of a thing one to three sentences before.

    Three items in a row differ in the thing alone: whoever does not read as far as its sentence gets one right.
    """
    rng = random_stream(seed, "suite/pronouns/test")
    items: list[Item] = []
    while len(items) < n:
        distance = len(items) // 3 % BEFORE + 1
        group = draw_group(rng, distance)
        if split_of(english_text(group[0])) != "test":
            continue
        made = [realize(meaning, random_stream(seed, f"pronouns/{len(items)}")) for meaning in group]
        endings = _with_each_pronoun(made[0].german)
        for (gender, correct), pair in zip(endings.items(), made, strict=True):
            *before, source = sentences(pair.source)
            items.append(
                {
                    "id": f"pronoun-{len(items) + 1}",
                    "source": source,
                    "correct": correct,
                    "contrastive": [other for other in endings.values() if other != correct],
                    "phenomenon": "pronoun",
                    "reference": "human",
                    "context_source": before,
                    "context_target": sentences(pair.target)[:-1],
                    "distance": distance,
                    "gender": gender,
                }
            )
    return items[:n]


def _with_each_pronoun(tree: Sequence[Token]) -> dict[str, str]:
    """Gender -> the last sentence of a document, with the pronoun of that gender for its thing."""
    it = next(token for token in reversed(tree) if token.lemma in PRONOUN["Nom"][:3] and token.upos == "PRON")
    forms = PRONOUN[it.feature("Case")]
    return {
        gender: sentences(replace_words(tree, {it.id: forms[place]}))[-1]
        for place, gender in enumerate(GENDERS)
    }


# --- Ambiguous sources whose cue is not translated itself ----------------------------------------------------------


_OTHER = {"m": "f", "f": "m"}
_GENDERS = {"m": "male", "f": "female"}


def marked_meaning(rng: random.Random) -> Meaning:
    """Two occupations, of which English calls one "male" or "female"; no pronoun."""
    while True:
        (clause,) = pair_meaning(rng).clauses
        # Without its "because" clause, which has the pronoun, the sentence is complete.
        if clause.linked is not None and clause.linked.link == "because":
            return Meaning((_change_occupation(replace(clause, linked=None), marked=True),))


def _gendered_occupation(clause: Clause) -> Entity:
    """The occupation whose gender English shows."""
    return next(who for who in (clause.subject, clause.object) if who is not None and who.gender)


def _change_occupation(clause: Clause, **changes: Any) -> Clause:
    """The clause with changes to the occupation whose gender English shows."""
    own = _gendered_occupation(clause)
    who = replace(own, **changes)
    return replace(clause, subject=who) if clause.subject == own else replace(clause, object=who)


def marked_pairs(n: int, seed: int, world: World = EASY) -> list[SentencePair]:
    """n sentence pairs, half with a male and half with a female occupation."""
    pairs = held_out(marked_meaning, seed, "gender-marked", world)
    return balanced(pairs, n, lambda pair: _GENDERS[_gendered_occupation(pair.meaning.clauses[0]).gender])


def marked_items(n: int, seed: int, *, world: World = EASY) -> list[Item]:
    """AmbiguousSource items: the cue is "male" or "female", which German expresses by the noun."""
    items = []
    for number, pair in enumerate(marked_pairs(n, seed, world), 1):
        clause, *more = pair.meaning.clauses
        who = _gendered_occupation(clause)
        other = replace(pair.meaning, clauses=(_change_occupation(clause, gender=_OTHER[who.gender]), *more))
        gender = _GENDERS[who.gender]
        items.append(
            {
                "id": f"marked-{number}",
                "source": pair.source,
                "correct_sources": [pair.source],
                "incorrect_sources": [english_text(other)],
                "category": gender,
                "gold": gender,
                "occupation": who.noun,
                "reference": pair.target,
            }
        )
    return items


def other_adjective_items(n: int, seed: int, *, world: World = EASY) -> list[Item]:
    """`lab:senses` without the sentence's own adjective as a cue, so that translations render no cue."""
    return [
        {**item, "correct_sources": [each for each in item["correct_sources"] if each != item["source"]]}
        for item in sense_items(n, seed, world=world)
    ]
