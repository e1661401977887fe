"""The test of an evaluator: known translations, noise, undecided verdicts, what passes and what does not."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from babelscope import condition
from babelscope.core.answers import Fingerprint, Scored, Target
from babelscope.core.question import Question
from babelscope.core.results import Result, Row
from babelscope.methods.condition.figures import accuracy_rows, undecided_rows
from babelscope.methods.condition.judge import complete, judge
from babelscope.methods.condition.known import sample
from babelscope.methods.condition.preflight import Truth, noise_of, preflight_of
from babelscope.methods.condition.settings import ConditionSettings
from babelscope.testsets import AmbiguousSource
from tests.methods.condition.test_method import GivenScores

WORDS = ("river", "money", "castle", "garden", "window", "teacher", "winter", "summer")


def items(n: int = 60, **fields: Any) -> list[AmbiguousSource]:
    """Sources with a bank of the river or of money; a translation names the sense and all words of the source."""
    made = []
    for number in range(n):
        frame = f"{WORDS[number % 8]} {WORDS[number // 8 % 8]} number{number}"
        sense, other = ("shore", "cash") if number % 2 else ("cash", "shore")
        made.append(
            AmbiguousSource(
                f"i{number}", f"the bank {frame}",
                (f"the {sense} bank {frame}", f"a {sense} bank {frame}"),
                (f"the {other} bank {frame}", f"a {other} bank {frame}"),
                sense, gold=sense, extra={"reference": f"die {sense}bank {frame}"}, **fields,
            )
        )  # fmt: skip
    return made


class Translator:
    """Writes the sense that the source tells, else always `cash`."""

    name = "translator"
    fingerprint = Fingerprint("translator")

    def translate(
        self, questions: Sequence[Question], *, beam: int = 5, n_best: int = 1
    ) -> list[list[Scored]]:
        del beam, n_best
        return [[Scored(self.write(each.source))] for each in questions]

    def write(self, source: str) -> str:
        sense = "shore" if "shore" in source else "cash"
        return f"die {sense}bank " + " ".join(source.split("bank ")[1:])


class Judge(Translator):
    """A word of the target is likely if the source has it; `look` is what it reads of the source."""

    def __init__(
        self, look: Callable[[str], str] = lambda source: source, notes: tuple[Any, ...] = ()
    ) -> None:
        self.name = "judge"
        self.look, self.notes = look, notes
        self.fingerprint = Fingerprint("judge", settings={"look": repr(look), "notes": list(notes)})

    def score(self, pairs: Sequence[tuple[Question, Target]]) -> list[Scored]:
        found = []
        for question, target in pairs:
            text = target if isinstance(target, str) else target.text
            source = self.look(question.source)
            words = text.replace("bank", " bank").split()
            logprobs = [math.log(0.5 if word in source.split() else 0.1) for word in words]
            found.append(Scored(text, (*words, "</s>"), (*logprobs, -0.1), self.notes))
        return found


def of(result: Result, name: str, **labels: str) -> Row:
    return next(row for row in result.rows if row.name == name and labels.items() <= dict(row.labels).items())


def test_a_sound_evaluator_passes_and_decides_all() -> None:
    result = condition(Translator(), Judge(), items())
    row = of(result, "preflight")
    assert (row.labels["passed"], row.labels["noise"]) == ("yes", "0")
    # A reference and a right and a wrong translation for each of 60 items.
    assert (row.counts["known_right"], row.counts["known_wrong"], row.counts["misjudged"]) == (120, 60, 0)
    assert of(result, "all").estimate.value == 0.5, "it always writes cash"
    assert of(result, "all").counts["within_noise"] == 0
    corrected = of(result, "corrected")
    assert (corrected.estimate.value, corrected.estimate.n) == (0.5, 60), "it misjudges nothing"
    assert of(condition(Translator(), Judge(), items(), protocol="strict"), "decided").estimate.value == 1
    assert {record["verdict"] for record in result.records} == {"correct", "wrong"}


def last_sense(source: str) -> str:
    """Reads `shore` only."""
    return source.replace("cash", "")


@pytest.mark.parametrize(
    ("evaluator", "reason"),
    [
        (Judge(lambda _: "nothing"), "the cue moves its score in 0 %"),
        (Judge(lambda source: source.replace("shore", "").replace("cash", "")), "the cue moves"),
        (Judge(lambda source: source.translate(str.maketrans("abcdefghi", "ihgfedcba"))), "likelier under"),
        (Judge(lambda source: source.replace("shore", "X").replace("cash", "shore").replace("X", "cash")),
         "judges 0 % of known translations"),
        (Judge(notes=("changed",)), "do not survive its tokenisation"),
    ],
)  # fmt: skip
def test_an_evaluator_that_cannot_judge_fails(evaluator: Judge, reason: str) -> None:
    result = condition(Translator(), evaluator, items())
    assert of(result, "preflight").labels["passed"] == "no"
    reasons = preflight_of(result.records, ConditionSettings()).reasons
    assert any(reason in each for each in reasons), reasons


def test_the_category_that_it_cannot_judge_is_named() -> None:
    """`shore` is read as `cash`, so that all of category shore are misjudged where they say it."""
    rows = condition(Translator(), Judge(lambda source: source.replace("shore", "cash")), items()).rows
    assert {row.labels["passed"] for row in rows if row.name == "preflight accuracy"} == {"no"}


def test_targets_in_another_language_than_it_writes_fail() -> None:
    spanish = "los niños juegan en el jardín porque hoy hace muy buen tiempo y no llueve"

    class German(Judge):
        def write(self, source: str) -> str:
            return (
                f"{super().write(source)} und die Kinder spielen im Garten, weil heute das Wetter schön ist"
            )

    class Spanish(Translator):
        name = "spanish"
        fingerprint = Fingerprint("spanish")

        def write(self, source: str) -> str:
            return f"{super().write(source)} {spanish}"

    result = condition(Spanish(), German(), items())
    row = of(result, "preflight language")
    assert (row.labels["passed"], row.labels["found"]) == ("no", "es for de")
    assert of(result, "preflight").labels["passed"] == "no"


def test_what_cannot_be_asked_is_unknown_and_all_is_decided() -> None:
    few = items(4)
    given = [dataclasses.replace(each, translation="x") for each in few]
    result = condition(None, GivenScores({each.id: (-1.0, -1.0) for each in few}), given)
    assert of(result, "preflight").labels["passed"] == "unknown"
    assert [record["verdict"] for record in result.records] == ["correct"] * 4, "ties count as they did"
    for most in (0, 100):
        small = condition(Translator(), Judge(), few, preflight=most)
        assert of(small, "preflight").labels["passed"] == "unknown"


def test_one_that_judges_itself_is_not_proven_by_its_own_translations() -> None:
    alone = [dataclasses.replace(each, extra={}) for each in items()]
    judge_ = Judge()
    assert of(condition(judge_, judge_, alone), "preflight").labels["passed"] == "unknown"
    assert of(condition(judge_, judge_, items()), "preflight").labels["passed"] == "yes", "references"


def test_only_right_translations_prove_nothing() -> None:
    class Scorer(Judge):
        translate = None  # type: ignore[assignment]

    given = [dataclasses.replace(each, translation="die cashbank") for each in items()]
    result = condition(None, Scorer(), given)
    assert of(result, "preflight").labels["passed"] == "unknown"
    assert of(result, "preflight").counts["known_wrong"] == 0


def truths(margins: Sequence[float], *, by: str = "reference", right: bool = True) -> list[Truth]:
    return [Truth(number, "a", right, margin, by) for number, margin in enumerate(margins)]


def test_noise_is_the_size_of_rare_mistakes() -> None:
    assert noise_of([]) is None
    assert noise_of(truths([1.0, 2.0, 0.5])) == 0
    assert noise_of(truths([1.0, -0.25, 2.0])) == 0.25, "of few, the largest mistake"
    # 2.5 % of 200 may be misjudged by more: the five largest of these ten.
    assert noise_of(truths([1.0] * 190 + [-0.1 * k for k in range(1, 11)])) == pytest.approx(0.5)


def test_noise_bounds_what_few_known_translations_may_not_show() -> None:
    """Of twenty normal margins, the bound is above the true quantile in 95 % of draws; the worst of them seldom."""
    rng = np.random.default_rng(0)
    true = 1.96 - 0.3
    drawn = [rng.normal(0.3, 1.0, 20).tolist() for _ in range(400)]
    held = np.mean([(noise_of(truths(margins)) or 0.0) >= true for margins in drawn])
    assert 0.91 < held < 0.98
    assert np.mean([-min(margins) >= true for margins in drawn]) < 0.6


def test_noise_is_that_of_the_kind_of_translation_that_it_errs_most_on() -> None:
    written = [*truths([1.0] * 900), *truths([1.0] * 900, right=False)]
    exchanged = truths([1.0] * 15 + [-0.3] * 5, by="exchange", right=False)
    # Of all 1,820, the five mistakes are too few to count; of the exchanged ones they are a quarter.
    assert noise_of([*written, *exchanged]) == noise_of(exchanged)
    assert (noise_of(exchanged) or 0) > 0.3, "twenty do not show how bad mistakes can be"
    assert noise_of([*written, *exchanged[11:]]) == 0, "nine say nothing about their kind"


def records(margins: Sequence[float], known: Sequence[float]) -> list[dict[str, Any]]:
    """Records of items with these margins; the first ones carry known right translations with theirs."""
    made: list[dict[str, Any]] = []
    for number, margin in enumerate(margins):
        tests = known[number :: len(margins)]
        told = [
            {"truth": True, "by": "reference", "under_correct": [{"source": "r", "total": -9.0, "tokens": 1}],
             "under_incorrect": [{"source": "w", "total": -9.0 - each, "tokens": 1}]}
            for each in tests
        ]  # fmt: skip
        made.append(
            {"id": str(number), "source": str(number), "category": "c", "evaluator": "e", "notes": [],
             "translation": None,
             "correct_logprob": -9.0 + min(margin, 0), "incorrect_logprob": -9.0 - max(margin, 0),
             "preflight": {"known": told, "match": None, "own": None, "itself": False}}
        )  # fmt: skip
    return made


def test_margins_within_the_noise_are_undecided_and_counted_apart() -> None:
    stored = records([1.0, 0.2, -0.2, -1.0, -2.0, 0.3], [2.0, -0.3, 1.0])
    strict, checked = ConditionSettings(protocol="strict"), ConditionSettings()
    done = complete(judge(stored, strict), strict)
    assert [each["verdict"] for each in done] == [
        "correct", "undecided", "undecided", "wrong", "wrong", "undecided",
    ]  # fmt: skip
    assert [each["correct"] for each in done] == [True, None, None, False, False, None]
    assert [each["weight"] for each in done] == [1.5, None, None, 1.5, 3.0, None]
    share, worst, best = undecided_rows(done)
    assert (share.estimate.value, share.estimate.n, share.counts["undecided"]) == (0.5, 6, 3)
    # One of three decided is right; so is one of six if no undecided one is, and four if all are.
    assert worst.estimate.value == pytest.approx(1 / 6)
    assert best.estimate.value == pytest.approx(4 / 6)
    assert worst.estimate.low < 1 / 6 < 4 / 6 < best.estimate.high
    # Judged again, also from completed records, all are decided, and those within the noise are counted.
    again = complete(judge(done, checked), checked)
    assert [each["verdict"] for each in again] == ["correct"] * 2 + ["wrong"] * 3 + ["correct"]
    counts = {row.name: row.counts for row in accuracy_rows(again)}
    assert (counts["weighted"]["within_noise"], counts["weighted"]["undecided"]) == (3, 0)
    assert complete(judge(again, strict), strict) == done


def test_where_nothing_is_decided_no_case_has_a_value() -> None:
    result = condition(Translator(), Judge(lambda _: "nothing"), items(), protocol="strict")
    assert of(result, "decided").estimate.value == 0
    for name in ("worst case", "best case"):
        told = of(result, name).as_json()
        assert (told["value"], told["n"], told["no_interval"]) == (None, 0, "no item is decided")


def test_the_sample_depends_on_ids_and_seed_only() -> None:
    made = items(50)
    settings = ConditionSettings(preflight=10)
    chosen = {made[place].id for place in sample(made, settings, 1)}
    assert len(chosen) == 10
    assert {made[place].category for place in sample(made, settings, 1)} == {"shore", "cash"}
    assert chosen == {made[::-1][place].id for place in sample(made[::-1], settings, 1)}
    assert chosen != {made[place].id for place in sample(made, settings, 2)}
    for chunk in (3, 50):
        result = condition(Translator(), Judge(), made, preflight=10, seed=1, chunk=chunk)
        assert {record["id"] for record in result.records if "preflight" in record} == chosen


def test_a_translation_is_not_judged_under_the_cue_it_was_made_with() -> None:
    """The cue may be translated too, and would give its side away."""
    (record,) = condition(Translator(), Judge(), items(1)).records
    for known in record["preflight"]["known"]:
        sides = len(known["under_correct"]), len(known["under_incorrect"])
        assert sides == ((2, 2) if known["by"] == "reference" else (1, 1))
