"""Languages and error types by name, each imported when asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from babelscope.core.registry import Registry
from babelscope.language.base import Detector, ErrorType, Language, words_and_marks
from babelscope.language.fitness import identifier_version
from babelscope.language.general.types import GENERAL_TYPES
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import plain_words

_HERE = "babelscope.language"

# A new language is a package and a line here, or an entry point of another distribution.
LANGUAGES: Registry[Language] = Registry(
    "language",
    f"{_HERE}.base:Language",
    "babelscope.languages",
    {
        "de": f"{_HERE}.german:LANGUAGE",
        "ar": f"{_HERE}.gender:ARABIC",
        "cs": f"{_HERE}.gender:CZECH",
        "es": f"{_HERE}.gender:SPANISH",
        "fr": f"{_HERE}.gender:FRENCH",
        "he": f"{_HERE}.gender:HEBREW",
        "it": f"{_HERE}.gender:ITALIAN",
        "nl": f"{_HERE}.gender:DUTCH",
        "pl": f"{_HERE}.gender:POLISH",
        "pt": f"{_HERE}.gender:PORTUGUESE",
        "ru": f"{_HERE}.slavic:RUSSIAN",
        "uk": f"{_HERE}.slavic:UKRAINIAN",
    },
)

PAPER_TYPES = (
    "clause_omission",
    "hypercorrect_genitive",
    "np_agreement",
    "placeholder_ding",
    "polarity_affix_del",
    "polarity_particle_kein_del",
    "polarity_particle_nicht_del",
    "subj_verb_agreement",
)
"""Error types of table 2 of the minimal-pairs paper."""
_OTHER_TYPES = (
    "auxiliary",
    "compound",
    "polarity_affix_ins",
    "polarity_particle_kein_ins",
    "polarity_particle_nicht_ins",
    "subj_adequacy",
    "transliteration",
    "verb_particle",
)
OWN_TYPES = (*PAPER_TYPES, *_OTHER_TYPES)
"""All error types of this package, which are German."""

# A new error type is a module and a name above, or an entry point of another distribution.
ERROR_TYPES: Registry[ErrorType] = Registry(
    "error type",
    f"{_HERE}.base:ErrorType",
    "babelscope.error_types",
    {name: f"{_HERE}.german.errors.{name}:ERROR" for name in OWN_TYPES},
)


@cache
def language(code: str) -> Language:
    """The language of an ISO 639 code."""
    return LANGUAGES.find(code)


@cache
def error_type(name: str) -> ErrorType:
    """The error type of this name."""
    return ERROR_TYPES.find(name)


def error_label(name: str, stored: Mapping[str, str] | None = None) -> str:
    """An error type in a few plain words; if it cannot be loaded here, its `stored` label, or its name."""
    try:
        label = error_type(name).label
    except BabelscopeError:
        label = (stored or {}).get(name, "")
    return label or plain_words(name)


@cache
def error_types(language: str | None = None) -> Mapping[str, ErrorType]:
    """Error types by name; all, or those of one language; our own first."""
    return {name: each for name, each in ERROR_TYPES.all().items() if language in (None, each.language)}


@cache
def controls() -> tuple[str, ...]:
    """Names of error types that no system is expected to make, so that every report of one is a false positive."""
    general = (name for name, each in GENERAL_TYPES.items() if not each.plausible)
    return tuple(sorted([*(name for name, each in error_types().items() if not each.plausible), *general]))


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
    """The error where no language, of these or of all, has all packages that its detectors need."""
    needed = languages or languages_with_detectors()
    return BabelscopeError("; or ".join(str(each.missing()) for each in needed))


def lemmatize(texts: Sequence[str], target: str) -> list[list[str]]:
    """The lemmas of the words of each text."""
    known = {code: each.lemmatizer for code, each in LANGUAGES.all().items() if each.lemmatizer}
    if target not in known:
        raise BabelscopeError(
            f"there is no lemmatizer for {target!r} (known: {', '.join(known)}); give a file of lemmas"
        )
    lemmas = known[target]()
    return [lemmas([text[start:end] for start, end in words_and_marks(text)]) for text in texts]
