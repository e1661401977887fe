"""Minimal pairs from gold trees: the eight error types of DistilLingEval."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

from babelscope.lab.grammar.german import MODALS
from babelscope.lab.grammar.labels import NEGATED
from babelscope.lab.grammar.lexicon import DATIVE_PREPOSITIONS, NOUNS
from babelscope.lab.grammar.morphology import GENDERS, GermanNoun, column, determiner
from babelscope.lab.grammar.sentences import SentencePair
from babelscope.lab.grammar.verbs import VERBS
from babelscope.lab.grammar.words import Token, text

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
