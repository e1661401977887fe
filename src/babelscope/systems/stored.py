"""A system whose answers are stored as JSON: what its calls have in common, however and wherever they are kept."""

from __future__ import annotations

import abc
import dataclasses
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from babelscope.core.answers import Budget, Capability, Drawing, Scored, System, Target, TopK, capabilities
from babelscope.core.question import Asked, as_question
from babelscope.systems.asking import (
    ask_sample,
    ask_score,
    ask_top_k,
    ask_translate,
    scored_as_json,
    scored_from_json,
    top_k_as_json,
    top_k_from_json,
)


@dataclass(frozen=True, slots=True)
class Form:
    """An answer as JSON and back; `read` raises what wrong JSON makes it raise."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


TOP_K = Form(top_k_as_json, top_k_from_json)


def several(counts: range) -> Form:
    """Lists of answers, each of as many as `counts` allows."""

    def read(answers: Any) -> list[Scored]:
        if len(answers) not in counts:
            raise ValueError(f"{len(answers)} answers")
        return [scored_from_json(each) for each in answers]

    return Form(lambda answers: [scored_as_json(each) for each in answers], read)


class Stored(abc.ABC):
    """Asks another system what it has no stored answer to."""

    def __init__(self, inner: System) -> None:
        self.inner: Any = inner
        self.name = inner.name
        self.fingerprint = inner.fingerprint
        self.capabilities: frozenset[Capability] = capabilities(inner)

    @abc.abstractmethod
    def _answers(
        self,
        requests: Sequence[dict[str, Any]],
        questions: Sequence[Any],
        ask: Callable[[Sequence[Any]], list[Any]],
        form: Form,
    ) -> list[Any]:
        """The answer to each question, stored or from `ask`; its request is all that the answer depends on."""

    def translate(self, questions: Sequence[Asked], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:
        how = {"beam": beam, "n_best": n_best}
        ask = functools.partial(ask_translate, self.inner, beam=beam, n_best=n_best)
        requests = [{"ask": "translate", **_source(each), **how} for each in questions]
        return self._answers(requests, questions, ask, several(range(1, n_best + 1)))

    def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
        requests = [{"ask": "score", **_source(each), "target": _target(target)} for each, target in pairs]
        answers = self._answers(
            requests,
            pairs,
            lambda some: [[each] for each in ask_score(self.inner, some)],
            several(range(1, 2)),
        )
        return [only for (only,) in answers]

    def sample(
        self, questions: Sequence[Asked], *, n: int, seed: int, drawing: Drawing | None = None
    ) -> list[list[Scored]]:
        how = {"n": n, "seed": seed, **dataclasses.asdict(drawing or Drawing())}
        ask = functools.partial(ask_sample, self.inner, n=n, seed=seed, drawing=drawing)
        requests = [{"ask": "sample", **_source(each), **how} for each in questions]
        return self._answers(requests, questions, ask, several(range(n, n + 1)))

    def top_k(self, questions: Sequence[Asked], *, k: int, budget: Budget | None = None) -> list[TopK]:
        how = {"k": k, **dataclasses.asdict(budget or Budget())}
        ask = functools.partial(ask_top_k, self.inner, k=k, budget=budget)
        requests = [{"ask": "top_k", **_source(each), **how} for each in questions]
        return self._answers(requests, questions, ask, TOP_K)


def _source(asked: Asked) -> dict[str, Any]:
    """A question as part of a request: all of it, so that another context is another request."""
    return {"source": as_question(asked).as_json()}


def _target(target: Target) -> Any:
    """A target as part of a request; an earlier answer counts by its tokens, which its text may not give."""
    if isinstance(target, str):
        return target
    return {"text": target.text, "tokens": list(target.tokens), "notes": list(target.notes)}
