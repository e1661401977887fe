"""Content: negation, numbers, names, pronouns, omitted clauses, fixed orders, and a control."""

from __future__ import annotations

import unicodedata
import zlib
from collections.abc import Iterator

from babelscope.language.base import Variant
from babelscope.language.checks.numbers import numbers_in
from babelscope.language.general.sentence import Sentence, Source, features
from babelscope.language.general.treebank import Tools, is_negator, places
from babelscope.language.ud import Word, relation

_LEAST_PLACED = 0.75
"""The share of negations that stand in one place where a negation can be put there."""
_SHORTEST_CLAUSE = 4
_LONGEST_SHARE = 0.6
_FUNCTION_WORDS = frozenset({"ADP", "DET", "CCONJ", "SCONJ", "PART", "AUX"})
_SHORTEST_GARBLED = 6


def _choice(text: str, n: int) -> int:
    """A number below n that depends on the text alone."""
    return zlib.crc32(text.encode()) % n


def is_negated(sentence: Sentence) -> bool:
    """Whether a sentence has a word that is marked as negative."""
    return any("Polarity=Neg" in word.feats or "PronType=Neg" in word.feats for word in sentence.words)


def _negative(sentence: Sentence) -> list[Word]:
    return [word for word in sentence.words if "Polarity=Neg" in word.feats or "PronType=Neg" in word.feats]


def negation_deleted(sentence: Sentence, source: Source, tools: Tools) -> Iterator[Variant]:
    """The sentence without its only negation, if the source has one."""
    negative = _negative(sentence)
    if not negative or (source.parse is not None and not is_negated(source.parse)):
        return
    if not all(map(is_negator, negative)):
        if len(negative) == 1:
            yield from _positive_form(sentence, negative[0], tools)
        return
    head = sentence.head(negative[0])
    partnered = [tools.treebank.needs_partner(each.form.lower().replace("’", "'")) for each in negative]
    if head is None or any(each.head != head.id for each in negative) or len(negative) > 1 + any(partnered):
        return
    if len(negative) == 1 and (any(partnered) or tools.treebank.negators[negative[0].form.lower()] < 2):
        return
    if head.upos not in ("VERB", "AUX", "ADJ", "NOUN") or sentence.finite(head) is None:
        return
    last = max(negative)
    following = sentence.words[last.id] if last.id < len(sentence.words) else None
    # "not only", "not yet", "no longer" are more than a negation.
    if following is not None and following.upos == "ADV":
        return
    siblings = [each for each in sentence.children[head.id] if each not in negative]
    if any(tools.treebank.is_negative_only(each.lemma) for each in siblings):
        return
    if not all(map(sentence.can_change, negative)):
        return
    changes = [(each, "") for each in negative]
    if "Connegative=Yes" in head.feats or any(
        "Connegative=Yes" in each.feats for each in sentence.below(head, "aux")
    ):
        return  # the verb has no form of its own
    if len(negative) == 1 and negative[0].upos == "AUX" and "Person" in features(negative[0].feats):
        return
    yield sentence.changed(*changes)


def _positive_form(sentence: Sentence, word: Word, tools: Tools) -> Iterator[Variant]:
    for entry in tools.lexicons.inflect(word, Polarity="Pos")[:1]:
        if sentence.can_change(word) and word.upos in ("VERB", "AUX"):
            yield sentence.changed((word, entry.form))


def connegative(sentence: Sentence, source: Source, tools: Tools) -> Iterator[Variant]:
    """The sentence with a finite verb for a negative auxiliary and its verb."""
    negative = _negative(sentence)
    if (
        len(negative) != 1
        or negative[0].upos != "AUX"
        or (source.parse is not None and not is_negated(source.parse))
    ):
        return
    auxiliary, head = negative[0], sentence.head(negative[0])
    if head is None:
        return
    verbs = [each for each in (head, *sentence.below(head, "aux", "cop")) if "Connegative=Yes" in each.feats]
    own = features(auxiliary.feats)
    if len(verbs) != 1 or "Person" not in own or not sentence.can_change(verbs[0]):
        return
    for reading in tools.treebank.lexicon.analyze(verbs[0].form):
        for entry in tools.treebank.lexicon.paradigm(reading):
            feats = features(entry.feats)
            same = all(feats.get(name) == own.get(name) for name in ("Person", "Number", "Clitic"))
            if same and "Ind" in feats.get("Mood", ()) and "Pres" in feats.get("Tense", ()):
                yield sentence.changed((auxiliary, ""), (verbs[0], entry.form))
                return


