"""Whether two translations have a phenomenon in common, told by the words that show it (minimal-pairs, 3.3)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from babelscope.language.german import Analysed, tokenize
from babelscope.making.pairs.base import Variant
from babelscope.making.pairs.phrases import noun_place_after
from babelscope.making.pairs.polarity import translation_is_positive

# Types whose changed word says little alone, by what else it is known by.
_KEIN = frozenset({"polarity_particle_kein_del", "polarity_particle_kein_ins"})
_BY_NOUN = frozenset({"np_agreement", *_KEIN})
_BY_CLAUSE = frozenset(
    {"polarity_particle_nicht_del", "polarity_particle_nicht_ins", "auxiliary", "verb_particle"}
)
_BY_SUBJECT = frozenset({"subj_verb_agreement", "subj_adequacy"})
_BY_PREPOSITION = frozenset({"hypercorrect_genitive"})
_DATIVES = frozenset({"dem", "einem", "den"})
_NOMINAL = ("NN", "NE", "PPER", "PIS", "PDS", "PRELS")


def difference(correct: str, contrastive: str) -> Variant:
    """What was changed in a pair, in whole words."""
    ours, theirs = tokenize(correct), tokenize(contrastive)
    here, there = (
        [text[start:end] for start, end in spans] for text, spans in ((correct, ours), (contrastive, theirs))
    )
    shortest = min(len(here), len(there))
    first = next((n for n in range(shortest) if here[n] != there[n]), shortest)
    rest = shortest - first
    same = next((n for n in range(rest) if here[-1 - n] != there[-1 - n]), rest)

    def between(text: str, spans: list[tuple[int, int]]) -> str:
        inside = spans[first : len(spans) - same]
        return text[inside[0][0] : inside[-1][1]] if inside else ""

    start = ours[first][0] if first < len(ours) else len(correct)
    return Variant(contrastive, between(correct, ours), between(contrastive, theirs), start)


def marks(type: str, sentence: Analysed, variant: Variant) -> frozenset[str]:
    """The words by which the phenomenon is known that a variant of `sentence` is about."""
    return _marks(type, sentence, _place(sentence, variant.start), variant.word)


def wrong_places(type: str, sentence: Analysed, wrong: Analysed, variant: Variant) -> list[int]:
    """The tokens of a sentence with which it seems to have the same error as `wrong`, a human reference's variant."""
    words = [_plain(type, word) for word in variant.changed.split()]
    if type in _BY_PREPOSITION:
        words = words[:1]  # the noun may be another
    if not words:
        return []
    known = _marks(type, wrong, _place(wrong, variant.start), variant.changed)
    spoken = [_plain(type, token.text) for token in sentence.tokens]
    return [
        place
        for place in range(len(spoken))
        if spoken[place : place + len(words)] == words
        # An infinitive looks like a plural.
        and (type not in _BY_SUBJECT or sentence.tokens[place].tag.endswith("FIN"))
        and known & _marks(type, sentence, place, variant.changed)
    ]


def is_missing(sentence: Analysed, reference: Analysed, variant: Variant) -> bool:
    """Whether a negation that `variant` leaves out of a human reference seems to be left out of a sentence, too.

    What it belonged to is there, and nothing negates.
    """
    known = _content_words(reference, _place(reference, variant.start))
    return translation_is_positive(sentence) and any(t.lemma.lower() in known for t in sentence.tokens)


def _marks(type: str, sentence: Analysed, place: int, word: str) -> frozenset[str]:
    if not sentence.tokens:
        return frozenset()
    word = _plain(type, word)
    token = sentence.tokens[place]
    if type in _BY_NOUN:
        at = noun_place_after(sentence, place)
        noun = sentence.tokens[at if at is not None else min(place + 1, len(sentence.tokens) - 1)]
        return frozenset({f"{word} {noun.lemma if type in _KEIN else noun.text}"})
    if type in _BY_PREPOSITION:
        case = "dative" if token.text.lower() in _DATIVES else "genitive"
        return frozenset({f"{sentence.tokens[max(0, place - 1)].text.lower()} {case}"})
    if type in _BY_CLAUSE:
        return frozenset(f"{word} {each}" for each in _content_words(sentence, place))
    if type in _BY_SUBJECT:
        return frozenset(f"{word} {each}" for each in _subjects(sentence, place))
    return frozenset({word, token.lemma.lower()})


def _plain(type: str, word: str) -> str:
    """A changed word as it is compared: where polarity matters, kein- and ein- without their endings."""
    word = word.lower()
    return re.sub(r"^(k?ein)e[nmrs]?$", r"\1", word) if type in _KEIN else word


def _place(sentence: Analysed, start: int) -> int:
    """The token at or after an offset."""
    at = (number for number, token in enumerate(sentence.tokens) if token.end > start)
    return next(at, max(0, len(sentence.tokens) - 1))


def _clause(sentence: Analysed, place: int) -> range:
    """The tokens around a place up to the next marks and conjunctions."""

    def ends(number: int) -> bool:
        return sentence.tokens[number].tag.startswith(("$", "KOU", "KON"))

    first = next((n + 1 for n in range(place - 1, -1, -1) if ends(n)), 0)
    last = next((n for n in range(place + 1, len(sentence.tokens)) if ends(n)), len(sentence.tokens))
    return range(first, last)


def _content_words(sentence: Analysed, place: int) -> frozenset[str]:
    """What a particle or auxiliary may belong to: lemmas of its clause's verbs and predicate, and what follows it."""
    clause = _clause(sentence, place)
    verbs = {sentence.tokens[n].lemma for n in clause if sentence.tokens[n].tag.startswith(("VV", "ADJD"))}
    after = (sentence.tokens[n] for n in clause if n > place)
    following = next(
        (token.lemma for token in after if token.tag.startswith(("NN", "NE", "ADJ", "VV"))), None
    )
    return frozenset(word.lower() for word in (*verbs, following) if word)


def _subjects(sentence: Analysed, place: int) -> Iterator[str]:
    """What may be the subject of the verb at a place: nouns and pronouns of its clause after no preposition."""
    prepositional = False
    for number in _clause(sentence, place):
        token = sentence.tokens[number]
        if token.tag.startswith("APPR"):
            prepositional = True
        elif token.tag in _NOMINAL:
            if not prepositional:
                yield token.text.lower()
            prepositional = False
