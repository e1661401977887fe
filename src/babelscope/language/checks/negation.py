"""Negation, by lists of negative words."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from babelscope.util.text import parse_toml


@cache
def _words() -> dict[str, dict[str, str]]:
    path = files("babelscope.language.checks") / "negation.toml"
    found: dict[str, dict[str, str]] = parse_toml(path.read_bytes(), "negation.toml")
    return found


@cache
def _pattern(language: str, kind: str) -> re.Pattern[str] | None:
    own = _words().get(language, {})
    text = own.get(kind) or (own.get("any") if kind == "sure" else None)
    return re.compile(text, re.IGNORECASE) if text else None


def knows(source_language: str, target_language: str) -> bool:
    """Whether the negative words of both languages are known."""
    return source_language in _words() and target_language in _words()


def negations(source: str, language: str) -> list[str]:
    """The negations of a sentence that a translation cannot do without: *not*, but not *not only*."""
    sure, but = _pattern(language, "sure"), _pattern(language, "but")
    if sure is None:
        return []
    return [match[0] for match in sure.finditer(but.sub(" ", source) if but is not None else source)]


def lost_negation(source: str, translation: str, source_language: str, target_language: str) -> str | None:
    """A negation of the source, if the translation has fewer negative words."""
    target = _pattern(target_language, "any")
    found = negations(source, source_language)
    if target is None or len(found) <= sum(1 for _ in target.finditer(translation)):
        return None
    return found[0]
