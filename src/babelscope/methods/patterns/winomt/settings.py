"""What can be chosen about WinoMT by alignment and morphology."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import field_validator, model_validator

from babelscope.language.base import GenderRules
from babelscope.methods.patterns.asking import open_morphology
from babelscope.methods.patterns.settings import PatternSettings, identity_of

Rounding = Literal["exact", "published"]


class WinomtSettings(PatternSettings):
    """The language, and how translations are aligned, judged and counted."""

    presets: ClassVar[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {
        "protocol": {"paper": {"gender_rules": "published", "intermediate_rounding": "published"}}
    }

    target: str
    """The language of the translations: de, ru or uk."""
    alignments: Path | None = None
    """In Pharaoh format, parallel to the translations; else made here."""
    stereotypical: Path | None = None
    """WinoMT's list of sentences whose genders are as stereotypes have them (en_pro.txt)."""
    anti_stereotypical: Path | None = None
    """Its list of sentences whose genders are not (en_anti.txt)."""
    gender_rules: GenderRules = "published"
    """How gender is told. published: as WinoMT's code does, where an occupation not found is male. sound: one way of
    counting words, and an occupation not found is unknown."""
    intermediate_rounding: Rounding = "exact"
    """published: round percentages to one decimal before other figures are made of them, as the published ones were.
    exact: do not."""

    protocol: Literal["default", "paper"] = "default"
    """paper: rules and rounding as published, in one word; the published figures also need WinoMT's two lists."""

    @field_validator("target")
    @classmethod
    def _is_known(cls, target: str) -> str:
        open_morphology(target)  # told before any system is asked
        return target

    @model_validator(mode="after")
    def _has_both_lists(self) -> Self:
        if (self.stereotypical is None) != (self.anti_stereotypical is None):
            raise ValueError("stereotypical and anti_stereotypical go together")
        return self

    @property
    def alignment(self) -> str:
        """How words were aligned."""
        return "forward" if self.alignments is None else "given"


def identity(settings: WinomtSettings) -> Mapping[str, Any]:
    """What the files among the settings say."""
    return identity_of(settings, ("translations", "alignments"))
