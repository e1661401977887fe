"""Keys by which two German translations share a phenomenon (minimal-pairs, section 3.3)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from babelscope.language.base import Overlap, Token
from babelscope.language.german.analysis import Analysed
from babelscope.language.german.errors.phrases import clause_around, noun_place_after, preposition_before
from babelscope.language.german.errors.polarity import translation_is_positive

_DATIVES = frozenset({"dem", "einem", "den"})
# Marks and conjunctions, which end a clause.
_ENDS = ("$", "KOU", "KON")
_NOMINAL = ("NN", "NE", "PPER", "PIS", "PDS", "PRELS")


def _by_noun(sentence: Analysed, place: int, word: str) -> frozenset[str]:
    return frozenset({f"{word} {_noun(sentence, place).text}"})


def _by_noun_lemma(sentence: Analysed, place: int, word: str) -> frozenset[str]:
    return frozenset({f"{word} {_noun(sentence, place).lemma}"})


def _noun(sentence: Analysed, place: int) -> Token:
    at = noun_place_after(sentence, place)
    return sentence.tokens[at if at is not None else min(place + 1, len(sentence.tokens) - 1)]


def _by_preposition(sentence: Analysed, place: int, word: str) -> frozenset[str]:  # noqa: ARG001
    case = "dative" if sentence.tokens[place].text.lower() in _DATIVES else "genitive"
    before = preposition_before(sentence.tokens, place, strict=False)
    preposition = sentence.tokens[max(0, place - 1) if before is None else before]
    return frozenset({f"{preposition.text.lower()} {case}"})


def _by_clause(sentence: Analysed, place: int, word: str) -> frozenset[str]:
    return frozenset(f"{word} {each}" for each in _content_words(sentence, place))


def _by_subject(sentence: Analysed, place: int, word: str) -> frozenset[str]:
    return frozenset(f"{word} {each}" for each in _subjects(sentence, place))


def _without_ending(word: str) -> str:
    """kein- and ein- without their endings, which do not matter for polarity."""
    return re.sub(r"^(k?ein)e[nmrs]?$", r"\1", word.lower())


def _is_finite(token: Token) -> bool:
    return token.tag.endswith("FIN")


def _negation_is_lost(sentence: Analysed, reference: Analysed, place: int) -> bool:
    """Whether a sentence has what the negation at `place` of the reference belongs to, but no negation."""
    known = _content_words(reference, place)
    return translation_is_positive(sentence) and any(t.lemma.lower() in known for t in sentence.tokens)


def _content_words(sentence: Analysed, place: int) -> frozenset[str]:
    """Lemmas that a particle or auxiliary may belong to: verbs, predicate and next content word of its clause."""
    clause = clause_around(sentence.tokens, place, _ENDS)
    verbs = {token.lemma for token in clause if token.tag.startswith(("VV", "ADJD"))}
    after = (token for token in clause if token.start > sentence.tokens[place].start)
    following = next(
        (token.lemma for token in after if token.tag.startswith(("NN", "NE", "ADJ", "VV"))), None
    )
    return frozenset(word.lower() for word in (*verbs, following) if word)


def _subjects(sentence: Analysed, place: int) -> Iterator[str]:
    """Possible subjects of the verb at `place`: nouns and pronouns of its clause that follow no preposition."""
    prepositional = False
    for token in clause_around(sentence.tokens, place, _ENDS):
        if token.tag.startswith("APPR"):
            prepositional = True
        elif token.tag in _NOMINAL:
            if not prepositional:
                yield token.text.lower()
            prepositional = False


BY_NOUN = Overlap(_by_noun)
BY_KEIN = Overlap(_by_noun_lemma, plain=_without_ending)
BY_CLAUSE = Overlap(_by_clause)
# Infinitives look like plurals, so the token must be finite.
BY_SUBJECT = Overlap(_by_subject, can_be_wrong=_is_finite)
# Only the article is compared: the noun may differ.
BY_PREPOSITION = Overlap(_by_preposition, n_compared=1)
NEGATION_DELETED = Overlap(is_lost=_negation_is_lost)
KEIN_DELETED = replace(BY_KEIN, is_lost=_negation_is_lost)
NICHT_DELETED = replace(BY_CLAUSE, is_lost=_negation_is_lost)
