"""Whether a dependency survives in a translation: checks of two parsed sentences, the reference and the output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from babelscope.language.constructions import (
    Construction,
    Sentence,
    construction,
    finite_of,
    has,
    has_orphan,
    negations,
    relation,
    value,
)
from babelscope.language.ud import Word

Outcome = Literal["kept", "lost", "undecided"]
_LEAST_OFTEN, _LEAST_SHARE = 2, 0.1
"""How often references must render two source words by a verb before it counts as another right one."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a dependency; `why` says it in a few words, `reference` and `output` show what was compared."""

    outcome: Outcome
    why: str
    reference: str = ""
    output: str = ""

    def as_json(self) -> dict[str, str]:
        return {"verdict": self.outcome, "why": self.why, "reference": self.reference, "output": self.output}


def undecided(why: str, reference: str = "", output: str = "") -> Verdict:
    return Verdict("undecided", why, reference, output)


@dataclass(frozen=True)
class Case:
    """A dependency in a reference and an output; positions count from 1, and are where alignment leads."""

    reference: Sentence
    output: Sentence
    head_in_reference: Sequence[int]
    dependent_in_reference: Sequence[int]
    head_in_output: Sequence[int]
    dependent_in_output: Sequence[int]
    particles: Collection[str]
    attested: Collection[str] = field(default_factory=frozenset)
    """Verbs that references of other sentences render the same two words by."""
    bare: Collection[str] = field(default_factory=frozenset)
    """Verbs without a particle that references have for the same dependent."""


def attested_verbs(counts: Mapping[str, int]) -> frozenset[str]:
    """The verbs that are seen often enough not to be mistakes of the aligner."""
    total = sum(counts.values())
    return frozenset(
        verb for verb, count in counts.items() if count >= _LEAST_OFTEN and count >= _LEAST_SHARE * total
    )


def anchor(
    sentence: Sentence,
    from_head: Sequence[int],
    from_dependent: Sequence[int],
    through: Collection[str] = (),
) -> Word | None:
    """The one verb that links of head and dependent lead to; None if there is none, or they disagree."""
    ends = [
        {verb for position in positions if (verb := sentence.verb_of(position, through)) is not None}
        for positions in (from_head, from_dependent)
    ]
    common = ends[0] & ends[1] if all(ends) else ends[0] | ends[1]
    return next(iter(common)) if len(common) == 1 else None


def check(phenomenon: str, case: Case) -> Verdict:
    """The verdict on a dependency of a phenomenon that CHECKS has."""
    if not case.output.words:
        return Verdict("lost", "the translation is empty")
    return CHECKS[phenomenon](case)


def _verbs(case: Case, through: Collection[str] = ()) -> tuple[Construction, Construction] | Verdict:
    """The verb of the reference and that of the output, or why they cannot be compared."""
    word = anchor(case.reference, case.head_in_reference, case.dependent_in_reference, through)
    if word is None:
        return undecided("no verb of the reference is aligned to it")
    wanted = construction(case.reference, word, case.particles)
    every = [construction(case.output, verb, case.particles) for verb in case.output.verbs]
    same = [each for each in every if each.stem == wanted.stem]
    linked = anchor(case.output, case.head_in_output, case.dependent_in_output, through)
    if len(same) > 1:
        same = [each for each in same if each.word == linked]
        if not same:
            return undecided("the output has the verb twice", wanted.text())
    if not same and linked is not None:
        other = construction(case.output, linked, case.particles)
        if other.verb in case.attested:
            return wanted, other
        return undecided("the output has another verb", wanted.text(), other.text())
    if not same:
        return undecided("no verb of the output is aligned to it", wanted.text())
    if linked is not None and linked != same[0].word:
        return undecided("the verb of the reference is in the output, for other words", wanted.text())
    return wanted, same[0]


