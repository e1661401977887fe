"""Asking a system: answers that break its contract are refused; answers as JSON and back."""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

from babelscope.core.answers import (
    Budget,
    Drawing,
    Samples,
    Scored,
    Scores,
    Searches,
    Target,
    TopK,
    Translates,
    Unanswered,
)
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import shorten

_Question = TypeVar("_Question")
_Answer = TypeVar("_Answer")


def ask_translate(
    system: Translates, sources: Sequence[str], *, beam: int = 5, n_best: int = 1
) -> list[list[Scored]]:
    """`system.translate`, with as many lists as sources, none of them empty."""
    answers = _as_many(system, system.translate(sources, beam=beam, n_best=n_best), len(sources))
    return _none_empty(system, sources, answers)


def ask_score(system: Scores, pairs: Sequence[tuple[str, Target]]) -> list[Scored]:
    """`system.score`, with as many answers as pairs, all of them with log-probabilities."""
    answers = _as_many(system, system.score(pairs), len(pairs))
    for answer in answers:
        if not answer.has_scores:
            raise BabelscopeError(f"{_name(system)} gave no log-probabilities for {shorten(answer.text)}")
    return answers


def ask_sample(
    system: Samples, sources: Sequence[str], *, n: int, seed: int, drawing: Drawing | None = None
) -> list[list[Scored]]:
    """`system.sample`, with as many lists as sources, and `n` samples in each."""
    ask: Callable[..., list[list[Scored]]] = system.sample
    if drawing is not None and drawing != Drawing():
        if "drawing" not in inspect.signature(ask).parameters:
            raise BabelscopeError(
                f"{_name(system)} draws from its whole distribution only; leave out temperature, cuts and length"
            )
        ask = functools.partial(ask, drawing=drawing)
    answers = _as_many(system, ask(sources, n=n, seed=seed), len(sources))
    for samples in answers:
        _as_many(system, samples, n)
    return answers


def ask_top_k(
    system: Searches, sources: Sequence[str], *, k: int, budget: Budget | None = None
) -> list[TopK]:
    """`system.top_k`, with as many answers as sources, none with more than `k` hypotheses."""
    answers = _as_many(system, system.top_k(sources, k=k, budget=budget), len(sources))
    for answer in answers:
        if len(answer.found) > k:
            raise BabelscopeError(f"{_name(system)} gave {len(answer.found)} hypotheses where {k} were asked")
    return answers


def ask_answered(
    ask: Callable[[Sequence[_Question]], list[_Answer]], questions: Sequence[_Question]
) -> list[_Answer | str]:
    """Answers to all questions, sources or pairs; in place of one that the system did not give, the reason."""
    reasons: dict[tuple[str, str | None], str] = {}
    while True:
        left = [question for question in questions if _name_of(question) not in reasons]
        try:
            answers = iter(ask(left) if left else ())
        except Unanswered as error:
            if not {_name_of(question) for question in left} & error.reasons.keys():
                raise
            reasons |= error.reasons
            continue
        return [reasons.get(_name_of(question)) or next(answers) for question in questions]


def _name_of(question: object) -> tuple[str, str | None]:
    """A question as `Unanswered` names it."""
    if isinstance(question, str):
        return question, None
    source, target = cast(tuple[str, Target], question)
    return source, target if isinstance(target, str) else target.text


@contextlib.contextmanager
def places(told: Callable[[str, int], str]) -> Iterator[None]:
    """Says where a refused text really stands: `told("source", 3)` takes the place of "source 3".

    A system that refuses a text begins its sentence so, counting from 1 what it was asked at once; only who asked
    knows which line of which file that is.
    """
    try:
        yield
    except BabelscopeError as error:
        refused = re.match(r"(source|target) ([0-9]+)(?= )", str(error))
        if refused is None or type(error) is not BabelscopeError:
            raise
        where = told(refused[1], int(refused[2]))
        raise BabelscopeError(where + str(error)[refused.end() :]) from error


def _as_many(system: object, answers: list[_Answer], count: int) -> list[_Answer]:
    # Pairing answers with questions by position is only safe if none is missing.
    if len(answers) != count:
        raise BabelscopeError(f"{_name(system)} gave {len(answers)} answers to {count} questions")
    return answers


def _none_empty(system: object, sources: Sequence[str], answers: list[list[Scored]]) -> list[list[Scored]]:
    for source, answer in zip(sources, answers, strict=True):
        if not answer:
            raise BabelscopeError(f"{_name(system)} gave no translation of {shorten(source)}")
    return answers


def _name(system: object) -> str:
    name: str = getattr(system, "name", type(system).__name__)
    return name


def scored_as_json(scored: Scored) -> dict[str, Any]:
    """An answer as JSON; the log-probability of an impossible token, minus infinity, becomes null."""
    return {
        "text": scored.text,
        "tokens": list(scored.tokens),
        "logprobs": [None if math.isinf(each) else float(each) for each in scored.logprobs],
        "notes": list(scored.notes),
    }


def scored_from_json(answer: Mapping[str, Any]) -> Scored:
    """The answer that `scored_as_json` wrote."""
    return Scored(
        answer["text"],
        tuple(answer["tokens"]),
        tuple(-math.inf if each is None else each for each in answer["logprobs"]),
        tuple(answer["notes"]),
    )


def top_k_as_json(answer: TopK) -> dict[str, Any]:
    """An answer as JSON; a bound of minus infinity becomes null."""
    return {
        "found": [scored_as_json(each) for each in answer.found],
        "exact": answer.exact,
        "bound": None if math.isinf(answer.bound) else answer.bound,
        "mass": answer.mass,
        "expansions": answer.expansions,
        "minimum": answer.minimum,
    }


def top_k_from_json(answer: Mapping[str, Any]) -> TopK:
    """The answer that `top_k_as_json` wrote."""
    found = tuple(scored_from_json(each) for each in answer["found"])
    bound = -math.inf if answer["bound"] is None else answer["bound"]
    return TopK(found, answer["exact"], bound, answer["mass"], answer["expansions"], answer["minimum"])
