"""Agreement and case: words that must agree in a feature do not, words are in a case that nothing licenses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from babelscope.language.base import Variant
from babelscope.language.general.sentence import (
    Features,
    Sentence,
    Source,
    compatible,
    features,
    with_person,
    word_class,
)
from babelscope.language.general.treebank import Link, Tools, is_bare, links
from babelscope.language.ud import Word, relation

_QUANTIFIED = ("nummod", "conj", "appos", "list")
_NOT_PERSONAL = frozenset({"Rel", "Int", "Dem", "Ind", "Tot", "Neg", "Exc"})
_LEAST_GOVERNED = 8
_RARE = 0.01


def instances(sentence: Sentence, kind: str, name: str, tools: Tools) -> Iterator[Link]:
    """Links whose words have to agree in a feature, and in which nothing licenses another form."""
    for link in links(sentence):
        if link.kind != kind or name not in tools.rules(kind, link.detail):
            continue
        if _is_clear_np(sentence, link) if kind == "np" else _is_clear_subject(sentence, link, name, tools):
            yield link


def _is_clear_np(sentence: Sentence, link: Link) -> bool:
    noun, target = link.controller, link.target
    if noun.upos != "NOUN" or sentence.below(target, "conj", "fixed") or sentence.below(noun, "conj", "flat"):
        return False
    if relation(noun) in ("conj", "appos", "flat", "fixed") or relation(target) == "nummod":
        return False
    # Numerals govern the number and case of what they count, and words inside participles are their own.
    quantified = any(
        relation(each) == "nummod" or "gov" in each.deprel or "NumType" in each.feats
        for each in sentence.children[noun.id]
    )
    return not quantified and relation(target) != "acl"


def _is_clear_subject(sentence: Sentence, link: Link, name: str, tools: Tools) -> bool:
    subject = link.controller
    feats = features(subject.feats)
    head = sentence.words[subject.head - 1]
    below = sentence.children[subject.id]
    if (
        subject.upos not in ("NOUN", "PROPN", "PRON")
        or (name, subject.lemma) in tools.treebank.odd_controllers
    ):
        return False
    if "Case" in feats and not feats["Case"] & {"Nom"}:
        return False
    if feats.get("PronType", frozenset()) & _NOT_PERSONAL or (
        subject.upos == "PRON" and "Person" not in feats
    ):
        return False
    if subject.form.isupper() and len(subject.form) > 1:  # of an abbreviation, nobody sees number and gender
        return False
    if any(
        relation(each) in _QUANTIFIED or "gov" in each.deprel or "NumType" in each.feats for each in below
    ):
        return False
    # What a measure noun measures may decide: a number of people have.
    if name != "Person" and any(
        relation(each) == "nmod" and features(each.feats).get("Number") != feats.get("Number")
        for each in below
    ):
        return False
    if any(relation(each) in ("conj", "expl") for each in sentence.children[subject.id]):
        return False
    if any(each.deprel == "expl" for each in sentence.children[head.id]):  # it may be the verb's subject
        return False
    if name == "Person" and feats.get("Number") != frozenset({"Sing"}):  # los españoles somos
        return False
    if sum(relation(each) == "nsubj" for each in sentence.children[head.id]) > 1:
        return False
    return word_class(head.upos, features(head.feats)) != "nominal" or head.upos in ("ADJ", "VERB", "AUX")


def _rivals(sentence: Sentence, link: Link) -> list[Word]:
    """Nominals without an adposition that a verb could agree with instead of its subject."""
    subject = link.controller
    head = sentence.words[subject.head - 1]
    return [
        each
        for each in sentence.children[head.id]
        if each.id not in (subject.id, link.target.id)
        and relation(each) in ("obj", "iobj", "obl", "xcomp", "dislocated", "vocative", "dep")
        and each.upos in ("NOUN", "PROPN", "PRON", "NUM", "DET", "ADJ")
        and not sentence.below(each, "case")
    ]


def disagreeing(sentence: Sentence, tools: Tools, kind: str, name: str) -> Iterator[tuple[Link, str]]:
    """(two words that have to agree, a form of the first that cannot agree in one feature)."""
    for link in instances(sentence, kind, name, tools):
        own = features(link.target.feats).get(name, frozenset())
        controller = with_person(link.controller)
        if not own & controller.get(name, own) or not sentence.can_change(link.target):
            continue
        rivals = _rivals(sentence, link) if kind != "np" else ()
        for value in tools.values(kind, name):
            if value in own or any(_may_be(each, name, value, tools) for each in rivals):
                continue
            for entry in tools.lexicons.inflect(link.target, **{name: value}):
                if _is_word(link.target.form, entry.form) and not tools.can_agree(entry.form, link):
                    yield link, entry.form
                    break


def disagreements(
    sentence: Sentence,
    source: Source,  # noqa: ARG001
    tools: Tools,
    *,
    kind: str,
    name: str,
) -> Iterator[Variant]:
    """The sentence with a word that differs in one feature from the word that it has to agree with."""
    for link, form in disagreeing(sentence, tools, kind, name):
        yield sentence.changed((link.target, form))


def _may_be(word: Word, name: str, value: str, tools: Tools) -> bool:
    """Whether a word can have a value of a feature, by its parse or another reading of its form."""
    read = [with_person(word), *tools.readings(word.form, "nominal")]
    return any(value in feats.get(name, (value,)) for feats in read)


def _is_word(old: str, new: str) -> bool:
    """Whether both forms are letters only: what has an apostrophe belongs to a neighbour."""
    return new.replace("-", "").isalpha() and old.replace("-", "").isalpha()


def find_disagreement(sentence: Sentence, tools: Tools, *, kind: str, name: str) -> Word | None:
    """A word that cannot agree in a feature with the word that it has to agree with, in any reading of both."""
    for link in instances(sentence, kind, name, tools):
        target, controller = features(link.target.feats), with_person(link.controller)
        if name not in target or name not in controller:
            continue
        form = link.target.form
        known = [
            feats
            for feats in tools.readings(form, "finite" if kind == "subject" else "nominal")
            if name in feats
        ]
        if kind != "subject" and not tools.knows_well(form):
            continue
        differ = bool(known) and not any(feats[name] & controller[name] for feats in known)
        if differ and not tools.can_agree(form, link):
            return link.target
    return None


# --- Case ----------------------------------------------------------------------------------------------------------


def _noun_phrase(sentence: Sentence, noun: Word) -> list[Word] | None:
    """A noun and the words that take its case; None if the phrase is not simple."""
    odd = ("conj", "nummod", "flat", "appos", "fixed", "compound", "acl")
    if sentence.below(noun, *odd) or relation(noun) in ("conj", "flat", "appos", "fixed"):
        return None
    if any("gov" in each.deprel or "NumType" in each.feats for each in sentence.children[noun.id]):
        return None
    own = features(noun.feats)["Case"]
    agreeing = [each for each in sentence.below(noun, "det", "amod") if "Case" in features(each.feats)]
    if any(sentence.below(each, "conj") or not features(each.feats)["Case"] & own for each in agreeing):
        return None
    return sorted([noun, *agreeing])


def _in_case(
    sentence: Sentence, phrase: Sequence[Word], case: str, allowed: frozenset[str], tools: Tools
) -> Variant | None:
    """The sentence with a noun phrase in another case; None if a form is unknown or could be in an allowed case."""
    changes = []
    for word in phrase:
        forms = tools.lexicons.inflect(word, Case=case)
        if forms and sentence.can_change(word) and _is_word(word.form, forms[0].form):
            changes.append((word, forms[0].form))
        elif not any(case in feats.get("Case", (case,)) for feats in tools.readings(word.form, "nominal")):
            return None
    if any(_is_only_wrong(word, form, allowed, tools) for word, form in changes):
        return sentence.changed(*changes)
    return None


def _is_only_wrong(word: Word, form: str, allowed: frozenset[str], tools: Tools) -> bool:
    """Whether a form has no reading in an allowed case, with the gender of the word that it stands for."""
    own = features(word.feats)
    fixed = {**own, "Case": allowed}
    return not any(compatible(feats, fixed, ("Case", "Gender")) for feats in tools.readings(form, "nominal"))


def governed(sentence: Sentence, tools: Tools) -> Iterator[tuple[Word, frozenset[str]]]:
    """(noun or pronoun, cases that its adposition was seen with) where the adposition takes a part of all cases."""
    for word in sentence.words:
        adpositions = sentence.below(word, "case")
        if len(adpositions) != 1 or word.upos not in ("NOUN", "PRON", "PROPN"):
            continue
        seen = tools.treebank.cases.get(adpositions[0].lemma)
        if seen is None or seen.total() < _LEAST_GOVERNED or sentence.children[adpositions[0].id]:
            continue
        if "Case" in features(word.feats) and adpositions[0].upos == "ADP":
            yield word, frozenset(seen)


def adposition_case(sentence: Sentence, source: Source, tools: Tools) -> Iterator[Variant]:  # noqa: ARG001
    """The sentence with a noun phrase in a case that its adposition does not take."""
    for noun, allowed in governed(sentence, tools):
        phrase = _noun_phrase(sentence, noun)
        if phrase is None or not features(noun.feats)["Case"] & allowed:
            continue
        for case, _ in tools.treebank.noun_cases.most_common():
            if case not in allowed and (variant := _in_case(sentence, phrase, case, allowed, tools)):
                yield variant
                break


def find_wrong_adposition_case(sentence: Sentence, tools: Tools) -> Word | None:
    """A noun in no case that its adposition takes, in any reading of its form."""
    for noun, allowed in governed(sentence, tools):
        if _noun_phrase(sentence, noun) is None or noun.upos == "PROPN":
            continue
        read = [feats for feats in tools.readings(noun.form, "nominal") if "Case" in feats]
        if read and tools.knows_well(noun.form) and not any(feats["Case"] & allowed for feats in read):
            return noun
    return None


def _in_role(sentence: Sentence, tools: Tools, role: str) -> Iterator[tuple[Word, frozenset[str]]]:
    """(noun, cases that nouns of this relation take); an object only if its subject can be no object."""
    for word in sentence.words:
        counts = tools.treebank.roles.get(word.deprel, Counter[str]())
        if relation(word) != role or word.upos != "NOUN" or counts.total() < _LEAST_GOVERNED:
            continue
        if "Case" not in features(word.feats) or not is_bare(sentence, word):
            continue
        if role == "nsubj" and sentence.finite(sentence.words[word.head - 1]) is None:
            continue
        if role != "obj" or _subject_is_clear(sentence, word, tools):
            yield word, frozenset(case for case, count in counts.items() if count > _RARE * counts.total())


def _subject_is_clear(sentence: Sentence, noun: Word, tools: Tools) -> bool:
    """Whether the subject of an object's verb stands before the verb, and can only be a nominative."""
    head = sentence.words[noun.head - 1]
    found = sentence.below(head, "nsubj")
    if len(found) != 1 or word_class(head.upos, features(head.feats)) == "verb":
        return False
    return found[0].id < head.id < noun.id and _is_nominative_only(
        found[0], tools.readings(found[0].form, "nominal")
    )


