"""Detectors of errors in free translations: which exist, and for which sources they can raise an alarm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from babelscope.language.base import Detector, Language
from babelscope.language.fitness import identifier_version
from babelscope.language.registry import error_type, error_types, language
from babelscope.util.errors import BabelscopeError


@cache
def detectors(language: str | None = None) -> Mapping[str, Detector]:
    """Detectors by error type; all, or those of one language."""
    found = ((name, each.detect) for name, each in error_types(language).items())
    return {name: detect for name, detect in found if detect is not None}


def looks_at_source(type: str) -> bool:
    """Whether a detector raises alarms for some sources only.

    Such a detector is silent on references that pairs were made from, since these have the phenomenon; that
    says nothing about its false alarms on other translations.
    """
    return error_type(type).looks_for is not None


def can_detect(type: str, source: str) -> bool:
    """Whether the detector of `type` can raise an alarm for any translation of `source`."""
    looks_for = error_type(type).looks_for
    return looks_for is None or bool(looks_for(source))


def languages_with_detectors() -> list[Language]:
    """The languages that have detectors."""
    return [language(code) for code in dict.fromkeys(error_type(name).language for name in detectors())]


def analysis_version() -> str:
    """Names and versions of the packages that detectors use; empty if no language has all of its packages."""
    found = [each.analysis_version() for each in languages_with_detectors()]
    # Translations in other languages are not looked at, so what tells the language is part of it.
    return ", ".join([*filter(None, found), identifier_version()]) if any(found) else ""


def missing_analysis_error(languages: Sequence[Language] = ()) -> BabelscopeError:
    """The error where detectors are asked for and no language, of these or of all, has all of its packages."""
    needed = languages or languages_with_detectors()
    return BabelscopeError("; or ".join(str(each.missing()) for each in needed))
