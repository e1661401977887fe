"""Asking a system: answers that break its contract are refused; answers as JSON and back."""

from __future__ import annotations

import abc
import contextlib
import functools
import inspect
import math
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

from babelscope.core.results import finite_or_none
from babelscope.core.system import (
    METER,
    Asked,
    Budget,
    Capability,
    Diversity,
    Drawing,
    LengthRule,
    Question,
    Replies,
    Reply,
    Samples,
    Scored,
    Scores,
    Searches,
    Segmented,
    Target,
    TopK,
    Translates,
    Unanswered,
    as_question,
    capabilities,
    properties,
)
from babelscope.util.errors import BabelscopeError, RefusedText, Side
from babelscope.util.text import check_texts, json_number, shorten

_Question = TypeVar("_Question")
_Pair = tuple[Asked, Target]
_Answer = TypeVar("_Answer")


_Ask = TypeVar("_Ask", bound=Callable[..., list[Any]])
_asking = threading.local()


def _metered(ask: _Ask) -> _Ask:
    """Count the tokens of the answers, but once only when a system asks the system that it wraps."""

    @functools.wraps(ask)
    def asked(*args: Any, **how: Any) -> list[Any]:
        if getattr(_asking, "counted", False):
            return ask(*args, **how)
        _asking.counted = True
        try:
            answers = ask(*args, **how)
        finally:
            _asking.counted = False
        METER.add(tokens=sum(map(_tokens, answers)))
        return answers

    return cast(_Ask, asked)


def _tokens(answer: Any) -> int:
    if isinstance(answer, Scored):
        return len(answer.tokens)
    if isinstance(answer, Reply):  # servers do not report the tokens of an answer in words
        return 0
    return sum(map(_tokens, answer.found if isinstance(answer, TopK) else answer))


@_metered
def ask_translate(
    system: Translates,
    asked: Sequence[Asked],
    *,
    beam: int = 5,
    n_best: int = 1,
    length_penalty: float | None = None,
    diversity: Diversity | None = None,
) -> list[list[Scored]]:
    """`system.translate`, with as many lists as questions, none of them empty or longer than `n_best`.

    `length_penalty` is for this call, in place of the system's own; `diversity` splits the beam into groups.
    """
    ask: Callable[..., list[list[Scored]]] = system.translate
    own = properties(system).length_penalty
    if length_penalty is not None and length_penalty != own:
        if own is None:
            raise BabelscopeError(f"{_name(system)} has no beam search whose length penalty could be set")
        ask = functools.partial(ask, length_penalty=length_penalty)
    if diversity is not None:
        if "diversity" not in inspect.signature(ask).parameters:
            raise no_groups(_name(system))
        ask = functools.partial(ask, diversity=diversity)
    questions = [as_question(each) for each in asked]
    answers = _call(system, ask, questions, beam=beam, n_best=n_best)
    for question, answer in zip(questions, answers, strict=True):
        _check_answers(system, answer, Scored)
        if not answer:
            raise BabelscopeError(f"{_name(system)} gave no translation of {shorten(question.source)}")
        if len(answer) > n_best:
            raise BabelscopeError(
                f"{_name(system)} gave {len(answer)} translations where {n_best} were asked"
            )
    return answers


def no_groups(name: str) -> BabelscopeError:
    """The error of a system without diverse beam search."""
    return BabelscopeError(f"{name} has no beam search whose groups could be set; leave out groups")


