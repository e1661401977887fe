"""What can be chosen about errors in translations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from pydantic import Field, model_validator

from babelscope.core.settings import Settings
from babelscope.language.base import Language
from babelscope.language.detecting import (
    analysis_version,
    detectors,
    languages_with_detectors,
    missing_analysis_error,
)
from babelscope.language.fitness import check_language
from babelscope.language.registry import controls, error_type, language
from babelscope.methods.errors.detect import installed_languages, target_language
from babelscope.methods.languages import warn_of_pooled_languages
from babelscope.testsets.items import MinimalPair, ParallelSentence
from babelscope.util.errors import BabelscopeError


class ErrorsSettings(Settings):
    """Which errors are looked for."""

    types: tuple[str, ...] = ()
    """The error types to look for; all that have a detector, if none is named."""
    language: str = ""
    """The language of the translations, where detectors of several are installed and the test set does not say."""
    beam: int = Field(default=5, ge=1)
    """The beam of the translations, for systems that search with one."""
    controls: tuple[str, ...] = Field(default_factory=controls)
    """Errors that nobody makes: the implausible error types, unless others are named."""

    @model_validator(mode="after")
    def _have_detectors(self) -> Self:
        for name in self.types:
            error_type(name)  # a name that does not exist is refused with those that do
            if name not in detectors():
                raise BabelscopeError(f"{name} has no detector; these have one: {', '.join(detectors())}")
        # Otherwise the test set decides which language is needed (`check`).
        if (self.types or self.language) and not any(each.analysis_version() for each in self.languages()):
            raise missing_analysis_error(self.languages())
        return self

    def chosen(self, code: str | None = None) -> list[str]:
        """The error types to look for; all, or those of one language."""
        return [name for name in detectors(code) if not self.types or name in self.types]

    def languages(self) -> list[Language]:
        """The languages of the detectors to run; refuse a language that has none."""
        codes = {error_type(name).language for name in self.chosen()}
        known = [each for each in languages_with_detectors() if each.code in codes]
        found = [each for each in known if self.language in ("", each.code)]
        if not found:
            there = ", ".join(f"{each.english} ({each.code})" for each in known)
            raise BabelscopeError(
                f"there is no detector of errors in {self.language}; there are detectors for {there}"
            )
        return found

    def parallel_language(self) -> str:
        """The language whose detectors read translations of parallel sentences."""
        codes = sorted(each.code for each in self.languages())
        codes = [code for code in codes if code in installed_languages()] or codes
        if len(codes) > 1:
            raise BabelscopeError(
                f"there are detectors of errors in {', '.join(codes)}: name one of these languages (language)"
            )
        return codes[0]


def identity(settings: ErrorsSettings) -> Mapping[str, Any]:
    """What detectors say depends on their versions and on the analysis."""
    named = ", ".join(f"{name} v{error_type(name).version}" for name in settings.chosen())
    return {"types": f"{named}; {analysis_version()}"}


def check(items: Sequence[MinimalPair | ParallelSentence], settings: ErrorsSettings) -> None:
    """Refuse a test set that no detector can judge, before any system is asked; by its language first."""
    texts: dict[str, list[str]] = {}
    for item in items:
        if isinstance(item, MinimalPair):
            if item.phenomenon in settings.chosen():
                texts.setdefault(error_type(item.phenomenon).language, []).append(item.correct)
            continue
        code = settings.parallel_language()
        if (target_language({"target_language": item.target_language}) or code) == code:
            texts.setdefault(code, []).extend(item.references)
    if not texts:
        raise BabelscopeError(
            f"no item can be judged: there are detectors of {', '.join(settings.chosen())}, and no pair is of "
            "one of these, nor a translation in their language"
        )
    for code, references in texts.items():
        name = language(code).english
        check_language(references, code, what="the references", needed_by=f"detectors of {name} errors")
    if not installed_languages().intersection(texts):
        raise missing_analysis_error([language(code) for code in texts])
    warn_of_pooled_languages(items)
