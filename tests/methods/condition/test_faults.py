"""Conditioning: what is wrong with items and systems; a clear error or a counted skip."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from babelscope import condition
from babelscope.core.answers import Fingerprint, Scored, Target, Unanswered
from babelscope.core.question import Asked, as_question
from babelscope.systems.opening import open_system
from babelscope.testsets import AmbiguousSource
from babelscope.util.errors import BabelscopeError
from tests.methods.condition.test_method import EVALUATOR, ITEMS, GivenScores, item, judged, rows_of
from tests.support.toys import ToySystem


def test_items_without_cues_and_impossible_translations_are_counted() -> None:
    items = [
        *ITEMS[:4],
        AmbiguousSource("none", "b", (), ("w",), "male"),
        AmbiguousSource("lost", "b", ("r",), (), "empty"),
        item(99, "male", "xyz"),  # letters the evaluator has no probability for
    ]
    result = condition(ToySystem(), EVALUATOR, items, translations="given")
    rows = rows_of(result)
    counts = rows["all"].counts
    assert (counts["skipped"], counts["no_cue"], counts["impossible"]) == (3, 2, 1)
    assert rows["all"].estimate.n == 4
    assert [record["skipped"] for record in result.records[4:]] == ["no cue", "no cue", "impossible"]
    assert result.records[4]["verdict"] is None
    assert result.records[4]["weight"] is None
    # A category that lost all its items has a row, no value, and no part in the minimum.
    assert (rows["empty"].estimate.n, rows["empty"].counts["skipped"]) == (0, 1)
    assert rows["empty"].as_json()["value"] is None
    assert rows["minimum"].estimate.n == 4


def test_if_nothing_can_be_judged_there_is_no_figure() -> None:
    rows = rows_of(condition(ToySystem(), EVALUATOR, [AmbiguousSource("1", "a", (), (), "m")]))
    assert rows["all"].as_json()["value"] is None
    assert (rows["minimum"].estimate.n, rows["weighted"].estimate.n) == (0, 0)
    assert "lowest" not in rows["minimum"].labels


def test_items_of_no_category_do_not_count_in_the_minimum() -> None:
    rows = judged([1.0, 2.0, -1.0], ["m", "m", "none"])
    assert rows["none"].estimate.value == 0
    assert rows["minimum"].estimate.value == 1
    assert rows["all"].estimate.n == 3


def test_missing_translations_are_told_or_counted() -> None:
    items = [item(1, translation="ab"), item(2), item(3)]
    with pytest.raises(BabelscopeError, match=r"item i2.* has no translation, .*2 have none"):
        condition(None, EVALUATOR, items)
    for some, left in ((items, 1), (items[1:], 0)):
        row = condition(None, EVALUATOR, some, skip_missing=True).rows[0]
        assert (row.estimate.n, row.counts["skipped"]) == (left, 2)
    with pytest.raises(BabelscopeError, match="there is no system"):
        condition(None, EVALUATOR, items, translations="system")
    with pytest.raises(BabelscopeError, match="takes no system"):
        condition(ToySystem(), GivenScores({"i1": (-1, -2)}), items[:1], translations="given")


def test_a_translation_that_the_evaluator_refuses_is_left_out_and_counted() -> None:
    """The system's own, which nobody can mend; a given one is an error, below."""

    class Wordy(ToySystem):
        def translate(
            self, questions: Sequence[Asked], *, beam: int = 5, n_best: int = 1
        ) -> list[list[Scored]]:
            found = super().translate(questions, beam=beam, n_best=n_best)
            return [
                [Scored("a" * 1001)] if as_question(question).source == "b" else answers
                for question, answers in zip(questions, found, strict=True)
            ]

    items = [item(1), AmbiguousSource("i2", "b", ("r",), ("w",), "m"), item(3)]
    result = condition(Wordy(), EVALUATOR, items)
    [left] = result.unanswered
    assert left["id"] == "i2"
    assert left["unanswered"].startswith("the translation has 1001 tokens")
    row = rows_of(result)["all"]
    assert (row.estimate.n, row.counts["skipped"]) == (2, 1)


