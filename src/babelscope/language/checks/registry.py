"""The checks by name: what each looks for, and in which sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import median

from babelscope.language.checks import negation, numbers, shape, words
from babelscope.language.checks.glossary import Glossary
from babelscope.util.expressions import TooCostlyError

_ENOUGH_TEXTS = 10


def base_code(language: str | None) -> str:
    """The code of a language without its region."""
    return (language or "").replace("_", "-").partition("-")[0].lower()


@dataclass(frozen=True, slots=True)
class Setting:
    """What the checks know beside source and translation."""

    source_language: str = ""
    target_language: str = ""
    usual_length: float = 1.0
    """The usual number of characters of a translation per character of its source."""
    glossary: Glossary | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """An error that source and translation show without a parser."""

    name: str
    definition: str
    """What is wrong, in a full sentence."""
    find: Callable[[str, str, Setting], str | None]
    """(source, translation, setting) -> what is wrong; None if nothing is."""
    applies: Callable[[str, Setting], bool] = lambda _source, _setting: True
    """Whether a translation of this source can have the error."""


def _plain(find: Callable[[str, str], str | None]) -> Callable[[str, str, Setting], str | None]:
    return lambda source, translation, _setting: find(source, translation)


def _has(applies: Callable[[str], bool]) -> Callable[[str, Setting], bool]:
    return lambda source, _setting: applies(source)


def _differ(_source: str, setting: Setting) -> bool:
    return bool(setting.target_language) and setting.source_language != setting.target_language


_CHECKS = (
    Check(
        "negation",
        "A negation of the source is missing.",
        lambda source, text, how: negation.lost_negation(
            source, text, how.source_language, how.target_language
        ),
        lambda source, how: (
            negation.knows(how.source_language, how.target_language)
            and bool(negation.negations(source, how.source_language))
        ),
    ),
    Check("number", "A number or date is changed.", _plain(numbers.wrong_number), _has(numbers.has_number)),
    Check("unit", "A unit is replaced by another one.", _plain(numbers.lost_unit), _has(numbers.has_unit)),
    Check("name", "A word of a name is replaced.", _plain(words.lost_name), _has(words.has_name)),
    Check(
        "copy",
        "An address, placeholder, code or emoji is not copied.",
        _plain(words.lost_copy),
        _has(words.has_copied),
    ),
    Check(
        "untranslated",
        "The text is left in the source language.",
        lambda source, text, _how: words.untranslated(source, text),
        _differ,
    ),
    Check(
        "language",
        "The text is in another language than the target language.",
        lambda _source, text, how: words.wrong_language(text, how.target_language),
        _differ,
    ),
    Check("repetition", "A phrase is repeated.", _plain(shape.repetition)),
    Check(
        "omission",
        "The text is far shorter than usual.",
        lambda source, text, how: shape.too_short(source, text, how.usual_length),
    ),
    Check(
        "addition",
        "The text is far longer than usual.",
        lambda source, text, how: shape.too_long(source, text, how.usual_length),
    ),
    Check("truncation", "The text ends in the middle.", _plain(shape.truncated), _has(shape.has_end)),
    Check("empty", "The translation is empty.", lambda _source, text, _how: shape.empty(text)),
    Check(
        "punctuation",
        "A bracket or quotation mark has no partner.",
        _plain(shape.unpaired),
        _has(shape.has_pairs),
    ),
    Check(
        "glossary",
        "A required term is missing, or a banned one is there.",
        lambda source, text, how: how.glossary.check(source, text) if how.glossary else None,
        lambda source, how: how.glossary is not None and how.glossary.applies(source),
    ),
)
CHECKS: Mapping[str, Check] = {each.name: each for each in _CHECKS}
"""All checks by name."""


FALSE_ALARMS: Mapping[str, tuple[int, int]] = {
    "negation": (55, 648),
    "number": (29, 2_151),
    "unit": (0, 117),
    "name": (107, 2_574),
    "untranslated": (0, 9_000),
    "language": (2, 9_000),
    "repetition": (0, 9_000),
    "omission": (0, 9_000),
    "addition": (0, 9_000),
    "truncation": (18, 9_000),
    "empty": (0, 9_000),
    "punctuation": (1, 1_116),
}
"""How many human references raised an alarm, of how many that the check applies to: nine translations of the thousand
English sentences of the parallel UD treebanks (benchmarks/checks.py). References have errors, too."""


def usual_length(pairs: Sequence[tuple[str, str]]) -> float:
    """The median number of characters of a translation per character of its source; 1 of few texts."""
    shares = [len(text) / len(source) for source, text in pairs if source.strip() and text.strip()]
    return median(shares) if len(shares) >= _ENOUGH_TEXTS else 1.0


def run_checks(
    source: str, translation: str, setting: Setting, names: Sequence[str] = ()
) -> dict[str, str | None]:
    """What each check that applies to the source finds; None where it finds nothing. A glossary whose expressions are
    too costly for the sentence is left out."""
    chosen = [CHECKS[name] for name in names] if names else CHECKS.values()
    findings: dict[str, str | None] = {}
    for each in chosen:
        with suppress(TooCostlyError):
            if each.applies(source, setting):
                findings[each.name] = each.find(source, translation, setting)
    # Nothing else can be said of an empty translation.
    return {"empty": findings["empty"]} if findings.get("empty") else findings