def _particle(case: Case) -> Verdict:
    found = _verbs(case)
    if isinstance(found, Verdict):
        return found
    wanted, other = found
    shown = (wanted.text(), other.text())
    for sentence, verb in ((case.reference, wanted), (case.output, other)):
        if not verb.particle and has_orphan(sentence):
            return undecided("a particle belongs to no verb in the parse", *shown)
    if other.verb == wanted.verb:
        return Verdict("kept", "the verb of the reference", *shown)
    if other.verb in case.attested:
        return Verdict("kept", "a verb of other references", *shown)
    if wanted.particle and not other.particle:
        if other.stem in case.bare:
            return undecided("another reference has the verb without a particle", *shown)
        if any(word.form.lower() == wanted.particle for word in case.output.words):
            return undecided("the particle stands elsewhere", *shown)
        return Verdict("lost", f"the particle {wanted.particle} is missing", *shown)
    return undecided("another particle", *shown)


def _reflexive(case: Case) -> Verdict:
    found = _verbs(case)
    if isinstance(found, Verdict):
        return found
    wanted, other = found
    shown = (wanted.text(), other.text())
    if other.verb != wanted.verb:
        return undecided("another verb", *shown)
    if wanted.reflexive and other.reflexive:
        return Verdict("kept", "the reflexive verb of the reference", *shown)
    if other.reflexive:
        return undecided("reflexive, unlike the reference", *shown)
    pronouns = _pronouns(case.output)
    if not wanted.reflexive:
        if len(pronouns) < len(_pronouns(case.reference)):
            return undecided("fewer reflexive pronouns than in the reference", *shown)
        return Verdict("kept", "the verb of the reference, which needs no pronoun", *shown)
    if not all(_reflexive_in(case, word) for word in pronouns):
        return undecided("the pronoun stands elsewhere", *shown)
    return Verdict("lost", "the reflexive pronoun is missing", *shown)


def _pronouns(sentence: Sentence) -> list[Word]:
    return [word for word in sentence.words if has(word, "Reflex=Yes")]


def _reflexive_in(case: Case, pronoun: Word) -> bool:
    """Whether a pronoun of the output belongs to a verb that is reflexive in the reference, too."""
    verb = case.output.verb_of(pronoun.id)
    own = construction(case.output, verb, case.particles) if verb else None
    others = [construction(case.reference, each, case.particles) for each in case.reference.verbs]
    return own is not None and any(each.reflexive and each.stem == own.stem for each in others)


def _preposition(case: Case) -> Verdict:
    found = _verbs(case)
    if isinstance(found, Verdict):
        return found
    wanted, other = found
    shown = (wanted.text(), other.text())
    if other.verb != wanted.verb:
        return undecided("another verb", *shown)
    linked = {
        case.reference.lemma(word)
        for position in case.dependent_in_reference
        if (word := case.reference.words[position - 1]).upos == "ADP"
    }
    needed = wanted.prepositions & linked or wanted.prepositions
    if len(needed) > 1:
        return undecided("the verb of the reference has several prepositions", *shown)
    if not needed:
        if _adpositions(case.reference) - _adpositions(case.output):
            return undecided("not all prepositions of the reference", *shown)
        return Verdict("kept", "the verb of the reference, which needs no preposition", *shown)
    (preposition,) = needed
    if preposition in other.prepositions:
        return Verdict("kept", f"with {preposition} as in the reference", *shown)
    if any(case.output.lemma(word) == preposition for word in case.output.words):
        return undecided(f"{preposition} stands elsewhere", *shown)
    return Verdict("lost", f"the preposition {preposition} is missing", *shown)


def _adpositions(sentence: Sentence) -> Counter[str]:
    return Counter(
        sentence.lemma(word)
        for word in sentence.words
        if word.upos == "ADP" and word.deprel != "compound:prt"
    )


