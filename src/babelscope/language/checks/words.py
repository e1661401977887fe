"""Words that a translation must keep, and words that it must not."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

from babelscope.language.fitness import other_language

_COPIED = (
    re.compile(r"https?://[^\s<>\"]*[^\s<>\".,;:!?)]|\bwww\.[^\s<>\"]*[^\s<>\".,;:!?)]"),
    re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64})+"),
    re.compile(r"\{\{?\w*\}?\}|%\(\w+\)[sd]|%[sd](?!\w)|\$\{\w+\}|<\/?\w+\/?>|__\w+__"),
    re.compile(r"`[^`\n]{1,200}`|\b[a-z]+_[a-z_]+\b|\b\w+\(\)"),
    re.compile(r"(?<!\w)[@#][A-Za-z_]\w*"),
    re.compile(r"\b(?=[A-Z]+-?\d)[A-Z]+-?\d[A-Z0-9-]+\b"),
)
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_NAME = re.compile(r"(?<![.!?:]\s)(?<!^)(?<![\"“„«(])\b[A-Z][a-z]+(?: [A-Z][a-z]+)+\b")
_PREFIX = 3
_LEAST_WORDS = 5
_COPIED_SHARE = 0.6
_LEAST_LETTERS = 4


def copied_words(source: str) -> list[str]:
    """What must be copied: addresses, placeholders, code, handles, codes of letters and digits, emoji."""
    found = [match for pattern in _COPIED for match in pattern.findall(source)]
    return found + [char for char in source if _is_emoji(char)]


def _is_emoji(char: str) -> bool:
    return unicodedata.category(char) == "So" and ord(char) >= 0x2600


def lost_copy(source: str, translation: str) -> str | None:
    """Something that must be copied and is not there."""
    return next((each for each in copied_words(source) if each not in translation), None)


def has_copied(source: str) -> bool:
    return bool(copied_words(source))


def names_in(source: str) -> list[list[str]]:
    """Names of several words in Latin letters, inside a sentence."""
    return [match.split() for match in _NAME.findall(source)]


def has_name(source: str) -> bool:
    return bool(names_in(source))


def lost_name(source: str, translation: str) -> str | None:
    """A name with one word copied, and a capitalized word that the source does not have in the place of another."""
    words = _WORD.findall(translation)
    folded = [_folded(word) for word in words]
    begins = {_folded(word)[:_PREFIX] for word in _WORD.findall(source)}
    for name in names_in(source):
        parts = [_folded(word) for word in name]
        for copied, lost, step in [
            *((before, after, 1) for before, after in pairwise(parts)),
            *((after, before, -1) for before, after in pairwise(parts)),
        ]:
            if copied not in folded or any(each[:_PREFIX] == lost[:_PREFIX] for each in folded):
                continue
            place = folded.index(copied) + step
            if 0 < place < len(words) and words[place][0].isupper() and folded[place][:_PREFIX] not in begins:
                return " ".join(name)
    return None


def _folded(word: str) -> str:
    plain = unicodedata.normalize("NFKD", word.lower())
    return "".join(char for char in plain if not unicodedata.combining(char))


def untranslated(source: str, translation: str) -> str | None:
    """Some words, if most of the translation's lower-case words are the source's, but those that must be copied."""
    for each in copied_words(source):
        translation = translation.replace(each, " ")
    own = [word for word in _WORD.findall(translation) if word.islower() and len(word) >= _LEAST_LETTERS]
    theirs = set(_WORD.findall(source))
    copied = [word for word in own if word in theirs]
    if len(own) >= _LEAST_WORDS and len(copied) > _COPIED_SHARE * len(own):
        return " ".join(copied[:5])
    return None


def wrong_language(translation: str, target_language: str) -> str | None:
    """The language of a translation that is not in the target language."""
    if sum(map(str.isalpha, translation)) < 40:
        return None
    return other_language(translation, target_language)