@_metered
def ask_score(system: Scores, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
    """`system.score`, with as many answers as pairs, all of them with log-probabilities."""
    questions = [(as_question(asked), target) for asked, target in pairs]
    answers = _check_answers(system, _call(system, system.score, questions), Scored)
    for answer in answers:
        if not answer.has_scores:
            raise BabelscopeError(f"{_name(system)} gave no log-probabilities for {shorten(answer.text)}")
    return answers


def ask_segmentations(system: Any, pairs: Sequence[tuple[Asked, str]], *, n: int) -> list[Segmented]:
    """The probability of each target, summed over its segmentations: the search stops after `n` of them."""
    ask = getattr(system, "segmentations", None)
    # A system that is asked with context lends its methods, but searches nothing.
    if not callable(ask) or "top_k" not in capabilities(system):
        raise BabelscopeError(
            f"{_name(system)} has no vocabulary over which a text's segmentations could be summed; leave out "
            "segmentations (it needs hf:, lab: or another local model, without context)"
        )
    questions = [(as_question(asked), target) for asked, target in pairs]
    return _check_answers(system, _call(system, ask, questions, n=n), Segmented)


@_metered
def ask_sample(
    system: Samples, asked: Sequence[Asked], *, n: int, seed: int, drawing: Drawing | None = None
) -> list[list[Scored]]:
    """`system.sample`, with as many lists as questions, and `n` samples in each."""
    ask: Callable[..., list[list[Scored]]] = system.sample
    if drawing is not None and drawing != Drawing():
        if "drawing" not in inspect.signature(ask).parameters:
            raise BabelscopeError(
                f"{_name(system)} draws from its whole distribution only; leave out temperature, cuts and length"
            )
        ask = functools.partial(ask, drawing=drawing)
    answers = _call(system, ask, [as_question(each) for each in asked], n=n, seed=seed)
    for samples in answers:
        _as_many(system, _check_answers(system, samples, Scored), n)
    return answers


@_metered
def ask_top_k(
    system: Searches,
    asked: Sequence[Asked],
    *,
    k: int,
    budget: Budget | None = None,
    lengths: LengthRule | None = None,
) -> list[TopK]:
    """`system.top_k`, with as many answers as questions, none with more than `k` hypotheses."""
    ask: Callable[..., list[TopK]] = system.top_k
    if lengths is not None and lengths != LengthRule():
        if "lengths" not in inspect.signature(ask).parameters:
            raise BabelscopeError(
                f"{_name(system)} searches all lengths by log-probability alone; leave out lengths and length penalty"
            )
        ask = functools.partial(ask, lengths=lengths)
    questions = [as_question(each) for each in asked]
    answers = _check_answers(system, _call(system, ask, questions, k=k, budget=budget), TopK)
    for answer in answers:
        if len(answer.found) > k:
            raise BabelscopeError(f"{_name(system)} gave {len(answer.found)} hypotheses where {k} were asked")
    return answers


@_metered
def ask_reply(system: Replies, prompts: Sequence[str]) -> list[Reply]:
    """`system.reply`, with as many answers as prompts."""
    return _check_answers(system, _call(system, system.reply, list(prompts)), Reply)


ASK: Mapping[str, Callable[..., list[Any]]] = {
    "translate": ask_translate,
    "score": ask_score,
    "sample": ask_sample,
    "top_k": ask_top_k,
    "reply": ask_reply,
}
"""How a system is asked, by the name of its method."""


class Decorator(abc.ABC):
    """A wrapper of a system that routes every call through `_ask`."""

    @abc.abstractmethod
    def _ask(self, method: str, asked: Sequence[Any], how: Mapping[str, Any]) -> list[Any]:
        """The answers to questions, or to pairs of them and targets: what `ASK[method]` gives."""

    def translate(
        self,
        questions: Sequence[Asked],
        *,
        beam: int = 5,
        n_best: int = 1,
        length_penalty: float | None = None,
        diversity: Diversity | None = None,
    ) -> list[list[Scored]]:
        # Only what is given is part of a request, so that answers stored before are found.
        how = {"length_penalty": length_penalty, "diversity": diversity}
        given = {name: value for name, value in how.items() if value is not None}
        return self._ask("translate", questions, {"beam": beam, "n_best": n_best, **given})

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
        given = {} if lengths is None else {"lengths": lengths}
        return self._ask("top_k", questions, {"k": k, "budget": budget, **given})

    def reply(self, prompts: Sequence[str]) -> list[Reply]:
        return self._ask("reply", prompts, {})


class Wrapper(Decorator):
    """A system around another, `inner`, with its name, capabilities and properties."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.name: str = inner.name
        self.capabilities: frozenset[Capability] = capabilities(inner)

    def __getattr__(self, name: str) -> Any:
        """Whatever is not a call with answers is asked of the system itself."""
        if name == "inner":  # not set yet, as while being copied
            raise AttributeError(name)
        return getattr(self.inner, name)


def ask_answered(
    ask: Callable[[Sequence[_Question]], list[_Answer]], questions: Sequence[_Question]
) -> list[_Answer | str]:
    """Answers to questions, or to (question, target) pairs; the reason in place of an answer that is missing."""
    reasons: dict[_Question, str] = {}
    while True:
        left = [question for question in questions if question not in reasons]
        try:
            answers = iter(ask(left) if left else ())
        except Unanswered as error:
            reasons |= {left[index]: reason for index, reason in error.reasons.items()}
            continue
        return [reasons[question] if question in reasons else next(answers) for question in questions]


def leave_refused_targets(
    ask: Callable[[Sequence[_Pair]], list[_Answer]], texts: Collection[str], what: str
) -> Callable[[Sequence[_Pair]], list[_Answer]]:
    """If one of these targets is refused, its question has no answer; the reason begins with `what` the target is.

    For a system's own translations: nobody can shorten one that is too long for the system that scores it.
    """

    def ask_some(some: Sequence[_Pair]) -> list[_Answer]:
        try:
            return ask(some)
        except RefusedText as error:
            index = error.number - 1
            if error.side != "target" or _text(some[index][1]) not in texts:
                raise
            raise Unanswered({index: f"{what} {error.reason}"}) from error

    return ask_some


def _text(target: Target) -> str:
    return target if isinstance(target, str) else target.text


def check_targets(targets: Sequence[Target]) -> None:
    """Refuse a text that cannot be a target; an earlier answer is not checked again."""
    texts = [target if isinstance(target, str) else "" for target in targets]
    check_texts(texts, what="target", allow_empty=True)


@contextlib.contextmanager
def relocate_errors(place_of: Callable[[Side, int], str]) -> Iterator[None]:
    """Replace "source 3" in the error of a refused text by `place_of("source", 3)`: a line of a file, or an item."""
    try:
        yield
    except RefusedText as error:
        raise BabelscopeError(f"{place_of(error.side, error.number)} {error.reason}") from error


@contextlib.contextmanager
def renumber_errors(numbers: Sequence[int]) -> Iterator[None]:
    """Number the questions of an error in the whole list, where only questions `numbers` (from 1) were asked."""
    try:
        yield
    except RefusedText as error:
        raise RefusedText(error.side, numbers[error.number - 1], error.reason) from error
    except Unanswered as error:
        reasons = {numbers[index] - 1: reason for index, reason in error.reasons.items()}
        raise Unanswered(reasons) from error


def _call(
    system: object, ask: Callable[..., list[_Answer]], questions: list[_Question], **how: Any
) -> list[_Answer]:
    """As many answers as questions; a method that takes other arguments is refused, since plug-ins may differ."""
    signature = inspect.signature(ask)
    try:
        signature.bind(questions, **how)
    except TypeError as error:
        name = getattr(ask, "__name__", "this method")
        given = ", ".join(["a list", *(f"{each}=" for each in how)])
        taken = ", ".join(signature.parameters)
        raise BabelscopeError(
            f"{_name(system)}: {name}({taken}) cannot be called as {name}({given}): {error}; "
            "docs/inside/extending.md says what a system's methods take"
        ) from None
    try:
        answers = ask(questions, **how)
    except RefusedText as error:
        error.item = _item_of(questions[error.number - 1])
        raise
    except Unanswered as error:
        found = {_item_of(questions[index]): reason for index, reason in error.reasons.items()}
        error.items = {item: reason for item, reason in found.items() if item}
        raise
    if not isinstance(answers, Sequence):
        raise _wrong_type(system, answers, list)
    return _as_many(system, answers, len(questions))


def _item_of(asked: Any) -> str:
    """The id of the item that a question, or a pair of it and a target, is about; empty for a prompt."""
    question = asked[0] if isinstance(asked, tuple) else asked
    return question.item if isinstance(question, Question) else ""


def _check_answers(system: object, answers: list[_Answer], kind: type) -> list[_Answer]:
    """Refuse answers that are not a list of this kind."""
    if not isinstance(answers, Sequence):
        raise _wrong_type(system, answers, list)
    for answer in answers:
        if not isinstance(answer, kind):
            raise _wrong_type(system, answer, kind)
    return answers


def _wrong_type(system: object, answer: object, needed: type) -> BabelscopeError:
    return BabelscopeError(
        f"{_name(system)} gave {shorten(repr(answer))} where a {needed.__name__} was asked; "
        "docs/inside/extending.md says what a system's methods return"
    )


def _as_many(system: object, answers: list[_Answer], count: int) -> list[_Answer]:
    # Pairing answers with questions by position is only safe if none is missing.
    if len(answers) != count:
        raise BabelscopeError(f"{_name(system)} gave {len(answers)} answers to {count} questions")
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


def segmented_as_json(answer: Segmented) -> dict[str, Any]:
    """The sum over segmentations; a share of nothing is null."""
    return {
        "summed": finite_or_none(answer.total),
        "segmentations": answer.count,
        "usual_segmentation": finite_or_none(answer.share),
        "lower_bound": not answer.exact,
    }


def scored_from_json(answer: Mapping[str, Any]) -> Scored:
    """The answer that `scored_as_json` wrote."""
    return Scored(
        answer["text"],
        tuple(answer["tokens"]),
        tuple(-math.inf if each is None else _number(each) for each in answer["logprobs"]),
        tuple(answer["notes"]),
    )


def _number(stored: object) -> float:
    if (number := json_number(stored)) is None:
        raise ValueError(f"{stored!r} is not a number")
    return number


def top_k_as_json(answer: TopK) -> dict[str, Any]:
    """An answer as JSON; a bound of minus infinity becomes null."""
    return {
        "found": [scored_as_json(each) for each in answer.found],
        "exact": answer.exact,
        "bound": None if math.isinf(answer.bound) else answer.bound,
        "mass": answer.mass,
        "expansions": answer.expansions,
        "minimum": answer.minimum,
        "seconds": answer.seconds,
    }


def top_k_from_json(answer: Mapping[str, Any]) -> TopK:
    """The answer that `top_k_as_json` wrote."""
    found = tuple(scored_from_json(each) for each in answer["found"])
    bound = -math.inf if answer["bound"] is None else _number(answer["bound"])
    seconds = answer["seconds"]
    return TopK(
        found,
        answer["exact"],
        bound,
        _number(answer["mass"]),
        answer["expansions"],
        answer["minimum"],
        None if seconds is None else _number(seconds),
    )
