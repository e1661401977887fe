"""Translations of sources with a right and a wrong cue, compared word by word: which words tell the sense."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from babelscope.core.tokenizers import DEFAULT, find_tokenizer, unsplit_script

Side = Literal["for", "against", "neither", ""]
"""Which of two translations has more words of the reference: the one with the right cue (for), the one with the wrong
cue (against), or neither; empty where there is no reference."""

_MARKS = re.compile(r"^\W+|\W+$")


def side_of(right: str, wrong: str, reference: str) -> Side:
    """Which of two translations shares more words with the reference."""
    if not reference:
        return ""
    ours, theirs, meant = words_of(right, wrong, reference)
    ahead = (ours & meant).total() - (theirs & meant).total()
    return "for" if ahead > 0 else "against" if ahead < 0 else "neither"


def words_of(*texts: str) -> list[Counter[str]]:
    """The words of texts without punctuation, in lower case; characters in scripts without spaces."""
    lower = [text.casefold() for text in texts]
    usual = find_tokenizer(DEFAULT)
    tokenizer = find_tokenizer("char") if unsplit_script(usual, lower) else usual
    return [Counter(word for word in tokenizer.split(text) if any(map(str.isalnum, word))) for text in lower]


def common_source(right: str, wrong: str) -> str:
    """What a source with a right cue and one with a wrong cue share: the sentence without its cue."""
    ours = right.split()
    matched = difflib.SequenceMatcher(None, ours, wrong.split(), autojunk=False).get_matching_blocks()
    return " ".join(word for block in matched for word in ours[block.a : block.a + block.size])


def cue_size(right: str, wrong: str) -> int:
    """In how many words a source with a cue differs from the other one, at most."""
    shared = len(common_source(right, wrong).split())
    return max(len(right.split()), len(wrong.split())) - shared


def swap_sense(right: str, wrong: str, plain: str, reference: str, cue: int) -> list[tuple[str, bool]]:
    """Texts with the sense of one translation and the cue's words of the other, and whether each is correct.

    Of the words in which a right and a wrong translation differ, those that the translation of the sentence without a
    cue (`plain`) has, on either side, tell the sense. The others translate the cue, if they are at most as many as
    the `cue` words of the source. An evaluator that looks at the cue's translation, and not at the sense, misjudges
    the right translation with the wrong sense, the wrong one with the right sense, or the reference with the wrong
    sense, which may have the cue's translation too.
    """
    ours, theirs = right.split(), wrong.split()
    blocks = difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
    if any(kind != "equal" and b - a != d - c for kind, a, b, c, d in blocks):
        return []
    known = set(_bare(plain.split()))
    apart = [place for place in range(len(ours)) if ours[place] != theirs[place]]
    pairs = list(zip(_bare(ours), _bare(theirs), strict=True))
    sense = [place for place in apart if not known.isdisjoint(pairs[place])]
    if not sense or len(apart) - len(sense) > cue:
        return []
    found = []
    if len(apart) > len(sense):
        both = list(enumerate(zip(ours, theirs, strict=True)))
        found += [
            (" ".join(b if place in sense else a for place, (a, b) in both), False),
            (" ".join(a if place in sense else b for place, (a, b) in both), True),
        ]
    if changed := _with_sense(reference.split(), ours, theirs, sense):
        found.append((changed, False))
    return found


def _with_sense(
    reference: list[str], ours: Sequence[str], theirs: Sequence[str], sense: Sequence[int]
) -> str:
    """The reference with the sense of the wrong translation; empty if it lacks a word that tells the sense."""
    matcher = difflib.SequenceMatcher(None, _bare(ours), _bare(reference), autojunk=False)
    places = {
        block.a + more: block.b + more
        for block in matcher.get_matching_blocks()
        for more in range(block.size)
    }
    if not all(place in places for place in sense):
        return ""
    for place in sense:
        old, new = _bare([ours[place], theirs[place]])
        reference[places[place]] = reference[places[place]].replace(old, new)
    return " ".join(reference)


def _bare(words: Sequence[str]) -> list[str]:
    """Words without the punctuation around them."""
    return [_MARKS.sub("", word) for word in words]
