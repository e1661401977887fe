"""The methods by name. Nothing of them is imported here: `babelscope --help` must be fast."""

from __future__ import annotations

from typing import TYPE_CHECKING

from babelscope.core.registry import Registry

if TYPE_CHECKING:
    from babelscope.methods.base import Method

SUMMARIES = {
    "contrast": "Does the system find the right translation more likely than one with a small error in it?",
    "errors": "Which errors does the system make when it translates?",
    "rules": "Does the system keep the rules that each sentence comes with?",
    "judged": "Which errors does a judge find, and can it be trusted?",
    "condition": "Does the system translate the sense or the gender that the source means?",
    "prompted_choice": "Asked in words, does a system choose the right one of two?",
    "space": "Are better translations more probable, and what does beam search hide?",
    "challenge": "Are sentences with a difficult construction translated worse than others?",
    "quality": "How good are the translations, by metrics?",
    "likelihood": "How probable does the system find translations that a person wrote?",
}
"""The question of each method that has a command of its name, in the order of `babelscope --help`."""
_PLACES = {
    "contrast": "contrast.method:Contrast",
    "errors": "errors.method:Errors",
    "rules": "rules:Rules",
    "judged": "judged.method:Judged",
    "condition": "condition.method:Condition",
    "prompted_choice": "prompted_choice.method:PromptedChoice",
    "space": "space.method:Space",
    "challenge": "challenge.method:Challenge",
    "quality": "quality:Quality",
    "likelihood": "likelihood:Likelihood",
    "patterns_mucow": "patterns.mucow:Mucow",
    "patterns_winomt": "patterns.winomt:Winomt",
}
METHODS: Registry[type[Method]] = Registry(
    "method",
    "babelscope.methods.base:Method",
    "babelscope.methods",
    {name: f"babelscope.methods.{place}" for name, place in _PLACES.items()},
)


def method_names() -> list[str]:
    """The methods that can be named in a study: ours, and those of installed packages."""
    return METHODS.names()


def find_method(name: str) -> type[Method]:
    """A method by name; only its own package is imported."""
    return METHODS.find(name)
