"""Languages and error types by name, each imported when asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from babelscope.core.registry import Registry
from babelscope.language.base import ErrorType, Language
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
        "ru": f"{_HERE}.russian:LANGUAGE",
        "uk": f"{_HERE}.ukrainian:LANGUAGE",
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
    return tuple(sorted(name for name, each in error_types().items() if not each.plausible))
