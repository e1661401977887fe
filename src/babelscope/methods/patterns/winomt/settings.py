"""What can be chosen about WinoMT by alignment and morphology."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import field_validator, model_validator

from babelscope.language.base import GenderRules
from babelscope.methods.patterns.morphology import open_morphology
from babelscope.methods.patterns.settings import PatternSettings, identity_of

Rounding = Literal["exact", "published"]


class WinomtSettings(PatternSettings):
    """The language, and how translations are aligned, judged and counted."""

    target: str
    """The language of the translations: de, ru or uk."""
    alignments: Path | None = None
    """In Pharaoh format, parallel to the translations; else made here."""
    pro: Path | None = None
    """WinoMT's list of stereotypical sentences."""
    anti: Path | None = None
    """Its list of the others."""
    rules: GenderRules = "published"
    """How gender is told. published: its conventions. sound: one way of counting words, and nothing found is
    unknown."""
    rounding: Rounding = "exact"
    """published: percentages are rounded to one decimal before they are used further."""

    @field_validator("target")
    @classmethod
    def _is_known(cls, target: str) -> str:
        open_morphology(target)  # told before any system is asked
        return target

    @model_validator(mode="after")
    def _has_both_lists(self) -> Self:
        if (self.pro is None) != (self.anti is None):
            raise ValueError("pro and anti go together")
        return self

    @property
    def alignment(self) -> str:
        """How words were aligned."""
        return "forward" if self.alignments is None else "given"


def identity(settings: WinomtSettings) -> Mapping[str, Any]:
    """What the files among the settings say."""
    return identity_of(settings, ("translations", "alignments"))
