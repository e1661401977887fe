"""Leaving out a clause."""

from __future__ import annotations

import re
from itertools import pairwise

from babelscope.language.german import ABBREVIATIONS, Analysed
from babelscope.making.pairs.base import Variant

DEFINITION = "One of the sentences or independent clauses, as punctuation divides them, is left out."
PLAUSIBLE = True
MODES = ("strict", "clean", "stanza-compatible")
# A mark that ends a clause, with closing quotes and brackets, and the space before what follows.
_END = re.compile(
    r"""[.!?…:;]+["'“”»«’`)\]]*\.?\s+(?=\S)"""
    # the space after a full stop is often forgotten
    r"""|(?<=[a-zäöüß]{2})\.["“”]?(?=[A-ZÄÖÜ][a-zäöüß ])|(?<=[a-zäöüß]{2})["“”]\.(?=[A-ZÄÖÜ][a-zäöüß ])"""
)
# What a trained splitter also takes for an end: capital function words, and quotes before a capital.
_STRAY_END = re.compile(
    r"""(?<=[\w)“"])\s+(?=(?:Sie|Er|Es|Die|Der|Das|Diese[rs]?|Ein|Eine)\s)|["'“”’`]\s+(?=[A-ZÄÖÜ„"])"""
)
# A semicolon, or a stop after a short capital word, such as "Sal." in a name: an end only between two finite verbs.
_ENDS_DOUBTFULLY = re.compile(r";\s*$|\b[A-ZÄÖÜ]\w{1,3}\.\s*$")
# "(...)" says that words are left out, and ends nothing.
_LEFT_OUT = re.compile(r"[(\[]\.{2,}[)\]]\W*$")
_OPENING = "\"'„“”«»‚‘(["
# A source sentence much shorter in translation has lost something; German is about as long as English.
_SHORTEST_RATIO = 0.6


def variants(sentence: Analysed, mode: str = "strict") -> list[Variant]:
    """For each end of a clause, what stands before it and what stands after it; and without each clause between.

    "clean" cuts where punctuation ends a clause; "strict" leaves out only what is a clause or a sentence, too.
    """
    text = sentence.text
    if mode == "strict":
        cuts = _strict_boundaries(sentence)
    else:
        cuts = boundaries(text) if mode == "clean" else _all_boundaries(text)
    omitted = [(cut, len(text)) for cut in cuts] + [(0, cut) for cut in cuts]
    omitted += list(pairwise(cuts))
    found = []
    for start, end in omitted:
        if mode == "strict" and not _is_clause(sentence, start, end):
            continue
        kept = (text[:start].rstrip() + " " + text[end:]).strip()
        found.append(Variant(kept, text[start:end].strip(), "", start))
    return found


def _strict_boundaries(sentence: Analysed) -> list[int]:
    """The boundaries but those in lists with semicolons, after "(...)", and after abbreviations no table has."""
    text = sentence.text
    cuts = boundaries(text)
    edges = [0, *cuts, len(text)]
    found = []
    for before, cut, after in zip(edges, cuts, edges[2:], strict=False):
        divides = _has_finite_verb(sentence, before, cut) and _has_finite_verb(sentence, cut, after)
        if (divides or not _ENDS_DOUBTFULLY.search(text[:cut])) and not _LEFT_OUT.search(text[:cut]):
            found.append(cut)
    return found


def _is_clause(sentence: Analysed, start: int, end: int) -> bool:
    """Whether a part of a text has a finite verb; a whole sentence needs none, but "Die Folge:" is no clause."""
    before, part = sentence.text[:start].rstrip(), sentence.text[start:end].rstrip()
    whole = part[-1:] not in ":;" and before[-1:] not in ":;"
    return whole or _has_finite_verb(sentence, start, end)


def _has_finite_verb(sentence: Analysed, start: int, end: int) -> bool:
    return any(token.tag.endswith("FIN") for token in sentence.tokens if start <= token.start < end)


def boundaries(text: str) -> list[int]:
    """Where a clause begins after another."""
    return [
        match.end()
        for match in _END.finditer(text)
        if _is_real(text[: match.start()], match.group().strip(), text[match.end() :])
    ]


def _all_boundaries(text: str) -> list[int]:
    """Where a sentence splitter that knows no abbreviations may split."""
    return sorted({match.end() for pattern in (_END, _STRAY_END) for match in pattern.finditer(text)})


def _is_real(before: str, mark: str, after: str) -> bool:
    """Whether a mark ends a clause: not that of an ordinal, an abbreviation, an initial or a list."""
    first = after.lstrip(_OPENING + " ")[:1]
    word = re.split(r"[\s(/„“\"]", before)[-1]
    if mark[0] == ":":
        return first.isupper() and not word[-1:].isdigit()
    if mark[0] == ";":
        return True
    if mark.startswith("."):
        if first.islower() or not first:
            return False
        if mark[:2] != "..":
            return not _keeps_stop(word)
    return first.isupper() or first.isdigit() or mark[-1] not in "\"“”»«’'"


def _keeps_stop(word: str) -> bool:
    """Whether the stop after `word` belongs to it: 19., Dr., z.B., J."""
    return bool(re.fullmatch(r"\d{1,3}|[IVXLC]+|\w|(?:\w\.)+\w+", word)) or word.lower() in ABBREVIATIONS


def detect(source: str, translation: Analysed) -> bool:
    """The translation has fewer clauses than the source, and is much shorter."""
    fewer = len(boundaries(translation.text)) < len(boundaries(source))
    return fewer and len(translation.text) < _SHORTEST_RATIO * len(source)
