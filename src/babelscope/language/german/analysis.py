"""Analysis of German: tokens with offsets, STTS tags, lemmas, and readings of noun forms."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from babelscope.language import base
from babelscope.language.base import Token

if TYPE_CHECKING:
    from babelscope.language.german.dictionaries import HanTaTagger, NounList

Gender = Literal["m", "f", "n", ""]
Number = Literal["sg", "pl"]
Case = Literal["nom", "gen", "dat", "acc"]


class Nominal(NamedTuple):
    """One reading of a noun form; the gender is empty for nouns without a singular."""

    gender: Gender
    number: Number
    case: Case


Analyzed = base.Analyzed["German"]


@dataclass(frozen=True, slots=True)
class German:
    """The default analyzer: our tokenizer, a tagger with our corrections, and a noun list."""

    tagger: HanTaTagger
    nouns: NounList

    def analyze(self, text: str) -> Analyzed:
        """The text with its tokens."""
        from babelscope.language.german.clauses import correct_tags

        spans = list(tokenize(text))
        words = [text[start:end] for start, end in spans]
        found = correct_tags(words, self.tagger.tag(words), self.tagger, self.nouns)
        tokens = tuple(
            Token(word, start, end, tag, lemma)
            for word, (start, end), (tag, lemma) in zip(words, spans, found, strict=True)
        )
        return base.Analyzed(text, tokens, self)


def word_set(text: str) -> frozenset[str]:
    """The words of a text as a set, for word lists."""
    return frozenset(text.split())


# Abbreviations keep their full stop, which ends no sentence. A single capital is an initial.
ABBREVIATIONS = word_set(
    "abs allg art aug bd bsp bspw bzgl bzw ca chr co corp dez dipl dr etc evtl exkl feb fr geb gem ggf hl hr"
    " hrsg inc inkl ing jan jh jhd jr kap ltd lt mag max med min mio mr mrd mrs ms nov nr okt op prof rd rev s"
    " sen sept sog sr st std str tel trans u usw vgl vs z zzgl"
)
_WORD = re.compile(
    r"(?:[^\W\d_]\.){2,}"  # z.B., U.S.
    r"|\d+(?:[.,:]\d+)*(?!\w)\.?"  # 1,5; 19.30; the stop that ends a sentence is given back below
    r"(?:-\w+(?:[-/&]\w+)*)?"  # 40-jährig
    r"|\w+(?:['’&]\w+|-\w+|(?<=\w)-(?=\s))*"  # Babelscope's; 3G-Netz; Vor- und Nachteile
    r"|\.{2,}|[^\w\s]"
)


_NEXT_WORD = re.compile(r"\s+\w")
_SOMETHING = re.compile(r"\S")


def tokenize(text: str) -> list[tuple[int, int]]:
    """Character offsets (start, end) of words and punctuation marks."""
    spans = []
    for match in _WORD.finditer(text):
        start, end = match.span()
        word = match.group()
        if word[-1] == "." and word[0].isdigit() and not _goes_on(text, end):
            spans.append((start, end - 1))
            spans.append((end - 1, end))
        elif word == "." and spans and spans[-1][1] == start and _abbreviated(text, spans[-1], end):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return spans


def _goes_on(text: str, end: int) -> bool:
    """Whether another word follows a number with a full stop, which is then an ordinal."""
    return bool(_NEXT_WORD.match(text, end))


def _abbreviated(text: str, span: tuple[int, int], end: int) -> bool:
    word = text[slice(*span)]
    if len(word) == 1 and word.isupper():
        return True
    return word.lower() in ABBREVIATIONS and bool(_SOMETHING.search(text, end))


@lru_cache(maxsize=1)
def default_analyzer() -> German:
    """HanTa for tags and lemmas, german-nouns for genders and paradigms; loaded once."""
    from babelscope.language.german.dictionaries import HanTaTagger, NounList

    return German(HanTaTagger(), NounList())
