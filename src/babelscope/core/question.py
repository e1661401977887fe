"""What a system is asked about: a source, with what is known of its context and languages."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Question:
    """A source to translate, or to score targets of. Two questions that differ in any field are two questions."""

    source: str
    context_source: tuple[str, ...] = ()
    """Sentences before the source, oldest first."""
    context_target: tuple[str, ...] = ()
    """Translations of sentences before it, oldest first."""
    source_language: str = ""
    target_language: str = ""

    def as_json(self) -> str | dict[str, Any]:
        """The source alone where nothing else is known; else an object without the empty fields."""
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
"""What may be asked: a question, or only a source."""


def as_question(asked: Asked) -> Question:
    """The question that a source alone stands for; a question as it is."""
    return asked if isinstance(asked, Question) else Question(asked)


def sources_of(asked: Iterable[Asked]) -> list[str]:
    """The source of each: what a system reads that knows nothing of context and languages."""
    return [each.source if isinstance(each, Question) else each for each in asked]
