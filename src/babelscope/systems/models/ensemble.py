"""`ensemble:` several models as one: token probabilities averaged, then the log, as the papers' evaluators do."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from babelscope.core.registry import Options
from babelscope.core.system import (
    Asked,
    Budget,
    Capability,
    Drawing,
    Fingerprint,
    Scored,
    Scores,
    System,
    Target,
    TopK,
)
from babelscope.systems.contract import ask_score
from babelscope.systems.registry import open_system, require
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import shorten

if TYPE_CHECKING:
    from babelscope.systems.models.base import Joint, LocalModel


class Ensemble:
    """Scorers that cut targets into the same tokens; where all are open models, it decodes too."""

    def __init__(self, name: str, members: Sequence[System]) -> None:
        if len(members) < 2:
            raise BabelscopeError(f"{name}: an ensemble has at least two members")
        for member in members:
            require(member, "score", what_for="an ensemble")
        self.name = name
        self.members = tuple(members)

    @property
    def capabilities(self) -> frozenset[Capability]:
        """It scores; it decodes if the network of every member is open."""
        opens = all(hasattr(member, "opened") for member in self.members)
        return frozenset({"score", "translate", "sample", "top_k"} if opens else {"score"})

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

    def translate(self, questions: Sequence[Asked], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:
        """Beam search over the mean probabilities, each hypothesis rescored by `score`."""
        penalty = self._joint.common_penalty()
        return self._joint.translate(questions, beam=beam, n_best=n_best, length_penalty=penalty)

    def sample(
        self, questions: Sequence[Asked], *, n: int, seed: int, drawing: Drawing | None = None
    ) -> list[list[Scored]]:
        """Ancestral samples of the mean probabilities, in the order drawn, with the ensemble's log-probabilities."""
        return self._joint.sample(questions, n=n, seed=seed, drawing=drawing)

    def top_k(self, questions: Sequence[Asked], *, k: int, budget: Budget | None = None) -> list[TopK]:
        """Exact search over the mean probabilities, within the shortest limit of the members, if there is one."""
        return self._joint.top_k(questions, k=k, budget=budget)

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to another process: the members, of which the mixture is made there."""
        return {key: value for key, value in self.__dict__.items() if key != "_joint"}

    @functools.cached_property
    def _joint(self) -> Joint:
        """The members as one open model."""
        from babelscope.systems.models.base import Joint

        closed = [member.name for member in self.members if not hasattr(member, "opened")]
        if closed:
            raise BabelscopeError(
                f"{self.name} scores, but cannot decode: {', '.join(closed)} does not give next-token distributions"
            )
        # In the order of the fingerprint, so that samples do not depend on the order of members either.
        ordered = sorted(self.members, key=lambda member: member.fingerprint.digest)
        opened = [cast(Any, member).opened() for member in ordered]
        _require_same_names(self.name, [member.name for member in ordered], opened)
        return Joint(self.name, opened, self.score)


def _require_same_names(name: str, names: Sequence[str], opened: Sequence[LocalModel]) -> None:
    """Raise unless an id stands for the same token in all members."""
    first = opened[0]
    for other_name, other in zip(names[1:], opened[1:], strict=True):
        shared = min(first.model.vocabulary.size, other.model.vocabulary.size)
        ours, theirs = (each.tokens.tokens(range(shared)) for each in (first, other))
        if ours != theirs:
            place = next(i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b)
            raise BabelscopeError(
                f"{name}: members must share a vocabulary, but token {place} is {ours[place]!r} of {names[0]} and "
                f"{theirs[place]!r} of {other_name}"
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
