"""Errors planted into translations without a parser, and translations known to be without them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from babelscope.core.results import Record
from babelscope.core.tokenizers import is_unspaced
from babelscope.language.checks.negation import lost_negation, without_negation
from babelscope.language.checks.numbers import numbers_in, wrong_number
from babelscope.language.checks.registry import CHECKS, Setting
from babelscope.language.checks.words import names_in
from babelscope.testsets.items import MinimalPair

Pair = tuple[str, str]
"""A source and a translation."""
_Plant = Callable[[str, str, Setting, np.random.Generator], Pair | None]

_CLAUSE_END = re.compile(r"(?<=[,;،؛])\s+|(?<=[、，；])")
_LEAST_CLAUSE = 0.2
"""A clause that is cut out has at least this share of the characters."""
_LEAST_UNITS = 6
_WORD = re.compile(r"\b[^\W\d_]{4,}\b")
_NAMES = ("Miller", "Garcia", "Novak", "Rossi", "Tanaka", "Okafor", "Silva", "Haddad")


@dataclass(frozen=True, slots=True)
class JudgedError:
    """An error that judges are asked about."""

    name: str
    definition: str
    plant: _Plant | None = None
    """(source, translation, setting, random generator) -> the pair with the error; None if it cannot be planted."""
    is_clean: Callable[[str, str, Setting], bool] | None = None
    """Whether a system's translation is certainly without the error. Without it, only references are."""

    def applies(self, source: str, setting: Setting) -> bool:
        """Whether a translation of this source can have the error, by the check of the same name."""
        return self.plant is None or CHECKS[self.name].applies(source, setting)


def _lose_negation(source: str, text: str, how: Setting, _draw: np.random.Generator) -> Pair | None:
    positive = without_negation(text, how.target_language)
    if positive is None or lost_negation(source, positive, how.source_language, how.target_language) is None:
        return None
    return source, positive


def _change_number(source: str, text: str, _how: Setting, draw: np.random.Generator) -> Pair | None:
    """One digit is another one, in a number that the source has too."""
    if not _same_numbers(source, text, _how):
        return None
    places = [place for place, char in enumerate(text) if char in "0123456789"]
    for place in draw.permutation(places) if places else ():
        for digit in draw.permutation(list("123456789")):
            changed = f"{text[:place]}{digit}{text[place + 1 :]}"
            if digit != text[place] and wrong_number(source, changed):
                return source, changed
    return None


def _change_name(source: str, text: str, _how: Setting, draw: np.random.Generator) -> Pair | None:
    """A word of a name that the source has too is the name of somebody else."""
    copied = [word for name in names_in(source) for word in name if re.search(rf"\b{word}\b", text)]
    others = [name for name in _NAMES if name not in source and name not in text]
    if not copied or not others:
        return None
    return source, re.sub(rf"\b{draw.choice(copied)}\b", str(draw.choice(others)), text)


def _omit(source: str, text: str, _how: Setting, draw: np.random.Generator) -> Pair | None:
    shorter = without_part(text, draw)
    return None if shorter is None else (source, shorter)


def _add(source: str, text: str, _how: Setting, draw: np.random.Generator) -> Pair | None:
    """A part of the source is cut out, so that the translation has what the source has not."""
    shorter = without_part(source, draw)
    return None if shorter is None else (shorter, text)


def _leave_untranslated(source: str, text: str, _how: Setting, _draw: np.random.Generator) -> Pair | None:
    """The second half is that of the source."""
    (own, between), (theirs, between_theirs) = _units(text), _units(source)
    if min(len(own), len(theirs)) < _LEAST_UNITS:
        return None
    begin = between.join(own[: len(own) // 2])
    end = between_theirs.join(theirs[len(theirs) // 2 :])
    return None if end in text else (source, f"{begin} {end}")


def without_part(text: str, draw: np.random.Generator) -> str | None:
    """The text without a clause, or where commas bound none, without a third of its words; None if it is short."""
    bounds = [0, *(found.end() for found in _CLAUSE_END.finditer(text))]
    clauses = [(start, stop) for start, stop in pairwise(bounds) if stop - start >= _LEAST_CLAUSE * len(text)]
    if clauses:
        start, stop = clauses[draw.integers(len(clauses))]
        return text[:start] + text[stop:]
    units, between = _units(text)
    size = len(units) // 3
    if len(units) < _LEAST_UNITS:
        return None
    start = int(draw.integers(1, len(units) - size))
    return between.join([*units[:start], *units[start + size :]])


def _units(text: str) -> tuple[list[str], str]:
    """Words, or the characters of a script without spaces, and what stands between them."""
    return (list(text.strip()), "") if is_unspaced(text) else (text.split(), " ")


def _same_numbers(source: str, text: str, _how: Setting) -> bool:
    return numbers_in(source) == numbers_in(text)


def _keeps_negation(source: str, text: str, how: Setting) -> bool:
    return lost_negation(source, text, how.source_language, how.target_language) is None


def _keeps_names(source: str, text: str, _how: Setting) -> bool:
    return all(word in text for name in names_in(source) for word in name)


def _shares_no_word(source: str, text: str, _how: Setting) -> bool:
    shared = set(_WORD.findall(source)) & set(_WORD.findall(text))
    return bool(text.strip()) and not any(map(str.islower, shared))


_PLANTED = (
    JudgedError(
        "negation",
        "The source says that something is not so, and the translation does not: a negation is lost.",
        _lose_negation,
        _keeps_negation,
    ),
    JudgedError(
        "number",
        "A number, date or amount of the source is another one in the translation.",
        _change_number,
        _same_numbers,
    ),
    JudgedError(
        "name",
        "A name in the source is replaced by another name in the translation.",
        _change_name,
        _keeps_names,
    ),
    JudgedError("omission", "The translation leaves out something that the source says.", _omit),
    JudgedError("addition", "The translation says something that the source does not say.", _add),
    JudgedError(
        "untranslated",
        "Words of the source, other than names, are left untranslated.",
        _leave_untranslated,
        _shares_no_word,
    ),
)
ERRORS: Mapping[str, JudgedError] = {each.name: each for each in _PLANTED}
"""The errors that can be planted, by name."""


def known_texts(
    item: Any, text: str, error: JudgedError, how: Setting, draw: np.random.Generator
) -> list[tuple[str, Record]]:
    """Texts with and without the error: the reference or, where there is none, the system's translation."""

    def stored(kind: str, pair: Pair) -> tuple[str, Record]:
        source = {} if pair[0] == item.source else {"source": pair[0]}
        return kind, {**source, "translation": pair[1]}

    if isinstance(item, MinimalPair) and item.phenomenon == error.name:
        variants = [stored("planted", (item.source, each)) for each in item.contrastive]
        return [stored("clean", (item.source, item.correct)), *variants]
    references = (item.correct,) if isinstance(item, MinimalPair) else item.references
    if error.plant is None or not (
        references or error.is_clean is None or error.is_clean(item.source, text, how)
    ):
        return []
    base = references[0] if references else text
    planted = error.plant(item.source, base, how, draw)
    has_clean = bool(references) or error.is_clean is not None
    clean = [stored("clean", (item.source, base))] if has_clean else []
    return clean + ([stored("planted", planted)] if planted else [])
