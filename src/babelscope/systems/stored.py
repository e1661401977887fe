"""A system whose answers are stored as JSON, however and wherever they are kept."""

from __future__ import annotations

import abc
import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from babelscope.core.answers import Budget, Capability, Drawing, Scored, System, Target, capabilities
from babelscope.core.question import as_question
from babelscope.core.replies import Reply
from babelscope.systems.asking import ASK, scored_as_json, scored_from_json, top_k_as_json, top_k_from_json
from babelscope.systems.decorators import Decorator


@dataclass(frozen=True, slots=True)
class Form:
    """An answer as JSON and back; `read` raises what wrong JSON makes it raise."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


class Stored(Decorator):
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
        asked: Sequence[Any],
        ask: Callable[[Sequence[Any]], list[Any]],
        form: Form,
    ) -> list[Any]:
        """Answers to all requests, stored or from `ask`; a request holds all that its answer depends on."""

    def _ask(self, method: str, asked: Sequence[Any], how: Mapping[str, Any]) -> list[Any]:
        requests = [_request(method, each, how) for each in asked]
        return self._answers(
            requests, asked, functools.partial(ASK[method], self.inner, **how), _form(method, how)
        )


def _request(method: str, asked: Any, how: Mapping[str, Any]) -> dict[str, Any]:
    """A call about one question as JSON; the whole question counts, so that another context is another request."""
    question, target = asked if method == "score" else (asked, "")
    request = {"ask": method, "source": as_question(question).as_json(), **how}
    if method == "score":
        request["target"] = _target(target)
    if method == "sample":
        request |= dataclasses.asdict(request.pop("drawing") or Drawing())
    if method == "top_k":
        request |= dataclasses.asdict(request.pop("budget") or Budget())
        if lengths := request.pop("lengths", None):
            request["lengths"] = dataclasses.asdict(lengths)
    return request


def _target(target: Target) -> Any:
    """An earlier answer counts by its tokens, which its text may not give."""
    if isinstance(target, str):
        return target
    return {"text": target.text, "tokens": list(target.tokens), "notes": list(target.notes)}


def _form(method: str, how: Mapping[str, Any]) -> Form:
    if method == "top_k":
        return Form(top_k_as_json, top_k_from_json)
    if method == "reply":
        return Form(dataclasses.asdict, lambda stored: Reply(stored["text"], stored["ended"]))
    if method == "score":
        return Form(lambda answer: [scored_as_json(answer)], lambda stored: _several(stored, range(1, 2))[0])
    counts = range(how["n"], how["n"] + 1) if method == "sample" else range(1, how["n_best"] + 1)
    return Form(
        lambda answers: [scored_as_json(each) for each in answers], lambda stored: _several(stored, counts)
    )


def _several(stored: Any, counts: range) -> list[Scored]:
    if len(stored) not in counts:
        raise ValueError(f"{len(stored)} answers")
    return [scored_from_json(each) for each in stored]
