"""Texts in pieces, with the words marked that an annotator should look at."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

Pieces = list[tuple[str, bool]]
"""A text in pieces, each with whether it is marked."""

_MOST_WORK = 10**7  # steps for marking one text: a fifth of a second
_LONGEST_WORD = 10_000  # characters of what is looked for, since a pattern is made of it
UNMARKED = "Too long: nothing is marked in this text."


@dataclass(frozen=True, slots=True)
class Block:
    title: str
    pieces: Pieces
    role: str = "context"
    """source, judged, or context: how much it stands out."""
    note: str = ""
    """Said below it."""


def plain(text: str) -> Pieces:
    return [(text, False)]


def marked_words(text: str, *words: str) -> Pieces | None:
    """The text with whole words marked, wherever they stand; None if that would take too long."""
    known = sorted((word for word in words if word), key=len, reverse=True)
    if not known:
        return plain(text)
    if not is_quick(text, *known):
        return None
    pattern = "|".join(re.escape(word) for word in known)
    # With a group in it, split gives what lies between matches and the matches in turn.
    found = re.split(rf"(?<!\w)({pattern})(?!\w)", text, flags=re.IGNORECASE)
    return [(piece, number % 2 == 1) for number, piece in enumerate(found) if piece]


def is_quick(text: str, *words: str) -> bool:
    """Whether words can be looked for: each may be compared at every place of the text."""
    length = sum(map(len, words))
    return length <= _LONGEST_WORD and len(text) * length <= _MOST_WORK


def block_of(title: str, text: str, pieces: Pieces | None, role: str = "context") -> Block:
    """A text with what is marked in it, or told to be too long for that."""
    return Block(title, plain(text), role, UNMARKED) if pieces is None else Block(title, pieces, role)


def tokens_marked(text: str, tokens: Sequence[str], positions: Sequence[int]) -> Pieces | None:
    """The text with tokens marked, counted from 1 (CoNLL-U); None if they are not those of the text."""
    pieces: Pieces = []
    end = 0
    for number, token in enumerate(tokens, 1):
        start = text.find(token, end)
        if start < 0 or text[end:start].strip():
            return None
        pieces += [(text[end:start], False), (token, number in positions)]
        end = start + len(token)
    pieces.append((text[end:], False))
    return [piece for piece in pieces if piece[0]]


def spans_marked(text: str, spans: Sequence[object]) -> Pieces | None:
    """The text with what lies between these characters marked, counted from 0; None if they are none of the text."""
    found: set[tuple[int, int]] = set()
    for span in spans:
        match span:
            case [int(start), int(end)] if 0 <= start < end <= len(text):
                found.add((start, end))
            case _:
                return None
    pieces: Pieces = []
    last = 0
    for start, end in sorted(found):
        if start < last:  # they overlap
            return None
        pieces += [(text[last:start], False), (text[start:end], True)]
        last = end
    pieces.append((text[last:], False))
    return [piece for piece in pieces if piece[0]] if found else None


def differences(title: str, text: str, other: str) -> Block:
    """The text with the words marked that `other` does not have."""
    words, others = (re.split(r"(\s+)", each) for each in (text, other))
    mine, theirs = words[::2], others[::2]
    note, differ = "", set()
    # The search for the longest common stretch goes over all pairs of equal words, for each stretch anew.
    counts = Counter(theirs)
    if sum(counts[word] for word in mine) * min(len(mine), len(theirs)) > _MOST_WORK:
        note = UNMARKED
    else:
        matcher = difflib.SequenceMatcher(None, mine, theirs, autojunk=False)
        differ = {
            number
            for tag, start, stop, _, _ in matcher.get_opcodes()
            if tag != "equal"
            for number in range(start, stop)
        }
    pieces = [(each, n % 2 == 0 and n // 2 in differ) for n, each in enumerate(words) if each]
    return Block(title, pieces, note=note)