def test_faults_of_systems_are_told_with_the_item(toy_schemes: None) -> None:  # noqa: ARG001
    with pytest.raises(BabelscopeError, match="item i2: the translation has 1001 tokens"):
        condition(None, EVALUATOR, [item(1, translation="a"), item(2, translation="a" * 1001)])
    long = AmbiguousSource("i9", "a" * 1001, ("r",), ("w",), "m")
    with pytest.raises(BabelscopeError, match="item i9: the source has 1001 tokens"):
        condition(ToySystem(), EVALUATOR, [item(1), long])
    with pytest.raises(BabelscopeError, match="must be a natural log"):
        condition(ToySystem(), "nan:1", ITEMS)
    with pytest.raises(BabelscopeError, match="gave 79 answers to 80 questions"):
        condition(ToySystem(), "mute:1", ITEMS)
    with pytest.raises(BabelscopeError, match="ties: input should be 'half', 'correct' or 'wrong'"):
        condition(ToySystem(), EVALUATOR, ITEMS, ties="best")

    class Text:
        name = "text"
        fingerprint = Fingerprint("text")

        def translate(self, _sources: Sequence[str]) -> None:
            pytest.fail("asked before everything was checked")

    with pytest.raises(BabelscopeError, match="needs a system that gives log-probabilities"):
        condition(Text(), Text(), ITEMS)


def test_notes_are_counted_once_an_item() -> None:
    class Noting(ToySystem):
        def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
            return [Scored(s.text, s.tokens, s.logprobs, ("changed",)) for s in super().score(pairs)]

    result = condition(ToySystem(limit=1), Noting(), ITEMS[:3])
    assert result.rows[0].counts["changed"] == 3
    unfinished = sum("unfinished" in ToySystem(limit=1).translate([i.source])[0][0].notes for i in ITEMS[:3])
    assert result.rows[0].counts["unfinished"] == unfinished > 0


@pytest.mark.parametrize("ties", ["correct", "wrong", "half"])
def test_a_tie_is_neither_right_nor_wrong_unless_it_is_said_to_be(ties: str) -> None:
    scores = {"i0": (-1.0, -2.0), "i1": (-1.0, -1.0), "i2": (-2.0, -1.0), "i3": (-math.inf, -math.inf)}
    records = condition(None, GivenScores(scores), ITEMS[:4], ties=ties).records
    tie = {"correct": True, "wrong": False, "half": None}[ties]
    assert [record["correct"] for record in records] == [True, tie, False, None]
    assert [record["verdict"] for record in records[::2]] == ["correct", "wrong"]
    likelihoods = math.exp(-1.0), math.exp(-2.0)
    right = likelihoods[0] / sum(likelihoods)
    assert [record["score"] for record in records[:3]] == pytest.approx([right, 0.5, 1 - right])
    assert (records[3]["score"], records[3]["verdict"], records[3]["skipped"]) == (None, None, "impossible")


def test_an_evaluator_that_does_not_answer_leaves_the_lines_of_a_file_where_they_are(tmp_path: Path) -> None:
    class Forgetful(ToySystem):
        def score(self, pairs: Sequence[tuple[Asked, Target]]) -> list[Scored]:
            if lost := [pair for pair in pairs if as_question(pair[0]).source == "w1 1"]:
                raise Unanswered({(lost[0][0], str(lost[0][1])): "no answer"})
            return super().score(pairs)

    (tmp_path / "out").write_text("a\nb\nab\nba\n")
    result = condition(open_system(f"file:{tmp_path / 'out'}"), Forgetful(), ITEMS[:4])
    assert [record["translation"] for record in result.records] == ["a", "ab", "ba"]
    assert [record["id"] for record in result.unanswered] == ["i1"]
    assert (result.rows[0].counts["skipped"], result.rows[0].counts["given"]) == (1, 3)
