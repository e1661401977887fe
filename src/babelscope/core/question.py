"""What a system is asked about: a source, with what is known of its context and languages."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Question:
    """A source to translate, or to score targets for; compared by all fields."""

    source: str
    context_source: tuple[str, ...] = ()
    """Sentences before the source, oldest first."""
    context_target: tuple[str, ...] = ()
    """Translations of sentences before it, oldest first."""
    source_language: str = ""
    target_language: str = ""

    def as_json(self) -> str | dict[str, Any]:
        """The source as text if all other fields are empty; else an object without the empty fields."""
        known = {name: value for name, value in dataclasses.asdict(self).items() if value or name == "source"}
        if len(known) == 1:
            return self.source
        return {name: list(value) if isinstance(value, tuple) else value for name, value in known.items()}

    @classmethod
    def from_json(cls, written: str | Mapping[str, Any]) -> Question:
        """The question that `as_json` wrote."""
        if isinstance(written, str):
            return cls(written)
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in written.items()
        }
        return cls(**fields)


Asked = str | Question
"""What users may pass: a question, or a source as text."""


def as_question(asked: Asked) -> Question:
    """Turn a source into a question; return a question unchanged."""
    return asked if isinstance(asked, Question) else Question(asked)


def sources_of(asked: Iterable[Asked]) -> list[str]:
    """The sources alone, for systems that use neither context nor languages."""
    return [each.source if isinstance(each, Question) else each for each in asked]
