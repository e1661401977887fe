"""Disambiguation cues: inserting them into sources, and the released cue files (conditioning, section 3.3)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from babelscope.util.errors import BabelscopeError
from babelscope.util.text import (
    LONGEST_LINE,
    LONGEST_RECORD,
    parse_json,
    read_bytes,
    read_json_lines,
    shorten,
)

Mode = Literal["words", "paper"]
"""words: insert before whole words only. paper: plain string replacement, as in the released code."""

LONGEST_WORD = 200
"""Characters of an ambiguous word; the time of a search grows with them."""
_VOWELS = "aeiou"


@dataclass(frozen=True, slots=True)
class Cues:
    """Words that hint at the right sense of an ambiguous word, and words that hint at other senses."""

    word: str
    correct: tuple[str, ...]
    incorrect: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CuedSources:
    """A source once with each cue inserted."""

    correct: tuple[str, ...]
    incorrect: tuple[str, ...]


def find_form(word: str, sentence: str) -> str | None:
    """The form of `word` in the sentence: unchanged, plural or capitalized; None if it is not there.

    A free-standing form is preferred to one in a hyphenated compound, as with Moses tokens.
    """
    forms = (word, plural(word), word.title())
    for boundary in (r"[\w-]", r"\w"):
        for form in forms:
            if re.search(rf"(?<!{boundary}){re.escape(form)}(?!{boundary})", sentence):
                return form
    return None


def plural(noun: str) -> str:
    """The regular English plural; -man becomes -men."""
    if noun.endswith("man") and not noun.endswith("human"):
        return noun[:-3] + "men"
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2:-1] not in _VOWELS:
        return noun[:-1] + "ies"
    return noun + "s"


def insert_cue(sentence: str, form: str, cue: str, mode: Mode = "words") -> str:
    """Insert `cue` before every `form` in the sentence; an error if there is none."""
    if len(sentence) + sentence.count(form) * (len(cue) + 1) > LONGEST_LINE:
        raise BabelscopeError(
            f"with the cue {shorten(cue)} the sentence {shorten(sentence)} has more than {LONGEST_LINE} characters"
        )
    if mode == "paper":
        cued = sentence.replace(form, f"{cue} {form}")
    else:
        # A function as replacement, since a cue may contain a backslash.
        cued = re.sub(rf"(?<!\w){re.escape(form)}(?!\w)", lambda found: f"{cue} {found[0]}", sentence)
    if cued == sentence:
        raise BabelscopeError(f"the word {shorten(form)} is not in the sentence {shorten(sentence)}")
    return cued


def insert_cues(sentence: str, form: str, cues: Cues, mode: Mode = "words") -> CuedSources:
    """The sentence once with each of the cues."""
    left = LONGEST_RECORD

    def cued(each: tuple[str, ...]) -> Iterator[str]:
        nonlocal left
        for cue in each:
            made = insert_cue(sentence, form, cue, mode)
            if (left := left - len(made)) < 0:
                raise BabelscopeError(
                    f"the sentence {shorten(sentence)} with each of its cues has more than {LONGEST_RECORD} "
                    "characters"
                )
            yield made

    return CuedSources(tuple(cued(cues.correct)), tuple(cued(cues.incorrect)))


def mark_gender(sentence: str, index: int, gender: str, occupation: str, mode: Mode = "words") -> str:
    """The sentence with `[gender]` before its token `index` (section 3.3, gendered occupations).

    `paper` puts the cue and the occupation in place of the token, as the released code does: it loses a
    comma after the token, and makes "construction worker" a "construction worker worker".
    """
    tokens = sentence.split(" ")
    if not 0 <= index < len(tokens):
        raise BabelscopeError(f"{index} is no index of a token of {shorten(sentence)}")
    if mode == "paper":
        return " ".join([*tokens[:index], f"[{gender}] {occupation}", *tokens[index + 1 :]])
    # The published index counts the empty token between two spaces.
    while index < len(tokens) and not tokens[index]:
        index += 1
    if not " ".join(tokens[index:]).lower().startswith(occupation.lower().split(" ")[0]):
        token = tokens[index] if index < len(tokens) else ""
        raise BabelscopeError(f"token {index} is {shorten(token)}, not the occupation {shorten(occupation)}")
    return " ".join([*tokens[:index], f"[{gender}]", *tokens[index:]])


def read_cues(path: str | Path) -> list[Cues]:
    """Read a released cue file: one line per sentence, with `src_word`, correct and incorrect insertions."""
    return [_cues(record, place) for place, record in read_json_lines(path)]


def write_cues(cues: Iterable[Cues]) -> Iterator[str]:
    """Cues as lines of a file that `read_cues` reads."""
    for each in cues:
        record = {
            "src_word": each.word,
            "correct_insertions": list(each.correct),
            "incorrect_insertions": list(each.incorrect),
        }
        yield json.dumps(record, ensure_ascii=False)


def read_candidates(path: str | Path) -> dict[str, dict[str, tuple[str, ...]]]:
    """Read a released file of candidates: word -> sense (its target lemmas) -> cues, best first (appendix D)."""
    words = _object(parse_json(read_bytes(path), path), str(path))
    return {
        word: {
            sense: _texts(cues, f"{path}: {word}: {sense}")
            for sense, cues in _object(senses, f"{path}: {word}").items()
        }
        for word, senses in words.items()
    }


def _cues(record: Mapping[str, Any], place: str) -> Cues:
    word = record.get("src_word")
    if not isinstance(word, str) or not 0 < len(word) <= LONGEST_WORD:
        raise BabelscopeError(f"{place}: field 'src_word' must be text of 1 to {LONGEST_WORD} characters")
    correct, incorrect = (
        _texts(record.get(name, []), f"{place}: field {name!r}")
        for name in ("correct_insertions", "incorrect_insertions")
    )
    return Cues(word, correct, incorrect)


def _texts(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) and each.strip() for each in value):
        raise BabelscopeError(f"{where} must be a list of texts, none of them empty")
    return tuple(value)


def _object(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BabelscopeError(f"{where} must be an object")
    return value