def _agreement(case: Case) -> Verdict:
    """Whether the translation of the subject agrees with its verb in number.

    Forms of nouns and tags of parsers are ambiguous, so the reference must bear out what they say.
    """
    reference = [word for word in _subjects(case.reference) if word.id in case.dependent_in_reference]
    subjects = _subjects(case.output)
    linked = [word for word in subjects if word.id in case.dependent_in_output]
    same = [
        word
        for word in subjects
        if any(case.output.lemma(word) == case.reference.lemma(each) for each in reference)
    ]
    chosen = [word for word in same if word in linked] or (same if len(same) == 1 else linked)
    if len(chosen) != 1 or len(reference) != 1:
        return undecided("no subject is aligned to it, or several are")
    if not _same_clause(case, reference[0], chosen[0]):
        return undecided("the subject may be of another verb")
    first = _numbers(case.reference, reference[0], lenient=True)
    second = _numbers(case.output, chosen[0])
    if isinstance(first, Verdict):
        return first
    if isinstance(second, Verdict):
        return second
    (_, meant, wanted), (noun, verb, shown) = first, second
    told = (wanted, shown)
    same_form = chosen[0].form == reference[0].form
    if noun == verb:
        inflected = not same_form and case.output.lemma(chosen[0]) == case.reference.lemma(reference[0])
        if verb != meant and not inflected:
            return undecided("another number than in the reference, and the noun may be of either", *told)
        return Verdict("kept", "subject and verb agree", *told)
    if verb == meant:
        if same_form:
            return Verdict("kept", "noun and number of the verb as in the reference", *told)
        return undecided("the parse may err about the noun", *told)
    return Verdict("lost", "subject and verb differ in number", *told)


def _same_clause(case: Case, reference: Word, output: Word) -> bool:
    """Whether the verb of a subject is the reference's, or what the source's verb is aligned to."""
    one, other = (
        sentence.words[word.head - 1]
        for sentence, word in ((case.reference, reference), (case.output, output))
    )
    stems = [
        construction(sentence, word, case.particles).stem
        for sentence, word in ((case.reference, one), (case.output, other))
    ]
    finite = finite_of(case.output, other)
    own = {other.id} if finite is None else {other.id, finite.id}
    return stems[0] == stems[1] or not own.isdisjoint(case.head_in_output)


def _subjects(sentence: Sentence) -> list[Word]:
    return [word for word in sentence.words if relation(word) == "nsubj" and word.head]


def _numbers(sentence: Sentence, subject: Word, *, lenient: bool = False) -> tuple[str, str, str] | Verdict:
    """Numbers of a subject and of its verb, and both as one reads them; or why they cannot be told.

    If lenient, a verb of which the parse does not say the number has that of its subject: a reference is right.
    """
    finite = finite_of(sentence, sentence.words[subject.head - 1])
    shown = f"{subject.form} … {finite.form}" if finite else subject.form
    if any(relation(child) == "conj" for child in sentence.children[subject.id]):
        return undecided("the subject is coordinated", output=shown)
    if subject.upos not in ("NOUN", "PROPN"):
        return undecided("the subject is no noun", output=shown)
    noun = value(subject, "Number")
    verb = (value(finite, "Number") if finite else "") or (noun if lenient else "")
    if not noun or not verb:
        return undecided("the parse does not say the number", output=shown)
    return noun, verb, shown


def _negation(case: Case) -> Verdict:
    found = _verbs(
        case, through=("nsubj", "obj", "iobj", "obl")
    )  # "no book": the noun is negated, and so its verb
    if isinstance(found, Verdict):
        return found
    wanted, other = found
    shown = (wanted.text(), other.text())
    if not _negated(case.reference, wanted.word):
        return undecided("the reference does not negate the verb", *shown)
    if other.stem != wanted.stem:
        return undecided("another verb", *shown)
    if _negated(case.output, other.word):
        if len(negations(case.output)) < len(negations(case.reference)):
            return undecided("fewer negations than in the reference", *shown)
        return Verdict("kept", "the verb is negated", *shown)
    if len(negations(case.output)) >= len(negations(case.reference)):
        return undecided("the negation stands elsewhere", *shown)
    return Verdict("lost", "the negation is missing", *shown)


def _negated(sentence: Sentence, verb: Word) -> bool:
    """Whether a negation depends on the verb, or on one of its arguments."""
    near = {verb.id, *(child.id for child in sentence.children[verb.id])}
    return any(word.head in near or word.id in near for word in negations(sentence))


CHECKS: Mapping[str, Callable[[Case], Verdict]] = {
    "particle": _particle,
    "reflexive": _reflexive,
    "preposition_stranding": _preposition,
    "subject_verb_agreement": _agreement,
    "negation_scope": _negation,
}
"""The phenomena that can be judged; all others are undecided."""
BY_DEPENDENT = frozenset({"subject_verb_agreement"})
"""Checks that start from what the dependent is aligned to, the subject; all others start from the head."""
