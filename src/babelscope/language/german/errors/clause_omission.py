"""Leaving out a clause."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import pairwise

from babelscope.language.base import ErrorType, Overlap, Variant
from babelscope.language.german.analysis import ABBREVIATIONS, Analyzed
from babelscope.language.german.errors.shared import clause_around

# A mark that ends a clause, with closing quotes and brackets, and the space before what follows.
# Possessive quantifiers, and matching a run of marks from its start only, keep the time linear.
_END = re.compile(
    r"""(?<![.!?…:;])[.!?…:;]++["'“”»«’`)\]]*+\.?\s++(?=\S)"""
    # the space after a full stop is often forgotten
    r"""|(?<=[a-zäöüß]{2})\.["“”]?(?=[A-ZÄÖÜ][a-zäöüß ])|(?<=[a-zäöüß]{2})["“”]\.(?=[A-ZÄÖÜ][a-zäöüß ])"""
)
# Where a trained splitter also splits: before capitalized function words, and after quotes before a capital.
_STRAY_END = re.compile(
    r"""(?<=[\w)“"])\s+(?=(?:Sie|Er|Es|Die|Der|Das|Diese[rs]?|Ein|Eine)\s)|["'“”’`]\s+(?=[A-ZÄÖÜ„"])"""
)
# A semicolon, or a stop after a short capitalized word ("Sal." in a name), ends a clause only between finite verbs.
# What begins a subordinate clause after a semicolon, or goes on with the one before it.
_SUBORDINATE = ("KO", "PREL", "PW")
_ENDS_DOUBTFULLY = re.compile(r";$|\b[A-ZÄÖÜ]\w{1,3}\.$")
# "(...)" marks an omission; a boundary right after it is none.
_LEFT_OUT = re.compile(r"[(\[]\.{2,}[)\]]|\w+")
_APART = re.compile(r"[\s(/„“\"]")
# Characters of the word before a mark that are looked at; abbreviations are shorter.
_LONGEST_WORD = 100
_OPENING = "\"'„“”«»‚‘(["
# German is about as long as English, so a translation shorter than this share of its source lacks something.
_SHORTEST_RATIO = 0.6


def variants(sentence: Analyzed, mode: str = "strict") -> list[Variant]:
    """Variants without the text before, or after, each clause boundary, and without each clause between two.

    "clean" cuts where punctuation ends a clause; "strict" also requires that what is cut and what is left are whole
    clauses; "as-released" cuts wherever the authors' sentence splitter may have cut, inside clauses too.
    """
    text = sentence.text
    if mode == "strict":
        cuts = _strict_boundaries(sentence)
    elif mode == "clean":
        cuts = boundaries(text)
    else:
        cuts = sorted({match.end() for pattern in (_END, _STRAY_END) for match in pattern.finditer(text)})
    omitted = [(cut, len(text)) for cut in cuts] + [(0, cut) for cut in cuts]
    omitted += list(pairwise(cuts))
    found = []
    finite = _finite_verbs(sentence)
    for start, end in omitted:
        if mode == "strict" and not _divides_clauses(text, finite, start, end):
            continue
        left, right = text[:start].rstrip(), text[end:]
        if mode == "strict" and left.endswith(";"):  # the mark of what is left out ends the sentence now
            mark = text[start:end].rstrip()[-1:]
            left = left[:-1] + (mark if mark in ".!?" else ".")
        if mode == "strict" and not left:
            right = right[:1].upper() + right[1:]
        kept = f"{left} {right}".strip()
        found.append(Variant(kept, text[start:end].strip(), "", start))
    return found


