"""Systems that answer by asking another one: cached, kept in a journal, spread over processes."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any

from babelscope.core.answers import Budget, Drawing, LengthRule, Scored, Target, TopK
from babelscope.core.question import Asked
from babelscope.core.replies import Reply


class Decorator(abc.ABC):
    """A system all of whose calls come together in one: `_ask`."""

    @abc.abstractmethod
    def _ask(self, method: str, asked: Sequence[Any], how: Mapping[str, Any]) -> list[Any]:
        """The answers to questions, or to pairs of them and targets: what `asking.ASK[method]` gives."""

    def translate(
        self,
        questions: Sequence[Asked],
        *,
        beam: int = 5,
        n_best: int = 1,
        length_penalty: float | None = None,
    ) -> list[list[Scored]]:
        # Only what is said is part of a request, so that answers stored before are found.
        said = {} if length_penalty is None else {"length_penalty": length_penalty}
        return self._ask("translate", questions, {"beam": beam, "n_best": n_best, **said})

    def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
        return self._ask("score", pairs, {})

    def sample(
        self, questions: Sequence[Asked], *, n: int, seed: int, drawing: Drawing | None = None
    ) -> list[list[Scored]]:
        return self._ask("sample", questions, {"n": n, "seed": seed, "drawing": drawing})

    def top_k(
        self,
        questions: Sequence[Asked],
        *,
        k: int,
        budget: Budget | None = None,
        lengths: LengthRule | None = None,
    ) -> list[TopK]:
        said = {} if lengths is None else {"lengths": lengths}
        return self._ask("top_k", questions, {"k": k, "budget": budget, **said})

    def reply(self, prompts: Sequence[str]) -> list[Reply]:
        return self._ask("reply", prompts, {})