def delete_negation(sentence: Sentence, source: Source, tools: Tools) -> Iterator[Variant]:
    """All variants without the negation."""
    yield from negation_deleted(sentence, source, tools)
    yield from connegative(sentence, source, tools)


def insert_negation(sentence: Sentence, source: Source, tools: Tools) -> Iterator[Variant]:
    """The sentence with its main verb negated, if neither it nor the source has a negation."""
    if is_negated(sentence) or (source.parse is not None and is_negated(source.parse)):
        return
    root = next(word for word in sentence.words if not word.head)
    verb = sentence.finite(root)
    if verb is None or "Mood=Imp" in verb.feats or not sentence.can_change(verb):
        return
    for entry in tools.lexicons.inflect(verb, Polarity="Neg")[:1]:
        yield sentence.changed((verb, entry.form))
        return
    negator = tools.treebank.negation
    if negator is None or "'" in negator:
        return
    taken = {place: n for (form, place), n in tools.treebank.negator_places.items() if form == negator}
    alone = taken.pop("", 0)
    best = max(taken, key=lambda each: (taken[each], each == "before clitics"), default="")
    if not best or taken[best] < _LEAST_PLACED * alone:
        return
    at = dict(places(sentence, root))[best]
    anchor = sentence.words[at - 2] if best == "after verb" else sentence.words[at]
    if not sentence.can_change(anchor):
        return
    new = f"{anchor.form} {negator}" if best == "after verb" else f"{negator} {_lowered(anchor)}"
    yield sentence.changed((anchor, new))


def _lowered(word: Word) -> str:
    return word.form if word.upos == "PROPN" or word.form.isupper() else word.form[:1].lower() + word.form[1:]


def change_number(sentence: Sentence, source: Source, tools: Tools) -> Iterator[Variant]:  # noqa: ARG001
    """The sentence with another digit in a number that the source has, too."""
    there = numbers_in(source.text)
    for word in sentence.words:
        digits = [place for place, char in enumerate(word.form) if char in "0123456789"]
        if not digits or not sentence.can_change(word) or word.form.strip("0123456789.,") != "":
            continue
        if not set(numbers_in(word.form)) <= set(there):
            continue
        place = digits[_choice(sentence.text + word.form, len(digits))]
        others = [each for each in "123456789" if each != word.form[place]]
        new = others[_choice(word.form + sentence.text, len(others))]
        form = word.form[:place] + new + word.form[place + 1 :]
        if not set(numbers_in(form)) <= set(there):
            yield sentence.changed((word, form))


def change_name(sentence: Sentence, source: Source, tools: Tools) -> Iterator[Variant]:
    """The sentence with a name replaced by another one of the treebank in the same form."""
    forms = {word.form for word in sentence.words}
    for word in sentence.words:
        if (
            word.upos != "PROPN"
            or not word.form.isalpha()
            or word.form.isupper()
            or not sentence.can_change(word)
        ):
            continue
        there = [each.form for each in source.parse.words if each.upos == "PROPN"] if source.parse else []
        if source.parse is not None and not any(_same_name(each, word.form) for each in there):
            continue
        others = [
            each
            for each in tools.treebank.names.get(word.feats, ())
            if each not in forms and each[0].isupper() and not each.isupper() and each[:3] != word.form[:3]
        ]
        others = [each for each in others if _begins_alike(each, word.form)]
        if others:
            yield sentence.changed((word, others[_choice(sentence.text + word.form, len(others))]))


