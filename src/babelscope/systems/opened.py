"""Decoding with open models, alone or as an ensemble: the network on token ids, and the text around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

from babelscope.core.answers import Note, Scored, TopK
from babelscope.core.question import Asked
from babelscope.decoding.model import OpenModel, out_of_memory
from babelscope.systems.tokenizers import Tokens
from babelscope.util.errors import SystemFailure

if TYPE_CHECKING:
    from babelscope.decoding.exact import ExactResult

_Answer = TypeVar("_Answer")
_Ids = tuple[int, ...]

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


def each_once(
    name: str, run: Callable[[list[_Ids]], list[_Answer]], sources: Sequence[_Ids]
) -> list[_Answer]:
    """What `run` finds for each source, each different one asked once."""
    distinct = list(dict.fromkeys(sources))
    found = dict(zip(distinct, in_parts(name, run, distinct), strict=True))
    return [found[source] for source in sources]


def in_parts(name: str, run: Callable[[list[_Ids]], list[_Answer]], sources: list[_Ids]) -> list[_Answer]:
    """`run` of all sources, in as many parts as memory asks for."""
    try:
        return run(sources)
    except Exception as error:
        if not out_of_memory(error):
            raise
        if len(sources) == 1:
            raise no_memory(name) from error
    middle = len(sources) // 2
    return [*in_parts(name, run, sources[:middle]), *in_parts(name, run, sources[middle:])]


def no_memory(name: str) -> SystemFailure:
    return SystemFailure(f"{name}: out of memory on a single sentence; try a shorter one or another device")


def as_top_k(found: ExactResult, write: Writer, noted: tuple[Note, ...]) -> TopK:
    """What exact search found, as an answer."""
    hypotheses = write(list(zip(found.ids, found.logprobs, strict=True)), noted)
    certificate = (found.exact, found.bound, found.mass, found.expansions, found.minimum, found.seconds)
    return TopK(tuple(hypotheses), *certificate)
