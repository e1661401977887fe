"""The shape of a translation: its length, its end, repetitions, brackets and quotation marks."""

from __future__ import annotations

import re
from collections import Counter

_TOKEN = re.compile(r"\w+|[^\w\s]")
_LONGEST_PHRASE = 12
_MOST_TOKENS = 2_000
_END = ".!?。！？…।؟։"
_CLOSING = "\"'”’»“)]}›』」 "
_SHORT, _LONG = 0.45, 2.2
_FREE_CHARACTERS = 20
"""By how many characters a translation may differ from the usual length whatever the proportion."""
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_QUOTES = '"“”„«»「」『』‟'


def repeated(text: str) -> tuple[str, int]:
    """The phrase that is repeated most often without anything between, and how often."""
    tokens = [token.lower() for token in _TOKEN.findall(text)[:_MOST_TOKENS]]
    best, times = "", 1
    for size in range(1, min(_LONGEST_PHRASE, len(tokens) // 2) + 1):
        run = 0
        for place in range(len(tokens) - size):
            run = run + 1 if tokens[place] == tokens[place + size] else 0
            phrase = tokens[place + 1 : place + size + 1]
            if run and run % size == 0 and 1 + run // size > times and any(map(str.isalnum, "".join(phrase))):
                best, times = " ".join(phrase), 1 + run // size
    return best, times


def repetition(source: str, translation: str) -> str | None:
    """A phrase that is repeated more often than any of the source: three times, or twice if it is long."""
    phrase, times = repeated(translation)
    _, usual = repeated(source)
    long = len(phrase.split()) > 3
    if times > max(usual, 1 if long else 2):
        return phrase
    found = Counter(zip(*(_words(translation)[start:] for start in range(4)), strict=False))
    theirs = Counter(zip(*(_words(source)[start:] for start in range(4)), strict=False))
    phrase_, count = found.most_common(1)[0] if found else ((), 0)
    return " ".join(phrase_) if count > 2 + max(theirs.values(), default=0) else None


def _words(text: str) -> list[str]:
    return [token for token in _TOKEN.findall(text.lower())[:_MOST_TOKENS] if token[0].isalnum()]


def empty(translation: str) -> str | None:
    """`empty`, of a translation without a letter or digit."""
    return "empty" if not any(map(str.isalnum, translation)) else None


def truncated(source: str, translation: str) -> str | None:
    """An end without a mark, of a source that ends with one."""
    end, usual = translation.rstrip().rstrip(_CLOSING), source.rstrip().rstrip(_CLOSING)
    if not end or not usual or usual[-1] not in _END:
        return None
    return end[-20:] if end[-1].isalnum() or end[-1] in ",;-–" else None


def has_end(source: str) -> bool:
    usual = source.rstrip().rstrip(_CLOSING)
    return bool(usual) and usual[-1] in _END


def too_short(source: str, translation: str, usual: float) -> str | None:
    """Much shorter than usual; `usual` is the usual length of a translation per character of its source."""
    expected = usual * len(source)
    short = len(translation) < _SHORT * expected and expected - len(translation) > _FREE_CHARACTERS
    return f"{len(translation)} of about {expected:.0f} characters" if short and translation.strip() else None


def too_long(source: str, translation: str, usual: float) -> str | None:
    """Much longer than usual."""
    expected = usual * len(source)
    long = len(translation) > _LONG * expected and len(translation) - expected > _FREE_CHARACTERS
    return f"{len(translation)} of about {expected:.0f} characters" if long else None


def unpaired(source: str, translation: str) -> str | None:
    """A bracket or quotation mark without its partner, of a source whose marks have theirs; or all of them lost."""
    for opening, closing in _BRACKETS.items():
        if source.count(opening) == source.count(closing) and (
            translation.count(opening) != translation.count(closing)
        ):
            return opening
    ours, theirs = (sum(map(text.count, _QUOTES)) for text in (source, translation))
    if ours % 2 == 0 and theirs % 2 == 1:
        return "quotation mark"
    return None


def has_pairs(source: str) -> bool:
    return any(mark in source for mark in (*_BRACKETS, *_QUOTES))