def _strict_boundaries(sentence: Analyzed) -> list[int]:
    """The boundaries without those in lists with semicolons, after "(...)" and after unlisted abbreviations."""
    text = sentence.text
    cuts = boundaries(text)
    edges = [0, *cuts, len(text)]
    finite = _finite_verbs(sentence)
    opens = {token.start: token.tag for token in sentence.tokens}
    marked = list(_LEFT_OUT.finditer(text))
    ends = [match.end() for match in marked]
    found = []
    for before, cut, after in zip(edges, cuts, edges[2:], strict=False):
        divides = _any_between(finite, before, cut) and _any_between(finite, cut, after)
        end = cut
        while end and text[end - 1].isspace():
            end -= 1
        doubtful = _ENDS_DOUBTFULLY.search(text, max(0, end - 5), end)
        if doubtful and doubtful[0] != ";" and not sentence.analyzer.nouns.listed(doubtful[0][:-1]):
            continue  # "Maj. Miller"
        if text[end - 1 : end] == ";" and opens.get(cut, "").startswith(_SUBORDINATE):
            continue
        last = bisect_right(ends, cut) - 1
        left_out = last >= 0 and marked[last][0][0] in "(["
        if (divides or not doubtful) and not left_out:
            found.append(cut)
    return found


def _divides_clauses(text: str, finite: list[int], start: int, end: int) -> bool:
    """Whether a part of a text and what is left without it are clauses: "Die Folge:" and "Xavi:" are none.

    Each has a finite verb; what is left does not end in a mark that announces more, and no pair of quotes or brackets
    is torn.
    """
    before = text[:start].rstrip()
    parts = [(start, end), *((a, b) for a, b in ((0, start), (end, len(text))) if text[a:b].strip())]
    return (
        all(_any_between(finite, a, b) for a, b in parts)
        and before[-1:] not in (":", ",")
        and not any(text[a:b].startswith(("(", "[")) for a, b in parts)
        and _is_closed(text[start:end])
    )


def _is_closed(part: str) -> bool:
    """Whether quotes and brackets are balanced within a part."""
    pairs = (("(", ")"), ("[", "]"), ("„", "“"), ("»", "«"), ("‚", "‘"))
    return part.count('"') % 2 == 0 and all(
        # German closes with the mark that English opens with, and writers mix them.
        part.count(opening) == part.count(closing) + (part.count("”") if opening == "„" else 0)
        for opening, closing in pairs
    )


def _finite_verbs(sentence: Analyzed) -> list[int]:
    """Offsets of finite verbs that are not in a clause that a conjunction or relative pronoun begins."""
    tokens = sentence.tokens
    return [
        token.start
        for place, token in enumerate(tokens)
        if token.tag.endswith("FIN")
        and not any(each.tag.startswith(("KOUS", "PREL")) for each in clause_around(tokens, place)[:2])
    ]


def _any_between(places: list[int], start: int, end: int) -> bool:
    return bisect_left(places, start) < bisect_left(places, end)


def boundaries(text: str) -> list[int]:
    """Offsets at which a clause begins after another."""
    found = []
    apart = [match.end() for match in _APART.finditer(text)]
    for match in _END.finditer(text):
        known = bisect_right(apart, match.start()) - 1
        begin = max(apart[known] if known >= 0 else 0, match.start() - _LONGEST_WORD)
        first = match.end()
        while first < len(text) and text[first] in _OPENING + " ":
            first += 1
        if _is_real(text[begin : match.start()], match.group().strip(), text[first : first + 1]):
            found.append(match.end())
    return found


def _is_real(word: str, mark: str, first: str) -> bool:
    """Whether a mark between `word` and the letter `first` ends a clause: not after an ordinal or abbreviation."""
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
    last = word.rsplit("-", 1)[-1].lower()  # "Partei- bzw. Fraktionschef" without its space
    return bool(re.fullmatch(r"\d{1,3}|[IVXLC]+|\w|(?:\w\.)+\w+", word)) or last in ABBREVIATIONS


def detect(source: str, translation: Analyzed) -> bool:
    """The translation has fewer clauses than the source, and is much shorter."""
    fewer = len(boundaries(translation.text)) < len(boundaries(source))
    return fewer and len(translation.text) < _SHORTEST_RATIO * len(source)


def _omitted(source: str, translation: Analyzed) -> list[int] | None:
    """An empty list if a clause is missing, which has no place; else None."""
    return [] if detect(source, translation) else None


ERROR = ErrorType(
    "clause_omission",
    "de",
    "One of the sentences or independent clauses, as punctuation divides them, is left out.",
    variants,
    detect,
    looks_for=boundaries,
    modes=("strict", "clean", "as-released"),
    overlap=Overlap(by_count=True, wrong_places=_omitted),
    label="a clause left out",
)
