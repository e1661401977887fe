"""What can be chosen about a forced choice by answer."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from babelscope.core.settings import Settings
from babelscope.core.ties import Ties
from babelscope.methods.answers.questions import BETTER, RENDERED, missing_places


def _check(prompt: str, places: tuple[str, ...]) -> str:
    if missing := missing_places(prompt, places):
        raise ValueError(f"has no {missing[0]}; it needs {', '.join(f'{{{each}}}' for each in places)}")
    return prompt


class ContrastAnswersSettings(Settings):
    """How pairs are asked about."""

    prompt: str = BETTER
    """The question, with {source}, {first} and {second}; A names the first translation, B the second."""
    undecided: Ties = "half"
    """What an item counts as on which both orders give no choice: half (chance), wrong or correct."""

    @field_validator("prompt")
    @classmethod
    def _has_places(cls, prompt: str) -> str:
        return _check(prompt, ("source", "first", "second"))


class ConditionAnswersSettings(Settings):
    """Whose translations are judged, and how the evaluator is asked about them."""

    prompt: str = RENDERED
    """The question, with {translation}, {first} and {second}; A names the first source with a cue, B the second."""
    undecided: Ties = "half"
    """What an item counts as on which both orders give no choice: half (chance), wrong or correct."""
    translations: Literal["given", "system"] = "given"
    """Judge the translation an item has, asking the system where it has none; or always ask the system."""
    beam: int = Field(default=5, ge=1)
    """Beam size of the system."""
    preflight: int = Field(default=100, ge=0)
    """Test the evaluator on at most so many items before its answers are believed: on their references, and on
    translations of their sources with a cue. 0: no test, and `passed` is unknown."""

    @field_validator("prompt")
    @classmethod
    def _has_places(cls, prompt: str) -> str:
        return _check(prompt, ("translation", "first", "second"))
