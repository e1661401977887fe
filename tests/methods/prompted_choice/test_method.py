"""Forced choice by answer: both orders are asked, and only what both name is a choice."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from babelscope.core.results import Result, Row
from babelscope.core.system import Fingerprint, Reply, Scored
from babelscope.core.tables import Table
from babelscope.methods.prompted_choice.method import BETTER, fill, letter_of
from babelscope.report.sections import method_of
from babelscope.runs.execute import run_method
from babelscope.testsets import AmbiguousSource, MinimalPair
from babelscope.util.errors import BabelscopeError


class Chooser:
    """Answers prompts as a function says, and translates everything alike."""

    def __init__(self, answer: Callable[[str], Reply], name: str = "chooser") -> None:
        self.name, self.answer = name, answer
        self.fingerprint = Fingerprint("chooser", name)
        self.asked: list[str] = []

    def reply(self, prompts: Sequence[str]) -> list[Reply]:
        self.asked += prompts
        return [self.answer(each) for each in prompts]

    def translate(self, questions: Sequence[Any], *, beam: int = 5, n_best: int = 1) -> list[list[Scored]]:
        del beam, n_best
        return [[Scored("die Fledermaus")] for _ in questions]


def names(text: str) -> Callable[[str], Reply]:
    """Whoever names the one that has this text, else the first."""
    return lambda prompt: Reply("B" if f"B: {text}" in prompt else "A")


def judged(system: Any, items: Sequence[Any], **how: Any) -> Result:
    return run_method("prompted_choice", system, items, **how)


def row(rows: Sequence[Row], name: str, **labels: str) -> Row:
    return next(
        each
        for each in rows
        if each.name == name
        and {k: v for k, v in each.labels.items() if k not in ("method", "system", "tests")} == labels
    )


PAIRS = [
    MinimalPair("1", "the house", "das Haus", ("das Boot",), "noun", "human"),
    MinimalPair("2", "a boat", "ein Boot", ("ein Haus", "das Boot"), "noun", "human"),
    MinimalPair("3", "that boat", "das Boot", ("ein Boot",), "article", "human"),
]


@pytest.mark.parametrize(
    ("said", "letter"),
    [
        *(
            (each, "A")
            for each in ("A", " A. ", "(A)", "**A**", "Answer: A", "Translation A", "The answer is A.")
        ),
        ("“B”", "B"),
        *(
            (each, None)
            for each in ("", "a", "A or B", "AB", "C", "A better one is B", "Both", "I cannot", "А")
        ),
    ],
)
def test_an_answer_is_a_letter_and_nothing_else(said: str, letter: str | None) -> None:
    assert letter_of({"text": said, "ended": "whole"}) == letter
    assert letter_of({"text": said, "ended": "cut"}) is None
    assert letter_of({"text": said, "ended": "refused"}) is None


def test_places_are_filled_at_once() -> None:
    texts = {"source": "{first}", "first": "{second} \\1", "second": "{other}"}
    assert fill("{source}|{first}|{second}|{else}", texts) == "{first}|{second} \\1|{other}|{else}"


def test_verdicts_bias_and_counts_are_those_counted_by_hand() -> None:
    # Right in 3; wrong in 1; in 2 right beside neither: the wrong one for "das Boot", the first for "ein Haus".
    chooser = Chooser(names("das Boot"))
    result = judged(chooser, PAIRS)
    assert [each["verdict"] for each in result.records] == ["wrong", "wrong", "correct"]
    assert [each["choices"] for each in result.records] == [["wrong"], ["first", "wrong"], ["right"]]
    accuracy = row(result.rows, "answer_accuracy")
    assert accuracy.estimate.value == pytest.approx(1 / 3)
    assert accuracy.counts == {"correct": 1, "wrong": 2, "undecided": 0, "skipped": 0}
    bias = row(result.rows, "position_bias")
    assert bias.estimate.value == pytest.approx(0.25)
    assert bias.estimate.n == 4
    assert (bias.counts["first"], bias.counts["second"]) == (1, 0)
    nouns = row(result.rows, "answer_accuracy", phenomenon="noun", reference="human")
    assert (nouns.estimate.value, nouns.estimate.n) == (0.0, 2)
    assert len(chooser.asked) == len(set(chooser.asked)) == 8
    first = (
        BETTER.replace("{source}", "the house").replace("{first}", "das Haus").replace("{second}", "das Boot")
    )
    assert first in chooser.asked


@pytest.mark.parametrize(("letter", "bias"), [("A", 1.0), ("B", -1.0)])
@pytest.mark.parametrize(("undecided", "worth"), [("half", None), ("wrong", 0.0), ("correct", 1.0)])
def test_whoever_always_names_one_place_decides_nothing(
    letter: str, bias: float, undecided: str, worth: float | None
) -> None:
    result = judged(Chooser(lambda _: Reply(letter)), PAIRS, undecided=undecided)
    assert row(result.rows, "position_bias").estimate.value == bias
    assert row(result.rows, "answer_undecided").estimate.value == 1.0
    assert row(result.rows, "answer_accuracy").as_json()["value"] == worth


def test_what_is_no_answer_is_counted_by_kind() -> None:
    kinds = itertools.cycle([Reply("neither"), Reply("A", "cut"), Reply("", "refused"), Reply("B")])
    result = judged(Chooser(lambda _: next(kinds)), PAIRS)
    given = row(result.rows, "answer_given")
    assert given.estimate.value == 0.25
    assert given.estimate.n == 8
    assert given.counts == {"neither": 2, "cut": 2, "refused": 2, "skipped": 0}
    assert row(result.rows, "position_bias").counts["unanswered"] == 4
    assert row(result.rows, "answer_undecided").estimate.value == 1.0


BATS = [
    AmbiguousSource("1", "the bat flew", ("the animal bat flew",), ("the wooden bat flew",), "animal"),
    AmbiguousSource("2", "a bat", ("an animal, a bat",), ("a wooden bat", "a club, a bat"), "animal"),
    AmbiguousSource("3", "the bat broke", ("the wooden bat broke",), ("the animal bat broke",), "tool"),
    AmbiguousSource("4", "no cue", (), ("x",), "tool"),
]


def test_an_evaluator_says_which_source_a_translation_renders() -> None:
    animal = Chooser(
        lambda prompt: Reply("B" if "animal" in prompt.partition("Text B:")[2] else "A"), "judge"
    )
    result = judged(Chooser(names("x")), BATS, evaluator=animal)
    assert [each["verdict"] for each in result.records] == ["correct", "correct", "wrong"]
    assert [each["choices"] for each in result.records] == [["right"], ["right", "right"], ["wrong"]]
    assert result.records[0]["translation"] == "die Fledermaus"
    assert [each["unanswered"] for each in result.unanswered] == [
        "it has no source with a cue for one of the senses"
    ]
    accuracy = row(result.rows, "answer_accuracy")
    assert accuracy.estimate.value == pytest.approx(2 / 3)
    assert accuracy.counts["skipped"] == 1
    assert row(result.rows, "answer_accuracy", category="tool").estimate.value == 0.0
    assert "die Fledermaus" in animal.asked[0]


def test_a_majority_of_the_cues_decides() -> None:
    item = AmbiguousSource("1", "s", ("r",), ("w1", "w2", "w3"), "c", translation="t")

    def choose(prompt: str) -> Reply:
        right = "w3" not in prompt  # right beside two of three
        return Reply("A" if ("A: r" in prompt) == right else "B")

    chooser = Chooser(choose)
    (record,) = judged(chooser, [item], evaluator=chooser, translations="given").records
    assert (record["choices"], record["verdict"]) == (["right", "right", "wrong"], "correct")


def test_questions_must_have_their_places() -> None:
    for items in (PAIRS, BATS):
        with pytest.raises(BabelscopeError, match=r"question has no \{second\}; it needs"):
            judged(Chooser(names("x")), items, question="{source} {translation} {first}")


def test_a_system_is_its_own_evaluator_unless_another_is_named() -> None:
    chooser = Chooser(names("the animal"))
    assert {each["evaluator"] for each in judged(chooser, BATS).records} == {"chooser"}


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


def evaluated(letter: Callable[[str, str], str], **how: Any) -> Result:
    return run_method("prompted_choice", Translator(), ITEMS, evaluator=Judge(letter), **how)


def row_of(result: Result, name: str, **labels: str) -> Row:
    return next(
        each
        for each in result.rows
        if each.name == name and labels.items() <= each.labels.items()
        if labels or "category" not in each.labels
    )


NOT_LIKELIHOODS = (
    "shares of answers, not likelihoods: not comparable with contrast, condition or other questions."
)


def first_table(result: Result) -> Table:
    (comparison,) = result.groups
    return method_of(comparison.results[0]).tables(comparison)[0]


def verdicts(result: Result) -> dict[str, str]:
    """The first two words of each figure -> the first of its verdicts."""
    found: dict[str, str] = {}
    for line in first_table(result).lines:
        words = str(line.cells[0]).removesuffix(" (%)").split()
        found.setdefault(" ".join(words[:2]) if words[0] == "error" else words[0], line.verdict)
    return found


def warnings_of(result: Result) -> list[str]:
    return [note.text for note in first_table(result).notes]


def test_whoever_knows_passes() -> None:
    result = evaluated(knows)
    tested = row_of(result, "preflight")
    assert tested.labels["passed"] == "yes"
    assert tested.labels["evaluator"] == "judge"
    assert (tested.estimate.value, tested.estimate.n) == (1.0, 120)
    # A reference, and a translation of a source with a right cue, and one with a wrong cue.
    assert (tested.counts["known_right"], tested.counts["known_wrong"]) == (120, 60)
    assert row_of(result, "preflight accuracy", category="animal").labels["passed"] == "yes"
    assert row_of(result, "answer_accuracy").estimate.value == 0.5
    assert verdicts(result) == {"error rate": "error", "undecided": "", "position": ""}
    assert warnings_of(result) == [NOT_LIKELIHOODS]


@pytest.mark.parametrize("letter", [always_first, guesses, says_nothing])
def test_the_verdicts_of_a_coin_are_unknown(letter: Callable[[str, str], str]) -> None:
    result = evaluated(letter)
    tested = row_of(result, "preflight")
    assert tested.labels["passed"] == "no"
    assert tested.estimate.value < 0.75
    if letter is not guesses:
        assert tested.estimate.value == 0.5
    assert verdicts(result).get("error rate") == ("unknown" if letter is guesses else None)
    assert any(text.startswith("no finding, the evaluator failed: it judges") for text in warnings_of(result))


def test_without_a_test_no_verdict_is_known() -> None:
    result = evaluated(knows, preflight=0)
    assert row_of(result, "preflight").labels["passed"] == "unknown"
    assert verdicts(result)["error rate"] == "unknown"
    assert any("if the evaluator can judge: it was not tested" in text for text in warnings_of(result))


def test_the_test_asks_in_both_orders_of_the_sampled_items_only() -> None:
    plain, tested = Judge(knows), Judge(knows)
    run_method("prompted_choice", Translator(), ITEMS, evaluator=plain, preflight=0)
    run_method("prompted_choice", Translator(), ITEMS, evaluator=tested, preflight=10)
    extra = set(tested.asked) - set(plain.asked)
    texts = [(_parts(each)[0], frozenset(each.split("Text ")[1:])) for each in extra]
    assert extra
    assert len(texts) % 2 == 0
    assert len({_parts(each)[0].split()[-1] for each in extra}) <= 10