def _begins_alike(one: str, other: str) -> bool:
    """Whether both begin with a vowel or both do not, since words before them may depend on it."""
    vowels = "aeiouyhàáâäèéêëìíîïòóôöùúûü"
    return (one[0].lower() in vowels) == (other[0].lower() in vowels)


def _same_name(one: str, other: str) -> bool:
    """Whether two forms may be the same name: by their beginning, or in different scripts."""
    scripts = [unicodedata.name(name[0], "").split()[0] for name in (one, other)]
    return one[:4].lower() == other[:4].lower() or scripts[0] != scripts[1]


def change_pronoun(sentence: Sentence, source: Source, tools: Tools) -> Iterator[Variant]:
    """The sentence with *she* for *he* or the reverse, where the source has only the one gender."""
    if source.parse is None:
        return
    genders = {
        value
        for word in source.parse.words
        if word.upos in ("PRON", "DET")
        for name in ("Gender", "Gender[psor]")
        for value in features(word.feats).get(name, ())
    } & {"Masc", "Fem"}
    if len(genders) != 1:
        return
    subjects = [each for each in source.parse.words if each.upos == "PRON" and relation(each) == "nsubj"]
    if not any(genders <= features(each.feats).get("Gender", frozenset()) for each in subjects):
        return
    other = ({"Masc", "Fem"} - genders).pop()
    for word in sentence.words:
        feats = features(word.feats)
        if word.upos != "PRON" or relation(word) != "nsubj" or feats.get("Gender") != frozenset(genders):
            continue
        if (
            "Poss" in feats
            or not word.form.isalpha()
            or feats.get("PronType", frozenset({"Prs"})) != {"Prs"}
            or not sentence.can_change(word)
        ):
            continue
        for form in _pronouns(word, other, tools):
            yield sentence.changed((word, form))
            break


def _pronouns(word: Word, gender: str, tools: Tools) -> Iterator[str]:
    wanted = {**features(word.feats), "Gender": frozenset({gender})}
    for form, feats in tools.treebank.pronouns:
        if features(feats) == wanted and form.lower() != word.form.lower():
            yield form


def omit_clause(sentence: Sentence, source: Source, tools: Tools) -> Iterator[Variant]:  # noqa: ARG001
    """The sentence without a coordinated, adverbial or relative clause."""
    for word in sentence.words:
        if relation(word) not in ("conj", "advcl", "acl") or sentence.finite(word) is None:
            continue
        if relation(word) == "conj" and not sentence.below(word, "nsubj"):
            continue
        part = sentence.subtree(word)
        while part and part[-1].upos == "PUNCT":
            part.pop()
        while part and part[0].upos == "PUNCT" and part[0].form not in '(["„“«':
            first = part.pop(0)
            if part and part[0].id == first.id + 1 and first.form in (",", ";"):
                part.insert(0, first)
                break
        words = sum(each.upos != "PUNCT" for each in part)
        if not _SHORTEST_CLAUSE <= words <= _LONGEST_SHARE * len(sentence.words):
            continue
        first, last = part[0], part[-1]
        if last.id - first.id + 1 != len(part) or not (
            sentence.can_change(first) and sentence.can_change(last)
        ):
            continue
        if not _is_bounded(sentence, first, last):
            continue
        # One of two commas is enough, and none begins a sentence.
        before = sentence.words[: first.id - 1]
        begins = all(each.upos == "PUNCT" for each in before) or before[-1].form in (",", ";")
        if begins and last.id < len(sentence.words) and sentence.words[last.id].form in (",", ";"):
            last = sentence.words[last.id]
        yield sentence.without(first, last)


