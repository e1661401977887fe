"""Asking a system: what breaks its contract is refused, and what is refused is told with its place."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from babelscope.core.system import Asked, Properties, Question, Scored, Target, Unanswered, properties
from babelscope.systems.cache import Cached, Store, cached
from babelscope.systems.contract import ask_answered, ask_sample, ask_score, ask_translate, check_targets
from babelscope.util.errors import BabelscopeError, RefusedText
from tests.support.toys import ToySystem


class Careless(ToySystem):
    """Forgets the last answer, or what belongs into it."""

    def translate(self, questions: Sequence[Asked], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:
        return [[] for _ in super().translate(questions, beam=beam, n_best=n_best)]

    def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
        return super().score(pairs)[:-1]

    def sample(self, questions: Sequence[Asked], *, n: int, seed: int) -> list[list[Scored]]:
        return [drawn[:-1] for drawn in super().sample(questions, n=n, seed=seed)]


def test_answers_that_are_missing_are_noticed():
    with pytest.raises(BabelscopeError, match="toy gave no translation of 'a'"):
        ask_translate(Careless(), ["a"])
    with pytest.raises(BabelscopeError, match="toy gave 1 answers to 2 questions"):
        ask_score(Careless(), [("a", "b"), ("a", "c")])
    with pytest.raises(BabelscopeError, match="toy gave 2 answers to 3 questions"):
        ask_sample(cast(Any, Careless()), ["a"], n=3, seed=0)


def test_a_refused_target_is_numbered_among_all_of_them():
    with pytest.raises(RefusedText, match=r"^target 3 has a line break inside"):
        check_targets(["a", Scored("b\n"), "c\n"])
    check_targets(["", Scored("b\n")])


def test_systems_get_questions_whatever_was_asked():
    got: list[object] = []

    class Listening(ToySystem):
        reads_context = True

        def translate(self, questions: Sequence[Asked], **how: int) -> list[list[Scored]]:
            got.extend(questions)
            return super().translate(questions, **how)

    told = Question("b", ("a",), target_language="de")
    ask_translate(Listening(), ["a", told])
    assert got == [Question("a"), told]
    assert properties(Listening()).reads_context
    assert properties(ToySystem()) == Properties()


def test_a_reason_stands_for_its_own_question_only():
    lost = Question("a", ("before",))

    def ask(questions: Sequence[Asked]) -> list[str]:
        if lost in questions:
            raise Unanswered({questions.index(lost): "no answer"})
        return ["yes"] * len(questions)

    asked: list[Asked] = ["a", lost, Question("a")]
    assert ask_answered(ask, asked) == ["yes", "no answer", "yes"]
    assert pickle.loads(pickle.dumps(Unanswered({3: "no"}))).reasons == {3: "no"}


class Penalized(ToySystem):
    """A toy whose answer tells the penalty it was asked with."""

    length_penalty = 1.0

    def translate(
        self,
        questions: Sequence[Asked],
        *,
        beam: int = 5,  # noqa: ARG002
        n_best: int = 1,  # noqa: ARG002
        length_penalty: float | None = None,
    ) -> list[list[Scored]]:
        return [[Scored(f"{length_penalty}")] for _ in questions]


def wrapped(tmp_path: Path) -> dict[str, Callable[[Any], Any]]:
    return {
        "itself": lambda system: system,
        "cached": lambda system: cached(system, tmp_path / "answers.sqlite"),
        "by call": lambda system: Cached(system, functools.partial(Store, None), by_call=True),
    }


@pytest.mark.parametrize("how", ["itself", "cached", "by call"])
def test_the_penalty_of_a_call_is_passed_on(how, tmp_path):
    system = wrapped(tmp_path)[how](Penalized())
    assert properties(system).length_penalty == 1

    def said(penalty: float | None) -> str:
        return ask_translate(system, ["a"], length_penalty=penalty)[0][0].text

    # Twice: what is stored is found by its penalty. The system's own is not said to it again.
    for _ in range(2):
        assert [said(None), said(1.0), said(0.0), said(0.5)] == ["None", "None", "0.0", "0.5"]


@pytest.mark.parametrize("how", ["itself", "cached", "by call"])
def test_a_system_without_a_beam_to_set_refuses_it(how, tmp_path):
    system = wrapped(tmp_path)[how](ToySystem())
    assert properties(system).length_penalty is None
    assert ask_translate(system, ["a"])
    with pytest.raises(BabelscopeError, match="toy has no beam search whose length penalty could be set"):
        ask_translate(system, ["a"], length_penalty=0.0)
