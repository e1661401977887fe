"""An evaluator that translates cues literally and otherwise flips a coin never passes, nor heads a summary."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import babelscope as bs
from babelscope.core.answers import Fingerprint, Scored, Target
from babelscope.core.question import Question
from babelscope.core.results import Result
from babelscope.report.summary import summarise
from babelscope.testsets import AmbiguousSource

N = 120
PLACES = ("river", "castle", "garden", "window", "winter")


def items(*, references: bool) -> list[AmbiguousSource]:
    """Sources with a bank of the river or of money, one cue for each sense."""
    made = []
    for number in range(N):
        right, wrong = ("shore", "cash") if number % 2 else ("cash", "shore")
        rest = f"bank {PLACES[number % 5]} number{number}"
        reference = {"reference": f"die {right}{rest}"} if references else {}
        made.append(
            AmbiguousSource(
                str(number), f"the {rest}", (f"the {right} {rest}",), (f"the {wrong} {rest}",), right,
                extra=reference,
            )
        )  # fmt: skip
    return made


class Literal:
    """Translates a cue as a word of its own; `sense` says whether the noun follows it, too."""

    def __init__(self, name: str = "literal", *, sense: bool = False) -> None:
        self.name, self.sense = name, sense
        self.fingerprint = Fingerprint(name, settings={"sense": sense})

    def translate(
        self, questions: Sequence[Question], *, beam: int = 5, n_best: int = 1
    ) -> list[list[Scored]]:
        del beam, n_best
        return [[Scored(self.write(each.source))] for each in questions]

    def write(self, source: str) -> str:
        *start, rest = source.partition("bank ")
        cue = next((word for word in ("shore", "cash") if word in start[0]), "")
        noun = f"{(cue or 'cash') if self.sense else ''}bank"
        return " ".join(filter(None, ["die", cue and f"{cue}-Art", noun, rest]))


class Coin(Literal):
    """Knows a translated cue again; where there is none, a hash decides."""

    def score(self, pairs: Sequence[tuple[Question, Target]]) -> list[Scored]:
        return [
            self._score(question.source, str(getattr(target, "text", target))) for question, target in pairs
        ]

    def _score(self, source: str, text: str) -> Scored:
        known = any(f"{word}-Art" in text for word in source.split())
        coin = hashlib.sha256(f"{source}\0{text}".encode()).digest()[0] / 256
        words = text.split()
        logprobs = [math.log(0.5 if word in source.split() else 0.1) for word in words]
        return Scored(text, (*words, "</s>"), (*logprobs, -0.1 if known else -2 - coin))


def passed_of(result: Result) -> Any:
    return next(row.labels["passed"] for row in result.rows if row.name == "preflight")


def stored(folder: Path, *, sense: bool) -> Any:
    """Translations without a cue, from a file."""
    path = folder / "translations.txt"
    writer = Literal(sense=sense)
    path.write_text("".join(f"{writer.write(each.source)}\n" for each in items(references=False)), "utf-8")
    return bs.open_system(f"file:{path}")


@pytest.mark.parametrize("sense", [False, True])
def test_tested_on_its_own_translations_alone_it_is_unknown_and_heads_no_summary(
    tmp_path: Path, sense: bool
) -> None:
    result = bs.condition(stored(tmp_path, sense=sense), Coin("coin", sense=sense), items(references=False))
    assert passed_of(result) == "unknown"
    told = " ".join(summarise(result, width=80).split())
    assert "95 % interval" not in told
    assert "What stands out" not in told
    assert "no finding, it is not known if the evaluator can judge" in told


@pytest.mark.parametrize("sense", [False, True])
@pytest.mark.parametrize("live", [False, True])
def test_with_references_it_fails(tmp_path: Path, live: bool, sense: bool) -> None:
    system = Literal(sense=sense) if live else stored(tmp_path, sense=sense)
    assert passed_of(bs.condition(system, Coin("coin", sense=sense), items(references=True))) == "no"


def test_where_a_system_follows_cues_it_fails_by_the_sense() -> None:
    """It knows the translated cue again, but not the sense beside it."""
    assert passed_of(bs.condition(Literal(sense=True), Coin("coin"), items(references=False))) == "no"


def test_a_system_that_only_translates_the_cue_proves_nothing() -> None:
    """Both of its translations have the same sense, so neither is known to be right or wrong."""
    result = bs.condition(Literal(), Coin("coin"), items(references=False))
    assert passed_of(result) == "unknown"
    assert "95 % interval" not in summarise(result, width=80)
