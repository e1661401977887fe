"""`ensemble:` several scorers as one: token probabilities averaged, then the log, as the papers' evaluators do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from babelscope.core.answers import Fingerprint, Scored, Scores, System, Target
from babelscope.core.question import Asked
from babelscope.core.specs import Options
from babelscope.systems.asking import ask_score
from babelscope.systems.opening import open_system, require
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import shorten


class Ensemble:
    """Scorers that cut targets into the same tokens."""

    def __init__(self, name: str, members: Sequence[System]) -> None:
        if len(members) < 2:
            raise BabelscopeError(f"{name}: an ensemble has at least two members")
        for member in members:
            require(member, "score", what_for="an ensemble")
        self.name = name
        self.members = tuple(members)

    @property
    def fingerprint(self) -> Fingerprint:
        # Averaging does not depend on the order, so neither does the fingerprint.
        members = sorted(member.fingerprint.digest for member in self.members)
        return Fingerprint(backend="ensemble of token probabilities", settings={"members": members})

    def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
        """Log of the members' mean probability, token by token."""
        answers: list[list[Scored]] = []
        for member in self.members:
            answers.append(ask_score(cast(Scores, member), pairs))
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
