"""`ensemble:` several models as one: token probabilities averaged, then the log, as the papers' evaluators do."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, cast

from babelscope.core.registry import Options
from babelscope.core.system import (
    Asked,
    Capability,
    Diversity,
    Fingerprint,
    Note,
    Scored,
    Scores,
    System,
    Target,
    capabilities,
    properties,
)
from babelscope.decoding.mixture import Mixture, join_sources
from babelscope.systems.contract import ask_score
from babelscope.systems.models.base import LocalModel, SourceIds
from babelscope.systems.registry import open_system, require
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import shorten


class Ensemble(LocalModel):
    """Scorers that cut targets into the same tokens; where all are local models, it decodes their mean, too."""

    segmentations: Any = None  # its members' vocabularies may be cut in different ways

    def __init__(self, name: str, members: Sequence[System]) -> None:
        if len(members) < 2:
            raise BabelscopeError(f"{name}: an ensemble has at least two members")
        for member in members:
            require(member, "score", what_for="an ensemble")
        self.name = name
        self.members = tuple(members)

    @property
    def capabilities(self) -> frozenset[Capability]:
        """It scores; it decodes if all members are local models."""
        return frozenset({"score"} if self._closed else {"score", "translate", "sample", "top_k"})

    @property
    def _closed(self) -> list[str]:
        return [each.name for each in self.members if "next_tokens" not in capabilities(each)]

    @property
    def fingerprint(self) -> Fingerprint:
        # Averaging does not depend on the order, so neither does the fingerprint.
        members = sorted(member.fingerprint.digest for member in self.members)
        return Fingerprint(backend="ensemble of token probabilities", settings={"members": members})

    def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
        """Log of the members' mean probability, token by token."""
        answers = [ask_score(cast(Scores, member), pairs) for member in self.members]
        return [self._merge(group) for group in zip(*answers, strict=True)]

    def _merge(self, group: Sequence[Scored]) -> Scored:
        first = group[0]
        for other, member in zip(group[1:], self.members[1:], strict=True):
            if other.tokens != first.tokens:
                raise BabelscopeError(
                    f"{self.name}: {self.members[0].name} and {member.name} cut {shorten(first.text)} into different "
                    f"tokens ({' '.join(first.tokens)} and {' '.join(other.tokens)}); members must share a vocabulary"
                )
        logprobs = tuple(
            log_mean(values) for values in zip(*(scored.logprobs for scored in group), strict=True)
        )
        return Scored(first.text, first.tokens, logprobs, tuple(sorted({n for s in group for n in s.notes})))

    @property
    def length_penalty(self) -> float | None:  # type: ignore[override]  # a checkpoint has always one
        """The members' length penalty; None where they differ, or do not decode."""
        own = {properties(member).length_penalty for member in self.members}
        return own.pop() if len(own) == 1 and not self._closed else None

    def translate(
        self,
        questions: Sequence[Asked],
        *,
        beam: int = 5,
        n_best: int = 1,
        length_penalty: float | None = None,
        diversity: Diversity | None = None,
    ) -> list[list[Scored]]:
        """Beam search over the mean probabilities, each hypothesis rescored by `score`."""
        penalties = sorted({member.length_penalty for member in self._opened})
        if length_penalty is None and len(penalties) > 1:
            raise BabelscopeError(
                f"{self.name}: its members have different length penalties ({', '.join(map(str, penalties))}), and "
                "a beam search has one; give all members the same one"
            )
        penalty = penalties[0] if length_penalty is None else length_penalty
        return super().translate(
            questions, beam=beam, n_best=n_best, length_penalty=penalty, diversity=diversity
        )

    @functools.cached_property
    def _opened(self) -> list[LocalModel]:
        """The members in the order of the fingerprint, so that samples do not depend on the order given."""
        if closed := self._closed:
            raise BabelscopeError(
                f"{self.name} scores, but cannot decode: {', '.join(closed)} does not give next-token distributions"
            )
        ordered = sorted(self.members, key=lambda member: member.fingerprint.digest)
        opened: list[LocalModel] = [cast(Any, member).opened() for member in ordered]
        for other in opened[1:]:
            _require_same_names(self.name, opened[0], other)
        return opened

    @functools.cached_property
    def model(self) -> Mixture:  # type: ignore[override]
        """The members' networks as one."""
        return Mixture([each.model for each in self._opened])

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to another process: the members, of which the mixture is made there."""
        return {"name": self.name, "members": self.members}

    def check_files(self) -> None:
        for member in self._opened:
            member.check_files()

    def _source_ids(self, asked: Sequence[Asked]) -> SourceIds:
        """All members' source ids of a question in one row, and their notes on it."""
        rows, notes = zip(*(member._source_ids(asked) for member in self._opened), strict=True)
        joined = [join_sources(each) for each in zip(*rows, strict=True)]
        noted = [tuple(sorted({note for own in each for note in own})) for each in zip(*notes, strict=True)]
        return joined, noted

    def _written(
        self, rows: Sequence[tuple[list[int], list[float]]], noted: tuple[Note, ...] = ()
    ) -> list[Scored]:
        return self._opened[0]._written(rows, noted)

    def _longest(self, asked: int = 0) -> int:
        return min(filter(None, (asked, *(member._longest() for member in self._opened))))


def _require_same_names(name: str, first: LocalModel, other: LocalModel) -> None:
    """Raise unless an id stands for the same token in both models."""
    shared = min(first.model.vocabulary.size, other.model.vocabulary.size)
    ours, theirs = (each.tokens.tokens(range(shared)) for each in (first, other))
    if ours != theirs:
        place = next(i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b)
        raise BabelscopeError(
            f"{name}: members must share a vocabulary, but token {place} is {ours[place]!r} of {first.name} and "
            f"{theirs[place]!r} of {other.name}"
        )


def log_mean(logs: Sequence[float]) -> float:
    """Natural log of the mean of probabilities given as natural logs."""
    top = max(logs)
    if top == -math.inf:
        return top
    return top + math.log(math.fsum(math.exp(value - top) for value in logs) / len(logs))


def open_ensemble(rest: str, options: Options) -> Ensemble:
    """Open `ensemble:SPEC,SPEC,...`; a member's own options come after its name, as usual."""
    # The last member's options were split off as the ensemble's own, which has none: give them back.
    _, _, whole = options.spec.partition(":")
    options.take_all()
    members = [member for member in whole.split(",") if member]
    return Ensemble(f"ensemble:{rest}", [open_system(member) for member in members])
