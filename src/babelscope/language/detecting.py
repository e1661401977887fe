"""Detectors of errors in free translations: which there are, for which sources they can tell."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from babelscope.language.base import Detector, Language
from babelscope.language.registry import error_type, error_types, language
from babelscope.util.errors import BabelscopeError


@cache
def detectors(language: str | None = None) -> Mapping[str, Detector]:
    """The detectors, all or those of one language, by the names of their error types."""
    found = ((name, each.detect) for name, each in error_types(language).items())
    return {name: detect for name, detect in found if detect is not None}


def looks_at_source(type: str) -> bool:
    """Whether a detector raises alarms for some sources only.

    References that pairs were made of have the phenomenon, so such a detector raises no alarm on them: that
    it is silent there tells nothing about other translations of the same sources.
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
    """The packages that detectors analyse with, or nothing if those of no language are installed."""
    return ", ".join(filter(None, (each.analysis_version() for each in languages_with_detectors())))


def missing_analysis_error() -> BabelscopeError:
    """What to say where detectors are asked for, and the packages of no language are installed."""
    return BabelscopeError("; or ".join(str(each.missing()) for each in languages_with_detectors()))
