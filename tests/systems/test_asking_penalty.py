"""A length penalty for one call: passed on by decorators, refused where there is no beam to set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from babelscope.core.answers import Scored, properties
from babelscope.core.question import Asked
from babelscope.systems.asking import ask_translate
from babelscope.systems.cached import cached
from babelscope.systems.kept import Kept
from babelscope.util.errors import BabelscopeError
from tests.support.toys import ToySystem


class Penalised(ToySystem):
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
    stored: dict[str, Any] = {}

    def keep(place: str, make: Callable[[], Any]) -> Any:
        if place not in stored:
            stored[place] = make()
        return stored[place]

    return {
        "itself": lambda system: system,
        "cached": lambda system: cached(system, tmp_path / "answers.sqlite"),
        "kept": lambda system: Kept(system, keep),
    }


@pytest.mark.parametrize("how", ["itself", "cached", "kept"])
def test_the_penalty_of_a_call_is_passed_on(how: str, tmp_path: Path) -> None:
    system = wrapped(tmp_path)[how](Penalised())
    assert properties(system).length_penalty == 1

    def said(penalty: float | None) -> str:
        return ask_translate(system, ["a"], length_penalty=penalty)[0][0].text

    # Twice: what is stored is found by its penalty. The system's own is not said to it again.
    for _ in range(2):
        assert [said(None), said(1.0), said(0.0), said(0.5)] == ["None", "None", "0.0", "0.5"]


@pytest.mark.parametrize("how", ["itself", "cached", "kept"])
def test_a_system_without_a_beam_to_set_refuses_it(how: str, tmp_path: Path) -> None:
    system = wrapped(tmp_path)[how](ToySystem())
    assert properties(system).length_penalty is None
    assert ask_translate(system, ["a"])
    with pytest.raises(BabelscopeError, match="toy has no beam search whose length penalty could be set"):
        ask_translate(system, ["a"], length_penalty=0.0)
