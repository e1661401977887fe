"""What can be chosen about a forced choice by answer."""

from __future__ import annotations

from pydantic import field_validator

from babelscope.core.settings import Settings
from babelscope.core.ties import Ties
from babelscope.methods.answers.questions import BETTER, RENDERED
from babelscope.methods.condition.settings import Conditioned


def _check(prompt: str, *names: str) -> str:
    places = [f"{{{name}}}" for name in names]
    if missing := [place for place in places if place not in prompt]:
        raise ValueError(f"has no {missing[0]}; it needs {', '.join(places)}")
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
        return _check(prompt, "source", "first", "second")


class ConditionAnswersSettings(Conditioned):
    """Whose translations are judged, and how the evaluator is asked about them."""

    prompt: str = RENDERED
    """The question, with {translation}, {first} and {second}; A names the first source with a cue, B the second."""
    undecided: Ties = "half"
    """What an item counts as on which both orders give no choice: half (chance), wrong or correct."""

    @field_validator("prompt")
    @classmethod
    def _has_places(cls, prompt: str) -> str:
        return _check(prompt, "translation", "first", "second")