def _is_bounded(sentence: Sentence, first: Word, last: Word) -> bool:
    """Whether the rest is one piece: punctuation or an end on both sides, quotes and brackets balanced."""
    after = sentence.words[last.id] if last.id < len(sentence.words) else None
    before = sentence.words[first.id - 2] if first.id > 1 else None
    inside = "".join(word.form for word in sentence.words[first.id - 1 : last.id])
    if any(char in inside for char in '"„“”«»()[]'):
        return False
    starts = before is None or first.upos in ("PUNCT", "CCONJ", "SCONJ") or before.upos == "PUNCT"
    return starts and (after is None or after.upos == "PUNCT")


def swap_order(sentence: Sentence, source: Source, tools: Tools) -> Iterator[Variant]:  # noqa: ARG001
    """The sentence with a function word on the other side of the neighbour that it belongs to."""
    for first, second in fixed_neighbors(sentence, tools):
        if not (sentence.can_change(first) and sentence.can_change(second)) or second.upos == "PROPN":
            continue
        (start, end), (begin, stop) = sentence.spans[first.id - 1], sentence.spans[second.id - 1]
        if sentence.text[end:begin] != " " or sentence.text[stop : stop + 1] in ("'", "’", "-"):
            continue
        one = first.form if first.upos == "PROPN" or first.id > 1 else _lowered(first)
        other = second.form if first.id > 1 else second.form[:1].upper() + second.form[1:]
        text = sentence.text
        yield Variant(f"{text[:start]}{other} {one}{text[stop:]}", first.form, second.form, start)


def fixed_neighbors(sentence: Sentence, tools: Tools) -> Iterator[tuple[Word, Word]]:
    """Neighbours, one of them a function word of the other, whose order is the same in nearly all of the treebank."""
    for first, second in zip(sentence.words, sentence.words[1:], strict=False):
        word = first if first.head == second.id else second if second.head == first.id else None
        if word is None or word.upos not in _FUNCTION_WORDS or sentence.children[word.id]:
            continue
        if not _may_be_fixed(word):
            continue
        head = sentence.words[word.head - 1]
        # "Equipment and electronic ..." may be two things as soon as the conjunction is moved.
        if (
            relation(word) == "cc"
            and second.id < len(sentence.words)
            and sentence.words[second.id].head == head.id
        ):
            continue
        side = int(word.id > head.id)
        by_tags = tools.fixed_side(word.deprel, word.upos, head.upos)
        alone = tools.treebank.orders.get((word.deprel, word.lemma), [0, 0])
        if by_tags == side and not alone[not side] and alone[side] > 4 and "Foreign" not in head.feats:
            yield first, second


def _may_be_fixed(word: Word) -> bool:
    """Whether a function word is one whose place grammar fixes: determiners other than articles follow for effect."""
    return relation(word) in ("case", "cc") or (relation(word) == "det" and "PronType=Art" in word.feats)


def find_swapped_order(sentence: Sentence, tools: Tools) -> Word | None:
    """A function word on the side of its neighbour on which its kind never stands."""
    for word in sentence.words:
        head = sentence.head(word)
        if head is None or abs(head.id - word.id) != 1 or word.upos not in _FUNCTION_WORDS:
            continue
        if not _may_be_fixed(word):
            continue
        counts = tools.treebank.orders.get((word.deprel, word.lemma), [0, 0])
        side = int(word.id > head.id)
        fixed = tools.fixed_side(word.deprel, word.upos, head.upos)
        if fixed is not None and fixed != side and counts[fixed] > 4 and not counts[side]:
            return word
    return None


def garble(sentence: Sentence, source: Source, tools: Tools) -> Iterator[Variant]:  # noqa: ARG001
    """The sentence with the letters inside its longest noun in reverse order."""
    nouns = [
        word
        for word in sentence.words
        if word.upos == "NOUN" and word.form.isalpha() and len(word.form) >= _SHORTEST_GARBLED
    ]
    if nouns and sentence.can_change(word := max(nouns, key=lambda each: len(each.form))):
        new = word.form[0] + word.form[-2:0:-1] + word.form[-1]
        if new != word.form and not tools.lexicons.analyze(new):
            yield sentence.changed((word, new))
