"""What can be chosen about MuCoW by known words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import field_validator, model_validator

from babelscope.language.lemmas import lemmatise
from babelscope.methods.patterns.settings import PatternSettings, identity_of


class MucowSettings(PatternSettings):
    """Where lemmas come from, and how words are told apart and compared."""

    presets: ClassVar[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {
        "protocol": {"paper": {"word_matching": "conditioning"}}
    }

    lemmas: Path | None = None
    """The lemmas of the translations, parallel to them."""
    lemmatise: str = ""
    """Make the lemmas here: de, ru or uk."""
    verdicts: Path | None = None
    """Verdicts stored earlier: their figures, or with translations how many agree."""
    word_matching: Literal["auto", "mucow", "conditioning", "stored"] = "auto"
    """How translations are split into words and compared with the known ones. mucow: as MuCoW's authors do.
    conditioning: as the conditioning paper does. auto: mucow, or conditioning for the log of that paper, whose lemmas
    have lost their accents. stored: take the verdicts stored earlier as they are."""
    compound_mark: str = ""
    """What the lemmas have within compounds, such as #: left out."""

    protocol: Literal["default", "paper"] = "default"
    """paper: words matched as in the conditioning paper's baseline."""

    @field_validator("lemmatise")
    @classmethod
    def _is_known(cls, language: str) -> str:
        if language:
            lemmatise([], language)  # told before any system is asked
        return language

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.lemmas is not None and self.lemmatise:
            raise ValueError("lemmas and lemmatise exclude each other")
        return self


def identity(settings: MucowSettings) -> Mapping[str, Any]:
    """What the files among the settings say."""
    return identity_of(settings, ("translations", "lemmas", "verdicts"))
