"""Agreement: kappa against worked examples, edge cases of labels, and the published coefficients."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from babelscope.stats.agreement import (
    BOTH,
    CANNOT_TELL,
    CORRECT,
    FEMALE,
    ILL_DEFINED,
    MALE,
    THIRD_SENSE,
    TOO_BAD,
    WRONG,
    Judgment,
    Task,
    Verdict,
    cohens_kappa,
    compare,
    compare_with_earlier,
    is_right,
    krippendorffs_alpha,
    mucow_agreement,
    parse_earlier,
    parse_judgments,
    parse_verdicts,
    rank_agreement,
    reduced,
    winomt_agreement,
)
from babelscope.util.errors import BabelscopeError
from babelscope.util.text import read_json_lines


def annotator(*labels: str, gold: str = "") -> dict[str, Judgment]:
    return {
        str(n): Judgment(str(n), label, f"s{n}", "pen", gold, n) for n, label in enumerate(labels) if label
    }


def test_kappa_of_a_worked_example() -> None:
    # 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: observed 0.7, by chance 0.5.
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    found = cohens_kappa(first, second)
    assert (found.value, found.n) == (pytest.approx(0.4), 50)
    # About what Fleiss, Cohen and Everitt (1969) have: the diagonal, the rest, and what both have too much.
    diagonal = 0.4 * (1 - (0.5 + 0.6) * 0.6) ** 2 + 0.3 * (1 - (0.5 + 0.4) * 0.6) ** 2
    rest = 0.6**2 * (0.1 * (0.6 + 0.5) ** 2 + 0.2 * (0.4 + 0.5) ** 2)
    reach = 1.959964 * math.sqrt((diagonal + rest - (0.4 - 0.5 * 0.6) ** 2) / (50 * (1 - 0.5) ** 2))
    assert (found.low, found.high) == pytest.approx((0.4 - reach, 0.4 + reach), abs=0.04)
    assert cohens_kappa(["a", "b"], ["a", "b"]).value == 1
    assert cohens_kappa(["a", "a"], ["a", "a"]).value == 1
    assert cohens_kappa(["a", "b"], ["b", "a"]).value == -1
    assert cohens_kappa([], []).n == 0


def test_the_interval_of_kappa_stays_where_kappa_can_be() -> None:
    # Of 20, 19 alike: the asymptotic interval would end above 1; all but one unlike: it would begin below -1.
    first = ["a"] * 10 + ["b"] * 10
    found = cohens_kappa(first, ["b", *first[1:]])
    assert found.value == pytest.approx(0.9)
    assert 0.5 < found.low < found.value < found.high < 1
    unlike = cohens_kappa(["a", "b", "a", "b", "a"], ["b", "a", "b", "a", "a"])
    assert -1 <= unlike.low < unlike.value < 0 < unlike.high


# Values of four observers on twelve units, * for none: Krippendorff (2011), "Computing Krippendorff's
# Alpha-Reliability", example C, where alpha is 0.743 for names and 0.849 for intervals.
FOUR_OBSERVERS = ("123321412***", "1233224125*3", "*3332342251*", "12332441251*")


def units(*observers: str) -> list[list[str]]:
    return [[value for value in unit if value != "*"] for unit in zip(*observers, strict=True)]


def test_alpha_of_published_examples() -> None:
    four = units(*FOUR_OBSERVERS)
    found = krippendorffs_alpha(four)
    assert (round(found.value, 3), found.n) == (0.743, 11)  # one unit has a single value
    assert found.low < found.value < found.high <= 1
    numbers = [[int(value) for value in unit] for unit in four]
    assert round(krippendorffs_alpha(numbers, level="interval").value, 3) == 0.849
    # Two observers, examples A and B.
    assert round(krippendorffs_alpha(units("0100000010", "1110010000")).value, 3) == 0.095
    assert round(krippendorffs_alpha(units("aabbdcccedda", "babbbccceddd")).value, 3) == 0.692


def test_alpha_of_edge_cases() -> None:
    assert krippendorffs_alpha([["a"], []]).n == 0
    assert krippendorffs_alpha([["a", "a"], ["a", "a"]]).value == 1
    assert krippendorffs_alpha([["a", "a"], ["b", "b"], ["b", "b"]]).value == 1
    assert krippendorffs_alpha([["a", "b"]] * 5).value < 0
    # A constant added to all numbers changes nothing; who said which of them neither.
    some = [[1, 2, 5], [4, 4, 9], [0, 7, 8], [3, 3, 3]]
    found = krippendorffs_alpha(some, level="interval").value
    for other in ([[value + 100 for value in unit] for unit in some], [unit[::-1] for unit in some]):
        assert krippendorffs_alpha(other, level="interval").value == pytest.approx(found)


def test_ranks_over_all_pairs_of_evaluators() -> None:
    scores = {
        "a": {"x": 1.0, "y": 2.0, "z": 3.0},
        "b": {"x": 10.0, "y": 20.0, "z": 30.0},
        "c": {"x": 3.0, "y": 2.0, "z": 1.0},
    }
    found = rank_agreement(scores)
    assert (found.value, found.n) == pytest.approx((-1 / 3, 3))
    assert found.no_interval == "3 pairs of evaluators, -1 to 1"
    with pytest.raises(BabelscopeError, match="at least two"):
        rank_agreement({"a": scores["a"]})
    with pytest.raises(BabelscopeError, match="b scored other systems"):
        rank_agreement({"a": scores["a"], "b": {"x": 1.0}})


def test_binary_labels() -> None:
    both = [
        annotator(BOTH, THIRD_SENSE, CORRECT, WRONG, CORRECT),
        annotator(BOTH, THIRD_SENSE, ILL_DEFINED, WRONG),
    ]
    for each in reduced(both, "mucow"):
        assert [judgment.label for judgment in each.values()] == [CORRECT, WRONG, WRONG]
    ours = [annotator(BOTH, TOO_BAD, MALE, gold=FEMALE)]
    assert [each.label for each in reduced(ours, "winomt")[0].values()] == [FEMALE, MALE, MALE]


def test_a_challenge_is_real_where_its_translation_was_judged() -> None:
    labels = ("Translated right", "Translated wrong", "Real", "Not real", CANNOT_TELL)
    for how, kept in (("real", ["Real", "Real", "Real", "Not real"]), ("binary", list(labels[:2]))):
        (found,) = reduced([annotator(*labels)], "challenge", how)
        assert [each.label for each in found.values()] == kept


@pytest.mark.parametrize(
    ("task", "label", "gold", "right"),
    [
        *(("mucow", label, "", right) for label, right in ((CORRECT, True), (BOTH, True), (WRONG, False))),
        *(("mucow", THIRD_SENSE, "", False), ("mucow", ILL_DEFINED, "", None)),
        *(("winomt", MALE, MALE, True), ("winomt", FEMALE, MALE, False), ("winomt", BOTH, FEMALE, True)),
        *(("winomt", TOO_BAD, FEMALE, False), ("winomt", MALE, "Neutral", None)),
        *(("machine-reference", "Right", "", True), ("machine-reference", "Wrong", "", False)),
        *(("machine-reference", CANNOT_TELL, "", None), ("challenge", "Not real", "", None)),
        *(("challenge", "Translated right", "", True), ("challenge", "Translated wrong", "", False)),
    ],
)
def test_what_an_annotator_finds_right(task: Task, label: str, gold: str, right: bool | None) -> None:
    assert is_right(Judgment("1", label, gold=gold), task) is right


def test_weighted_agreement_on_winomt() -> None:
    two = [annotator(MALE, FEMALE, BOTH, gold=FEMALE), annotator(MALE, MALE, FEMALE, gold=FEMALE)]
    verdicts = [
        Verdict("v:1", True, 1.0, row=0),  # neither agrees
        Verdict("v:2", False, 2.0, row=1),  # one of two
        Verdict("v:3", None, 1.0, row=2),  # no decision counts as gold: both
    ]
    row = winomt_agreement(two, verdicts)
    assert row.estimate.value == pytest.approx((0 + 2 + 2) / (2 + 4 + 2))
    assert row.counts == {"judgments": 6, "agreed": 3, "unknown": 2, "missing": 0}
    assert winomt_agreement(two, verdicts[:2]).counts["missing"] == 1
    with pytest.raises(
        BabelscopeError, match="v:9: row 0 is about 'other', but the annotators' is about 's0'"
    ):
        winomt_agreement(two, [Verdict("v:9", True, source="other", row=0)])


def test_files_are_read_as_they_stand() -> None:
    record = {
        "label": [MALE],
        "Sample ID": 7,
        "Index": "3",
        "Gold Gender": "female",
        "Source Sentence": "The nurse came.",
        "Word": "nurse",
    }
    read = parse_judgments([("f:1", record)], "winomt")
    assert read == {"7": Judgment("7", MALE, "The nurse came.", "nurse", FEMALE, 3)}
    rows = [
        {"Index": index, "Find entity? [Y/N]": found, "Gender? [M/F/N]": gender}
        for index, found, gender in (
            ("0", "Y", "M"),
            ("1", "Y", "F"),
            ("2", "Y", "N"),
            ("3", "N", "M"),
            ("4", "Y", ""),
        )
    ]
    assert parse_earlier(rows, "old.csv") == {
        "0": Judgment("0", MALE, row=0),
        "1": Judgment("1", FEMALE, row=1),
        "2": Judgment("2", BOTH, row=2),
    }
    with pytest.raises(BabelscopeError, match=r"old\.csv:3: row 0 stands there twice"):
        parse_earlier([rows[0], rows[0]], "old.csv")


def test_verdicts_are_read_as_they_stand() -> None:
    record = {"id": "5", "correct": False, "weight": 0, "source": "s", "word": "pen", "corpus": "news"}
    assert parse_verdicts([("v:1", record)], "winomt") == [Verdict("v:1", False, 0.0, "s", "pen", "news", 4)]
    assert parse_verdicts([("v:1", record)], "mucow") == [Verdict("v:1", False, 0.0, "s", "pen", "news")]
    for predicted, correct in (("neutral", None), ("unknown", None), ("male", False)):
        (found,) = parse_verdicts([("v:1", {**record, "predicted": predicted})], "winomt")
        assert found.correct is correct
        (kept,) = parse_verdicts([("v:1", {**record, "predicted": predicted})], "mucow")
        assert kept.correct is False
    (bare,) = parse_verdicts([("v:1", {"correct": None})], "mucow")
    assert bare == Verdict("v:1", None, 1.0)


def test_earlier_annotations_are_compared_by_row() -> None:
    ours = annotator(MALE, FEMALE, TOO_BAD, BOTH, MALE)
    earlier = {row: Judgment(row, MALE) for row in ("0", "1", "2", "4")}
    kappa, agreed = compare_with_earlier("a", ours, "old", earlier)
    assert kappa.labels == {"task": "winomt", "annotators": "a, old", "labels": "raw", "weighting": "none"}
    # What is too bad to tell is left out; rows that one side lacks are not common.
    assert (agreed.estimate.value, agreed.estimate.n) == (2 / 3, 3)
    assert agreed.counts == {"skipped": 1, "agreed": 2}
    assert kappa.counts == {"skipped": 1}


def test_a_lost_apostrophe_and_a_method_of_its_own() -> None:
    two = [annotator(CORRECT, WRONG), annotator(CORRECT, CORRECT)]
    patterns = [Verdict("", None, source="'s0", word="pen"), Verdict("", None, source="s1", word="pen")]
    patterns += [Verdict("", True, source=f"t{n}", word="pen") for n in range(2)]
    assert mucow_agreement(two, patterns).counts["judgments"] == 4
    # A verdict is looked for under the source that pattern matching has; without one it is missing.
    said = [Verdict("", True, source="'s0", word="pen"), Verdict("", None, source="t0", word="pen")]
    row = mucow_agreement(two, patterns, verdicts=said)
    assert row.counts == {"judgments": 2, "agreed": 2, "covered": 2, "missing": 1}
    # Of the decided ones the method has a verdict on one, which is not pattern matching's: 2 of 2 + 1.
    assert row.estimate.value == pytest.approx(2 / 3)


def test_agreement_on_what_pattern_matching_could_not_decide() -> None:
    two = [annotator(CORRECT, WRONG), annotator(CORRECT, CORRECT)]
    # Decided: 6 of 8, so that 4 judgments stand for 12 decided ones.
    patterns = [Verdict("", None, source=f"s{n}", word="pen") for n in range(2)]
    patterns += [Verdict("", True, 1.0, source=f"t{n}", word="pen") for n in range(6)]
    sound = mucow_agreement(two, patterns)
    assert sound.counts == {"judgments": 4, "agreed": 1, "covered": 12, "missing": 0}
    assert sound.estimate.value == pytest.approx(13 / 16)
    quirky = mucow_agreement(two, patterns, quirks=["shared-labels", "inflated-coverage"])
    assert quirky.counts == {"judgments": 4, "agreed": 0, "covered": 16, "missing": 0}
    # A method that is right about all but one of the decided ones, and calls the others correct.
    said = [Verdict("", True, source=f"s{n}", word="pen") for n in range(2)]
    said += [Verdict("", n > 0, source=f"t{n}", word="pen") for n in range(6)]
    other = mucow_agreement(two, patterns, verdicts=said)
    assert other.estimate.value == pytest.approx((3 + 10) / (4 + 12))
    with pytest.raises(BabelscopeError, match="no judged sample is among those"):
        mucow_agreement(two, patterns[2:])


@pytest.mark.parametrize(
    ("task", "record", "told"),
    [
        ("mucow", {"label": ["Maybe"]}, "f:1: 'Maybe' is no label of mucow; they are: Correct Sense"),
        ("mucow", {"label": []}, "is no label of mucow"),
        ("mucow", {"label": [CORRECT, WRONG]}, "is no label of mucow"),
        ("mucow", {"label": [CORRECT]}, "f:1: field 'Sample ID' is missing"),
        ("winomt", {"label": [MALE], "Sample ID": "1", "Index": "3"}, "f:1 needs 'Gold Gender'"),
        ("winomt", {"label": [MALE], "Sample ID": "1", "Gold Gender": "male", "Index": "x"}, "a row from 0"),
    ],
)
def test_bad_annotations_are_told(task: Task, record: dict[str, Any], told: str) -> None:
    with pytest.raises(BabelscopeError) as caught:
        parse_judgments([("f:1", record)], task)
    assert told in str(caught.value)


def test_other_bad_input_is_told() -> None:
    twice = {"label": CORRECT, "Sample ID": 1}
    with pytest.raises(BabelscopeError, match="f:2: the sample '1' is labeled twice"):
        parse_judgments([("f:1", twice), ("f:2", twice)], "mucow")
    for record, told in (
        ({"correct": "yes"}, "'correct' must be true, false or null"),
        ({"correct": True, "weight": -1}, "'weight' must be a number and not negative"),
        ({"correct": True, "weight": float("nan")}, "'weight' must be a number"),
        ({"correct": True, "id": "x"}, "'id' must be the number of a row"),
    ):
        with pytest.raises(BabelscopeError, match=told):
            parse_verdicts([("f:1", record)], "winomt")
    with pytest.raises(BabelscopeError, match=r"old\.csv has no column 'Index'"):
        parse_earlier([{}], "old.csv")
    row = {"Index": "x", "Find entity? [Y/N]": "Y", "Gender? [M/F/N]": "M"}
    with pytest.raises(BabelscopeError, match=r"old\.csv:2: 'x' is no index"):
        parse_earlier([row], "old.csv")


@pytest.mark.parametrize(
    ("task", "raw", "n_raw", "decided", "n_decided"),
    [("mucow", 0.376238, 185, 0.917526, 96), ("winomt", 0.952534, 200, 0.952696, 200)],
)
def test_the_published_kappas(
    shared: Path, task: Task, raw: float, n_raw: int, decided: float, n_decided: int
) -> None:
    folder = shared / "data" / "human-validation" / task
    annotators = {
        name: parse_judgments(read_json_lines(folder / f"en-de.annotator{name}.jsonl"), task) for name in "12"
    }
    kappas = [row for row in compare(annotators, task) if row.name == "kappa"]
    assert [(row.labels["labels"], round(row.estimate.value, 6), row.estimate.n) for row in kappas] == [
        ("raw", raw, n_raw),
        ("binary", decided, n_decided),
    ]


def test_one_annotator_is_enough_and_weights_count() -> None:
    said = [(False, 3.0), (True, 1.0), (None, 1.0), (True, 2.0), (True, 0.0)]
    verdicts = [Verdict("", correct, weight, row=row) for row, (correct, weight) in enumerate(said)]
    # Only the fourth verdict is not the annotator's; the last one agrees, but weighs nothing.
    found = winomt_agreement([annotator(MALE, FEMALE, BOTH, MALE, FEMALE, gold=FEMALE)], verdicts)
    assert found.estimate.value == pytest.approx((3 + 1 + 1) / (3 + 1 + 1 + 2))
    assert found.counts == {"judgments": 5, "agreed": 4, "unknown": 1, "missing": 0}

    def verdict(source: str, correct: bool | None, weight: float = 1.0) -> Verdict:
        return Verdict("", correct, weight, source, "pen")

    patterns = [verdict(f"s{n}", None) for n in range(3)] + [verdict(f"t{n}", True) for n in range(3)]
    own = [verdict("s0", True, 2), verdict("s1", True, 1), verdict("s2", None, 0.5)]
    own += [verdict("t0", True, 4), verdict("t1", False, 2)]
    found = mucow_agreement([annotator(CORRECT, WRONG, CORRECT)], patterns, verdicts=own)
    # Right about s0 and t0; as many decided ones count as undecided ones, so that each of both weighs the same.
    assert found.estimate.value == pytest.approx((2 + 4) / (2 + 1 + 0.5 + 4 + 2))
    assert found.counts == {"judgments": 3, "agreed": 1, "covered": 3, "missing": 0}


def test_the_covered_are_counted_in_whole_numbers() -> None:
    three = [annotator(CORRECT), annotator(CORRECT), annotator(WRONG)]
    patterns = [Verdict("", None if n == 0 else True, source=f"s{n}", word="pen") for n in range(20)]
    # 19 of 20 are decided: for each judgment of the other one 19, whatever 1 - 0.95 is rounded to.
    assert mucow_agreement(three, patterns).counts == {
        "judgments": 3, "agreed": 1, "covered": 57, "missing": 0,
    }  # fmt: skip
    # Pattern matching calls wrong what it does not know, as the last annotator does.
    quirky = mucow_agreement(three, patterns, quirks=["shared-labels", "inflated-coverage"])
    assert quirky.counts == {"judgments": 3, "agreed": 3, "covered": 60, "missing": 0}
