"""The test of an evaluator that answers in words: at the level of a coin it gets no headline and no finding."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from babelscope.core.answers import Fingerprint, Scored
from babelscope.core.replies import Reply
from babelscope.core.results import Result, Row
from babelscope.report.summary import summarise
from babelscope.runs.execute import run_method
from babelscope.testsets import AmbiguousSource

ITEMS = [
    AmbiguousSource(
        str(n),
        f"the bat {n}",
        (f"the {right} bat {n}",),
        (f"the {wrong} bat {n}",),
        right,
        extra={"reference": f"{right} {n}"},
    )
    for n in range(60)
    for right, wrong in [("animal", "wooden") if n % 2 else ("wooden", "animal")]
]


class Translator:
    """Renders the cue of a source, and without one always the animal."""

    name = "translator"
    fingerprint = Fingerprint("translator")

    def translate(self, questions: Sequence[Any], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:
        del beam, n_best
        return [
            [Scored(f"{'wooden' if 'wooden' in each.source else 'animal'} {each.source.split()[-1]}")]
            for each in questions
        ]


class Judge:
    """Answers prompts as a function of translation and texts says."""

    def __init__(self, letter: Callable[[str, str], str]) -> None:
        self.name, self.letter = "judge", letter
        self.fingerprint = Fingerprint("judge", letter.__name__)
        self.asked: list[str] = []

    def reply(self, prompts: Sequence[str]) -> list[Reply]:
        self.asked += prompts
        return [Reply(self.letter(*_parts(each))) for each in prompts]


def _parts(prompt: str) -> tuple[str, str]:
    translation, _, rest = prompt.partition("Translation: ")[2].partition("\n\nText A: ")
    return translation, rest.partition("\n\nText B: ")[0]


def knows(translation: str, first: str) -> str:
    return "A" if translation.split()[0] in first else "B"


def always_first(_translation: str, _first: str) -> str:
    return "A"


def guesses(translation: str, first: str) -> str:
    """The same one in either order, whatever the translation is."""
    number = hashlib.sha256(f"{translation} {first.split()[-1]}".encode()).digest()[0] % 2
    return "AB"[("animal" in first) == bool(number)]


def says_nothing(_translation: str, _first: str) -> str:
    return "I do not know"


def judged(letter: Callable[[str, str], str], **how: Any) -> Result:
    return run_method("condition_answers", Translator(), ITEMS, evaluator=Judge(letter), **how)


def row(result: Result, name: str, **labels: str) -> Row:
    return next(
        each
        for each in result.rows
        if each.name == name and labels.items() <= each.labels.items()
        if labels or "category" not in each.labels
    )


def test_whoever_knows_passes() -> None:
    result = judged(knows)
    tested = row(result, "preflight")
    assert tested.labels["passed"] == "yes"
    assert tested.labels["evaluator"] == "judge"
    assert (tested.estimate.value, tested.estimate.n) == (1.0, 120)
    # A reference, and a translation of a source with a right cue, and one with a wrong cue.
    assert (tested.counts["known_right"], tested.counts["known_wrong"]) == (120, 60)
    assert row(result, "preflight accuracy", category="animal").labels["passed"] == "yes"
    assert row(result, "answer_accuracy").estimate.value == 0.5
    told = summarise(result, width=80)
    assert "accuracy by answer" in told
    assert "untested" not in told


@pytest.mark.parametrize("letter", [always_first, guesses, says_nothing])
def test_a_coin_gets_no_headline_and_no_finding(letter: Callable[[str, str], str]) -> None:
    result = judged(letter)
    tested = row(result, "preflight")
    assert tested.labels["passed"] == "no"
    assert tested.estimate.value < 0.75
    if letter is not guesses:
        assert tested.estimate.value == 0.5
    told = " ".join(summarise(result, width=80).split())
    assert "accuracy by answer" not in told
    assert "does not choose the one meant" not in told
    assert "no finding, the evaluator failed: it judges" in told


def test_without_a_test_the_headline_says_so() -> None:
    result = judged(knows, preflight=0)
    assert row(result, "preflight").labels["passed"] == "unknown"
    told = " ".join(summarise(result, width=80).split())
    assert "accuracy by answer, evaluator untested" in told
    assert "if the evaluator can judge: it was not tested" in told


def test_few_known_translations_say_nothing() -> None:
    result = run_method("condition_answers", Translator(), ITEMS[:6], evaluator=Judge(knows))
    assert row(result, "preflight").labels["passed"] == "unknown"


def test_the_test_asks_in_both_orders_of_the_sampled_items_only() -> None:
    plain, tested = Judge(knows), Judge(knows)
    run_method("condition_answers", Translator(), ITEMS, evaluator=plain, preflight=0)
    run_method("condition_answers", Translator(), ITEMS, evaluator=tested, preflight=10)
    extra = set(tested.asked) - set(plain.asked)
    texts = [(_parts(each)[0], frozenset(each.split("Text ")[1:])) for each in extra]
    assert extra
    assert len(texts) % 2 == 0
    assert len({_parts(each)[0].split()[-1] for each in extra}) <= 10
