"""The test of an evaluator: known translations, noise, undecided verdicts, what passes and what does not."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import babelscope as bs
from babelscope import condition
from babelscope.core.results import Result, Row
from babelscope.core.system import Fingerprint, Question, Scored, Target
from babelscope.core.tables import Table
from babelscope.methods.condition.ask import (
    common_source,
    counted_known,
    cue_size,
    reference_support,
    sample,
    side_of,
    swap_sense,
)
from babelscope.methods.condition.figures import ConditionSettings, accuracy_rows, undecided_rows
from babelscope.methods.condition.method import Condition
from babelscope.methods.condition.preflight import Truth, noise_of, preflight_of
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


def first_table(result: Result) -> Table:
    """What is printed first."""
    return Condition().tables(result.groups[0])[0]


def verdicts(result: Result) -> set[str]:
    """The verdicts about error rates in the first table."""
    return {line.verdict for line in first_table(result).lines if str(line.cells[0]).startswith("error rate")}


def of(result: Result, name: str, **labels: str) -> Row:
    return next(row for row in result.rows if row.name == name and labels.items() <= dict(row.labels).items())


def test_a_sound_evaluator_passes_and_decides_all() -> None:
    result = condition(Translator(), items(), evaluator=Judge())
    row = of(result, "preflight")
    assert (row.labels["passed"], row.labels["noise"]) == ("yes", "0")
    # A reference and a right and a wrong translation for each of 60 items.
    assert (row.counts["known_right"], row.counts["known_wrong"], row.counts["misjudged"]) == (120, 60, 0)
    assert of(result, "all").estimate.value == 0.5, "it always writes cash"
    assert of(result, "all").counts["within_noise"] == 0
    corrected = of(result, "corrected")
    assert (corrected.estimate.value, corrected.estimate.n) == (0.5, 60), "it misjudges nothing"
    assert (
        of(condition(Translator(), items(), evaluator=Judge(), protocol="strict"), "decided").estimate.value
        == 1
    )
    assert {record["verdict"] for record in result.records} == {"correct", "wrong"}


@pytest.mark.parametrize(
    ("evaluator", "reason"),
    [
        (Judge(lambda _: "nothing"), "the cue moves its score in 0 %"),
        (Judge(lambda source: source.replace("shore", "").replace("cash", "")), "the cue moves"),
        (Judge(lambda source: source.translate(str.maketrans("abcdefghi", "ihgfedcba"))), "likelier under"),
        (Judge(lambda source: source.replace("shore", "X").replace("cash", "shore").replace("X", "cash")),
         "judges 0 % of known translations"),
        (Judge(notes=("changed",)), "do not survive its tokenization"),
    ],
)  # fmt: skip
def test_an_evaluator_that_cannot_judge_fails(evaluator: Judge, reason: str) -> None:
    result = condition(Translator(), items(), evaluator=evaluator)
    assert of(result, "preflight").labels["passed"] == "no"
    reasons = preflight_of(result.records).reasons
    assert any(reason in each for each in reasons), reasons


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

    result = condition(Spanish(), items(), evaluator=German())
    row = of(result, "preflight language")
    assert (row.labels["passed"], row.labels["found"]) == ("no", "es for de")
    assert of(result, "preflight").labels["passed"] == "no"


def test_what_cannot_be_asked_is_unknown_and_all_is_decided() -> None:
    few = items(4)
    given = [dataclasses.replace(each, translation="x") for each in few]
    result = condition(
        "items:translations", given, evaluator=GivenScores({each.id: (-1.0, -1.0) for each in few})
    )
    assert of(result, "preflight").labels["passed"] == "unknown"
    assert [record["verdict"] for record in result.records] == ["correct"] * 4, "ties count as they did"
    for most in (0, 100):
        small = condition(Translator(), few, evaluator=Judge(), preflight=most)
        assert of(small, "preflight").labels["passed"] == "unknown"


def test_one_that_judges_itself_is_not_proven_by_its_own_translations() -> None:
    alone = [dataclasses.replace(each, extra={}) for each in items()]
    judge_ = Judge()
    assert of(condition(judge_, alone, evaluator=judge_), "preflight").labels["passed"] == "unknown"
    assert of(condition(judge_, items(), evaluator=judge_), "preflight").labels["passed"] == "yes", (
        "references"
    )


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
    strict, checked = Condition(ConditionSettings(protocol="strict")), Condition()
    done = strict.complete(strict.judge(stored))
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
    again = checked.complete(checked.judge(done))
    assert [each["verdict"] for each in again] == ["correct"] * 2 + ["wrong"] * 3 + ["correct"]
    counts = {row.name: row.counts for row in accuracy_rows(again)}
    assert (counts["weighted"]["within_noise"], counts["weighted"]["undecided"]) == (3, 0)
    assert strict.complete(strict.judge(again)) == done


def test_the_sample_depends_on_ids_and_seed_only() -> None:
    made = items(50)
    settings = ConditionSettings(preflight=10)
    chosen = {made[place].id for place in sample(made, settings, 1)}
    assert len(chosen) == 10
    assert {made[place].category for place in sample(made, settings, 1)} == {"shore", "cash"}
    assert chosen == {made[::-1][place].id for place in sample(made[::-1], settings, 1)}
    assert chosen != {made[place].id for place in sample(made, settings, 2)}
    for chunk in (3, 50):
        result = condition(Translator(), made, evaluator=Judge(), preflight=10, seed=1, chunk=chunk)
        assert {record["id"] for record in result.records if "preflight" in record} == chosen


def test_a_translation_is_not_judged_under_the_cue_it_was_made_with() -> None:
    """The cue may be translated too, and would give its side away."""
    (record,) = condition(Translator(), items(1), evaluator=Judge()).records
    for known in record["preflight"]["known"]:
        sides = len(known["under_correct"]), len(known["under_incorrect"])
        assert sides == ((2, 2) if known["by"] == "reference" else (1, 1))


class Deaf(Translator):
    """Follows one cue in three; else it writes `cash` beside the cue, and forgets a word under one of the cues."""

    name = "deaf"
    fingerprint = Fingerprint("deaf")

    def write(self, source: str) -> str:
        number = int(source.split("number")[1])
        if number % 3 == 0:
            return super().write(source)
        told = "shore" if "shore" in source else "cash"
        words = source.split("bank ")[1].split()
        kept = words[: len(words) - (number // 3 + (told == "shore")) % 2]
        return f"die cashbank ({told}) " + " ".join(kept)


class Scorer(Judge):
    """A judge that cannot translate."""

    translate = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("right", "wrong", "reference", "side"),
    [
        ("die Bank am Fluss", "das Ufer am Fluss", "Sie saß auf der Bank.", "for"),
        ("das Ufer am Fluss", "die Bank am Fluss", "Sie saß auf der Bank.", "against"),
        ("die alte Bank", "die neue Bank", "Sie saß auf der Bank.", "neither"),
        ("die Bank", "das Ufer", "", ""),
        ("Die Bank.", "Die Ufer.", "auf der bank, dort", "for"),  # marks and capitals are no words
        ("她在银行工作", "她在河岸工作", "他去了银行。", "for"),  # characters, without spaces
    ],
)
def test_which_side_a_reference_takes(right: str, wrong: str, reference: str, side: str) -> None:
    assert side_of(right, wrong, reference) == side


def test_a_sound_evaluator_is_not_blamed_for_a_system_that_ignores_cues() -> None:
    result = condition(Deaf(), items(90), evaluator=Judge())
    row = of(result, "preflight")
    assert (row.labels["passed"], row.labels["known_by"]) == ("yes", "evaluator")
    assert row.counts["misjudged"] == 0
    assert row.counts["not_known"] > 50
    # What the system made without following the cue is called wrong, and is not.
    stored = [known for record in result.records for known in record["preflight"]["known"]]
    made = [known for known in stored if known.get("maker") == "system" and known["side"] != "for"]
    assert made
    assert not any(reference_support(result.records).counts_as_known(known) for known in made)


def test_the_evaluator_is_asked_only_where_no_reference_bears_the_system_out() -> None:
    result = condition(Translator(), items(), evaluator=Judge())
    assert of(result, "preflight").labels["known_by"] == "system"
    assert of(result, "preflight").counts["not_known"] == 0
    makers = {known.get("maker") for record in result.records for known in record["preflight"]["known"]}
    assert makers == {None, "system"}


def test_an_evaluator_that_does_not_follow_cues_cannot_take_over() -> None:
    """It finds its own translations likely, so that its own mistakes would pass for its ability."""

    class DeafJudge(Judge):
        def write(self, source: str) -> str:
            return Deaf().write(source)

    result = condition(Deaf(), items(90), evaluator=DeafJudge())
    assert of(result, "preflight").labels["known_by"] == "system"
    sides = {known["side"] for _, known in counted_known(result.records) if "side" in known}
    assert sides == {"for"}, "only what references bear out counts"


def test_scores_do_not_decide_which_translations_count() -> None:
    """The same translations count, whatever the evaluator thinks of them."""
    chosen = []
    for evaluator in (Judge(), Judge(lambda source: source[::-1])):
        result = condition(Deaf(), items(90), evaluator=evaluator)
        chosen.append([(number, known["translation"]) for number, known in counted_known(result.records)])
    assert chosen[0] == chosen[1]


@pytest.mark.parametrize("reference", ["", "x"])
def test_without_references_that_take_a_side_all_count_and_that_is_said(reference: str) -> None:
    other = [dataclasses.replace(each, extra={"reference": reference}) for each in items()]
    row = of(condition(Translator(), other, evaluator=Judge()), "preflight")
    assert (row.counts["known_wrong"], row.counts["not_known"], row.counts["unchecked"]) == (60, 0, 60)


def test_too_few_known_translations_are_told_with_what_does_not_count() -> None:
    result = condition(Deaf(), items(12), evaluator=Scorer())
    row = of(result, "preflight")
    assert row.labels["passed"] == "unknown"
    (reason, *_) = preflight_of(result.records).reasons
    assert "do not count: no reference bears them out" in reason


N = 120
PLACES = ("river", "castle", "garden", "window", "winter")


def banks(*, references: bool) -> list[AmbiguousSource]:
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
    path.write_text("".join(f"{writer.write(each.source)}\n" for each in banks(references=False)), "utf-8")
    return bs.open_system(f"file:{path}")


@pytest.mark.parametrize("sense", [False, True])
def test_tested_on_its_own_translations_alone_it_is_unknown_and_nothing_is_called_an_error(
    tmp_path: Path, sense: bool
) -> None:
    result = bs.condition(
        stored(tmp_path, sense=sense), banks(references=False), evaluator=Coin("coin", sense=sense)
    )
    assert passed_of(result) == "unknown"
    assert verdicts(result) == {"unknown"}
    (note, *_) = first_table(result).notes
    assert note.text.startswith("no finding, it is not known if the evaluator can judge: ")


@pytest.mark.parametrize("sense", [False, True])
@pytest.mark.parametrize("live", [False, True])
def test_with_references_it_fails(tmp_path: Path, live: bool, sense: bool) -> None:
    system = Literal(sense=sense) if live else stored(tmp_path, sense=sense)
    assert (
        passed_of(bs.condition(system, banks(references=True), evaluator=Coin("coin", sense=sense))) == "no"
    )


def test_where_a_system_follows_cues_it_fails_by_the_sense() -> None:
    """It knows the translated cue again, but not the sense beside it."""
    assert (
        passed_of(bs.condition(Literal(sense=True), banks(references=False), evaluator=Coin("coin"))) == "no"
    )


def test_a_system_that_only_translates_the_cue_proves_nothing() -> None:
    """Both of its translations have the same sense, so neither is known to be right or wrong."""
    result = bs.condition(Literal(), banks(references=False), evaluator=Coin("coin"))
    assert passed_of(result) == "unknown"
    assert verdicts(result) == {"unknown"}


RIGHT, WRONG = "Ein männlicher Anwalt half ihr.", "Eine weibliche Anwältin half ihr."
SWAPPED = [("Eine männlicher Anwältin half ihr.", False), ("Ein weibliche Anwalt half ihr.", True)]
LAWYERS = "Sie sah den Anwalt.", "Sie sah die Anwältin."


@pytest.mark.parametrize(
    ("right", "wrong", "plain", "reference", "cue", "found"),
    [
        # The words of the cue stay, whichever sense it is that a sentence without a cue is translated with.
        (RIGHT, WRONG, "Ein Anwalt half ihr.", "", 1, SWAPPED),
        (RIGHT, WRONG, "Eine Anwältin half ihr.", "", 1, SWAPPED),
        # A reference gets the wrong sense and keeps its cue, unless it lacks a word that shows the sense (Ein).
        (*LAWYERS, LAWYERS[0], "Sie sah den männlichen Anwalt!", 1, [("Sie sah die männlichen Anwältin!", False)]),
        (RIGHT, WRONG, "Ein Anwalt half ihr.", "Gestern half ihr ein männlicher Anwalt.", 1, SWAPPED),
        # Marks around a word are no part of it.
        (
            "Er sah die Bank.", "Er sah die Ufer.", "Die Bank, er sah sie.", "Er sah die Bank und ging.", 1,
            [("Er sah die Ufer und ging.", False)],
        ),
        # What may be more than sense and cue: no word shows the sense, it is not word for word, or a synonym in the
        # plain translation leaves the noun among the words that could be the cue's.
        (RIGHT, WRONG, "Wer ist das?", "", 3, []),
        ("Ein Anwalt half .", "Die gute Frau half .", "Ein Anwalt half .", "", 1, []),
        ("die weibliche Ärztin", "der männliche Arzt", "die Medizinerin", "", 1, []),
    ],
)  # fmt: skip
def test_the_sense_is_exchanged_and_the_cue_is_not(
    right: str, wrong: str, plain: str, reference: str, cue: int, found: list[tuple[str, bool]]
) -> None:
    assert swap_sense(right, wrong, plain, reference, cue) == found


def test_sources_share_the_sentence_without_its_cue() -> None:
    pair = "The male doctor waits .", "The female doctor waits ."
    assert (common_source(*pair), cue_size(*pair)) == ("The doctor waits .", 1)
    tags = "<male> The doctor waits .", "<female> The doctor waits ."
    assert (common_source(*tags), cue_size(*tags)) == ("The doctor waits .", 1)
    assert common_source("老師等", "女老師等") == "", "no spaces: nothing is known to be shared"


BLIND = Judge(lambda _source: "nothing that a translation has")


def test_nothing_is_called_an_error_by_an_evaluator_that_failed() -> None:
    result = condition(Translator(), items(), evaluator=BLIND)
    assert verdicts(result) == {"unknown"}
    assert all(line.cells[-1] == "failed" for line in first_table(result).lines)
    assert first_table(result).notes[0].text.startswith("no finding, the evaluator failed: ")


def test_error_rates_of_a_sound_evaluator_have_verdicts() -> None:
    lines = {
        line.cells[0]: line for line in first_table(condition(Translator(), items(), evaluator=Judge())).lines
    }
    assert list(lines) == [
        "error rate, worst category", "error rate, shore", "error rate, weighted", "error rate, corrected",
        "error rate, unweighted", "error rate, cash",
    ]  # fmt: skip
    worst, right = lines["error rate, worst category"], lines["error rate, cash"]
    assert (worst.verdict, right.verdict) == ("error", "not significant")
    assert (worst.query["group"], worst.query["verdict"]) == ("shore", "not right")
    assert [getattr(line.cells[1], "value", None) for line in (worst, right)] == [1, 0]
    assert {line.cells[-1] for line in lines.values()} == {"passed"}
