"""What an ensemble needs of a member to decode with it: the network on token ids, and the text around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from babelscope.core.answers import Note, Scored
from babelscope.core.question import Asked
from babelscope.decoding.model import OpenModel
from babelscope.systems.tokenizers import Tokens

SourceIds = tuple[list[tuple[int, ...]], list[tuple[Note, ...]]]
"""For each question its source ids, and notes on it."""


class Writer(Protocol):
    def __call__(
        self, rows: Sequence[tuple[list[int], list[float]]], noted: tuple[Note, ...] = ()
    ) -> list[Scored]:
        """Generated ids and their log-probabilities as answers."""


@dataclass(frozen=True, slots=True)
class Opened:
    """An open model with the texts around it."""

    model: OpenModel
    tokens: Tokens
    sources: Callable[[Sequence[Asked]], SourceIds]
    written: Writer
    longest: int
    """Most tokens of a generated translation, EOS included."""
    length_penalty: float
    """Of its beam search: a hypothesis's log-probability is divided by its length to this power."""
    check_files: Callable[[], None]
    """Raises if the model's files are no longer those that were loaded."""


@runtime_checkable
class Opens(Protocol):
    """A system whose network can be decoded together with others."""

    def opened(self) -> Opened: ...