def _is_nominative_only(word: Word, readings: Sequence[Features]) -> bool:
    own = features(word.feats)
    if "Nom" not in own.get("Case", ()):
        return False
    same = [each for each in readings if each.get("Number", own.get("Number")) == own.get("Number")]
    gender = own.get("Gender")
    return not any(
        "Acc" in each.get("Case", ("Acc",)) for each in same if each.get("Gender", gender) == gender
    )


def case_of_role(
    sentence: Sentence,
    source: Source,  # noqa: ARG001
    tools: Tools,
    *,
    role: str,
) -> Iterator[Variant]:
    """The sentence with a subject, object or attribute in a case that nouns in its place do not take."""
    for noun, allowed in _in_role(sentence, tools, role):
        phrase = _noun_phrase(sentence, noun)
        if phrase is None or not features(noun.feats)["Case"] & allowed:
            continue
        # A subject in a case of objects may be read as an object, in languages that drop subjects.
        others = allowed | (_objects_cases(tools) if role == "nsubj" else frozenset())
        cases = [case for case, _ in tools.treebank.noun_cases.most_common() if case not in others]
        for case in sorted(cases, key=lambda each: role == "obj" and each != "Nom"):
            if variant := _in_case(sentence, phrase, case, others, tools):
                yield variant
                break


def _objects_cases(tools: Tools) -> frozenset[str]:
    counts = tools.treebank.roles.get("obj", Counter[str]())
    return frozenset(case for case, count in counts.items() if count > _RARE * counts.total())


def find_wrong_case(sentence: Sentence, tools: Tools, *, role: str) -> Word | None:
    """A noun that can only be in a case that nouns in its place do not take."""
    for noun, allowed in _in_role(sentence, tools, role):
        read = [feats for feats in tools.readings(noun.form, "nominal") if "Case" in feats]
        known = read and tools.knows_well(noun.form) and _noun_phrase(sentence, noun) is not None
        if known and not any(feats["Case"] & allowed for feats in read):
            return noun
    return None
