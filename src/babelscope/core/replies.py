"""Systems that answer prompts in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Reply:
    """What a system answered to a prompt, in words."""

    text: str
    ended: Literal["whole", "cut", "refused"] = "whole"
    """cut: it was longer than the system may answer. refused: there is no answer, or a filter withheld it."""


@runtime_checkable
class Replies(Protocol):
    def reply(self, prompts: Sequence[str]) -> list[Reply]:
        """The answer to each prompt by itself, as the system finds it most probable."""
